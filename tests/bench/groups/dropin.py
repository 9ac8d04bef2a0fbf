# SPDX-License-Identifier: Apache-2.0
"""cpkg.zstandard beside the module that it replaces, call by call."""

from __future__ import annotations

import functools
import io
import random
from typing import Any

from bench import payloads
from bench.cells import OURS, Call, Case, Group, Works

MODULES = {OURS: "cpkg.zstandard", "zstandard": "zstandard"}
PIECE = 64 << 10
MESSAGE = 200

# size: of the content, in bytes. batch: whether the content is a thousand messages
CASES = [
    Case("1 KiB", quick=True, small=True, size=1 << 10, batch=False),
    Case("64 KiB", size=64 << 10, batch=False),
    Case("1 MiB", size=1 << 20, batch=False),
    Case("1,000 messages of 200 bytes", size=1000 * MESSAGE, batch=True),
]
SHORT = ("compress, object kept", "decompress, object kept", "compress, dictionary", "decompress, dictionary",
         "compress()", "decompress()")  # fmt: skip
STREAMS = ("compressobj", "decompressobj", "stream_writer", "stream_reader", "read_to_iter, decompressing",
           "copy_stream, compressing")  # fmt: skip
BATCHES = ("multi_compress_to_buffer", "multi_decompress_to_buffer")


def operations(case: Case) -> tuple[str, ...]:
    """Return the calls of a case."""
    return BATCHES if case.batch else STREAMS if case.size > PIECE else SHORT + STREAMS


def text(size: int, start: int = 0) -> bytes:
    """Return `size` bytes of words, the same in every run, which compress about as well as prose."""
    draw = random.Random(3)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    return b" ".join(draw.choices(words, k=(start + size) // 5 + 10))[start : start + size]


def call(module: Any, operation: str, data: bytes) -> Call:
    """Return the call of an operation. The call returns a frame, the content, or a buffer with several of them."""
    compressor, decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
    frame = compressor.compress(data)
    if operation in BATCHES:
        items = payloads.pieces(data, MESSAGE)
        if operation == "multi_compress_to_buffer":
            return functools.partial(compressor.multi_compress_to_buffer, items)
        return functools.partial(decompressor.multi_decompress_to_buffer, [*map(compressor.compress, items)])
    if operation.endswith("dictionary"):
        dictionary = module.ZstdCompressionDict(text(50_000, len(data)))
        compress = module.ZstdCompressor(dict_data=dictionary).compress
        if operation.startswith("compress"):
            return functools.partial(compress, data)
        return functools.partial(module.ZstdDecompressor(dict_data=dictionary).decompress, compress(data))

    def compressobj() -> bytes:
        packer = compressor.compressobj()
        return b"".join([*map(packer.compress, payloads.pieces(data, PIECE)), packer.flush()])

    def stream_writer() -> bytes:
        target = io.BytesIO()
        with compressor.stream_writer(target, closefd=False) as writer:
            for piece in payloads.pieces(data, PIECE):
                writer.write(piece)
        return target.getvalue()

    def stream_reader() -> bytes:
        with decompressor.stream_reader(io.BytesIO(frame)) as reader:
            return b"".join(iter(functools.partial(reader.read, PIECE), b""))

    def copy_stream() -> bytes:
        target = io.BytesIO()
        compressor.copy_stream(io.BytesIO(data), target)
        return target.getvalue()

    calls: dict[str, Call] = {
        "compress, object kept": lambda: compressor.compress(data),
        "decompress, object kept": lambda: decompressor.decompress(frame),
        "compress()": lambda: module.compress(data),
        "decompress()": lambda: module.decompress(frame),
        "compressobj": compressobj,
        "decompressobj": lambda: decompressor.decompressobj().decompress(frame),
        "stream_writer": stream_writer,
        "stream_reader": stream_reader,
        "read_to_iter, decompressing": lambda: b"".join(decompressor.read_to_iter(io.BytesIO(frame))),
        "copy_stream, compressing": copy_stream,
    }
    return calls[operation]


def works(case: Case, operation: str) -> Works:
    """Return the calls of cpkg.zstandard and of zstandard."""
    data = text(case.size)
    found = Works(size=case.size)
    modules = dict(found.imported(MODULES))
    for name, module in modules.items():
        try:
            found.calls[name] = call(module, operation, data)
        except AttributeError as error:  # zstandard's cffi backend has no multi_*_to_buffer
            found.misses(name, error)

    def check(library: str, result: Any) -> None:
        parts = [result] if isinstance(result, bytes) else [segment.tobytes() for segment in result]
        if "decompress" not in operation and "reader" not in operation:
            module = modules[library]
            dictionary = module.ZstdCompressionDict(text(50_000, len(data))) if "dictionary" in operation else None
            decompressor = module.ZstdDecompressor(dict_data=dictionary)
            parts = [decompressor.decompressobj().decompress(part) for part in parts]
        assert b"".join(parts) == data, library

    found.check = check
    return found


GROUPS = [Group("Drop-in for zstandard", CASES, operations, works)]
