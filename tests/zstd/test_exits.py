# SPDX-License-Identifier: Apache-2.0
"""
Writers that are never closed, in cycles of several kinds: collected, or still open when the interpreter exits.

One process opens one writer of each kind, so that the whole test costs little more than starting an interpreter or two.
"""

from __future__ import annotations

import pathlib
import sys
from types import ModuleType

import pytest
from extent import some
from processes import run_alone, sections

PROGRAMS = sections(__file__, "programs.txt")
ENDINGS = ["collected", "kept elsewhere", "dropped", "kept", "in a thread", "kept by the module"]
COUNT = 2 * (2 * 9 + 4)
LINE = "line of text é\n".encode()


@pytest.mark.parametrize("ending", some(ENDINGS, 2))
def test_unclosed_writer_is_complete_at_exit(zstd: ModuleType, ending: str, tmp_path: pathlib.Path) -> None:
    if ending == "dropped" and sys.implementation.name != "cpython":
        pytest.skip("PyPy ends without the finalizers of what is garbage by then, and flushes only what is held")
    code = PROGRAMS["writers in cycles"] + f"folder = {str(tmp_path)!r}\n" + PROGRAMS[f"writers {ending}"]
    result = run_alone(zstd, "zstd", code)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    found = {}
    for path in tmp_path.iterdir():
        size = int(path.name.rpartition("-")[2])
        content = path.read_bytes()
        if ending == "collected" or sys.implementation.name == "cpython":
            try:
                whole = zstd.decompress(content) if content else b""
            except zstd.ZstdError as exc:
                whole = repr(exc).encode()
        else:  # PyPy exits without running finalizers, but flushes files
            whole = zstd.ZstdDecompressor().decompress(content)
        found[path.name] = "whole" if whole == LINE * size else whole[:60]
    assert found == dict.fromkeys(found, "whole")
    assert len(found) == COUNT
