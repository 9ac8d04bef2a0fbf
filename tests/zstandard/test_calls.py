# SPDX-License-Identifier: Apache-2.0
"""Calls of cpkg.zstandard whose result depends only on their arguments: values, errors, and the texts of errors."""

from __future__ import annotations

import io
import pickle
import struct
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from call_tables import calls, check_call
from zstd_data import SAMPLES

from purepy.base.errors import ZstdLimitError

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(200))
FIELDS = ["window_log", "chain_log", "hash_log", "search_log", "min_match", "target_length", "strategy", "threads"]


def left(file: Any) -> tuple[bool, Any]:
    """Return whether a `with` block gets the file itself, and how the file handles an exception of the block."""
    return file.__enter__() is file, file.__exit__(ValueError, ValueError("x"), None)


@pytest.fixture
def names(zstandard: SimpleNamespace, tmp_path: Path) -> dict[str, Any]:
    """Return the names that rows use; one of the paths is an existing file."""
    (tmp_path / "there").write_bytes(CONTENT)
    return {
        **vars(zstandard),
        "left": left,
        "attrgetter": attrgetter,
        "pack": struct.pack,
        "pickle": pickle,
        "BytesIO": io.BytesIO,
        "there": tmp_path / "there",
        "absent": tmp_path / "absent",
        "content": CONTENT,
        "SAMPLES": SAMPLES,
        "compressor": zstandard.ZstdCompressor(),
        "decompressor": zstandard.ZstdDecompressor(),
        "ZstdLimitError": ZstdLimitError,
        "FIELDS": FIELDS,
        "frame": zstandard.compress(CONTENT),
        "unsized": zstandard.ZstdCompressor(write_content_size=False).compress(CONTENT),
    }


@calls(Path(__file__).with_name("calls.txt"), every=4)
def test_call(names: dict[str, Any], tmp_path: Path, call: str, outcome: list[str]) -> None:
    check_call(call, outcome, names)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"there": CONTENT}
