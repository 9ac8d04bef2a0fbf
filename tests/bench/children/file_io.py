# SPDX-License-Identifier: Apache-2.0
"""One file case, in a separate process: read or write one file one way, several rounds, and report the seconds.

Reads from standard input a JSON object: opener, case (as read_byLines_textMode), path, and for reading the expected
length, for writing the path of the bytes to write, and the time limit in seconds (patience). The answer:
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
    """Return open(path, mode) of the library `name`; text is UTF-8 with unchanged newlines."""
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
    while block := file.read(BLOCK):
        total += len(block)
    return total


READERS = {
    "byBytes": read_by_bytes,
    "byLines": read_by_lines,
    "byBlocks": read_by_blocks,
    "allAtOnce": lambda file: len(file.read()),
}
SIZES = {"byBytes": 1, "byLines": LINE, "byBlocks": BLOCK}


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
        whole, size = data.decode("ascii") if flag == "t" else data, SIZES.get(shape, len(data))
        pieces = [whole[at : at + size] for at in range(0, len(data), size)]

        def once():
            with open_(path, mode) as file:
                for piece in pieces:
                    file.write(piece)
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
