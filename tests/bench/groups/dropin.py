# SPDX-License-Identifier: Apache-2.0
"""cpkg.zstandard beside the module that it replaces, call by call."""

from __future__ import annotations

import functools
import importlib
import io
import random
from dataclasses import dataclass
from typing import Any

from bench.cells import OURS, Call, Case, Group, Works, reason

MODULES = {OURS: "cpkg.zstandard", "zstandard": "zstandard"}
PIECE = 64 << 10
BATCH = 1000


@dataclass(frozen=True)
class SizeCase(Case):
    """size: bytes of the content. batch: in how many messages."""

    size: int = 1 << 10
    batch: int = 0


CASES = [
    SizeCase("1 KiB", quick=True, small=True),
    SizeCase("64 KiB", size=64 << 10),
    SizeCase("1 MiB", size=1 << 20),
    SizeCase("1,000 messages of 200 bytes", size=BATCH * 200, batch=BATCH),
]
SHORT = ("compress, object kept", "decompress, object kept", "compress, dictionary", "decompress, dictionary",
         "compress()", "decompress()")  # fmt: skip
STREAMS = ("compressobj", "decompressobj", "stream_writer", "stream_reader", "read_to_iter, decompressing",
           "copy_stream, compressing")  # fmt: skip
BATCHES = ("multi_compress_to_buffer", "multi_decompress_to_buffer")


def operations(case: SizeCase) -> tuple[str, ...]:
    """Return the calls of a case."""
    return BATCHES if case.batch else STREAMS if case.size > PIECE else SHORT + STREAMS


def text(size: int) -> bytes:
    """Return the same words in every run; they compress about as well as prose."""
    draw = random.Random(3)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    return b" ".join(draw.choices(words, k=size // 5 + 10))[:size]


def dictionary_for(data: bytes) -> bytes:
    """Return other text of the same words."""
    return text(len(data) + 50_000)[len(data) :]


def pieces(data: bytes, size: int = PIECE) -> list[bytes]:
    """Return data in pieces."""
    return [data[at : at + size] for at in range(0, len(data), size)]


class Side:
    """The calls of one module for one content; each returns a frame, the content, or a buffer of several."""

    def __init__(self, module: Any, data: bytes, batch: int) -> None:
        self.module, self.data, self.batch = module, data, batch
        self.compressor, self.decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
        self.frame = self.compressor.compress(data)

    def call(self, operation: str) -> Call:
        """Return the call of an operation."""
        if self.batch:
            size = len(self.data) // self.batch
            items = pieces(self.data, size)
            if operation == BATCHES[1]:
                frames = [self.compressor.compress(item) for item in items]
                return functools.partial(self.decompressor.multi_decompress_to_buffer, frames)
            return functools.partial(self.compressor.multi_compress_to_buffer, items)
        if operation.endswith("dictionary"):
            dictionary = self.module.ZstdCompressionDict(dictionary_for(self.data))
            compress = self.module.ZstdCompressor(dict_data=dictionary).compress
            if operation.startswith("compress"):
                return functools.partial(compress, self.data)
            decompress = self.module.ZstdDecompressor(dict_data=dictionary).decompress
            return functools.partial(decompress, compress(self.data))
        calls: dict[str, Call] = {
            "compress, object kept": lambda: self.compressor.compress(self.data),
            "decompress, object kept": lambda: self.decompressor.decompress(self.frame),
            "compress()": lambda: self.module.compress(self.data),
            "decompress()": lambda: self.module.decompress(self.frame),
            "compressobj": self.compressobj,
            "decompressobj": lambda: self.decompressor.decompressobj().decompress(self.frame),
            "stream_writer": self.stream_writer,
            "stream_reader": self.stream_reader,
            "read_to_iter, decompressing": lambda: b"".join(self.decompressor.read_to_iter(io.BytesIO(self.frame))),
            "copy_stream, compressing": self.copy_stream,
        }
        return calls[operation]

    def compressobj(self) -> bytes:
        packer = self.compressor.compressobj()
        return b"".join([*map(packer.compress, pieces(self.data)), packer.flush()])

    def stream_writer(self) -> bytes:
        target = io.BytesIO()
        with self.compressor.stream_writer(target, closefd=False) as writer:
            for piece in pieces(self.data):
                writer.write(piece)
        return target.getvalue()

    def stream_reader(self) -> bytes:
        with self.decompressor.stream_reader(io.BytesIO(self.frame)) as reader:
            return b"".join(iter(functools.partial(reader.read, PIECE), b""))

    def copy_stream(self) -> bytes:
        target = io.BytesIO()
        self.compressor.copy_stream(io.BytesIO(self.data), target)
        return target.getvalue()


def works(case: SizeCase, operation: str) -> Works:
    """Return the call of each side."""
    data = text(case.size)
    missing: dict[str, str] = {}
    sides: dict[str, Side] = {}
    for name, module in MODULES.items():
        try:
            sides[name] = Side(importlib.import_module(module), data, case.batch)
        except ImportError as error:
            missing[name] = reason(error)

    def check(library: str, result: Any) -> None:
        parts = [result] if isinstance(result, bytes) else [segment.tobytes() for segment in result]
        if "decompress" not in operation and "reader" not in operation:
            module = sides[library].module
            dictionary = module.ZstdCompressionDict(dictionary_for(data)) if "dictionary" in operation else None
            decompressor = module.ZstdDecompressor(dict_data=dictionary)
            parts = [decompressor.decompressobj().decompress(part) for part in parts]
        assert b"".join(parts) == data, library

    calls = {}
    for name, side in sides.items():
        try:
            calls[name] = side.call(operation)
        except AttributeError as error:  # its cffi backend has no multi_*_to_buffer
            missing[name] = reason(error)
    return Works(calls, missing, check, size=case.size)


GROUP = Group("Drop-in for zstandard", CASES, operations, works)
