# SPDX-License-Identifier: Apache-2.0
"""
The fast loops have one half for the items of arrays and one for the values of maps, because a call costs more than a
value. The half for maps, renamed as declared here, differs from its mirror in what is declared, and in nothing else.
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from pathlib import Path

import pytest

import purepy

ROOT = Path(purepy.__file__).resolve().parents[1]

READING = {
    r"node\[key\] = (.*)": r"node.append(\1)",
    r"KEY, node": "ITEM, node",
    r"\(VALUE, node, left, key\)": "(ITEM, node, left, None)",
}
READING_DIFFERS = """
+ guess = following[last]
+ packed, length, key = slots[guess]
+ end = pos + length
+ if data[pos:end] == packed:
+ last = guess
+ pos = end
+ else:
+ byte = data[pos]
+ if 0xA0 <= byte <= 0xBF:
+ end = pos + 1 + (byte & 0x1F)
+ length = 1
+ elif byte == 0xD9:
+ end = pos + 2 + data[pos + 1]
+ length = 2
+ else:
+ return start, ITEM, node, left
+ if end > size:
+ return start, ITEM, node, left
+ if end - pos <= LONGEST:
+ last, key = KEYS.find(data[pos:end], length, last)
+ else:
+ key = data[pos + length : end].decode()
+ pos = end
+ packed = None
- continue
+ next_ = ITEM
+ break
- next_ = KEY
- break
+ continue
- continue
+ next_ = ITEM
+ break
- next_ = KEY
- break
+ continue
- byte = end = length = 0
+ byte = end = length = guess = 0
"""
WRITING = {r"\(True, items": "(False, items"}
WRITING_DIFFERS = """
- for value in items:
+ for key, value in items:
+ length -= 1
+ if type(key) is str:
+ packed = utf8(key)
+ out.append(_STR[len(packed)] if len(packed) <= 0xFF else str_header(len(packed)))
+ out.append(packed)
+ else:
+ other(out, key, depth + len(stack))
- if len(node) != length:
- raise changed("list")
- in_map = True
+ in_map = False
- if len(node) != length:
- raise changed("list")
- value = kind = packed = None
+ key = value = kind = packed = None
- if len(node) != length:
- raise changed("list")
- if not stack:
- return
+ if length:
+ raise changed("dictionary")
"""
PYPY_DIFFERS = """
- for value in items:
+ for key, value in items:
+ if type(key) is str:
+ put_text(out, key)
+ else:
+ _other(out, key, len(stack), node, other)
- in_map = True
+ in_map = False
- value = kind = None
+ key = value = kind = None
- raise changed("list")
- if not stack:
- return
+ raise changed("dictionary")
"""


def source(nodes: list[ast.stmt], text: str) -> list[str]:
    """Return the lines of some statements, without comments."""
    lines = text.splitlines()[nodes[0].lineno - 1 : nodes[-1].end_lineno]
    return textwrap.dedent("\n".join(re.sub(r"\s+# .*", "", line) for line in lines)).splitlines()


def halves(path: str, name: str, test: str) -> tuple[list[str], list[str]]:
    """Return what a function does where `test` holds, and where it does not."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    branch = next(
        node
        for node in ast.walk(function)
        if isinstance(node, ast.If) and ast.get_source_segment(text, node.test) == test
    )
    return source(branch.body, text), source(branch.orelse, text)


def differences(items: list[str], maps: list[str], names: dict[str, str]) -> list[str]:
    """Return how the half for maps, renamed, differs from the half for items, indentation included."""
    for found, mirrored in names.items():
        maps = [re.sub(found, mirrored, line) for line in maps]
    found = []
    for what, i, j, k, m in difflib.SequenceMatcher(None, items, maps, autojunk=False).get_opcodes():
        if what != "equal":
            found += [f"- {line.strip()}" for line in items[i:j]] + [f"+ {line.strip()}" for line in maps[k:m]]
    return found


LOOPS = [
    pytest.param("purepy/msgpack/plain_reader.py", "read_plain", READING, READING_DIFFERS, id="reading"),
    pytest.param("purepy/msgpack/plain_writer.py", "write_plain", WRITING, WRITING_DIFFERS, id="writing"),
    pytest.param("cpkg/_native/msgpack/pypy/pack.py", "_write", WRITING, PYPY_DIFFERS, id="writing on PyPy"),
]


def loop(path: str, name: str) -> tuple[list[str], list[str]]:
    """Return the half for items and the half for maps."""
    if name == "read_plain":
        return halves(path, name, "next_ == ITEM")
    maps, items = halves(path, name, "in_map")
    return items, maps


@pytest.mark.parametrize(("path", "name", "names", "declared"), LOOPS)
def test_halves_mirror_each_other(path: str, name: str, names: dict[str, str], declared: str) -> None:
    items, maps = loop(path, name)
    assert differences(items, maps, names) == declared.strip().splitlines()


@pytest.mark.parametrize(("path", "name", "names", "declared"), LOOPS)
def test_a_line_that_changes_in_one_half_is_found(path: str, name: str, names: dict[str, str], declared: str) -> None:
    items, maps = loop(path, name)
    for half in (items, maps):
        changed = [i for i, line in enumerate(half) if line.strip() not in ("else:", "")]
        for at in changed[:: max(1, len(changed) // 10)]:
            before, half[at] = half[at], half[at] + " + 1"
            assert differences(items, maps, names) != declared.strip().splitlines(), before
            half[at] = before


def test_both_writers_ask_for_types_in_the_same_order() -> None:
    """What comes first is what is fastest: measured once, for both."""

    def order(path: str, name: str) -> list[str]:
        return [line.strip() for line in loop(path, name)[0] if re.match(r"\s+(el)?if (kind|value) is [\w ]+:", line)]

    found = order("purepy/msgpack/plain_writer.py", "write_plain")
    assert len(found) == 9
    assert order("cpkg/_native/msgpack/pypy/pack.py", "_write") == found
