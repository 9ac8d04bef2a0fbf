# SPDX-License-Identifier: Apache-2.0
"""
Dates, UUIDs, Decimals, Enum members, dataclasses and sets against other libraries, in processor time and in turns.

`python tests/bench/value_types.py` prints nanoseconds per value, for lists of 1,000 values of a type: packed by
`cpkg.dumps`, `packb` with the option for the type and `typed.encode`, and read by `cpkg.loads` and `typed.decode`.
The other installed libraries are measured as well: msgspec, ormsgpack, mashumaro, cattrs, msgpack with a `default` for
the type, and pickle. Each reads its own output, into the same types; `worst` compares the slowest way of cpkg with the
best of them. Each row has a separate process: a JIT's code for one type becomes part of the loops for the next one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import pickle
import random
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Optional

import cpkg
from cpkg import typed

try:
    import attr
except ImportError:
    attr = None  # type: ignore[assignment]

COUNT = 1000


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclasses.dataclass
class Point:
    x: int
    y: str


if attr is not None:

    @attr.define
    class Place:
        x: int
        y: str


Sample = tuple[Any, list[Any], Optional[dict[str, bool]]]


def _samples() -> dict[str, Sample]:
    """Return the type of each row, values of that type, and the options with which packb packs them."""
    draw = random.Random(47)

    def naive() -> dt.datetime:
        return dt.datetime(2024, 1, 1) + dt.timedelta(microseconds=draw.randrange(10**15))

    makers: dict[str, tuple[Any, Callable[[], object], dict[str, bool] | None]] = {
        "naive datetime": (dt.datetime, naive, None),
        "aware datetime": (dt.datetime, lambda: naive().replace(tzinfo=dt.timezone.utc), {"datetime": True}),
        "date": (dt.date, lambda: naive().date(), {"date": True}),
        "time": (dt.time, lambda: naive().time(), None),
        "timedelta": (dt.timedelta, lambda: dt.timedelta(microseconds=draw.randrange(10**15)), None),
        "UUID": (uuid.UUID, lambda: uuid.UUID(int=draw.getrandbits(128)), {"uuid": True}),
        "Decimal": (
            decimal.Decimal,
            lambda: decimal.Decimal(draw.randrange(10**6)).scaleb(-2),
            {"decimal": True},
        ),
        "Enum": (Colour, lambda: draw.choice(list(Colour)), {"enum": True}),
        "dataclass of 2": (Point, lambda: Point(draw.randrange(1000), "name"), {"dataclass": True}),
        "set of 3 int": (set[int], lambda: {draw.randrange(100000) for _ in range(3)}, None),
        "frozenset of 3 str": (frozenset[str], lambda: frozenset(str(draw.randrange(100000)) for _ in range(3)), None),
    }
    if attr is not None:
        makers["attrs of 2"] = (Place, lambda: Place(draw.randrange(1000), "name"), {"dataclass": True})
    return {name: (kind, [make() for _ in range(COUNT)], options) for name, (kind, make, options) in makers.items()}


SAMPLES = _samples()

# Code of callers who pack these types with msgpack: the `default` of each, and the function that converts back.
_BY_HAND: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "naive datetime": (dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time.isoformat, dt.time.fromisoformat),
    "timedelta": (
        lambda value: (value.days, value.seconds, value.microseconds),
        lambda parts: dt.timedelta(*parts),
    ),
    "UUID": (lambda value: value.bytes, lambda data: uuid.UUID(bytes=data)),
    "Decimal": (str, decimal.Decimal),
    "Enum": (lambda value: value.value, Colour),
    "dataclass of 2": (lambda value: {"x": value.x, "y": value.y}, lambda found: Point(**found)),
    "attrs of 2": (lambda value: {"x": value.x, "y": value.y}, lambda found: Place(**found)),
    "set of 3 int": (list, set),
    "frozenset of 3 str": (list, frozenset),
}

Both = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def _msgspec(name: str, kind: Any) -> Both:
    from msgspec import msgpack

    return msgpack.Encoder().encode, msgpack.Decoder(list[kind]).decode  # type: ignore[valid-type]


def _mashumaro(name: str, kind: Any) -> Both:
    from mashumaro.codecs.msgpack import MessagePackDecoder, MessagePackEncoder

    return MessagePackEncoder(list[kind]).encode, MessagePackDecoder(list[kind]).decode  # type: ignore[valid-type]


def _cattrs(name: str, kind: Any) -> Both:
    from cattrs.preconf.msgpack import make_converter

    converter = make_converter(detailed_validation=False)
    return (
        lambda values: converter.dumps(values, list[kind]),  # type: ignore[valid-type]
        lambda message: converter.loads(message, list[kind]),  # type: ignore[valid-type]
    )


def _msgpack(name: str, kind: Any) -> Both:
    import msgpack

    if name == "aware datetime":
        return partial(msgpack.packb, datetime=True), partial(msgpack.unpackb, timestamp=3)
    pack, unpack = _BY_HAND[name]
    return (
        partial(msgpack.packb, default=pack),
        lambda message: [unpack(found) for found in msgpack.unpackb(message)],
    )


def _ormsgpack(name: str, kind: Any) -> Both:
    import ormsgpack

    if name == "aware datetime":
        option = ormsgpack.OPT_DATETIME_AS_TIMESTAMP_EXT
        return partial(ormsgpack.packb, option=option), partial(ormsgpack.unpackb, option=option)
    pack, unpack = _BY_HAND[name]
    if name == "UUID":  # packed as text, without `default`
        unpack = uuid.UUID
    return (
        partial(ormsgpack.packb, default=pack),
        lambda message: [unpack(found) for found in ormsgpack.unpackb(message)],
    )


def _pickle(name: str, kind: Any) -> Both:
    return partial(pickle.dumps, protocol=5), pickle.loads


PEERS: dict[str, Callable[[str, Any], Both]] = {
    "msgspec": _msgspec,
    "ormsgpack": _ormsgpack,
    "mashumaro": _mashumaro,
    "cattrs": _cattrs,
    "msgpack": _msgpack,
    "pickle": _pickle,
}
ENCODING = ("dumps", "packb", "typed")
DECODING = ("loads", "typed")
Ways = dict[str, Callable[[], Any]]


def encoding_ways(name: str, missing: dict[str, str]) -> Ways:
    """Return the functions that pack the values of a row, by name; store in `missing` why others are absent."""
    _, values, packing = SAMPLES[name]
    ways: Ways = {
        "dumps": partial(cpkg.dumps, values, compress=False),
        "typed": partial(typed.encode, values),
    }
    if packing is not None:
        ways["packb"] = partial(cpkg.msgpack.packb, values, **packing)  # type: ignore[arg-type]
    else:
        missing["packb"] = "has no option for this type"
    for peer, (pack, _) in _peers(name, missing).items():
        ways[peer] = partial(pack, values)
    return _that_run(ways, missing)


def decoding_ways(name: str, missing: dict[str, str]) -> Ways:
    """Return the functions that read the values of a row, by name; store in `missing` why others are absent."""
    kind, values, _ = SAMPLES[name]
    message = typed.encode(values)
    ways: Ways = {
        "loads": partial(cpkg.loads, message),
        "typed": partial(typed.Decoder(list[kind]).decode, message),  # type: ignore[valid-type]
    }
    for peer, (pack, unpack) in _peers(name, missing).items():
        ways[peer] = partial(unpack, pack(values))
    return _that_run(ways, missing)


def _peers(name: str, missing: dict[str, str]) -> dict[str, Both]:
    """Return the functions of the peers that return the values of a row."""
    kind, values, _ = SAMPLES[name]
    found = {}
    for peer, prepare in PEERS.items():
        try:
            pack, unpack = prepare(name, kind)
            back = unpack(pack(values))
        except Exception as exc:
            missing[peer] = _reason(exc)
            continue
        if back == values:
            found[peer] = pack, unpack
        else:
            missing[peer] = "gives other values back"
    return found


def _that_run(ways: Ways, missing: dict[str, str]) -> Ways:
    """Return the ways that raise no exception."""
    for way in list(ways):
        try:
            ways[way]()
        except Exception as exc:
            missing[way] = _reason(exc)
            del ways[way]
    return ways


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


DIRECTIONS: dict[str, tuple[tuple[str, ...], Callable[[str, dict[str, str]], Ways]]] = {
    "packing": (ENCODING, encoding_ways),
    "reading": (DECODING, decoding_ways),
}


def _measure(turns: Any, rounds: int, direction: str, name: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return nanoseconds per value, and why ways are missing."""
    missing: dict[str, str] = {}
    ways = DIRECTIONS[direction][1](name, missing)
    if turns.PYPY:  # compile before anything is timed
        turns.fastest(ways, rounds=30, turn=0.05)
    found = turns.fastest(ways, rounds, turn=0.003, shuffled=True)
    return {way: taken.processor * 1e9 / COUNT for way, taken in found.items()}, missing


def main() -> None:
    """Print the tables."""
    import turns  # beside this file, which is part of a package for the matrix

    options = turns.options(__doc__, rounds=60)
    options.add_argument("names", nargs="*", help="the types to measure, or parts of their names (default: all)")
    arguments = options.parse_args()
    if arguments.child:
        direction, *words = arguments.child
        print(json.dumps(_measure(turns, arguments.rounds, direction, " ".join(words))))
        return
    print(turns.heading("msgpack"))
    names = [name for name in SAMPLES if not arguments.names or any(part in name for part in arguments.names)]
    reasons = []
    for direction, (ours, _) in DIRECTIONS.items():
        turns.row(direction, *ours, *PEERS, "worst", width=20)
        for name in names:
            found, missing = turns.again("--rounds", arguments.rounds, "--child", direction, *name.split())
            reasons += [f"{direction} {name}: {way}: {reason}" for way, reason in missing.items()]
            best = min((found[peer] for peer in PEERS if peer in found), default=None)
            worst = None if best is None else max(found[way] for way in ours if way in found) / best
            shown = [f"{found[way]:.0f}" if way in found else "-" for way in (*ours, *PEERS)]
            turns.row(name, *shown, "-" if worst is None else worst, width=20)
    print("\n".join(dict.fromkeys(reasons)))


if __name__ == "__main__":
    main()
