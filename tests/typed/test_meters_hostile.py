# SPDX-License-Identifier: Apache-2.0
"""Work that a small message can cause: probes of dicts and sets, memory, errors; and unions of objects."""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections import deque
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Callable, Deque, Dict, FrozenSet, List, Literal, Optional, OrderedDict, Set, Tuple, Union

import pytest
from bombs import on_one_way

import cpkg
from cpkg import typed
from cpkg.typed import codecs
from cpkg.typed.inputs import Message
from purepy.base.errors import LimitError
from purepy.msgpack.interface import HEAVIEST

WAYS: Dict[str, Dict[str, Any]] = {
    "functions": {},
    "strict=False": {"strict": False},
    "all errors": {"all_errors": True},
}


@pytest.fixture(params=[*WAYS, "first messages"])
def decoder(request: Any, monkeypatch: Any) -> Callable[..., typed.Decoder]:
    """Return a function that creates decoders, for each way to decode."""
    if request.param == "first messages":
        monkeypatch.setattr(codecs, "WALKED", 2**40)
        return typed.Decoder
    return lambda tp, **options: typed.Decoder(tp, **options, **WAYS[request.param])


# --- probes -------------------------------------------------------------------------------------------------------

PRIME = 2**61 - 1  # the hash of a number is its remainder modulo this number


def uuids(count: int) -> List[bytes]:
    return [b"\xd8\x55" + (index * PRIME + 5).to_bytes(16, "big") for index in range(1, count + 1)]


def decimals(count: int) -> List[bytes]:
    texts = [str(index * PRIME + 5).encode() for index in range(1, count + 1)]
    return [cpkg.packb(cpkg.msgpack.ExtType(ord("N"), text)) for text in texts]


def array(items: List[bytes]) -> bytes:
    return b"\xdd" + len(items).to_bytes(4, "big") + b"".join(items)


def pairs(keys: List[bytes]) -> bytes:
    return b"\xdf" + len(keys).to_bytes(4, "big") + b"".join([key + b"\x00" for key in keys])


@dataclass(frozen=True)
class Key:
    id: uuid.UUID

    def __hash__(self) -> int:
        return self.id.int % PRIME


KEYS: List[Tuple[Any, Callable[[int], List[bytes]]]] = [
    (uuid.UUID, uuids),
    (Decimal, decimals),
    (Tuple[uuid.UUID], lambda count: [b"\x91" + key for key in uuids(count)]),
    (Union[str, uuid.UUID], uuids),
    (Any, uuids),
    (Key, lambda count: [b"\x81\xa2id" + key for key in uuids(count)]),
]


@pytest.mark.parametrize(("tp", "keys"), KEYS)
def test_keys_with_colliding_hashes_are_refused(decoder, tp, keys):
    for container, message in ((Dict[tp, int], pairs(keys(1000))), (Set[tp], array(keys(1000)))):
        with pytest.raises(LimitError, match="colliding"):
            decoder(container).decode(message)
    with pytest.raises(LimitError, match="colliding"):
        decoder(List[FrozenSet[tp]]).decode(b"\x91" + array(keys(1000)))


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy probes in another order, which needs other keys")
@pytest.mark.parametrize("tp", [int, float, Any])
def test_numbers_that_collide_are_refused(decoder, tp):
    keys = [cpkg.packb(key) for key in [*range(3, 1000), *on_one_way(20_000)]]
    for container, message in ((Dict[tp, int], pairs(keys)), (Set[tp], array(keys + keys[1:]))):
        with pytest.raises(LimitError, match="colliding"):
            decoder(container).decode(message)


@pytest.mark.parametrize("tp", [int, float, Any, Optional[int]])
def test_usual_keys_are_not_refused(decoder, tp):
    numbers = [cpkg.packb(index * 1_000_003 % 2**40) for index in range(2000)]
    assert len(decoder(Set[tp]).decode(array(numbers))) == 2000
    assert len(decoder(Dict[tp, int]).decode(pairs(numbers))) == 2000


def test_probes_are_counted_over_all_maps_of_a_message(decoder):
    few = 60  # collide without an error, in one map
    assert len(decoder(List[Dict[uuid.UUID, int]]).decode(array([pairs(uuids(few))]))) == 1
    with pytest.raises(LimitError, match="colliding"):
        decoder(List[Dict[uuid.UUID, int]]).decode(array([pairs(uuids(few))] * 40))


# --- memory -------------------------------------------------------------------------------------------------------


@dataclass
class Defaults:
    a: List[int] = field(default_factory=list)
    b: Set[int] = field(default_factory=set)
    c: Deque[int] = field(default_factory=deque)
    d: Any = field(default_factory=lambda: [0] * 20)


@dataclass
class Numbers:
    a: int = 0
    b: int = 0
    c: int = 0


@typed.options(array_like=True)
@dataclass
class Row:
    a: int = 0
    b: int = 0


HEAVY: List[Tuple[Any, bytes]] = [
    (Defaults, b"\x80"), (Numbers, b"\x80"), (Row, b"\x90"), (Deque[int], b"\x90"), (Set[int], b"\x90"),
    (FrozenSet[int], b"\x90"), (OrderedDict[str, int], b"\x80"), (memoryview, b"\xc4\x00"), (bytearray, b"\xc4\x00"),
    (cpkg.msgpack.Raw, b"\x01"),
]  # fmt: skip


@pytest.mark.parametrize(("tp", "message"), HEAVY)
def test_memory_that_headers_do_not_show_is_counted(decoder, tp, message):
    count = 1000
    least = 50_000 if message[0] in (0x01, 0xC4) else 75_000  # more memory than the objects of `loads`
    data = array([message] * count)
    assert len(typed.decode(data, max_memory=least)) == count
    with pytest.raises(LimitError, match=f"max_memory={least} allows") as info:
        decoder(List[tp], max_memory=least).decode(data)
    assert 0 < info.value.offset < len(data)
    assert len(decoder(List[tp], max_memory=2_000_000).decode(data)) == count
    assert len(decoder(List[tp], max_memory=-1).decode(data)) == count


def test_headers_and_extras_share_one_budget(decoder):
    """The weight of a message is the sum of its headers and of what its type adds, to the byte."""
    count, headers, extra = 100, 64 + 100 * (8 + 64), 100 * 700
    data = array([b"\x90"] * count)
    assert len(decoder(List[Deque[int]], max_memory=headers + extra).decode(data)) == count
    assert len(cpkg.loads(data, type=List[Deque[int]], max_memory=headers + extra)) == count
    for least, offset in ((headers + extra - 1, len(data) - 1), (extra, 5 + (extra - headers) // 700)):
        loads = partial(cpkg.loads, type=List[Deque[int]], max_memory=least)
        for decode in (decoder(List[Deque[int]], max_memory=least).decode, loads):
            with pytest.raises(LimitError, match=f"max_memory={least} allows") as info:
                decode(data)
            assert info.value.offset == offset


@dataclass
class Some:
    id: int
    a: List[int] = field(default_factory=list)
    b: List[int] = field(default_factory=list)
    c: Optional[int] = None


@pytest.mark.parametrize(
    ("tp", "message"),
    [*HEAVY, (Defaults, b"\x81\xa0\x01"), (Some, b"\x81\xa2id\x01"), (Dict[str, Set[int]], b"\x81\xa0\x90")],
)
def test_no_message_is_heavier_than_its_type_allows(tp, message):
    """Memory is not counted for a message that is too small to reach the limit."""
    data = array([message] * 1000)
    limits = typed.Decoder(List[tp])._limits
    assert typed.Decoder(List[tp], max_memory=limits.heaviest * len(data) - 1)._limits.check(data) >= 0
    assert len(typed.decode(data, List[tp], max_memory=limits.heaviest * len(data) - 1)) == 1000
    assert limits.check(data) == -1


def test_usual_classes_take_no_more_than_loads():
    assert typed.Decoder(List[Some])._limits.heaviest == HEAVIEST


def test_sets_are_weighed_by_their_items(decoder):
    numbers = [index.to_bytes(1, "big") for index in range(100)]
    data = array([array(numbers)] * 100)
    assert len(decoder(List[Set[int]]).decode(data)) == 100
    with pytest.raises(LimitError, match="max_memory"):
        decoder(List[Set[int]], max_memory=200_000).decode(data)
    assert len(decoder(List[List[int]], max_memory=200_000).decode(data)) == 100


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kept", "more"),
    [({}, 100, True), *[({"max_errors": n}, n, True) for n in (1, 7, 999)], ({"max_errors": 1000}, 1000, False),
     ({"max_errors": -1}, 1000, False)],
)  # fmt: skip
def test_the_number_of_kept_errors_is_limited(options, kept, more):
    decoder = typed.Decoder(List[str], all_errors=True, **options)
    for decode, given in ((decoder.decode, array([b"\x01"] * 1000)), (decoder.convert, [1] * 1000)):
        with pytest.raises(typed.ValidationError) as info:
            decode(given)
        assert (len(info.value.errors), info.value.more) == (kept, more)
        assert (f"only {kept} are listed" in str(info.value)) == more
    with pytest.raises(ValueError, match="max_errors must be"):
        typed.Decoder(int, max_errors=0)


# --- unions -------------------------------------------------------------------------------------------------------


@dataclass
class A:
    x: int


@dataclass
class B:
    y: int


@pytest.mark.parametrize("tp", [A, Union[A, B], Optional[A]])
def test_skipped_text_need_not_be_utf8(decoder, tp):
    bad = b"\x82\xa1u\xa2\xff\xfe\xa1x\x01"
    for _ in range(3):
        assert decoder(tp).decode(bad) == A(1)
    assert decoder(List[tp]).decode(b"\x91\x82\xa1u\x92\x81\xa1\xff\xa1\xfe\xc0\xa1x\x01") == [A(1)]


@dataclass
class Cat:
    lives: int = 9
    kind: Literal["cat"] = "cat"


@dataclass
class Dog:
    name: str = ""
    kind: Literal["dog"] = "dog"


@pytest.mark.parametrize("empty", [b"\x80", b"\xde\x00\x00", b"\xdf\x00\x00\x00\x00"])
@pytest.mark.parametrize("following", [["kind", "cat"], ["kind", "xxx"]])
def test_an_empty_map_has_no_tag(decoder, empty, following):
    message = b"\x93" + empty + b"".join(map(cpkg.packb, following))
    with pytest.raises(typed.ValidationError) as info:
        decoder(Tuple[Union[Cat, Dog], str, str]).decode(message)
    assert (info.value.path, info.value.offset) == ((0,), 1)
    assert "distinguished by the key 'kind'" in str(info.value)


@dataclass
class On:
    name: str
    state: Literal[True] = True


@dataclass
class Off:
    name: str
    state: Literal[False, b"off"] = False


def test_tags_may_have_any_type(decoder):
    tp = List[Union[On, Off]]
    data = typed.encode([On("a"), Off("b"), Off("c", b"off")])
    for _ in range(2):
        assert decoder(tp).decode(data) == [On("a"), Off("b"), Off("c", b"off")]
    for tag in (1, "x", None, b"on", [1], cpkg.msgpack.ExtType(5, b"")):
        with pytest.raises(typed.ValidationError) as info:
            decoder(tp).decode(typed.encode([{"name": "a", "state": tag}]))
        assert info.value.errors[0].path == (0, "state")


def test_unions_of_many_classes_and_a_long_map():
    classes = [
        make_dataclass(f"C{i}", [("t", Literal[f"c{i}"])], namespace={"__module__": __name__}) for i in range(300)
    ]
    decoder = typed.Decoder(Union[(*classes, int)])
    assert decoder.decode(b"\x05") == 5
    assert type(decoder.decode(cpkg.packb({"t": "c299"}))) is classes[299]
    cat = make_dataclass("Cat", [("lives", int, 9), ("t", Literal["cat"], "cat")])
    dog = make_dataclass("Dog", [("name", str, ""), ("t", Literal["dog"], "dog")])
    padding = b"".join([cpkg.packb(f"k{i:05}") + b"\0" for i in range(0xA173)])
    long = b"\xde\xa1\x74" + cpkg.packb("cat") + b"\x00" + padding  # its length, 0xa174, is not the key "t"
    for message in (long, b"\x80", b"\x81\x01\x02", *[cpkg.packb({"t": tag}) for tag in (1, None, "cow")]):
        with pytest.raises(typed.ValidationError):
            typed.Decoder(Union[cat, dog]).decode(message)
    assert typed.Decoder(Union[cat, dog]).decode(b"\x82\xa1x\xc0\xd9\x01t\xd9\x03dog") == dog()


def test_an_exception_of_a_signal_handler_in_a_union_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even for exceptions that decoding itself raises for an invalid message."""
    data = typed.encode([On("a"), Off("b")])
    decoder = typed.Decoder(List[Union[On, Off]])
    value = decoder.decode(data)
    look = Message.look

    class Handled(ValueError):
        pass

    def interrupted(message: Message, at: int) -> Any:
        monkeypatch.setattr(Message, "look", look)
        raise Handled

    def all_of(data: bytes) -> Any:
        made, begin, failure, _ = codecs.decode_all(decoder, data, 1, -1)
        return made[0] if failure is None else codecs.decode_within(decoder, data[begin:], -1, failure)[0]

    for decode in (decoder.decode, all_of):
        monkeypatch.setattr(Message, "look", interrupted)
        with contextlib.suppress(Handled):
            assert decode(data) == value
        assert decode(data) == value
