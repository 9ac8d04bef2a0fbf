# SPDX-License-Identifier: Apache-2.0
"""
Write the stubs that type checkers and editors read: signatures and documentation are those of the functions.

`python tests/support/stubs.py`, then `ruff format`, writes them anew; tests/cpkg/test_documentation.py compares. The
stub of MessagePack is written whole, since its functions are made from the declarations in purepy/msgpack/options.py;
those of the others, whose types say more than the functions do, get their documentation.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "purepy/msgpack": "purepy.msgpack",
    "cpkg/typed": "cpkg.typed",
    "cpkg/zstandard": "cpkg.zstandard",
    "cpkg/zstd": "purepy.zstd",
}
"""The folders of stubs, and the modules that have their names; every backend has the same documentation."""
ELSEWHERE = {"AsyncZstdFile": "purepy.zstd.aio.file", "register_shutil": "cpkg.zstd._shutil"}
"""Names that another module has; what it calls AsyncZstdFile is private in the stub."""

MSGPACK = """\
# SPDX-License-Identifier: Apache-2.0
# Functions that are made from the declarations in options.py, as type checkers and editors see them. Written by
# tests/support/stubs.py.

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Protocol, TypedDict, overload

from typing_extensions import Buffer, TypeVar, Unpack

from purepy.msgpack import packer, unpacker
from purepy.msgpack.async_reading import AsyncReadable
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import Readable
from purepy.msgpack.packer import Writable

_T = TypeVar("_T", default=Any)
_T_co = TypeVar("_T_co", covariant=True)

# what `cpkg.typed.Decoder` is: purepy may not name it
class _Decoder(Protocol[_T_co]):
    def decode(self, data: Any) -> _T_co: ...
    def convert(self, obj: Any, *, from_attributes: bool = False) -> _T_co: ...

class _Packing(TypedDict, total=False):
{packing}

class _Unpacking(TypedDict, total=False):
{unpacking}

class _Limits(TypedDict, total=False):
{limits}

class _StreamLimits(_Limits, total=False):
    read_size: int
    max_buffer_size: int

BACKEND: str
LIBRARY_VERSION: str | None
job_functions: None
typed_packb: None
TypedTable: None
TypedClass: None
Rows: None
read_rows: None
message_starts: None

class Packer(packer.Packer):
    def __init__({Packer}

class Unpacker(unpacker.Unpacker, Generic[_T]):
    @overload
    def __init__({Unpacker}
    @overload
    def __init__(
        self, file_like: Readable | None = None, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_StreamLimits]
    ) -> None: ...
    # a union or an alias is no type[_T]
    @overload
    def __init__(
        self: Unpacker[Any], file_like: Readable | None = None, *, type: Any, **limits: Unpack[_StreamLimits]
    ) -> None: ...
    def unpack(self) -> _T: ...
    def __iter__(self) -> Unpacker[_T]: ...
    def __next__(self) -> _T: ...

def packb({packb}
def pack({pack}
def pack_into({pack_into}
@overload
def unpackb({unpackb}
@overload
def unpackb(packed: Buffer, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpackb(packed: Buffer, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpackb_from({unpackb_from}
@overload
def unpackb_from(
    buffer: Buffer, offset: int = 0, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]
) -> tuple[_T, int]: ...
@overload
def unpackb_from(buffer: Buffer, offset: int = 0, *, type: Any, **limits: Unpack[_Limits]) -> tuple[Any, int]: ...
@overload
def unpack({unpack}
@overload
def unpack(stream: Readable, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpack(stream: Readable, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpack_async(
    reader: AsyncReadable, *, read_size: int = 0, max_buffer_size: int = ..., **options: Unpack[_Unpacking]
) -> AsyncIterator[Any]: ...
@overload
def unpack_async(
    reader: AsyncReadable, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_StreamLimits]
) -> AsyncIterator[_T]: ...
@overload
def unpack_async(reader: AsyncReadable, *, type: Any, **limits: Unpack[_StreamLimits]) -> AsyncIterator[Any]: ...
def prepare_packb(**options: Unpack[_Packing]) -> Callable[[Any], bytes]: ...
def prepare_unpackb(**options: Unpack[_Unpacking]) -> Callable[[Buffer], Any]: ...
def find_excess(data: Any, allowed: int, content_max: int) -> int: ...

dump = pack
dumps = packb
load = unpack
loads = unpackb
"""


def signature(function: Any, indent: str) -> str:
    """Return what follows the name and the parenthesis of a function in a stub."""
    found = inspect.signature(function)
    lines = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in lines:
            lines.append("*")
        annotation = "" if parameter.name == "self" else f": {parameter.annotation}"
        default = parameter.default
        is_simple = default is None or isinstance(default, (bool, int))
        ending = "" if default is parameter.empty else f" = {default}" if is_simple else " = ..."
        if parameter.name == "type":
            annotation = ": None"  # with another, the result has a type: the overloads below
        lines.append(f"{parameter.name}{annotation}{ending}")
    spelled = "".join(f"{indent}    {line},\n" for line in lines)
    return f"\n{spelled}{indent}) -> {found.return_annotation}: ..."


def msgpack_stub() -> str:
    module = importlib.import_module("purepy.msgpack")
    options = importlib.import_module("purepy.msgpack.options")
    functions = ("packb", "pack", "pack_into", "unpackb", "unpackb_from", "unpack")
    spelled = {name: signature(getattr(module, name), "") for name in functions}
    spelled |= {name: signature(getattr(module, name).__init__, "    ") for name in ("Packer", "Unpacker")}
    for name, declared in (("packing", options.PACKING), ("unpacking", options.UNPACKING)):
        types = {option: type_ if option != "type" else None for option, type_ in declared.types.items()}
        spelled[name] = "\n".join(f"    {option}: {type_}" for option, type_ in types.items())
    limits = [f"    {name}: {type_}" for name, type_ in options.UNPACKING.types.items() if name.startswith("max_")]
    spelled["limits"] = "\n".join(limits)
    text = MSGPACK
    for name, spelling in spelled.items():
        text = text.replace(f"{{{name}}}", spelling)
    return text


def documentation(value: Any, indent: str) -> list[str]:
    text = inspect.getdoc(value)
    if not text:
        return []
    text = text.replace("\\", "\\\\")
    if "\n" not in text:
        return [f'{indent}"""{text}"""']
    return [f'{indent}"""', *(f"{indent}{line}" if line else "" for line in text.split("\n")), f'{indent}"""']


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def without_documentation(text: str) -> str:
    """Return a stub without what `documented` puts into it."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and is_text(node.body[0]):
            first = node.body[0]
            assert first.end_lineno is not None
            if len(node.body) == 1:
                lines[first.lineno - 2] += " ..."
            lines[first.lineno - 1 : first.end_lineno] = []
            return without_documentation("\n".join(lines))
    return text


def documented(text: str, module: Any) -> str:
    """Put the documentation of a module's names into its stub."""
    lines = text.split("\n")
    changes: list[tuple[Any, list[str]]] = []

    def visit(nodes: list[ast.stmt], owner: Any) -> None:
        seen = set()
        for node in nodes:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name in seen:
                continue
            seen.add(node.name)  # of overloads, the first
            name = node.name if node.name.lstrip("_") not in ELSEWHERE else node.name.lstrip("_")
            if name.startswith("_"):
                continue
            source = importlib.import_module(ELSEWHERE[name]) if name in ELSEWHERE else owner
            value = inspect.getattr_static(source, name, None) or getattr(source, name)
            value = getattr(value, "__func__", value)  # of a static method; Python 3.9 documents staticmethod itself
            changes.append((node, documentation(value, " " * (node.col_offset + 4))))
            if isinstance(node, ast.ClassDef):
                visit(node.body, value)

    visit(ast.parse(text).body, module)
    for node, new in sorted(changes, key=lambda change: change[0].lineno, reverse=True):
        if isinstance(node, ast.ClassDef):
            lines[node.lineno : node.lineno] = new
        elif new:
            place = node.body[0].lineno
            lines[place - 1 : place] = [lines[place - 1][: -len(" ...")], *new]
    return "\n".join(lines)


def stub(folder: str) -> str:
    """Return what the stub of a folder has to be."""
    text = (ROOT / folder / "__init__.pyi").read_text(encoding="utf-8")
    text = msgpack_stub() if folder == "purepy/msgpack" else without_documentation(text)
    return documented(text, importlib.import_module(SOURCES[folder]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for folder in SOURCES:
        (ROOT / folder / "__init__.pyi").write_text(stub(folder), encoding="utf-8")
