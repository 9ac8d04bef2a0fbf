# SPDX-License-Identifier: Apache-2.0
"""One file case, in a process of its own: read or write one file one way, several rounds, and tell the seconds.

Reads from standard input a JSON object: opener, case (as read_byLines_textMode), path, and for reading the expected
length, for writing the path of the bytes to write, and for how many seconds to go on (patience). The answer:
{"seconds": [...], "length": ...}.
"""

import gzip
import importlib
import json
import os
import sys
import time

BLOCK = 32 * 1024
LINE = 50
SPLIT = "decompress, then split"
MAX_ROUNDS = 7


def opener(name):
    """Return open(path, mode) of the library `name`; text is UTF-8 with newlines as they are."""
    if name == "plain":
        return lambda path, mode: open(path, mode, **text(mode))
    if name == "gzip":
        return lambda path, mode: gzip.open(path, mode, **({"compresslevel": 6} if "w" in mode else {}), **text(mode))
    module = importlib.import_module(name)
    return lambda path, mode: module.open(path, mode, **({"level": 3} if "w" in mode else {}), **text(mode))


def text(mode):
    return {"encoding": "utf-8", "newline": "\n"} if "t" in mode else {}


def read_by_lines(file):
    total = 0
    for line in file:
        total += len(line)
    return total


def read_by_bytes(file):
    total = 0
    while file.read(1):
        total += 1
    return total


def read_by_blocks(file):
    total = 0
    while True:
        block = file.read(BLOCK)
        if not block:
            return total
        total += len(block)


def read_all_at_once(file):
    return len(file.read())


def write_by_lines(file, lines):
    for line in lines:
        file.write(line)


write_by_blocks = write_by_bytes = write_by_lines


def write_all_at_once(file, whole):
    file.write(whole[0])


def pieces(data, shape):
    if shape == "byLines":
        return [data[at : at + LINE] for at in range(0, len(data), LINE)]
    if shape == "byBytes":
        return [data[at : at + 1] for at in range(len(data))]
    if shape == "byBlocks":
        return [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
    return [data]


READERS = {
    "byBytes": read_by_bytes,
    "byLines": read_by_lines,
    "byBlocks": read_by_blocks,
    "allAtOnce": read_all_at_once,
}
WRITERS = {
    "byBytes": write_by_bytes,
    "byLines": write_by_lines,
    "byBlocks": write_by_blocks,
    "allAtOnce": write_all_at_once,
}


def main():
    request = json.load(sys.stdin)
    direction, shape, mode = request["case"].split("_")
    flag = "t" if mode == "textMode" else "b"
    path = request["path"]
    if request["opener"] == SPLIT:
        from cpkg import zstd

        def once():
            with open(path, "rb") as file:
                whole = zstd.decompress(file.read()).decode("utf-8")
            return read_by_lines(whole.splitlines(True))

    elif direction == "read":
        mode = "r" + flag
        open_ = opener(request["opener"])

        def once(work=READERS[shape]):
            with open_(path, mode) as file:
                return work(file)

    else:
        mode = "w" + flag
        open_ = opener(request["opener"])
        with open(request["source"], "rb") as file:
            data = file.read()
        given = pieces(data.decode("ascii") if flag == "t" else data, shape)

        def once(work=WRITERS[shape]):
            with open_(path, mode) as file:
                work(file, given)
            return len(data)

    seconds = []
    begun = time.perf_counter()
    while len(seconds) < MAX_ROUNDS and (len(seconds) < 2 or time.perf_counter() - begun < request["patience"]):
        if direction == "write" and os.path.exists(path):
            os.unlink(path)
        start = time.perf_counter()
        length = once()
        seconds.append(time.perf_counter() - start)
        if length != request["length"]:
            sys.exit("{}: {} units instead of {}".format(request["case"], length, request["length"]))
    json.dump({"seconds": seconds, "length": length}, sys.stdout)


main()
