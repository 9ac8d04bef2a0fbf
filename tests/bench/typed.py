# SPDX-License-Identifier: Apache-2.0
"""
Typed decoding and encoding against its peers, in processor time, side by side in one process and in turns.

`python tests/bench/typed.py` prints nanoseconds per record, and why a peer is not in the table. Four messages: users
(1,000 records of 7 fields, one an object), documents (text and nested lists), files (a tree of tagged objects, as in
msgspec's own benchmark) and limited (1,000 records with five constraints). Each message is decoded in a process of its
own and encoded in another: what the allocator does with results of 64 to 256 KiB depends on all that ran before.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Callable, List, Literal, Optional, Tuple, Union

import annotated_types as at
from typing_extensions import Annotated

import cpkg
import purepy.msgpack
from cpkg import typed

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


@dataclass
class File:
    type: Literal["file"]
    name: str
    created_by: str
    nbytes: int


@dataclass
class Directory:
    type: Literal["directory"]
    name: str
    created_by: str
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


def files(depth: int = 4) -> Directory:
    inside: List[Any] = [File("file", f"file_{i}.txt", "someone", i * 1000) for i in range(12)]
    if depth:
        inside += [files(depth - 1) for _ in range(3)]
    return Directory("directory", f"directory_{depth}", "somebody", inside)


def limited() -> AllLimited:
    return AllLimited([Limited(i * 7919, f"user {i}", i / 7.0, [f"t{i % 5}", "all"]) for i in range(1000)])


MESSAGES: dict[str, tuple[Callable[[], Any], Any, int]] = {
    "users": (users, Users, 1000),
    "documents": (documents, Documents, 200),
    "files": (files, Directory, 121 * 13),
    "limited": (limited, AllLimited, 1000),
}


def rebuilt(make: Callable[[str, Any], Any]) -> Any:
    """Return `Users` made by another function of a name and fields, with all that is in it."""
    made: dict[str, Any] = {}
    for cls in (Point, User, Users):
        fields = [(f.name, eval(f.type, globals(), made)) for f in dataclasses.fields(cls)]
        made[cls.__name__] = make(cls.__name__, fields)
    return made["Users"]


def encoding_ways(value: Any, missing: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """Return what is compared when a message is encoded: a name to a function; `missing` gets why others are not."""
    cls = type(value)
    found: dict[str, Callable[[], Any]] = {"ours": functools.partial(typed.Encoder().encode, value)}
    msgspec = optional_msgspec(missing)
    if msgspec is not None:
        found["msgspec dataclass"] = functools.partial(msgspec.msgpack.Encoder().encode, value)
    packb = (_optional("msgpack", missing) or cpkg).packb
    for name, peer in PYTHON_PEERS.items():
        try:
            _, unstructure = peer(cls)
            assert typed.decode(packb(unstructure(value)), cls) == value
        except Exception as exc:
            missing[name] = _reason(exc)
        else:
            found[name] = lambda unstructure=unstructure: packb(unstructure(value))
    for name, function in found.items():
        assert typed.decode(function(), cls) == value, name
    return found


def decoding_ways(
    kind: str, cls: Any, data: bytes, missing: dict[str, str], over_pure: bool = True
) -> dict[str, Callable[[], Any]]:
    """Return what is compared when a message is decoded: a name to a function; `missing` gets why others are not."""
    found: dict[str, Callable[[], Any]] = {
        "ours": functools.partial(typed.Decoder(cls).decode, data),
        "ours, untyped": functools.partial(cpkg.unpackb, data),
    }
    if kind == "users" and SLOTS:
        with_slots = functools.partial(dataclasses.make_dataclass, namespace={"__module__": __name__}, **SLOTS)
        found["ours, slots"] = functools.partial(typed.Decoder(rebuilt(with_slots)).decode, data)
    msgspec = optional_msgspec(missing)
    if msgspec is not None:
        if kind == "limited":
            found["msgspec Meta"] = functools.partial(msgspec.msgpack.Decoder(limited_by_meta(msgspec)).decode, data)
        elif kind == "files":
            missing["msgspec dataclass"] = "refuses unions of dataclasses"
        else:
            found["msgspec dataclass"] = functools.partial(msgspec.msgpack.Decoder(cls).decode, data)
        if kind == "users":
            struct = rebuilt(msgspec.defstruct)
            found["msgspec Struct"] = functools.partial(msgspec.msgpack.Decoder(struct).decode, data)
    unpackb = (_optional("msgpack", missing) or cpkg).unpackb
    pure = purepy.msgpack.unpackb
    for name, peer in PYTHON_PEERS.items() if kind != "limited" else ():
        try:
            convert, _ = peer(cls)
            assert plain(convert(unpackb(data))) == cpkg.unpackb(data)
        except Exception as exc:
            missing[name] = _reason(exc)
            continue
        found[name] = lambda convert=convert: convert(unpackb(data))
        if over_pure:
            found[f"{name} over pure decoding"] = lambda convert=convert: convert(pure(data))
    for name, function in found.items():
        decoded = function()
        builtins = decoded if isinstance(decoded, dict) else plain(decoded)
        assert builtins == cpkg.unpackb(data), name
    return found


def plain(obj: Any) -> Any:
    """Return any library's object as dicts and lists."""
    if isinstance(obj, list):
        return [plain(item) for item in obj]
    names = getattr(obj, "__struct_fields__", None) or getattr(obj, "__dataclass_fields__", None)
    return obj if names is None else {name: plain(getattr(obj, name)) for name in names}


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


def _optional(name: str, missing: dict[str, str]) -> Any:
    """Return a module, or None where it does not install."""
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        missing[name] = _reason(exc)
        return None


def optional_msgspec(missing: dict[str, str]) -> Any:
    """Return msgspec, or None where it does not install."""
    msgspec = _optional("msgspec", missing)
    if msgspec is None:
        missing.update(dict.fromkeys(("msgspec dataclass", "msgspec Struct", "msgspec Meta"), missing["msgspec"]))
    return msgspec


def limited_by_meta(msgspec: Any) -> Any:
    """Return `AllLimited` with the constraints as msgspec takes them."""
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
    return adapter.validate_python, adapter.dump_python


def _apischema(cls: Any) -> Both:
    import apischema

    return apischema.deserialization_method(cls), apischema.serialization_method(cls)


PYTHON_PEERS = {"cattrs": _cattrs, "mashumaro": _mashumaro, "pydantic": _pydantic, "apischema": _apischema}
"""From dicts to objects of a type, and back; over msgpack where that is there, else over our own codec."""


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
    data = typed.encode(value)
    missing: dict[str, str] = {}
    ways = encoding_ways(value, missing) if direction == "encode" else decoding_ways(kind, cls, data, missing)
    for name, reason in missing.items():
        print(f"without {name}: {reason}", file=sys.stderr)
    if turns.PYPY:  # compiled before anything is timed
        turns.fastest(ways, rounds=1, turn=1)
    best = turns.fastest(ways, rounds, turn=0.02)
    print(f"\n| {direction} {kind}, {len(data)} bytes | ns | ours to it |\n| --- | --- | --- |")
    for name, (_, taken) in best.items():
        print(f"| {name} | {taken / records * 1e9:.0f} | {best['ours'].processor / taken:.2f} |", flush=True)


if __name__ == "__main__":
    main()
