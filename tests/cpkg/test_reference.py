# SPDX-License-Identifier: Apache-2.0
"""The API reference has every public name, and all names in its tables exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest
from documents import DOCS, MODULES, blocks, section

import cpkg
from cpkg import typed, zstd
from purepy import msgpack as options_of

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
INTEGRATIONS = sorted((ROOT / "cpkg" / "integrations").glob("[!_]*.py"))
KINDS = {"function", "class", "exception", "data"}
_DIRECTIVE = re.compile(r"^\.\. (?:py:|auto)?(\w+):: (.*(?:\n {4,}\w.*)*)", re.MULTILINE)


def described(text: str) -> dict[str, set[str]]:
    """Return the names that pages of the reference describe, by module."""
    found: dict[str, set[str]] = {}
    module = ""
    for block in blocks(text, r"\{eval-rst\}"):
        for kind, names in _DIRECTIVE.findall(block):
            if kind == "currentmodule":
                module = names.strip()
                found.setdefault(module, set())
            elif kind in KINDS:
                found[module].update(name.split("(")[0] for name in names.split())
    return found


REFERENCE = described("\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")))


def test_what_a_page_describes_is_found() -> None:
    names = ".. autofunction:: f\n.. py:class:: C\n.. py:data:: X\n             Y\n   :no-index:\n"
    text = f"```{{eval-rst}}\n.. currentmodule:: a\n\n{names}```\n"
    assert described(text) == {"a": {"f", "C", "X", "Y"}}


@pytest.mark.parametrize("name", MODULES)
def test_exceptions_name_a_public_module(name: str) -> None:
    """The exception name in a traceback can be imported, and is in the reference."""
    module = importlib.import_module(name)
    for each in module.__all__:
        value = getattr(module, each)
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ != "builtins":
            assert value.__module__ in MODULES, value
            assert getattr(importlib.import_module(value.__module__), value.__name__) is value


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists(name: str) -> None:
    """It is under its module, or the same object is under another one: errors and modules have their own pages."""
    module = importlib.import_module(name)
    own = REFERENCE.get(name, set())
    modules = [importlib.import_module(other) for other in MODULES]
    elsewhere = {id(getattr(other, each, None)) for other in modules for each in REFERENCE.get(other.__name__, ())}
    for each in {*module.__all__} - own:
        value = getattr(module, each)
        is_page = isinstance(value, ModuleType) and value.__name__ in REFERENCE
        assert is_page or (isinstance(value, type) and id(value) in elsewhere), each
    assert own <= {*module.__all__}


@pytest.mark.parametrize("path", INTEGRATIONS, ids=lambda path: path.stem)
def test_every_name_of_an_integration_exists(path: Path) -> None:
    names = re.search(r"^__all__ = (.*?\])$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert names is not None
    assert REFERENCE[f"cpkg.integrations.{path.stem}"] == set(ast.literal_eval(names[1]))


def test_every_function_for_dask_exists() -> None:
    tree = ast.parse((ROOT / "cpkg" / "dask" / "__init__.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert REFERENCE["cpkg.dask"] == names


def there(module: ModuleType, dotted: str) -> bool:
    """Return whether a module has this name, possibly in a member or submodule."""
    found: object = module
    for part in dotted.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{module.__name__}.{part}")
            except ImportError:
                return False
    return True


def test_names_that_others_have_are_called_so_here() -> None:
    """Check the right columns of the page about switching from other libraries."""
    text = (DOCS / "start" / "coming_from.md").read_text(encoding="utf-8")
    functions = [options_of.Packer, options_of.Unpacker, typed.Decoder, typed.Encoder, zstd.compress, zstd.decompress]
    options = {name for function in functions for name in inspect.signature(function).parameters}
    checked = 0
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [re.split(r"(?<!\\) \| ", row.strip("| ")) for row in table.splitlines()]
        module = importlib.import_module(head[1].strip("`"))
        for row in rows:
            for quoted in re.findall(r"`([^`]+)`", row[1]):
                plain = re.findall(r"[\w.]+", quoted)[0].removeprefix("cpkg.")
                known = there(module, plain) or there(cpkg, plain) or plain in options
                assert known or quoted in ELSEWHERE, (head[1], quoted)
                checked += 1
    assert checked > 60


ELSEWHERE = {
    *("pure", "CPKG_MSGPACK_BACKEND", "offset", "path", 'kind: Literal["cat"] = "cat"', "slots=True"),
    *("Annotated[int, annotated_types.Gt(0)]", "all_errors=True"),
}
"""Names in the right columns that are not Python names of ours: a backend, a variable, fields, annotations."""


def test_calls_that_replace_those_of_pyzstd() -> None:
    text = section("start/coming_from.md", "pyzstd").replace("_or_option", "")
    calls = re.findall(r"`(compress\(data, [^`]+)`", text)
    assert len(calls) == 3
    names = {name: getattr(zstd, name) for name in ("compress", "CompressionParameter")}
    for call in calls:
        assert zstd.decompress(eval(call, {**names, "data": b"text", "level": 3})) == b"text"
