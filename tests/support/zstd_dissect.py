# SPDX-License-Identifier: Apache-2.0
"""Parse the headers of a frame: the kinds of its blocks, literals and sequence tables."""

from __future__ import annotations

from collections import namedtuple

from zstd_frames import MAGIC

BLOCKS = ("raw", "rle", "compressed")
LITERALS = (*BLOCKS, "treeless")
TABLES = ("predefined", "rle", "fse", "repeat")
Block = namedtuple(
    "Block",
    "kind size last literals streams literals_size sequences tables tree count_size",
    defaults=("", 0, 0, 0, (), "", 0),
)
"""One block; fields that only a compressed block has are empty in others."""
Frame = namedtuple("Frame", "single_segment checksum window_size content_size dict_id blocks end")


def dissect(data: bytes) -> Frame:
    """Parse the first frame of `data`."""
    assert data[:4] == MAGIC
    descriptor, at = data[4], 5
    single = bool(descriptor >> 5 & 1)
    assert not descriptor & 0b11000, "unused and reserved bits"
    window_size = 0
    if not single:
        base = 1 << (10 + (data[at] >> 3))
        window_size = base + (base >> 3) * (data[at] & 7)
        at += 1
    width = (0, 1, 2, 4)[descriptor & 3]
    dict_id = int.from_bytes(data[at : at + width], "little")
    at += width
    width = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    content_size = int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0) if width else None
    at += width
    if single:
        assert content_size is not None
        window_size = content_size
    blocks = []
    while True:
        header = int.from_bytes(data[at : at + 3], "little")
        at += 3
        kind, size, last = BLOCKS[header >> 1 & 3], header >> 3, bool(header & 1)
        body = data[at : at + (1 if kind == "rle" else size)]
        at += len(body)
        blocks.append(_compressed(body, size, last) if kind == "compressed" else Block(kind, size, last))
        if last:
            break
    if descriptor >> 2 & 1:
        at += 4
    return Frame(single, bool(descriptor >> 2 & 1), window_size, content_size, dict_id, blocks, at)


def _compressed(body: bytes, size: int, last: bool) -> Block:
    literals, tree = LITERALS[body[0] & 3], ""
    form = body[0] >> 2 & 3
    if literals in ("raw", "rle"):
        header = (1, 2, 1, 3)[form]
        count = int.from_bytes(body[:header], "little") >> (3 if header == 1 else 4)
        at = header + (1 if literals == "rle" else count)
        streams = 0
    else:
        header, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        fields = int.from_bytes(body[:header], "little") >> 4
        count = fields & ((1 << bits) - 1)
        at = header + (fields >> bits)
        streams = 4 if form else 1
        tree = "" if literals == "treeless" else "direct" if body[header] >= 128 else "coded"
    first, width = body[at], 1 if body[at] < 128 else 2 if body[at] < 255 else 3
    after = int.from_bytes(body[at + 1 : at + width], "little")
    sequences = (first, (first - 128 << 8) + after, after + 0x7F00)[width - 1]
    at += width
    tables: tuple[str, ...] = ()
    if sequences:
        modes = body[at]
        assert not modes & 3, "reserved bits"
        tables = (TABLES[modes >> 6], TABLES[modes >> 4 & 3], TABLES[modes >> 2 & 3])
    return Block("compressed", size, last, literals, streams, count, sequences, tables, tree, width)
