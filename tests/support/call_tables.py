# SPDX-License-Identifier: Apache-2.0
"""Tables of calls: what each of them returns, or the error that it raises."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from extent import some


def calls(table: Path, every: int) -> pytest.MarkDecorator:
    """
    Parametrize a test with the lines of a table: the columns `call` and `outcome`, separated by two or more spaces.

    An outcome is `= value`, or an exception type, then optionally a pattern of its text and values of its attributes,
    again separated by spaces. A call with alternatives, «a | b», is one case for each. Interpreters other than CPython
    3.11 run one case in `every`.
    """
    rows = []
    for line in table.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            call, *outcome = re.split(r"  +", line)
            rows += [pytest.param(chosen, outcome, id=chosen) for chosen in _alternatives(call)]
    return pytest.mark.parametrize(("call", "outcome"), some(rows, every))


def dialogues(table: Path) -> pytest.MarkDecorator:
    """
    Parametrize a test with the paragraphs of a table, each with a title after #, as `lines`.

    A line is a call and its outcome as in `calls`, only a call (which must return None), or `name = object`.
    """
    rows = []
    for paragraph in table.read_text(encoding="utf-8").strip().split("\n\n"):
        title, *lines = paragraph.splitlines()
        rows.append(pytest.param(lines, id=title.lstrip("# ")))
    return pytest.mark.parametrize("lines", rows)


def check_dialogue(lines: list[str], names: dict[str, Any]) -> None:
    """Run the lines of a dialogue, which may use `names`, and compare the outcomes."""
    for line in lines:
        call, *outcome = re.split(r"  +", line)
        name, _, value = call.partition(" = ")
        if value and name.isidentifier():
            names[name] = eval(value, names)
            continue
        for chosen in _alternatives(call):
            check_call(chosen, outcome or ["= None"], names)


def _alternatives(call: str) -> list[str]:
    parts = [part.split(" | ") if at % 2 else [part] for at, part in enumerate(re.split("«(.+?)»", call))]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def check_call(call: str, outcome: list[str], names: dict[str, Any]) -> None:
    """Make a call of a table, which may use `names`, and compare its outcome."""
    if outcome[0].startswith("= "):
        assert eval(call, names) == eval(outcome[0][2:], names)
        return
    error, pattern, attributes = [*outcome, "", ""][:3]
    with pytest.raises(eval(error, names), match=pattern or None) as caught:
        eval(call, names)
    for name, value in eval(f"dict({attributes})", names).items():
        assert getattr(caught.value, name) == value
