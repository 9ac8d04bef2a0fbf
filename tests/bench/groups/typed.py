# SPDX-License-Identifier: Apache-2.0
"""Typed messages: dataclasses from MessagePack and back, with cpkg and with the libraries that do it over a codec.

The messages: users (1,000 records of 7 fields, one an object), documents (text and nested lists), files (the tree of
msgspec's own benchmark: tagged objects with times and an Enum), limited (1,000 records with five constraints), orders
(1,000 records of a UUID, a Decimal, a date, a datetime, an Enum and text) and envelopes (1,000 records of a Raw, an
ExtType and an object that a hook creates). Each library decodes its own encoded data.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
import typing
from functools import partial
from types import ModuleType
from typing import Any

from bench import typed_messages as messages
from bench.cells import OURS, Case, Group, Pair, Works, coded
from bench.peers import TYPED
from cpkg import typed
from cpkg.msgpack import ExtType, Raw


def works(case: Case, operation: str) -> Works:
    """Decode a message to objects, or encode the objects, with a decoder or encoder that is kept for the type."""
    make, cls = messages.MESSAGES[case.name]
    value = make()
    expected = plain(value)
    read = typed.Decoder(cls, strict=False, dec_hook=lambda kind, value: kind(value)).decode

    def of_structs() -> Pair:
        kind, obj = structs(cls, value)
        return (*TYPED["msgspec"](kind, obj), obj)

    def check(library: str, result: Any) -> None:
        if operation == "encode":
            result = pickle.loads(result) if library == "pickle" else read(result)
        assert plain(result) == expected, "gives another object"

    ways = {name: partial(peer, cls, value) for name, peer in {OURS: _cpkg, **TYPED}.items()}
    values = len(value) if isinstance(value, list) else None
    return coded({**ways, "msgspec Struct": of_structs}, value, operation == "encode", check=check, values=values)


def _cpkg(kind: Any, value: Any) -> Pair:
    hooks = kind == messages.MESSAGES["envelopes"][1]
    encoder = typed.Encoder(enc_hook=lambda obj: obj.cents) if hooks else typed.Encoder()
    decoder = typed.Decoder(kind, dec_hook=lambda cls, value: cls(value)) if hooks else typed.Decoder(kind)
    return encoder.encode, decoder.decode


def structs(cls: Any, value: Any) -> tuple[Any, Any]:
    """Return a message's class and object with msgspec's Structs instead of dataclasses, and its Raw and Ext."""
    import msgspec

    # msgspec looks up names in annotations in the module of the class
    sys.modules["structs"] = module = ModuleType("structs")
    names = {name: each for name, each in vars(messages).items() if not name.startswith("_")}
    vars(module).update(names, Raw=msgspec.Raw, ExtType=msgspec.msgpack.Ext)
    for name, each in names.items():
        if isinstance(each, type) and dataclasses.is_dataclass(each):
            fields = {field.name: (field.name, field.type, field.default) for field in dataclasses.fields(each)}
            tag = {"tag": name.lower()} if fields.pop("type", None) else {}
            found = [field[:2] if field[2] is dataclasses.MISSING else field for field in fields.values()]
            setattr(module, name, msgspec.defstruct(name, found, module="structs", **tag))

    def made_of(obj: Any) -> Any:
        if isinstance(obj, list):
            return [made_of(item) for item in obj]
        if isinstance(obj, ExtType):
            return module.ExtType(obj.code, obj.data)
        if isinstance(obj, Raw):
            return module.Raw(obj.data)
        if not dataclasses.is_dataclass(obj):
            return obj
        kind = getattr(module, type(obj).__name__)
        return kind(**{field: made_of(getattr(obj, field)) for field in kind.__struct_fields__})

    kind = typing.get_args(cls)
    return list[getattr(module, kind[0].__name__)] if kind else getattr(module, cls.__name__), made_of(value)  # type: ignore[misc]


def plain(obj: Any) -> Any:
    """Return any library's object as dicts and lists."""
    if isinstance(obj, list):
        return [plain(item) for item in obj]
    if type(obj).__name__ in ("Ext", "ExtType"):
        return obj.code, obj.data
    if type(obj).__name__ == "Raw":
        return bytes(getattr(obj, "data", obj))
    names = getattr(obj, "__struct_fields__", None) or getattr(obj, "__dataclass_fields__", None)
    if names is None:
        return obj
    tag = getattr(getattr(obj, "__struct_config__", None), "tag", None)
    return {**({} if tag is None else {"type": tag}), **{name: plain(getattr(obj, name)) for name in names}}


CASES = [Case(kind, quick=kind == "users", small=kind == "files") for kind in messages.MESSAGES]
GROUPS = [Group("Typed", CASES, ("decode", "encode"), works)]
