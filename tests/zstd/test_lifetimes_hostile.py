# SPDX-License-Identifier: Apache-2.0
"""Incomplete objects, and objects initialized twice: any sequence of calls is memory-safe and raises clear errors."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone, sections

PROGRAMS = sections(__file__, "programs.txt")
DATA = b"some data to compress, some data to compress\n" * 2000


def test_second_init_is_refused(zstd: ModuleType) -> None:
    """It would free objects that a call in another thread, or an outer call, is using."""
    raw = zstd.ZstdDict(DATA[:5000], is_raw=True)
    frame = zstd.compress(DATA, zstd_dict=raw)
    compressor = zstd.ZstdCompressor(zstd_dict=raw.as_digested_dict)
    decompressor = zstd.ZstdDecompressor(raw)
    begun = compressor.compress(DATA)
    content = decompressor.decompress(frame[:8])
    for thing, arguments in ((compressor, (5,)), (decompressor, ()), (raw, (b"other content",))):
        with pytest.raises(RuntimeError, match=f"{type(thing).__name__} is already initialized"):
            thing.__init__(*arguments)
    assert raw.dict_content == DATA[:5000]
    assert zstd.decompress(begun + compressor.flush(), raw) == DATA
    assert content + decompressor.decompress(frame[8:]) == DATA


def test_init_may_fail_before_it_succeeds(zstd: ModuleType) -> None:
    made = zstd.ZstdDict.__new__(zstd.ZstdDict)
    with pytest.raises(ValueError, match="short"):
        made.__init__(b"abc", is_raw=True)
    made.__init__(DATA[:50], is_raw=True)
    assert zstd.decompress(zstd.compress(DATA, zstd_dict=made), made) == DATA


def test_second_init_of_a_file_opens_another(zstd: ModuleType) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    file = zstd.ZstdFile(first, "w")
    file.write(b"first")
    file.__init__(second, "w")
    file.write(b"second")
    file.write(b" and more")
    file.close()
    assert zstd.decompress(second.getvalue()) == b"second and more"
    second.seek(0)
    reader = zstd.ZstdFile(io.BytesIO(zstd.compress(DATA)))
    assert reader.read(4) == b"some"
    reader.__init__(second)
    assert reader.read() == b"second and more"
    reader.__init__(first, "w")
    for name in ("read", "readline", "peek"):
        with pytest.raises(io.UnsupportedOperation):
            getattr(reader, name)()
    reader.close()


def test_writer_takes_a_part_of_its_own_memory(zstd: ModuleType) -> None:
    taken: list[bytes] = []
    own: list[Any] = []

    class Sink(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def tell(self) -> int:
            return sum(map(len, taken))

        def write(self, data: Any, /) -> int:
            taken.append(bytes(data))
            if isinstance(data, memoryview) and isinstance(data.obj, bytearray):
                own.append(memoryview(data.obj))
            return len(data)

    writer = zstd.ZstdFile._writer_type(Sink(), 100)
    writer.write(bytes(range(60)))
    writer.flush()
    if not own:
        pytest.skip("this backend shows no memory that lives on")
    writer.write(b"abc")
    writer.write(own[0][1:51])
    writer.flush()
    assert taken == [bytes(range(60)), b"abcbc" + bytes(range(3, 51))]


def test_half_made_objects_tell_nothing(zstd: ModuleType) -> None:
    result = run_alone(zstd, "zstd", PROGRAMS["half-made objects"])
    assert result.returncode == 0, result.stderr
    assert "done" in result.stdout
    assert "Exception ignored" not in result.stderr
    assert not result.stderr


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy's finalizers do not run as it ends")
@pytest.mark.parametrize(
    "use", ["zstd.compress(data)", "zstd.ZstdCompressor().compress(data)", "zstd.decompress(frame)"]
)
def test_finalizer_at_the_end_takes_a_context(zstd: ModuleType, use: str) -> None:
    """A thread's kept objects are not finalized before the objects that use them."""
    result = run_alone(zstd, "zstd", f"USE = {use!r}\n" + PROGRAMS["late finalizer"])
    assert result.returncode == 0, result.stderr
    assert result.stdout == "used\n" * 3
    assert not result.stderr
