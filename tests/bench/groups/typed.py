# SPDX-License-Identifier: Apache-2.0
"""Typed messages: dataclasses from MessagePack and back, with cpkg and with the libraries that do it over a codec.

The messages: users (1,000 records of 7 fields, one an object), documents (text and nested lists), files (the tree of
msgspec's own benchmark: tagged objects with times and an Enum), limited (1,000 records with five constraints), orders
(1,000 records of a UUID, a Decimal, a date, a datetime, an Enum and text) and envelopes (1,000 records of a Raw, an
ExtType and an object that a hook creates). Each library decodes its own encoded data.
"""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import sys
from decimal import Decimal
from functools import partial
from types import ModuleType
from typing import Any, Callable

from bench import typed_messages as messages
from bench.cells import Case, Group, Works, reason
from bench.typed_messages import MESSAGES
from cpkg import typed
from cpkg.msgpack import ExtType

Both = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def works(case: Case, operation: str) -> Works:
    """Decode a message to objects, or encode them, with the object that a library keeps for the type."""
    make, cls, records = MESSAGES[case.name]
    value = make()
    expected = plain(value)
    result = Works({}, values=records)
    for name, peer in PEERS.items():
        try:
            encode, decode, obj = peer(value)
            if operation == "encode":
                result.calls[name] = partial(encode, obj)
            elif not callable(decode):
                result.missing[name] = decode
            else:
                result.calls[name] = partial(decode, bytes(encode(obj)))
        except Exception as error:
            if name == "cpkg":
                raise
            result.missing[name] = reason(error)
    readers = {"pickle": pickle.loads}
    read = typed.Decoder(cls, strict=False, **hooks(cls)[1]).decode

    def check(library: str, found: Any) -> None:
        found = readers.get(library, read)(found) if operation == "encode" else found
        assert plain(found) == expected, f"{library} gave another object"

    result.check = check
    if operation == "encode":
        result.size = len(result.calls["cpkg"]())
    return result


def hooks(cls: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for encoding and decoding a message."""
    if cls is not messages.Envelopes:
        return {}, {}
    return {"enc_hook": lambda obj: obj.cents}, {"dec_hook": lambda kind, value: kind(value)}


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


Peer = Callable[[Any], tuple[Callable[[Any], bytes], "Callable[[bytes], Any] | str", Any]]
"""Returns for a message the functions that encode and decode it, or why not, and the object of the library's kind."""


def _cpkg(value: Any) -> Any:
    forth, back = hooks(type(value))
    return typed.Encoder(**forth).encode, typed.Decoder(type(value), **back).decode, value


def _msgspec(value: Any) -> Any:
    """Return msgspec's functions for the dataclass, if need be with the constraints in its own form."""
    from msgspec import msgpack

    cls = type(value)
    if cls is messages.Envelopes:
        raise TypeError("has classes of its own for Raw and ExtType")
    try:
        decode = msgpack.Decoder(_by_meta() if cls is messages.AllLimited else cls).decode
    except TypeError as error:  # it knows unions of Structs only
        decode = reason(error)
    return msgpack.Encoder().encode, decode, value


def _by_meta() -> Any:
    from typing import Annotated

    from msgspec import Meta

    fields = [
        ("id", Annotated[int, Meta(ge=0)]),
        ("name", Annotated[str, Meta(min_length=1, max_length=40)]),
        ("score", Annotated[float, Meta(lt=1e6)]),
        ("tags", Annotated[list[str], Meta(max_length=8)]),
    ]
    return dataclasses.make_dataclass("AllLimited", [("records", list[dataclasses.make_dataclass("Limited", fields)])])


def _struct(value: Any) -> Any:
    """Return msgspec's functions for Structs, which it makes of the dataclasses."""
    import msgspec

    if type(value) is messages.AllLimited:
        raise TypeError("has no constraints of other libraries")
    # msgspec looks for the names in annotations in the module of a class
    sys.modules["structs"] = module = ModuleType("structs")
    names = {name: each for name, each in vars(messages).items() if not name.startswith("_")}
    vars(module).update(names, Raw=msgspec.Raw, ExtType=msgspec.msgpack.Ext)
    for name, cls in names.items():
        if isinstance(cls, type) and dataclasses.is_dataclass(cls):
            fields = {each.name: (each.name, each.type, each.default) for each in dataclasses.fields(cls)}
            tag = {"tag": name.lower()} if fields.pop("type", None) else {}
            found = [each[:2] if each[2] is dataclasses.MISSING else each for each in fields.values()]
            setattr(module, name, msgspec.defstruct(name, found, module="structs", **tag))

    def made_of(obj: Any) -> Any:
        if isinstance(obj, list):
            return [made_of(item) for item in obj]
        if isinstance(obj, ExtType):
            return module.ExtType(obj.code, obj.data)
        if isinstance(obj, messages.Raw):
            return module.Raw(obj.data)
        if not dataclasses.is_dataclass(obj):
            return obj
        cls = getattr(module, type(obj).__name__)
        return cls(**{field: made_of(getattr(obj, field)) for field in cls.__struct_fields__})

    forth, back = hooks(type(value))
    decoder = msgspec.msgpack.Decoder(getattr(module, type(value).__name__), **back)
    return msgspec.msgpack.Encoder(**forth).encode, decoder.decode, made_of(value)


def _ormsgpack(value: Any) -> Any:
    """Return ormsgpack's function, which encodes dataclasses; it decodes to dicts only."""
    import ormsgpack

    def default(obj: Any) -> Any:
        if isinstance(obj, messages.Money):
            return obj.cents
        if isinstance(obj, ExtType):
            return ormsgpack.Ext(obj.code, obj.data)
        if isinstance(obj, Decimal):
            return str(obj)
        raise TypeError(f"has no {type(obj).__name__}")

    return partial(ormsgpack.packb, default=default), "decodes to dicts only", value


def _pickle(value: Any) -> Any:
    return partial(pickle.dumps, protocol=5), pickle.loads, value


def _over(convert: Callable[[Any], tuple[Callable[[Any], Any], Callable[[Any], Any]]], value: Any) -> Any:
    """Return functions over msgpack, or over cpkg's codec if it is not installed, of those to objects and back."""
    try:
        codec = importlib.import_module("msgpack")
    except ImportError:
        codec = importlib.import_module("cpkg.msgpack")
    structure, unstructure = convert(type(value))
    packb, unpackb = codec.packb, codec.unpackb
    return (lambda obj: packb(unstructure(obj))), (lambda data: structure(unpackb(data))), value


def _cattrs(cls: Any) -> Any:
    from cattrs.preconf.msgpack import make_converter

    converter = make_converter(detailed_validation=False)
    return lambda obj: converter.structure(obj, cls), lambda obj: converter.unstructure(obj, cls)


def _mashumaro(cls: Any) -> Any:
    from mashumaro.codecs.basic import BasicDecoder, BasicEncoder

    return BasicDecoder(cls).decode, BasicEncoder(cls).encode


def _pydantic(cls: Any) -> Any:
    import pydantic

    adapter = pydantic.TypeAdapter(cls)
    # msgpack does not know times and UUIDs: write them as text
    mode = "json" if cls in (messages.Directory, messages.Orders) else "python"
    return adapter.validate_python, partial(adapter.dump_python, mode=mode)


def _apischema(cls: Any) -> Any:
    import apischema

    return apischema.deserialization_method(cls), apischema.serialization_method(cls)


PEERS: dict[str, Peer] = {
    "cpkg": _cpkg,
    "msgspec": _msgspec,
    "msgspec Struct": _struct,
    "ormsgpack": _ormsgpack,
    "pickle": _pickle,
    "cattrs": partial(_over, _cattrs),
    "mashumaro": partial(_over, _mashumaro),
    "pydantic": partial(_over, _pydantic),
    "apischema": partial(_over, _apischema),
}
GROUP = Group(
    "Typed",
    [Case(kind, quick=kind == "users", small=kind == "files") for kind in MESSAGES],
    ("decode", "encode"),
    works,
)
