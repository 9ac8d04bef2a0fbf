# SPDX-License-Identifier: Apache-2.0
"""The single step that writes or reads an ordinary header gives the same result as the general code."""

from __future__ import annotations

import random
from itertools import chain, product
from typing import Any

import pytest

from purepy.base.errors import ArchiveError
from purepy.tar import encode as writer
from purepy.tar.encode import END, encode
from purepy.tar.entry import DIRECTORY, FIFO, FILE, SYMLINK, Entry, padding
from purepy.tar.reader import Content, TarReader

NAMES = ("a", "d/" * 45 + "f", "é" * 50, "é" * 51, ".", "a" * 100, "a" * 101, "/", "\udcff")
TIMES = (0, 1, 10**9, 1_790_000_000_123_456_789, -5, 8**11 * 10**9)


def samples() -> list[Entry]:
    """Return entries on both sides of each limit for ordinary entries."""
    found = [
        Entry(name, kind, size=size, mtime_ns=time)
        for name, kind, size, time in product(NAMES, (FILE, DIRECTORY, FIFO), (0, 600), TIMES)
        if not size or kind == FILE
    ]
    found += [Entry("a", size=size) for size in (8**11 - 1, 8**11)]
    found += [Entry("a", uid=uid, gid=gid) for uid, gid in product((0, 8**7 - 1, 8**7), repeat=2)]
    found += [Entry("a", uname=uname, gname="é" * 17, mode=0o4755) for uname in ("", "root", "é" * 16)]
    return [*found, Entry("l", SYMLINK, linkname="a"), Entry("x", xattrs={"user.a": b"b"}), Entry("é", uname="root")]


def test_the_same_headers_are_written() -> None:
    ordinary = 0
    for entry in samples():
        header = writer._encode_ordinary(entry)
        ordinary += bool(header)
        assert header in (b"", writer._encode_any(entry)), entry
    assert 50 < ordinary < len(samples())


def read(content: Content, *, in_batches: bool) -> list[Any]:
    """Return all entries with their data, and the error at the end, if there is one."""
    reader = TarReader(content)
    found: list[Any] = []
    batches = iter(reader.batch, []) if in_batches else ([(entry, reader.data())] for entry in reader)
    try:
        for entry, data in chain.from_iterable(batches):
            joined = b"".join(data)
            found.append((entry, joined))
    except ArchiveError as exc:
        found.append((str(exc), exc.offset))
    return found


def same(stream: bytes, cut: int) -> list[Any]:
    """Read a stream of two chunks in batches and entry by entry; check that both give the same, and return it."""
    chunks = [stream[:cut], stream[cut:]]
    found = read(Content(chunks), in_batches=True)
    assert found == read(Content([memoryview(chunk) for chunk in chunks]), in_batches=False)
    return found


def stream_of(entries: list[Entry]) -> bytes:
    """Return an archive of entries whose data is their numbers."""
    parts = []
    for number, entry in enumerate(entries):
        size = entry.size if entry.size < 8**10 else 0
        parts.append(encode(entry.replace(size=size)) + b"%d" % (number % 10) * size + bytes(padding(size)))
    return b"".join(parts) + END


def test_the_same_entries_are_read() -> None:
    entries = [entry for entry in samples() if entry.name != "/"]
    stream = stream_of(entries)
    for cut in (0, 511, 512, 1000, 1536, len(stream) // 2, len(stream)):
        assert [entry.name for entry, _ in same(stream, cut)] == [entry.name for entry in entries]


def test_the_data_of_a_batch_may_be_left() -> None:
    """Data too large to be copied comes in pieces, and is skipped if it is not read."""
    entries = [Entry("first"), Entry("a", size=3), Entry("b", size=100_000), Entry("c"), Entry("d", size=5)]
    reader = TarReader(Content([stream_of(entries)]))
    names = []
    while batch := reader.batch():
        names.append([entry.name for entry, _ in batch])
    assert names == [["first", "a", "b"], ["c", "d"]]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_headers_are_read_alike(seed: int) -> None:
    """After changed bytes and repaired checksums, both ways give the same entries or the same error."""
    choose = random.Random(seed)
    stream = stream_of([Entry("d", DIRECTORY), Entry("d/a", size=600, mtime_ns=1_790_000_000_123_456_789), Entry("b")])
    for _ in range(300):
        changed = bytearray(stream)
        for _ in range(choose.randint(1, 3)):
            block = choose.randrange(len(stream) // 512 - 2) * 512
            at = choose.choice((0, 99, 100, 107, 124, 135, 136, 147, 148, 155, 156, 257, 262, 263, 345, 508, 2, 9, 28))
            changed[block + at] = choose.choice(b"\0 01789x5SLKg/=\n\x80\xff")
            if choose.random() < 0.7:
                total = sum(changed[block : block + 148]) + 256 + sum(changed[block + 156 : block + 512])
                changed[block + 148 : block + 156] = b"%06o\0 " % total
        same(bytes(changed), choose.choice((0, 512, 1000, 2048)))
