# SPDX-License-Identifier: Apache-2.0
"""Find the features of the format that a frame uses, by watching the decoder read its headers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Callable
from unittest import mock

BLOCKS = ("raw", "RLE", "compressed")
LITERALS = ("raw", "RLE", "compressed", "treeless")
MODES = ("predefined", "RLE", "FSE", "repeat")
FIELDS = ("literals lengths", "offsets", "match lengths")

# All features of blocks that the encoder of libzstd uses.
EXPECTED = {
    *(f"{kind} block" for kind in BLOCKS),
    *(f"{kind} literals" for kind in LITERALS),
    "compressed literals in 1 stream",
    "compressed literals in 4 streams",
    "treeless literals in 1 stream",
    "treeless literals in 4 streams",
    "tree with direct weights",
    "tree with coded weights",
    *(f"{field}: {mode}" for field in FIELDS for mode in MODES),
    "no sequences",
    "count of 1 bytes",
    "count of 2 bytes",
    "checksum",
    "single segment",
    "unknown size",
}


@contextmanager
def _watched(module: ModuleType, name: str, see: Callable[..., None]) -> Iterator[None]:
    original = getattr(module, name)

    def watch(*arguments: Any) -> Any:
        result = original(*arguments)
        see(result, *arguments)
        return result

    with mock.patch.object(module, name, watch):
        yield


def features(codec: ModuleType, frame: bytes) -> set[str]:
    """Decompress a frame and return its features, with names as in EXPECTED."""
    found: set[str] = set()
    block = importlib.import_module(f"{codec.__name__}.decoder.block")
    literals = importlib.import_module(f"{codec.__name__}.decoder.literals")
    headers = importlib.import_module(f"{codec.__name__}.decoder.frame_decoder")

    def see_header(header: Any, *_: Any) -> None:
        if not isinstance(header, int) and not header.is_skippable:
            found.update(["checksum"] if header.has_checksum else [])
            found.add("single segment" if frame[4] & 0x20 else "window")
            found.update(["unknown size"] if header.content_size is None else [])

    def see_block(result: tuple[bool, int, int, int], *_: Any) -> None:
        found.add(f"{BLOCKS[result[1]]} block")

    def see_literals(_: Any, data: bytes, start: int, *__: Any) -> None:
        kind = data[start] & 3
        found.add(f"{LITERALS[kind]} literals")
        if kind >= 2:
            found.add(
                f"{LITERALS[kind]} literals in {4 if data[start] & 12 else 1} stream{'s' * bool(data[start] & 12)}"
            )

    def see_tree(_: Any, data: bytes, start: int, *__: Any) -> None:
        found.add(f"tree with {'direct' if data[start] >= 128 else 'coded'} weights")

    def see_count(result: tuple[int, int], _: bytes, start: int, *__: Any) -> None:
        found.add(f"count of {result[1] - start} bytes" if result[0] else "no sequences")

    def see_tables(_: Any, data: bytes, start: int, *__: Any) -> None:
        for index, field in enumerate(FIELDS):
            found.add(f"{field}: {MODES[data[start] >> 6 - 2 * index & 3]}")

    watched = (
        (headers, "read_header", see_header),
        (block, "read_block_header", see_block),
        (block, "read_literals", see_literals),
        (literals, "read_tree", see_tree),
        (block, "read_count", see_count),
        (block, "read_tables", see_tables),
    )
    with ExitStack() as stack:
        for module, name, see in watched:
            stack.enter_context(_watched(module, name, see))
        codec.decompress(frame)
    return found
