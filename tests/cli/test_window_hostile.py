# SPDX-License-Identifier: Apache-2.0
"""Frames with a large window: refused by default, and read by who allows so much output."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import cpkg
from cpkg import _backend
from cpkg.cli.commands import cli
from cpkg.objects import dumps_loads
from cpkg.zstd import ZstdError

GIB_WINDOW = bytes([0b10100000])  # the window descriptor: 2**(10 + 20) bytes


def frame(descriptor: bytes, message: bytes) -> bytes:
    """Return a frame of one raw block, of undeclared size, with a window descriptor."""
    block = (len(message) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x00" + descriptor + block + message


def test_a_window_of_a_gibibyte(tmp_path: Path) -> None:
    path = tmp_path / "x.mpz"
    path.write_bytes(frame(GIB_WINDOW, cpkg.dumps(["text"], compress=False)))
    for arguments in ([], ["--max-output-size", "100M"], ["--max-output-size", "1000M"]):
        result = CliRunner().invoke(cli, ["unpack", str(path), "-o", "-", *arguments])
        assert result.exit_code == 1
        assert "Frame requires too much memory" in result.output
        assert result.output.endswith("; --max-output-size allows more\n")
        assert "Parameter" not in result.output
    for size in ("1G", "2G", "unlimited"):
        result = CliRunner().invoke(cli, ["unpack", str(path), "-o", "-", "--max-output-size", size])
        assert (result.exit_code, result.output) == (0, '["text"]\n')


@pytest.mark.parametrize("log", [28, 29, 30, 31])
def test_the_window_that_max_output_size_allows(zstd: ModuleType, log: int) -> None:
    data = frame(bytes([(log - 10) << 3]), b"\x01")
    codecs = dumps_loads.Codecs(_backend.choose("msgpack").module, zstd)
    assert dumps_loads.decode(codecs, data, max_output_size=2**log) == 1
    assert dumps_loads.decode(codecs, data, max_output_size=-1) == 1
    for limit in (None, 0, 2**27, 2**log - 1):
        with pytest.raises(ZstdError, match="too much memory"):
            dumps_loads.decode(codecs, data, max_output_size=limit)
