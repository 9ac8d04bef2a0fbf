# SPDX-License-Identifier: Apache-2.0
"""Find the features of the format that a frame uses."""

from __future__ import annotations

from types import ModuleType

from zstd_dissect import TABLES, dissect
from zstd_frames import MAGIC

FIELDS = ("literals lengths", "offsets", "match lengths")
# All features of blocks that the encoder of libzstd uses.
EXPECTED = {
    *(f"{kind} block" for kind in ("raw", "rle", "compressed")),
    *(f"{kind} literals in {streams} streams" for kind in ("compressed", "treeless") for streams in (1, 4)),
    *("raw literals in 0 streams", "rle literals in 0 streams", "direct tree", "coded tree"),
    *(f"{field}: {mode}" for field in FIELDS for mode in TABLES),
    *("no sequences", "count of 1 bytes", "count of 2 bytes", "checksum", "single segment", "unknown size"),
}


def features(codec: ModuleType, data: bytes) -> set[str]:
    """Decompress a frame and return its features, with names as in EXPECTED."""
    codec.decompress(data)
    data = data[data.index(MAGIC) :]  # a skippable frame may come first
    frame = dissect(MAGIC + bytes([data[4] & ~16]) + data[5:])  # clear the unused bit, which decoders ignore
    found = {f"{block.kind} block" for block in frame.blocks}
    found.update(["checksum"] * frame.checksum, ["single segment"] * frame.single_segment)
    found.update(["unknown size"] * (frame.content_size is None))
    for block in frame.blocks:
        if block.kind == "compressed":
            found.add(f"{block.literals} literals in {block.streams} streams")
            found.add(f"count of {block.count_size} bytes" if block.sequences else "no sequences")
            found.update([f"{block.tree} tree"] * bool(block.tree))
            found.update(f"{field}: {mode}" for field, mode in zip(FIELDS, block.tables))
    return found
