# SPDX-License-Identifier: Apache-2.0
"""How small the output is, on Python sources and machine code: against libzstd's, and from level to level."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from purepy.zstd import compress, decompress

pytestmark = pytest.mark.once

# The least of each that the standard library and the interpreter have everywhere.
HALF = 150_000


def sources() -> bytes:
    out = bytearray()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        out += path.read_bytes()[:30_000]
        if len(out) >= HALF:
            break
    return bytes(out[:HALF])


def machine_code() -> bytes:
    """Return code of the interpreter, or of a library next to it where the executable is a stub."""
    libraries = Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")
    candidates = [Path(sys.executable).resolve(), *libraries.glob("libpython*.so*"), *libraries.glob("libpypy*.so*")]
    candidates += sorted(Path(sysconfig.get_paths()["platstdlib"]).glob("lib-dynload/*.so"))
    out = b""
    for path in candidates:
        if path.is_file():
            data = path.read_bytes()
            # Past the headers and symbols of a large file, into its code.
            out += data[len(data) // 3 :][: HALF - len(out)] if len(data) > 3 * HALF else data[: HALF - len(out)]
        if len(out) >= HALF:
            break
    return out


@pytest.fixture(scope="module")
def mix() -> bytes:
    return sources() + machine_code()


@pytest.mark.parametrize("level", [1, 2, 3])
def test_at_most_a_tenth_larger_than_libzstd(zstd: ModuleType, mix: bytes, level: int) -> None:
    mine = compress(mix, level)
    assert zstd.decompress(mine) == mix
    assert len(mine) <= len(zstd.compress(mix, level)) * 1.1


def test_no_level_is_larger_than_the_one_below(mix: bytes) -> None:
    previous = len(mix)
    for level in (-20, -5, -1, *range(1, 7), 9, 13, 19, 22):  # the slow ones take seconds each
        frame = compress(mix, level)
        assert decompress(frame) == mix
        assert len(frame) <= previous, f"level {level}"
        previous = len(frame)
