# SPDX-License-Identifier: Apache-2.0
"""After any exception an object of cpkg.zstandard continues exactly, or is broken and raises an error about it."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from purepy.zstd.format.rules import FLUSH_FRAME

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(2000))


class Faltering(io.BytesIO):
    """A file in which every second read() raises OSError and reads nothing."""

    falters = False

    def read(self, size: Any = -1) -> bytes:
        self.falters = not self.falters
        if self.falters:
            raise OSError("not now")
        return super().read(size)


class Interrupted:
    """A backend's stream in which a signal handler raises during one call, which resets the stream."""

    def __init__(self, stream: Any, call: int = 2) -> None:
        self._stream = stream
        self._calls = -call
        self._is_reset = False

    def __getattr__(self, name: str) -> Any:
        if self._is_reset and name in ("last_mode", "_at_start", "needs_input"):
            return FLUSH_FRAME if name == "last_mode" else True
        return getattr(self._stream, name)

    def _call(self, function: Any, *args: Any) -> Any:
        self._calls += 1
        if self._calls == 0:
            self._is_reset = True
            raise KeyboardInterrupt
        return function(*args)

    def compress(self, *args: Any) -> Any:
        return self._call(self._stream.compress, *args)

    def decompress(self, *args: Any) -> Any:
        return self._call(self._stream.decompress, *args)


def read_on(reader: Any, size: int) -> bytes:
    """Return all content, with reads of which some raise OSError."""
    pieces = []
    while True:
        try:
            piece = reader.read(size)
        except OSError:
            continue
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


@pytest.mark.parametrize("size", [7, 100, 9000, 10**6])
def test_a_source_that_raises(zstandard: SimpleNamespace, size: int) -> None:
    """Content read before the error is kept, and the error is not mistaken for the end."""
    frame = zstandard.compress(CONTENT)
    reader = zstandard.ZstdDecompressor().stream_reader(Faltering(frame), read_size=50)
    assert read_on(reader, size) == CONTENT
    assert reader.tell() == len(CONTENT)
    packer = zstandard.ZstdCompressor().stream_reader(Faltering(CONTENT), read_size=5000)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(read_on(packer, size)) == CONTENT


def test_readall_keeps_what_it_has(zstandard: SimpleNamespace) -> None:
    frame = zstandard.compress(CONTENT)
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(frame + b"this is no frame"))
    for _ in range(2):
        pytest.raises(zstandard.ZstdError, reader.readall).match("Unknown frame descriptor")
    assert reader.read(len(CONTENT)) == CONTENT
    pytest.raises(zstandard.ZstdError, reader.read, 1).match("Unknown frame descriptor")


def halves(zstandard: SimpleNamespace) -> tuple[bytes, bytes]:
    """Return a frame with the content repeated twice, divided between the two."""
    packer = zstandard.ZstdCompressor().compressobj()
    first = packer.compress(CONTENT) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return first, packer.compress(CONTENT) + packer.flush()


def test_an_interrupted_reader(zstandard: SimpleNamespace) -> None:
    """A reader whose stream was reset raises an error from then on, after returning what it had read ahead."""
    first, second = halves(zstandard)
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(first + second), read_size=len(first))
    reader._stream = Interrupted(reader._stream)
    assert reader.read(10) == CONTENT[:10]
    pytest.raises(KeyboardInterrupt, reader.read, 2 * len(CONTENT))
    assert reader.read(20) == CONTENT[10:30]
    pytest.raises(zstandard.ZstdError, reader.readall).match("content was lost because of KeyboardInterrupt")


def test_an_interrupted_decompressobj(zstandard: SimpleNamespace) -> None:
    """A decompressobj whose stream was reset inside a frame accepts no more data."""
    first, second = halves(zstandard)
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    unpacker._stream = Interrupted(unpacker._stream)
    assert unpacker.decompress(first) == CONTENT
    pytest.raises(KeyboardInterrupt, unpacker.decompress, second)
    with pytest.raises(zstandard.ZstdError, match="content was lost because of KeyboardInterrupt"):
        unpacker.decompress(second)


def test_an_interrupted_compressor(zstandard: SimpleNamespace) -> None:
    """An object whose stream was reset inside a frame does not end the frame, nor return one without its start."""
    compressor, target = zstandard.ZstdCompressor(), io.BytesIO()
    packer, writer = compressor.compressobj(), compressor.stream_writer(target, closefd=False)
    chunker, reader = compressor.chunker(chunk_size=100), compressor.stream_reader(io.BytesIO(CONTENT), read_size=1000)
    for made, call in ((packer, 2), (writer, 2), (chunker, 2), (reader, 1)):
        made._feed._stream = Interrupted(made._feed._stream, call)
    packer.compress(CONTENT)
    pytest.raises(KeyboardInterrupt, packer.compress, CONTENT)
    pytest.raises(zstandard.ZstdError, packer.flush).match("abandoned because of KeyboardInterrupt")
    writer.write(CONTENT)
    pytest.raises(KeyboardInterrupt, writer.write, CONTENT)
    pytest.raises(zstandard.ZstdError, writer.write, CONTENT).match("abandoned because of KeyboardInterrupt")
    written = target.tell()
    writer.close()
    assert target.tell() == written
    list(chunker.compress(CONTENT))
    pytest.raises(KeyboardInterrupt, list, chunker.compress(CONTENT))
    pytest.raises(zstandard.ZstdError, chunker.finish).match("before consuming output")
    pytest.raises(KeyboardInterrupt, reader.read, 100)
    pytest.raises(zstandard.ZstdError, reader.read, 100).match("content was lost because of KeyboardInterrupt")


@pytest.mark.parametrize("compresses", [False, True])
def test_an_exception_after_the_read_of_a_source(zstandard: SimpleNamespace, compresses: bool) -> None:
    """Data lost after a source has returned it is not skipped silently: further reads raise an error."""

    class Source(io.BytesIO):
        def read(self, size: Any = -1) -> bytes:
            data = super().read(size)
            if self.tell() == 100:
                raise TimeoutError("of a signal handler")
            return data

    rest = bytes(range(256)) * 100
    if compresses:
        reader = zstandard.ZstdCompressor().stream_reader(Source(rest), read_size=50)
    else:
        reader = zstandard.ZstdDecompressor().stream_reader(Source(zstandard.compress(rest)), read_size=50)
    pytest.raises(TimeoutError, reader.readall)
    for _ in range(2):
        pytest.raises(zstandard.ZstdError, reader.readall).match("content was lost because of TimeoutError")
