# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/typed.md run, one after the other."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "typed.md"


def test_every_example_of_the_page_runs(monkeypatch):
    pytest.importorskip("annotated_types")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    module = types.ModuleType("examples_of_typed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = "from __future__ import annotations\n"
    for block in blocks:
        exec(compile(code + block, str(PAGE), "exec", dont_inherit=True), vars(module))
