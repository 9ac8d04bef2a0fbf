# SPDX-License-Identifier: Apache-2.0
"""Containers that another thread changes while they are packed: a RuntimeError or a complete message."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any, Callable

import pytest
from threads import run_threads, switching

Change = Callable[[Any], Any]


class Between:
    """
    Make a change in the middle of a call, as another thread could: before the `at`-th line runs.

    Only Python code has lines; C code that holds the GIL is not interrupted.
    """

    def __init__(self, at: int, container: Any, changes: list[Change]) -> None:
        self.at = at
        self.container = container
        self.changes = list(changes)
        self.lines = 0

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            return None
        if event == "line":
            self.lines += 1
            if self.changes and self.lines >= self.at:
                sys.settrace(None)
                self.changes.pop(0)(self.container)
                self.at = self.lines + 3
                sys.settrace(self.trace)
        return self.trace

    def run(self, pack: Callable[[Any], bytes], obj: Any) -> bytes:
        outer = sys.gettrace()
        sys.settrace(self.trace)
        try:
            return pack(obj)
        finally:
            sys.settrace(outer)


LISTS: dict[str, Callable[[], list[Any]]] = {
    "short": lambda: [1, "a", None, 2.5],
    "ints": lambda: list(range(17)),
    "floats": lambda: [i / 3 for i in range(17)],
    "text": lambda: [f"item {i}" for i in range(17)],
    "text and others": lambda: [*map(str, range(16)), 1, None, "z"],
    "lists": lambda: [[i, [i]] for i in range(4)],
    "dicts": lambda: [{"k": i} for i in range(4)],
}
LIST_CHANGES: dict[str, list[Callable[[list[Any]], Any]]] = {
    "shorter": [lambda items: items.pop()],
    "longer": [lambda items: items.append("new")],
    "empty": [lambda items: items.clear()],
    "there and back": [lambda items: items.pop(), lambda items: items.append("new")],
    "back and there": [lambda items: items.append("new"), lambda items: items.pop()],
    "turned": [lambda items: items.append(items.pop(0))],
    "other items": [lambda items: items.__setitem__(slice(None), [None] * len(items))],
}
DICT_CHANGES: dict[str, list[Callable[[dict[Any, Any]], Any]]] = {
    "smaller": [lambda pairs: pairs.popitem()],
    "larger": [lambda pairs: pairs.update(new=1)],
    "empty": [lambda pairs: pairs.clear()],
    "there and back": [lambda pairs: pairs.popitem(), lambda pairs: pairs.update(new=1)],
    "back and there": [lambda pairs: pairs.update(new=1), lambda pairs: pairs.popitem()],
    "turned": [lambda pairs: pairs.update(new=pairs.pop(next(iter(pairs))))],
    "other pairs": [
        lambda pairs: [pairs.pop(next(iter(pairs))) for _ in range(len(pairs))],
        lambda pairs: pairs.update({f"n{i}": i for i in range(20)}),
    ],
}


def check(msgpack: ModuleType, make: Callable[[], Any], changes: list[Change], pack: Callable[[Any], bytes]) -> None:
    """Change the result of `make` between any two lines of the packer, inside of a message and as the message."""
    for outermost in (True, False):
        at = 0
        while True:
            at += 1 + at // 16  # between any two of the first lines, later at fewer places
            container = make()
            between = Between(at, container, changes)
            try:
                packed = between.run(pack, container if outermost else ["head", container, {"k": container}])
            except RuntimeError as exc:
                assert "changed" in str(exc)  # noqa: PT017 - either outcome is right
            else:
                found = msgpack.unpackb(packed, strict_map_key=False, object_pairs_hook=list)
                if not outermost:
                    assert found[0] == "head"
                    assert len(found) == 3
            if between.changes:
                break  # the call had already ended


@pytest.mark.parametrize("changes", LIST_CHANGES.values(), ids=LIST_CHANGES)
@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_lists(msgpack: ModuleType, make: Any, changes: Any) -> None:
    """The header matches the items, wherever a list changes."""
    check(msgpack, make, changes, msgpack.packb)


@pytest.mark.parametrize("changes", DICT_CHANGES.values(), ids=DICT_CHANGES)
@pytest.mark.parametrize("size", [3, 9])
def test_dicts(msgpack: ModuleType, size: int, changes: Any) -> None:
    """The header matches the pairs that follow, wherever a dict changes."""
    check(msgpack, lambda: {f"k{i}": i for i in range(size)}, changes, msgpack.packb)


@pytest.mark.parametrize(
    "options", [{"sort_keys": True}, {"max_total_items": 1000}, {"use_single_float": True}], ids=str
)
def test_under_options(msgpack: ModuleType, options: Any) -> None:
    """The same with options for which the general loop packs."""
    for name in ("empty", "there and back"):
        check(msgpack, LISTS["short"], LIST_CHANGES[name], lambda obj: msgpack.packb(obj, **options))
    for name in ("empty", "there and back", "other pairs"):
        check(msgpack, lambda: {"a": 1, "b": 2}, DICT_CHANGES[name], lambda obj: msgpack.packb(obj, **options))


@pytest.mark.parametrize("kind", [int, float])
def test_long_lists_of_numbers(msgpack: ModuleType, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of more numbers than are copied at once may have changed before each copy."""
    monkeypatch.setattr("purepy.msgpack.plain_writer._PIECE", 8)
    if msgpack.__name__.endswith("pypy"):
        monkeypatch.setattr("cpkg._native.msgpack.pypy.scratch.PIECE", 8)
    changes: list[Change] = [
        lambda items: items.pop(),
        lambda items: items.append(1),
        lambda items: items.append("text"),
        lambda items: items.clear(),
        lambda items: items.__setitem__(-1, True),
    ]
    for change in changes:
        check(msgpack, lambda: [kind(i) for i in range(30)], [change], msgpack.packb)


def test_threads(msgpack: ModuleType) -> None:
    """Two threads pack a container while another thread changes it.

    Without the GIL, packing a bytearray or the first packing of a non-ASCII str may wait for a lock, so that the
    container is unlocked and loses the item meanwhile.
    """
    items: list[Any] = [*range(5), "a", *range(5), "é", bytearray(b"a")]
    long: list[Any] = list(range(50))
    pairs: dict[Any, Any] = {f"k{i}": i for i in range(9)}
    left = [2]
    good = [0]

    def pack() -> None:
        try:
            for _ in range(15 if sys.implementation.name == "pypy" else 300):
                for obj in (items, long, pairs, [items, {"k": pairs}, long]):
                    try:
                        packed = msgpack.packb(obj)
                    except RuntimeError as exc:
                        assert "changed" in str(exc)  # noqa: PT017
                    else:
                        msgpack.unpackb(packed, strict_map_key=False)
                        good[0] += 1
        finally:
            left[0] -= 1

    def change() -> None:
        while left[0]:
            items.append(items.pop())
            items[-2:] = [f"é{len(items)}", bytearray(b"a")]
            pairs["é"] = f"é{len(items)}"
            del pairs["é"]
            long.append(long.pop(0))
            key, value = pairs.popitem()
            pairs[f"{key}'" if len(key) < 20 else "k"] = value

    with switching(1e-6):
        assert run_threads(pack, pack, change) == []
    assert good[0]
