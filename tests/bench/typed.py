# SPDX-License-Identifier: Apache-2.0
"""
Typed decoding and encoding against other libraries, in processor time, in one process and in turns.

`python tests/bench/typed.py` prints nanoseconds per record, and the reason if a library is missing. The messages: users
(1,000 records of 7 fields, one an object), documents (text and nested lists), files (a tree of tagged objects with
times and an Enum, as in msgspec's own benchmark), limited (1,000 records with five constraints), orders (1,000 records
of a UUID, a Decimal, a date, a datetime, an Enum and text) and envelopes (1,000 records of a Raw, an ExtType and an
object that a hook creates). Each library decodes its own encoded data. Each message is decoded in one process and
encoded in another: the allocator's behaviour for results of 64 to 256 KiB depends on everything that ran before.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import importlib
import pickle
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Callable, List, Literal, Optional, Tuple, Union
from uuid import UUID

import annotated_types as at
from typing_extensions import Annotated

import cpkg
import purepy.msgpack
from cpkg import typed
from cpkg.msgpack import ExtType, Raw

SLOTS = {"slots": True} if sys.version_info >= (3, 10) else {}


@dataclass
class Point:
    lat: float
    lon: float


@dataclass
class User:
    id: int
    name: str
    email: Optional[str]
    active: bool
    score: float
    tags: List[str]
    home: Point


@dataclass
class Users:
    records: List[User]


@dataclass
class Document:
    title: str
    author: str
    text: str
    words: List[List[str]]
    numbers: List[List[int]]


@dataclass
class Documents:
    records: List[Document]


class Permissions(enum.Enum):
    READ = "READ"
    WRITE = "WRITE"
    READ_WRITE = "READ_WRITE"


@dataclass
class File:
    type: Literal["file"]
    name: str
    created_by: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    nbytes: int
    permissions: Permissions


@dataclass
class Directory:
    type: Literal["directory"]
    name: str
    created_by: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    contents: List[Union[File, Directory]]


@dataclass
class Limited:
    id: Annotated[int, at.Ge(0)]
    name: Annotated[str, at.MinLen(1), at.MaxLen(40)]
    score: Annotated[float, at.Lt(1e6)]
    tags: Annotated[List[str], at.MaxLen(8)]


@dataclass
class AllLimited:
    records: List[Limited]


class Status(enum.Enum):
    NEW = "new"
    PAID = "paid"
    SENT = "sent"


@dataclass
class Order:
    id: UUID
    total: Decimal
    day: datetime.date
    created_at: datetime.datetime
    status: Status
    tags: List[str]


@dataclass
class Orders:
    records: List[Order]


class Money:
    """A class that no library knows."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.cents == other.cents

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Envelope:
    id: int
    price: Money
    body: Raw
    check: ExtType


@dataclass
class Envelopes:
    records: List[Envelope]


def users() -> Users:
    return Users([
        User(i * 7919, f"user {i}", None if i % 3 else f"u{i}@example.com", i % 2 == 0, i / 7.0, [f"t{i % 5}", "all"],
             Point(59.9 + i / 1e4, 10.7))
        for i in range(1000)
    ])  # fmt: skip


def documents() -> Documents:
    return Documents([
        Document(f"Title {i}", f"Author {i % 40}", "Lorem ipsum dolor sit amet, " * 8,
                 [[f"w{i + j + k}" for k in range(5)] for j in range(4)], [list(range(i, i + 6)) for _ in range(3)])
        for i in range(200)
    ])  # fmt: skip


def _times(draw: random.Random) -> Tuple[datetime.datetime, datetime.datetime]:
    """Return creation and update times."""
    created = datetime.datetime.fromtimestamp(draw.randrange(10**9, 2 * 10**9), datetime.timezone.utc)
    created += datetime.timedelta(microseconds=draw.randrange(10**6))
    return created, created + datetime.timedelta(seconds=draw.randrange(10**7))


def files(depth: int = 4, draw: Optional[random.Random] = None) -> Directory:
    draw = draw or random.Random(1)
    inside: List[Any] = [
        File("file", f"file_{i}.txt", "someone", *_times(draw), i * 1000, draw.choice(list(Permissions)))
        for i in range(12)
    ]
    if depth:
        inside += [files(depth - 1, draw) for _ in range(3)]
    return Directory("directory", f"directory_{depth}", "somebody", *_times(draw), inside)


def orders() -> Orders:
    draw = random.Random(2)
    return Orders([
        Order(UUID(int=draw.getrandbits(128)), Decimal(draw.randrange(10**6)).scaleb(-2),
              datetime.date(2024, 1, 1) + datetime.timedelta(draw.randrange(1000)), _times(draw)[0],
              draw.choice(list(Status)), [f"t{draw.randrange(50)}" for _ in range(3)])
        for _ in range(1000)
    ])  # fmt: skip


def envelopes() -> Envelopes:
    bodies = [cpkg.packb({"words": [f"w{i + j}" for j in range(10)], "total": i / 7.0}) for i in range(50)]
    return Envelopes([
        Envelope(i * 7919, Money(i * 99), Raw(bodies[i % 50]), ExtType(5, i.to_bytes(4, "big"))) for i in range(1000)
    ])  # fmt: skip


def limited() -> AllLimited:
    return AllLimited([Limited(i * 7919, f"user {i}", i / 7.0, [f"t{i % 5}", "all"]) for i in range(1000)])


MESSAGES: dict[str, tuple[Callable[[], Any], Any, int]] = {
    "users": (users, Users, 1000),
    "documents": (documents, Documents, 200),
    "files": (files, Directory, 121 * 13),
    "limited": (limited, AllLimited, 1000),
    "orders": (orders, Orders, 1000),
    "envelopes": (envelopes, Envelopes, 1000),
}


def _enc_hook(obj: Any) -> Any:
    return obj.cents


def _dec_hook(cls: Any, value: Any) -> Any:
    return cls(value)


def _hooks(cls: Any) -> Tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for encoding and decoding a message."""
    return ({"enc_hook": _enc_hook}, {"dec_hook": _dec_hook}) if cls is Envelopes else ({}, {})


def with_slots(cls: Any) -> dict[str, Any]:
    """Return dataclasses with slots for a message, by name: the classes of this module that its class refers to."""
    found: dict[str, Any] = {}
    todo = [cls.__name__]
    while todo:
        name = todo.pop()
        if name not in found and dataclasses.is_dataclass(globals().get(name)):
            fields = [(field.name, field.type) for field in dataclasses.fields(globals()[name])]
            found[name] = dataclasses.make_dataclass(name, fields, namespace={"__module__": __name__}, **SLOTS)
            todo.extend(re.findall(r"\w+", " ".join([str(kind) for _, kind in fields])))
    return found


def read(data: bytes, cls: Any) -> Any:
    """Return the object in a message of any of the libraries."""
    if data[0] == 0x80:  # pickle's header: no message here is an empty map
        return pickle.loads(data)
    return typed.Decoder(cls, strict=False, **_hooks(cls)[1]).decode(data)


def encoding_ways(value: Any, missing: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """Return the functions that encode a message, by name; store in `missing` why others are absent."""
    cls = type(value)
    hooks = _hooks(cls)[0]
    found: dict[str, Callable[[], Any]] = {"ours": functools.partial(typed.Encoder(**hooks).encode, value)}
    for name, (encode, _) in _peers(value, missing, over_pure=False).items():
        found[name] = encode
    for name, function in found.items():
        assert plain(read(function(), cls)) == plain(value), name
    return found


def decoding_ways(
    cls: Any, data: bytes, missing: dict[str, str], over_pure: bool = True
) -> dict[str, Callable[[], Any]]:
    """Return the functions that decode a message, by name; store in `missing` why others are absent."""
    hooks = _hooks(cls)[1]
    found: dict[str, Callable[[], Any]] = {"ours": functools.partial(typed.Decoder(cls, **hooks).decode, data)}
    if SLOTS:
        classes = with_slots(cls)
        decoder = typed.Decoder(classes[cls.__name__], namespace=classes, **hooks)
        found["ours, slots"] = functools.partial(decoder.decode, data)
    value = found["ours"]()
    for name, (encode, decode) in _peers(value, missing, over_pure).items():
        if decode is not None:
            found[name] = functools.partial(decode, encode())
    for name, function in found.items():
        assert plain(function()) == plain(value), name
    return {**found, "ours, untyped": functools.partial(cpkg.unpackb, data)}


Ways = Tuple[Callable[[], bytes], Optional[Callable[[bytes], Any]]]


def _peers(value: Any, missing: dict[str, str], over_pure: bool) -> dict[str, Ways]:
    """Return the function that encodes the value and the one that decodes it, for each of the libraries that can."""
    found: dict[str, Ways] = _msgspec_ways(value, missing)
    found["pickle"] = functools.partial(pickle.dumps, value, protocol=5), pickle.loads
    codec = _optional("msgpack", missing) or cpkg
    for name, peer in PYTHON_PEERS.items():
        try:
            convert, unstructure = peer(type(value))
            packed = codec.packb(unstructure(value))
            assert plain(read(packed, type(value))) == plain(value)
            assert plain(convert(codec.unpackb(packed))) == plain(value)
        except Exception as exc:
            missing[name] = _reason(exc)
            continue
        found[name] = _over(codec.packb, codec.unpackb, convert, unstructure, value)
        if over_pure:
            pure = purepy.msgpack
            found[f"{name} over pure decoding"] = _over(codec.packb, pure.unpackb, convert, unstructure, value)
    return found


def _over(packb: Any, unpackb: Any, convert: Any, unstructure: Any, value: Any) -> Ways:
    return lambda: packb(unstructure(value)), lambda data: convert(unpackb(data))


def _msgspec_ways(value: Any, missing: dict[str, str]) -> dict[str, Ways]:
    """Return the functions of msgspec; store in `missing` why others are absent."""
    cls = type(value)
    msgspec = _optional("msgspec", missing)
    if msgspec is None:
        missing.update(dict.fromkeys(("msgspec dataclass", "msgspec Struct", "msgspec Meta"), missing["msgspec"]))
        return {}
    structs = importlib.import_module(f"{__package__}.typed_structs" if __package__ else "typed_structs")
    enc_hook, dec_hook = _hooks(cls)
    encoder = msgspec.msgpack.Encoder(**enc_hook)
    found: dict[str, Ways] = {}

    def add(name: str, kind: Any, obj: Any) -> None:
        try:
            decode = msgspec.msgpack.Decoder(kind, **dec_hook).decode
        except TypeError as exc:
            missing[name] = _reason(exc)
            found[name] = functools.partial(encoder.encode, obj), None
        else:
            found[name] = functools.partial(encoder.encode, obj), decode

    if cls is AllLimited:
        add("msgspec Meta", limited_by_meta(msgspec), value)
    elif cls is Envelopes:
        missing["msgspec dataclass"] = "has classes of its own for Raw and ExtType"
    else:
        add("msgspec dataclass", cls, value)
    struct = getattr(structs, cls.__name__, None)
    if struct is not None:
        add("msgspec Struct", struct, structs.made_of(value))
    return found


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


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


def _optional(name: str, missing: dict[str, str]) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        missing[name] = _reason(exc)
        return None


def limited_by_meta(msgspec: Any) -> Any:
    """Return `AllLimited` with the constraints in msgspec's form."""
    meta = msgspec.Meta
    fields = [
        ("id", Annotated[int, meta(ge=0)]),
        ("name", Annotated[str, meta(min_length=1, max_length=40)]),
        ("score", Annotated[float, meta(lt=1e6)]),
        ("tags", Annotated[List[str], meta(max_length=8)]),
    ]
    return dataclasses.make_dataclass("AllLimited", [("records", List[dataclasses.make_dataclass("Limited", fields)])])


Both = Tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _cattrs(cls: Any) -> Both:
    from cattrs.preconf.msgpack import make_converter

    converter = make_converter(detailed_validation=False)
    return lambda obj: converter.structure(obj, cls), lambda obj: converter.unstructure(obj, cls)


def _mashumaro(cls: Any) -> Both:
    from mashumaro.codecs.basic import BasicDecoder, BasicEncoder

    return BasicDecoder(cls).decode, BasicEncoder(cls).encode


def _pydantic(cls: Any) -> Both:
    import pydantic

    adapter = pydantic.TypeAdapter(cls)
    # msgpack does not know times and UUIDs: write them as text
    mode = "json" if cls in (Directory, Orders) else "python"
    return adapter.validate_python, functools.partial(adapter.dump_python, mode=mode)


def _apischema(cls: Any) -> Both:
    import apischema

    return apischema.deserialization_method(cls), apischema.serialization_method(cls)


PYTHON_PEERS = {"cattrs": _cattrs, "mashumaro": _mashumaro, "pydantic": _pydantic, "apischema": _apischema}
"""From dicts to objects of a type, and back; over msgpack if it is installed, otherwise over cpkg's codec."""


def main() -> None:
    import turns  # beside this file, which is part of a package for the matrix

    options = turns.options(__doc__, rounds=9).parse_args()
    if options.child:
        compare(turns, options.rounds, *options.child)
        return
    print(f"{turns.heading('msgpack')}; ns per record", flush=True)
    for kind in MESSAGES:
        for direction in ("decode", "encode"):
            command = [sys.executable, __file__, "--rounds", str(options.rounds), "--child", kind, direction]
            subprocess.run(command, check=True)


def compare(turns: Any, rounds: int, kind: str, direction: str) -> None:
    """Print the table of one message in one direction."""
    make, cls, records = MESSAGES[kind]
    value = make()
    data = typed.encode(value, **_hooks(cls)[0])
    missing: dict[str, str] = {}
    ways = encoding_ways(value, missing) if direction == "encode" else decoding_ways(cls, data, missing)
    for name, reason in missing.items():
        print(f"without {name}: {reason}", file=sys.stderr)
    if turns.PYPY:  # compile before anything is timed
        turns.fastest(ways, rounds=1, turn=1)
    best = turns.fastest(ways, rounds, turn=0.02)
    print(f"\n| {direction} {kind}, {len(data)} bytes | ns | ours to it |\n| --- | --- | --- |")
    for name, (_, taken) in best.items():
        print(f"| {name} | {taken / records * 1e9:.0f} | {best['ours'].processor / taken:.2f} |", flush=True)


if __name__ == "__main__":
    main()
