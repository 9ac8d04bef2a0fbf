# SPDX-License-Identifier: Apache-2.0
"""`help()` explains every public name and each of its parameters, on every backend; dir() and reprs show only those."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pickle
import pydoc
import re
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documents import ARCHIVES, MODULES

import cpkg
import purepy.msgpack
import purepy.zstd
from cpkg import archive, msgpack, zstd
from cpkg.zstandard.backend_names import names_over
from purepy.msgpack.options import PACKING, UNPACKING

# created by functions, never by the caller
MADE_ELSEWHERE = re.compile(r"(Created|Made|Returned) by `")
REFUSED = re.compile(r"Raise (io\.UnsupportedOperation|NotImplementedError)")


def is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] in ("cpkg", "purepy")


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a type that do not come from the standard library."""
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not is_ours(owner):
            continue
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property) or inspect.isgetsetdescriptor(value) or callable(getattr(kind, name)):
            yield name, getattr(kind, name)


def unexplained(kind: type, names: Iterable[str]) -> list[str]:
    """Return the public attributes among `names` that neither a docstring of their own nor the class's explains."""
    text = " ".join(inspect.getdoc(base) or "" for base in kind.__mro__ if is_ours(base))
    known = {name for base in kind.__mro__ if not is_ours(base) for name in dir(base)} | {"advice"}  # see CodecError
    for name in dir(kind):
        value = getattr(kind, name)
        if name.isupper() or value.__doc__ not in (None, type(value).__doc__):
            known.add(name)
    return [name for name in names if name[0] != "_" and name not in known and not re.search(rf"\b{name}\b", text)]


def has_own_constructor(kind: type) -> bool:
    owner = next(base for base in kind.__mro__ if "__init__" in vars(base) or "__new__" in vars(base))
    return is_ours(owner) and not issubclass(kind, (enum.Enum, BaseException))


def faults(where: str, value: Any) -> Iterator[str]:
    """Yield the faults in the documentation of a value."""
    text = inspect.getdoc(value)
    if not text:
        yield f"{where}: nothing"
    elif "described with" in text:
        yield f"{where}: sends its reader elsewhere"
    elif isinstance(value, type):
        if has_own_constructor(value) and not MADE_ELSEWHERE.search(text):
            yield from unnamed(where, value, text)
        for name, member in members(value):
            yield from faults(f"{where}.{name}", member)
        if not issubclass(value, enum.Enum):
            yield from (f"{where}.{name}: nothing" for name in unexplained(value, dir(value)))
    elif callable(value) and not REFUSED.match(text):
        yield from unnamed(where, value, text)


def unnamed(where: str, value: Any, text: str) -> Iterator[str]:
    try:
        names = [name for name in inspect.signature(value).parameters if name != "self"]
    except (TypeError, ValueError):  # C types whose objects only functions create
        names = []
    missing = [name for name in names if not re.search(rf"\b{name}\b", text)]
    if missing:
        yield f"{where}: no word on {', '.join(missing)}"


@pytest.mark.parametrize("name", MODULES + ARCHIVES)
def test_every_public_name(name: str) -> None:
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    documented = [key for key in module.__all__ if callable(getattr(module, key)) and is_ours(getattr(module, key))]
    assert documented or name.endswith(("errors", "exceptions"))
    found = [fault for key in documented for fault in faults(f"{name}.{key}", getattr(module, key))]
    assert found == []


def words(value: Any) -> list[str]:
    """Return the words of its documentation, because line breaks depend on the indentation."""
    return (inspect.getdoc(value) or "").split()


def check(module: ModuleType, other: ModuleType) -> None:
    """Check that a backend documents all names, like another one."""
    names = [name for name in other.__all__ if is_ours(getattr(other, name))]
    assert len(names) > 9
    for name in names:
        ours, theirs = getattr(module, name), getattr(other, name)
        assert list(faults(name, ours)) == []
        assert words(ours) == words(theirs), name
        for key, member in members(ours) if isinstance(ours, type) else ():
            assert words(member) == words(getattr(theirs, key)), (name, key)


def test_backends_of_msgpack_have_one_text(msgpack: ModuleType) -> None:
    check(msgpack, purepy.msgpack)


def test_backends_of_zstd_have_one_text(zstd: ModuleType) -> None:
    check(zstd, purepy.zstd)


def test_objects_for_many_frames_show_no_settings(zstd: ModuleType) -> None:
    made = names_over(zstd)  # type: ignore[arg-type]
    for name in ("ZstdCompressor", "ZstdDecompressor"):
        value = made[name]()  # type: ignore[operator]
        assert unexplained(type(value), dir(value)) == []


@pytest.mark.parametrize(("name", "options"), [("packb", PACKING), ("unpackb", UNPACKING)])
def test_options_have_their_declared_types(msgpack: ModuleType, name: str, options: Any) -> None:
    text = inspect.getdoc(getattr(msgpack, name)) or ""
    described = dict(re.findall(r"^    (\w+) \((.*?)\): ", text, re.MULTILINE))
    assert {option: described[option] for option in options.types} == options.types


@pytest.mark.parametrize("name", ["packb", "unpackb", "unpackb_from", "unpack", "loads", "load"])
def test_help_begins_with_the_signature(msgpack: ModuleType, name: str) -> None:
    function = getattr(msgpack, name)
    shown = pydoc.plaintext.document(function, name)
    assert re.match(rf"{name}( = {function.__name__})?\([^)]*max_", shown)  # over several lines since 3.13


def test_the_stub_of_msgpack_is_current() -> None:
    """If this fails, install again, or run `python -m ffi_build.msgpack_stub`."""
    source = Path(__file__).parents[2] / "ffi_build" / "msgpack_stub.py"
    if not source.exists():
        pytest.skip("the sources of the build are not beside the tests")
    made = runpy.run_path(str(source))
    assert (Path(cpkg.__file__).parents[1] / made["PATH"]).read_text(encoding="utf-8") == made["text"]()


@pytest.mark.parametrize(("name", "count"), [("zstd", 0), ("zstandard", 5)])
def test_documentation_in_stubs_is_that_of_the_functions(name: str, count: int) -> None:
    """Editors find documentation that a stub lacks in the sources, except for nested functions."""
    stub = Path(cpkg.__file__).parent / name / "__init__.pyi"
    functions = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    texts = {function.name: text for function in functions if (text := ast.get_docstring(function))}
    module = importlib.import_module(f"cpkg.{name}")
    assert len(texts) == count
    assert texts == {function: inspect.getdoc(getattr(module, function)) for function in texts}


@pytest.mark.parametrize("name", MODULES + ARCHIVES)
def test_dir_shows_public_names_alone(name: str) -> None:
    module = importlib.import_module(name)
    shown = {found for found in dir(module) if not found.startswith("_")}
    if name in ARCHIVES:
        assert shown <= {*dir(importlib.import_module(name.rpartition(".")[2])), *module.__all__}
    else:
        assert shown == {*module.__all__, *(cpkg._SUBMODULES if module is cpkg else ())} - {"__version__"}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing


def test_values_are_of_public_modules() -> None:
    values = [
        msgpack.ExtType(1, b""),
        msgpack.Timestamp(0),
        msgpack.Raw(b"\x01"),
        zstd.get_frame_info(zstd.compress(b"")),
        zstd.ZstdDict(bytes(8), is_raw=True),
        archive.Entry("name"),
    ]
    for value in values:
        assert getattr(importlib.import_module(type(value).__module__), type(value).__name__) is type(value)
        assert type(value).__module__ in MODULES
        assert "purepy" not in repr(value)
        assert type(pickle.loads(pickle.dumps(value))) is type(value)
    assert "purepy" not in repr(zstd.open)
    for function in (cpkg.dumps, cpkg.loads, cpkg.dump, cpkg.load):
        assert pickle.loads(pickle.dumps(function)) is function
