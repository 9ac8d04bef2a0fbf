# SPDX-License-Identifier: Apache-2.0
"""
Mutation fuzzer of archives.

The rule: for any archive, extraction succeeds or raises one of cpkg's errors, and leaves nothing outside its folder and
no temporary file. The engines in C and in Python end alike, leave the same tree and report the same entries.
`python tests/fuzz/fuzz_archives.py --seconds 600` sets the duration; `--backend pure` runs without libzstd. A failing
archive is kept, and its name contains the seed that reproduces it.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import stat
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "tests" / "support"), str(root)]

MAX_SIZE = 4 << 20
NAMES = [b"../outside/x", b"/outside", b"link", b"link/x", b"a/" * 40, b"", b"sub", b"text", b"sub/deep", b"./sub/up"]


class Violation(AssertionError):
    """The rule was broken."""


def raw_frame(content: bytes) -> bytes:
    """Return a Zstandard frame whose blocks are stored, which every decoder reads fast (RFC 8878, 3.1.1)."""
    pieces = [content[at : at + (128 << 10)] for at in range(0, len(content), 128 << 10)] or [b""]
    blocks = [
        (len(piece) << 3 | (index == len(pieces) - 1)).to_bytes(3, "little") for index, piece in enumerate(pieces)
    ]
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + b"".join(map(bytes.__add__, blocks, pieces))


def streams(tree: Path) -> list[bytes]:
    """Return a tree as several programs archive it, uncompressed."""
    from archives import created, uncompressed

    found = [uncompressed(created(base=tree))]
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=form, errors="surrogateescape") as file:
            file.add(tree, ".")
        found.append(plain.getvalue())
    return found


def mutated(choose: random.Random, stream: bytes) -> bytes:
    """Return an archive in a frame: with blocks swapped, bytes changed and checksums repaired, or truncated."""
    from archives import fixed

    blocks = [stream[at : at + 512] for at in range(0, len(stream), 512)]
    headers = [index for index, block in enumerate(blocks) if block[257:262] == b"ustar"]
    for _ in range(choose.randrange(1, 4)):
        index = choose.choice(headers)
        block = bytearray(blocks[index])
        what = choose.randrange(6)
        if what == 0:
            block[choose.randrange(512)] = choose.randrange(256)
        elif what == 1:
            block[156] = choose.choice(b"01234567xgLKSVMND\0")
        elif what == 2:
            at = choose.choice([0, 157])
            block[at : at + 100] = choose.choice(NAMES).ljust(100, b"\0")
        elif what == 3:  # the records of a pax header; a wrong size in any other
            if block[156:157] == b"x" and index + 1 < len(blocks):
                body = bytearray(blocks[index + 1])
                body[choose.randrange(60)] = choose.randrange(256)
                blocks[index + 1] = bytes(body)
            else:
                block[124:136] = b"%011o\0" % choose.choice([0, 1, 511, 513, 70_000, 1 << 20, 1 << 32])
        elif what == 4:
            other = choose.randrange(len(blocks))
            blocks[index], blocks[other] = blocks[other], bytes(block)
            continue
        else:
            blocks.insert(choose.choice(headers), bytes(block))
        blocks[index] = fixed(bytes(block)) if choose.random() < 0.9 else bytes(block)
    data = b"".join(blocks)
    if choose.random() < 0.1:
        data = data[: choose.randrange(len(data))]
    cut = choose.randrange(len(data) + 1)
    frame = raw_frame(data) if choose.random() < 0.5 else raw_frame(data[:cut]) + raw_frame(data[cut:])
    return frame[: choose.randrange(len(frame))] if choose.random() < 0.05 else frame


def extracted(
    engine: str, source: bytes | Path, out: Path, options: dict[str, Any], prepare: Callable[[Path], None] | None = None
) -> tuple[Any, ...]:
    """
    Extract an archive with one engine and return the outcome: error, entries, problems, numbers and tree.

    `prepare` is called with the destination directory.
    """
    from archives import contents

    from cpkg import archive
    from purepy.base.errors import CodecError

    os.environ["CPKG_ARCHIVE_BACKEND"] = engine
    shutil.rmtree(out, ignore_errors=True)
    if prepare is not None:
        prepare(out)
    entries: list[archive.Entry] = []
    problems: list[str] = []
    given = {"max_size": MAX_SIZE, "threads": 2, "on_entry": entries.append}
    given |= {"on_problem": lambda problem: problems.append(str(problem)), **options}
    error = numbers = None
    expected = CodecError if given["on_problem"] else (CodecError, OSError)
    try:
        numbers = archive.extract(io.BytesIO(source) if isinstance(source, bytes) else source, out, **given)[:3]
    except expected as exc:
        error = type(exc), str(exc)
    tree = without_times(contents(out)) if out.exists() else {}
    if any(name.endswith(".tmp") for name in tree):
        raise Violation("a temporary file is left")
    shown = [(repr(entry), entry.mtime_ns, entry.uid, entry.uname, entry.position) for entry in entries]
    return error, shown, problems, numbers, tree


def without_times(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree without the times of directories: a directory missing from the archive gets the current time."""
    return {
        name: (kind, mode, None if stat.S_ISDIR(kind) else time, value)
        for name, (kind, mode, time, value) in tree.items()
    }


def by_all(source: bytes | Path, out: Path, *arguments: Any) -> tuple[Any, ...]:
    """Extract an archive with each engine; return the outcome, which must be the same."""
    from archives import ENGINES

    ends = [extracted(engine, source, out, *arguments) for engine in ENGINES]
    for part, first, last in zip(("error", "entries", "problems", "numbers", "tree"), ends[0], ends[-1]):
        if first != last:
            raise Violation(f"{part} of {ENGINES}:\n{beyond(first, last)}\n{beyond(last, first)}")
    return ends[0]


def beyond(one: Any, other: Any) -> Any:
    """Return the part of one outcome that is not in the other."""
    if isinstance(one, dict):
        return {key: value for key, value in one.items() if other.get(key) != value}
    return [item for item in one if item not in other] if isinstance(one, list) else one


def run(seed: int, folder: Path, *, rounds: int = 1 << 62, seconds: float = float("inf")) -> Counter[str]:
    """Extract that many archives, or as many as time allows; return the outcomes."""
    from archives import make_tree

    results: Counter[str] = Counter()
    choose = random.Random(seed)
    outside = folder / "outside"
    outside.mkdir()
    found = streams(make_tree(folder / "tree"))
    end = time.monotonic() + seconds
    with mock.patch.dict(os.environ):
        while sum(results.values()) < rounds and time.monotonic() < end:
            data = mutated(choose, choose.choice(found))
            options = {"filter": choose.choice(["data", "tar"]), "strip_components": choose.choice([0, 0, 1])}
            if choose.random() < 0.3:
                options["on_entry"] = None  # then directories do not wait for the files before them
            if choose.random() < 0.2:
                options["exclude"] = choose.choice(["[a-s]*", "sub", "*e*"])
            try:
                error, _, problems, *_ = by_all(data, folder / "out", options)
                if os.listdir(outside):
                    raise Violation("a file is outside the destination")
            except BaseException:
                kept = folder / "failing.tar.zst"
                kept.write_bytes(data)
                print(f"round {sum(results.values())} with seed {seed}, {options}: {kept}", file=sys.stderr)
                raise
            results["refused" if error else "extracted with problems" if problems else "extracted"] += 1
    return results


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--backend", choices=["native", "dlopen", "pure"], help="the Zstandard backend")
    options = parser.parse_args()
    if options.backend:
        os.environ["CPKG_BACKEND"] = options.backend
    folder = Path(tempfile.mkdtemp(prefix="cpkg-fuzz-archives-"))
    print(f"seed {options.seed}: {dict(run(options.seed, folder, seconds=options.seconds))}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
