# SPDX-License-Identifier: Apache-2.0
"""Calls of cpkg.zstandard whose result depends only on their arguments: values, errors, and the texts of errors."""

from __future__ import annotations

import inspect
import io
import json
import pickle
import struct
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from call_tables import calls, check_call
from documents import check_examples
from zstd_data import SAMPLES

import cpkg.zstandard
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


# --- names, arguments, defaults, values -------------------------------------------------------------------------------

# the functions and methods in the original's stub, with their parameters in its order
SIGNATURES = json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))
FILE_METHODS = [
    *("close", "closed", "flush", "isatty", "read", "readable", "readall", "readinto", "readline", "readlines"),
    *("seekable", "tell", "writable", "write", "writelines", "__enter__", "__exit__", "__iter__", "__next__"),
]
WRITER_METHODS = [*FILE_METHODS, "fileno", "memory_size", "seek", "truncate"]


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(zstandard: SimpleNamespace, name: str) -> None:
    thing: Any = zstandard
    for part in name.split("."):
        thing = getattr(thing, part)
    found = [parameter for parameter in inspect.signature(thing).parameters if parameter not in ("self", "cls")]
    assert found == SIGNATURES[name]


def test_file_types(zstandard: SimpleNamespace) -> None:
    for reader in (zstandard.ZstdCompressionReader, zstandard.ZstdDecompressionReader):
        assert [name for name in [*FILE_METHODS, "read1", "readinto1"] if not hasattr(reader, name)] == []
    for writer in (zstandard.ZstdCompressionWriter, zstandard.ZstdDecompressionWriter):
        assert [name for name in WRITER_METHODS if not hasattr(writer, name)] == []
    assert hasattr(zstandard.ZstdDecompressionReader, "seek")


def test_all_names_exist() -> None:
    assert [name for name in cpkg.zstandard.__all__ if not hasattr(cpkg.zstandard, name)] == []
    assert cpkg.zstandard.__version__ == "0.25.0"
    assert cpkg.zstandard.backend_features == {"buffer_types", "multi_compress_to_buffer", "multi_decompress_to_buffer"}
    assert cpkg.zstandard.COMPRESSION_RECOMMENDED_OUTPUT_SIZE == 131591
    assert cpkg.zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE == 131075
    assert cpkg.zstandard.MAGIC_NUMBER == 4247762216


def test_subclasses(zstandard: SimpleNamespace) -> None:
    class Counting(zstandard.ZstdCompressor):  # type: ignore[misc, name-defined]
        calls = 0

        def compress(self, data: bytes) -> bytes:
            self.calls += 1
            frame: bytes = super().compress(data)
            return frame

    counting = Counting(level=5)
    assert zstandard.decompress(counting.compress(b"abc")) == b"abc"
    assert counting.calls == 1


def test_examples(zstandard: SimpleNamespace) -> None:
    at_least, but = 15, ""
    if zstandard.codec.BACKEND == "pure":  # the pure backend does not train
        at_least, but = 10, "Dictionaries"
    without = "import cpkg.zstandard as zstandard"
    check_examples("zstandard.md", at_least, {"zstandard": zstandard}, without=without, but=but)
