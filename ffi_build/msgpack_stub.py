# SPDX-License-Identifier: Apache-2.0
"""
Write `purepy/msgpack/__init__.pyi`, the MessagePack functions for type checkers and editors.

The docstrings, and the signatures with all options, are read from purepy.msgpack. Everything else is in the template
below. A build writes the stub; `python -m ffi_build.msgpack_stub` writes it into
the source tree.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

PATH = Path("purepy", "msgpack", "__init__.pyi")

_STUB = """\
# SPDX-License-Identifier: Apache-2.0
# The MessagePack functions for type checkers and editors, with the options that purepy/msgpack/options.py declares.
# Written by ffi_build/msgpack_stub.py.

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypedDict, overload

from typing_extensions import Buffer, TypeVar, Unpack

from purepy.base.types import TypedDecoder
from purepy.msgpack import packer, unpacker
from purepy.msgpack.async_reading import AsyncReadable
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import Readable
from purepy.msgpack.packer import Writable

_T = TypeVar("_T", default=Any)

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
{documentation of Packer}
    def __init__({Packer}

class Unpacker(unpacker.Unpacker, Generic[_T]):
{documentation of Unpacker}
    @overload
    def __init__({Unpacker}
    @overload
    def __init__(
        self, file_like: Readable | None = None, *, type: type[_T] | TypedDecoder[_T], **limits: Unpack[_StreamLimits]
    ) -> None: ...
    # unions and aliases are not type[_T]
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
def unpackb(packed: Buffer, *, type: type[_T] | TypedDecoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpackb(packed: Buffer, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpackb_from({unpackb_from}
@overload
def unpackb_from(
    buffer: Buffer, offset: int = 0, *, type: type[_T] | TypedDecoder[_T], **limits: Unpack[_Limits]
) -> tuple[_T, int]: ...
@overload
def unpackb_from(buffer: Buffer, offset: int = 0, *, type: Any, **limits: Unpack[_Limits]) -> tuple[Any, int]: ...
@overload
def unpack({unpack}
@overload
def unpack(stream: Readable, *, type: type[_T] | TypedDecoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpack(stream: Readable, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpack_async(
    reader: AsyncReadable, *, read_size: int = 0, max_buffer_size: int = ..., **options: Unpack[_Unpacking]
) -> AsyncIterator[Any]:
{documentation of unpack_async}
@overload
def unpack_async(
    reader: AsyncReadable, *, type: type[_T] | TypedDecoder[_T], **limits: Unpack[_StreamLimits]
) -> AsyncIterator[_T]: ...
@overload
def unpack_async(reader: AsyncReadable, *, type: Any, **limits: Unpack[_StreamLimits]) -> AsyncIterator[Any]: ...
def prepare_packb(**options: Unpack[_Packing]) -> Callable[[object], bytes]: ...
def prepare_unpackb(**options: Unpack[_Unpacking]) -> Callable[[Buffer], Any]: ...
def find_excess(data: bytes | bytearray | memoryview, limit: int, max_depth: int) -> int: ...

dump = pack
dumps = packb
load = unpack
loads = unpackb
"""


def text() -> str:
    """Return the text of the stub, `purepy/msgpack/__init__.pyi`."""
    module = importlib.import_module("purepy.msgpack")
    options = importlib.import_module("purepy.msgpack.options")
    limits = [name for name in options.UNPACKING.types if name.startswith("max_")]
    parts = {
        "packing": _fields(options.PACKING.types, options.PACKING.types),
        "unpacking": _fields(options.UNPACKING.types, options.UNPACKING.types),
        "limits": _fields(limits, options.UNPACKING.types),
    }
    for name in ("packb", "pack", "pack_into", "unpackb", "unpackb_from", "unpack"):
        function = getattr(module, name)
        parts[name] = f"{_signature(function, '')}\n{_documentation(function)}"
    for name in ("Packer", "Unpacker"):
        parts[name] = f"{_signature(getattr(module, name).__init__, '    ')} ..."
    for name in ("Packer", "Unpacker", "unpack_async"):
        parts[f"documentation of {name}"] = _documentation(getattr(module, name))
    stub = _STUB
    for name, part in parts.items():
        stub = stub.replace(f"{{{name}}}", part)
    return stub


def _fields(names: Iterable[str], types: dict[str, str]) -> str:
    return "\n".join(f"    {name}: {_type(name, types[name])}" for name in names)


def _type(name: str, declared: str) -> str:
    return "None" if name == "type" else declared  # other overloads have a `type`, which determines their result


def _signature(function: Callable[..., object], indent: str) -> str:
    """Return the signature of a function after its name and the opening parenthesis."""
    found = inspect.signature(function)
    lines = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in lines:
            lines.append("*")
        default = parameter.default
        is_simple = default is None or isinstance(default, (bool, int))
        ending = "" if default is parameter.empty else f" = {default}" if is_simple else " = ..."
        annotation = "" if parameter.name == "self" else f": {_type(parameter.name, parameter.annotation)}"
        lines.append(f"{parameter.name}{annotation}{ending}")
    return "".join(f"\n{indent}    {line}," for line in lines) + f"\n{indent}) -> {found.return_annotation}:"


def _documentation(value: object) -> str:
    return textwrap.indent(f'"""\n{inspect.getdoc(value)}\n"""', "    ")


def write(root: Path) -> None:
    """Write the stub into the source tree `root`."""
    (root / PATH).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    write(Path(__file__).resolve().parent.parent)
