# SPDX-License-Identifier: Apache-2.0
"""Every error of the decoder, each triggered by a crafted frame: its type, code, text and offset."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NamedTuple

import pytest
from zstd_frames import MAGIC, compressed, raw_literals
from zstd_oracle import libzstd, other_form

import purepy.zstd
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import corruption, moved

TEN = compressed(raw_literals(b"0123456789") + b"\0")


class Case(NamedTuple):
    """An invalid frame from errors.json, which also has the expression that built it with zstd_frames."""

    name: str
    frame: bytes
    code: int | None
    text: str
    offset: int


SECTIONS = json.loads(Path(__file__).with_name("errors.json").read_text(encoding="utf-8"))["sections"]
CASES = [
    Case(row["name"], bytes.fromhex(row["frame"]), row["code"], row["text"], row["offset"])
    for rows in SECTIONS.values()
    for row in rows
]
IDS = [case.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_error(codec: ModuleType, case: Case) -> None:
    error = pytest.raises(ZstdError, codec.decompress, case.frame).value
    assert case.text in str(error)
    assert (error.code, error.offset) == (case.code, case.offset)
    assert str(error).startswith(f"Unable to decompress Zstandard data: {error.name}: ")
    assert error.args[0].endswith(f"(at byte {case.offset})")
    assert isinstance(error, ZstdLimitError) == (case.code == 16)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_error_in_pieces(codec: ModuleType, case: Case) -> None:
    decompressor = codec.ZstdDecompressor(multi_frame=True)
    pieces = [case.frame[at : at + 1] for at in range(len(case.frame))]
    caught = pytest.raises(ZstdError, list, map(decompressor.decompress, pieces))
    assert (caught.value.code, caught.value.offset) == (case.code, case.offset) or case.code == 10
    assert decompressor.decompress(TEN) == b"0123456789"
    assert decompressor.eof


# docs/zstd.md has the whole list; libzstd rejects the others from 1.5.6 on.
LIBZSTD_LETS_PASS = {"empty block", "window's offset", "length"}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_libzstd_rejects_it_too(case: Case) -> None:
    library = libzstd()
    if case.name in LIBZSTD_LETS_PASS:
        assert isinstance(library.decompress(case.frame), bytes)
        return
    if library.zstd_version_info < (1, 5, 6):
        pytest.skip("older versions let more pass")
    pytest.raises(library.ZstdError, library.decompress, case.frame)


def raising_lines() -> dict[tuple[str, int], str]:
    """Return the line of each statement of the decoder that raises an error about the input."""
    found = {}
    package = Path(purepy.zstd.__file__).parent
    parts = ("bits", "block", "frame", "frame_decoder", "fse", "huffman", "literals", "sequence_tables", "sequences")
    for path in (package / "format" / "header.py", *(package / "decoder" / f"{name}.py" for name in parts)):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            text = ast.unparse(node.exc)
            if text.startswith(
                ("corruption", "decoding_error", "not_at_end", "_zero_offset", "_bad_offset", "_too_long")
            ):
                found[path.name, node.lineno] = text
    return found


def raised_at(traceback: TracebackType | None) -> tuple[str, int]:
    assert traceback is not None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return Path(traceback.tb_frame.f_code.co_filename).name, traceback.tb_lineno


def test_no_error_is_left_out() -> None:
    """The cases reach every statement that raises an error about the input, in one form of the loops or the other."""
    known = raising_lines()
    assert len(known) > 40
    left = dict(known)
    for codec in (purepy.zstd, other_form()):
        for case in CASES:
            where = raised_at(pytest.raises(ZstdError, codec.decompress, case.frame).value.__traceback__)
            # A call over several lines is reported at one of them: use the statement that begins before it.
            begins = max((line for name, line in known if name == where[0] and line <= where[1]), default=0)
            left.pop((where[0], begins), None)
            if not begins:
                pytest.fail(f"{case.name} is raised at {where}")
    # Errors that only get_frame_size and get_frame_info raise are in test_decoder_frame.py.
    left = {key: text for key, text in left.items() if key[0] != "frame.py"}
    assert left == {}


def test_magic_is_refused_at_once(codec: ModuleType) -> None:
    for prefix in (b"\0", MAGIC[:1] + b"\0", MAGIC[:3] + b"\0", b"\x50\x2a\0", b"\x60\x2a\x4d\x18"):
        pytest.raises(ZstdError, codec.ZstdDecompressor().decompress, prefix).match("Unknown frame descriptor")


def test_a_moved_error_names_one_offset() -> None:
    """A part of the input counts from its own beginning; the error is then corrected by the part's position."""
    error = corruption(5, "wrong bits")
    moved(error, 100)
    assert error.offset == 105
    assert error.detail == "wrong bits (at byte 105)"
    assert str(error).endswith(error.detail)
