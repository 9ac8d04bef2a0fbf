# SPDX-License-Identifier: Apache-2.0
"""
msgspec's names over cpkg.typed, for msgspec's own tests: import it as `msgspec`.

A Struct is a dataclass with `typed.options`; `Meta` is a group of annotated-types. JSON, YAML and TOML are missing.
Errors use msgspec's words for types and its paths: for a text that `pytest.raises` matches, the path is compared.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import types
from typing import Any, ClassVar

import annotated_types as at
import pytest

from cpkg import typed
from cpkg.errors import CodecError
from cpkg.msgpack import ExtType, Raw
from cpkg.typed import codecs

NODEFAULT = dataclasses.MISSING
UNSET = UnsetType = None  # not a value in cpkg.typed
MsgspecError = EncodeError = DecodeError = CodecError
ValidationError = typed.ValidationError


class Meta(at.GroupedMetadata):
    """Constraints and descriptions; those for JSON Schema only are kept but not used."""

    _NAMES: ClassVar[dict[str, Any]] = {
        "gt": at.Gt, "ge": at.Ge, "lt": at.Lt, "le": at.Le, "multiple_of": at.MultipleOf, "pattern": typed.Pattern,
        "min_length": at.MinLen, "max_length": at.MaxLen,
    }  # fmt: skip

    def __init__(self, **given: Any) -> None:
        self.given = given

    def __iter__(self) -> Any:
        for name, value in self.given.items():
            if name in self._NAMES:
                yield self._NAMES[name](value)
            elif name == "tz" and value is not None:
                yield at.Timezone(... if value else None)


def field(*, default: Any = NODEFAULT, default_factory: Any = NODEFAULT, name: str | None = None) -> Any:
    return dataclasses.field(default=default, default_factory=default_factory, metadata={"name": name})


_OF_DATACLASSES = ("frozen", "eq", "order", "kw_only")
_OF_TYPED = ("rename", "omit_defaults", "forbid_unknown_fields", "array_like")


class StructMeta(type):
    """Turns a class that is written as a Struct into a dataclass."""

    def __new__(mcs, name: str, bases: Any, namespace: dict[str, Any], **options: Any) -> Any:
        if not bases or "__dataclass_fields__" in namespace:  # Struct, or the copy that dataclass() creates
            return super().__new__(mcs, name, bases, namespace)
        cls: Any = super().__new__(mcs, name, bases, namespace)
        for key, value in list(vars(cls).items()):
            if key in namespace.get("__annotations__", {}) and type(value) in (list, dict, set, bytearray):
                setattr(cls, key, dataclasses.field(default_factory=type(value)))
        cls = dataclasses.dataclass(**{key: options[key] for key in _OF_DATACLASSES if key in options})(cls)
        chosen = {key: options[key] for key in _OF_TYPED if key in options}
        if options.get("tag") or options.get("tag_field"):
            raise TypeError("a tag is a field with a Literal here")
        typed.options(**chosen)(cls)
        cls.__struct_fields__ = tuple(each.name for each in dataclasses.fields(cls))
        return cls

    def __init__(cls, name: str, bases: Any, namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace)


class Struct(metaclass=StructMeta):
    """The base class of structs."""


def defstruct(name: str, fields: Any, *, bases: Any = (Struct,), namespace: Any = None, **options: Any) -> Any:
    annotations, values = {}, dict(namespace or {})
    for each in fields:
        each = (each, Any) if isinstance(each, str) else each
        annotations[each[0]] = each[1]
        if len(each) > 2:
            values[each[0]] = each[2]
    return StructMeta(name, bases, {"__annotations__": annotations, **values}, **options)


class Encoder:
    def __init__(self, *, enc_hook: Any = None, order: Any = None, **formats: Any) -> None:
        if enc_hook is not None and not callable(enc_hook):
            raise TypeError("enc_hook must be callable")
        if formats or order:
            raise TypeError("no options for the formats of values, or for their order")
        self.enc_hook = enc_hook
        self._encoder = typed.Encoder(enc_hook=enc_hook)

    def encode(self, obj: Any) -> bytes:
        return self._encoder.encode(obj)

    def encode_into(self, obj: Any, buffer: bytearray, offset: int = 0) -> None:
        if offset < 0:
            offset = len(buffer)
        buffer[offset:] = self._encoder.encode(obj)


class Decoder:
    def __init__(self, type: Any = Any, *, strict: bool = True, dec_hook: Any = None, ext_hook: Any = None) -> None:
        if ext_hook is not None:
            raise TypeError("extension values are decoded by their types")
        self.type = type
        self.strict = strict
        self.dec_hook = dec_hook
        self._decoder = typed.Decoder(type, strict=strict, dec_hook=dec_hook)

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def decode(self, data: Any) -> Any:
        return self._decoder.decode(data)


def encode(obj: Any, *, enc_hook: Any = None, order: Any = None) -> bytes:
    return Encoder(enc_hook=enc_hook, order=order).encode(obj)


def decode(data: Any, *, type: Any = Any, strict: bool = True, dec_hook: Any = None, ext_hook: Any = None) -> Any:
    return Decoder(type, strict=strict, dec_hook=dec_hook, ext_hook=ext_hook).decode(data)


def convert(obj: Any, type: Any, *, strict=True, from_attributes=False, dec_hook=None, builtin_types=(), str_keys=False):
    return typed.convert(obj, type, strict=strict, from_attributes=from_attributes, dec_hook=dec_hook)


def to_builtins(obj: Any, *, str_keys=False, builtin_types=(), enc_hook=None, order=None) -> Any:
    return typed.to_builtins(obj, builtin_types=builtin_types or (), enc_hook=enc_hook)


_NAMES = {"map": "object", "None": "null", "bin": "bytes", "a map": "object"}


def msgspec_text(error: typed.ValidationError) -> str:
    """Return msgspec's text for an error of a value or of a missing key."""
    path = "$" + "".join([f".{part}" if isinstance(part, str) else f"[{part}]" for part in error.path])
    path = path.replace(".key of the map", "[...]")
    missing = re.match(r"missing key '(.*)' in ", error.found)
    expected, found = (_NAMES.get(name, name) for name in (error.expected, error.found))
    text = f"Object missing required field `{missing[1]}`" if missing else f"Expected `{expected}`, got `{found}`"
    if ": " in error.found:  # an error of a constructor or a hook
        text = error.found.partition(": ")[2]
    return text + (f" - at `{path}`" if error.path else "")


_raises = pytest.raises
_PATH = re.compile(r"(at `.*)")


def raises(expected: Any, *args: Any, match: Any = None, **options: Any) -> Any:
    """Replace `pytest.raises`: of the text to match, compare only the path."""
    found = _PATH.search(match) if isinstance(match, str) else None
    return _raises(expected, *args, **({"match": found[1]} if found else {}), **options)


def install() -> None:
    """Replace msgspec by this module, with functions compiled for the first message of a type."""
    codecs.WALKED = 0  # type: ignore[misc]
    this = sys.modules["msgspec"] = sys.modules[__name__]
    msgpack = types.ModuleType("msgspec.msgpack")
    vars(msgpack).update(Encoder=Encoder, Decoder=Decoder, encode=encode, decode=decode, Ext=ExtType)
    for name in ("inspect", "json", "structs", "toml", "yaml"):
        other = sys.modules[f"msgspec.{name}"] = types.ModuleType(f"msgspec.{name}")
        setattr(this, name, other)
    this.msgpack = sys.modules["msgspec.msgpack"] = msgpack  # type: ignore[attr-defined]
    this.json.Encoder, this.json.Decoder = Encoder, Decoder  # type: ignore[attr-defined]
    ValidationError.__str__ = msgspec_text  # type: ignore[method-assign]
    pytest.raises = raises  # type: ignore[assignment]
