# SPDX-License-Identifier: Apache-2.0
"""
The fast loops have one half for the items of arrays and one for the values of maps, because a call costs more than a
value. The half for maps, renamed as declared here, differs from its mirror only as mirrored_halves.txt declares.
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from pathlib import Path

import pytest

import purepy

pytestmark = pytest.mark.once

ROOT = Path(purepy.__file__).resolve().parents[1]
TABLE = Path(__file__).with_name("mirrored_halves.txt")

READING = {
    r"node\[key\] = (.*)": r"node.append(\1)",
    r"KEY, node": "ITEM, node",
    r"\(VALUE, node, left, key\)": "(ITEM, node, left, None)",
}
WRITING = {r"\(True, items": "(False, items"}


def source(nodes: list[ast.stmt], text: str) -> list[str]:
    """Return the source lines of some statements, without comments."""
    lines = text.splitlines()[nodes[0].lineno - 1 : nodes[-1].end_lineno]
    return textwrap.dedent("\n".join(re.sub(r"\s+# .*", "", line) for line in lines)).splitlines()


def halves(path: str, name: str, test: str) -> tuple[list[str], list[str]]:
    """Return the statements of a function for a true `test`, and those for a false one."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    ifs = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    branch = next(node for node in ifs if ast.get_source_segment(text, node.test) == test)
    return source(branch.body, text), source(branch.orelse, text)


def differences(items: list[str], maps: list[str], names: dict[str, str]) -> list[str]:
    """Return the differences between the half for maps, renamed, and the half for items, including indentation."""
    for found, mirrored in names.items():
        maps = [re.sub(found, mirrored, line) for line in maps]
    found = []
    for what, i, j, k, m in difflib.SequenceMatcher(None, items, maps, autojunk=False).get_opcodes():
        if what != "equal":
            found += [f"- {line.strip()}" for line in items[i:j]] + [f"+ {line.strip()}" for line in maps[k:m]]
    return found


PURE_WRITER = ("purepy/msgpack/plain_writer.py", "write_plain")
PYPY_WRITER = ("cpkg/_native/msgpack/pypy/pack.py", "_write")
LOOPS = {
    "reading": ("purepy/msgpack/plain_reader.py", "read_plain", READING),
    "writing": (*PURE_WRITER, WRITING),
    "writing on PyPy": (*PYPY_WRITER, WRITING),
}
DECLARED = dict(re.findall(r"^\[(.+)\]\n((?:[-+] .+\n)+)", TABLE.read_text(encoding="utf-8"), re.MULTILINE))


def loop(path: str, name: str) -> tuple[list[str], list[str]]:
    """Return the half for items and the half for maps."""
    if name == "read_plain":
        return halves(path, name, "next_ == ITEM")
    maps, items = halves(path, name, "in_map")
    return items, maps


@pytest.mark.parametrize("half", LOOPS)
def test_halves_mirror_each_other(half: str) -> None:
    path, name, names = LOOPS[half]
    declared = DECLARED[half].splitlines()
    items, maps = loop(path, name)
    assert differences(items, maps, names) == declared
    for lines in (items, maps):  # a line that is changed in only one half is found
        changed = [i for i, line in enumerate(lines) if line.strip() not in ("else:", "")]
        for at in changed[:: max(1, len(changed) // 10)]:
            before, lines[at] = lines[at], lines[at] + " + 1"
            assert differences(items, maps, names) != declared, before
            lines[at] = before


def test_both_writers_check_types_in_the_same_order() -> None:
    """The fastest type to check comes first; the order was measured once, for both."""

    def order(path: str, name: str) -> list[str]:
        return [line.strip() for line in loop(path, name)[0] if re.match(r"\s+(el)?if (kind|value) is [\w ]+:", line)]

    assert len(order(*PURE_WRITER)) == 9
    assert order(*PURE_WRITER) == order(*PYPY_WRITER)
