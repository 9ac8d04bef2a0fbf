# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers as their bytes and as lists, packed and read, with cpkg and with its peers."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cpkg
from bench.cells import Case, Group, NotHere, Works
from cpkg import msgpack, typed

Calls = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class ArrayCase(Case):
    """An array of `count` random items of a dtype."""

    dtype: str = ""
    count: int = 100_000

    @property
    def array(self) -> Any:
        """The array."""
        import numpy as np

        draw = np.random.default_rng(47)
        if self.dtype[0] == "f":
            return draw.random(self.count).astype(self.dtype)
        return draw.integers(0, {"?": 2, "u1": 256}.get(self.dtype, 2**31), self.count).astype(self.dtype)


def _decoding(array: Any, message: bytes) -> Callable[[], Any]:
    from numpy.typing import NDArray

    return partial(typed.Decoder(NDArray[array.dtype.type]).decode, message)


def lists(array: Any, operation: str, missing: dict[str, str]) -> Calls:
    """Pack an array as a list of numbers, or read such a list into an array."""
    import numpy as np

    message = msgpack.packb(array, numpy=True)
    packs = operation == "packb"
    calls: Calls = {"cpkg": partial(msgpack.packb, array, numpy=True) if packs else _decoding(array, message)}
    readers = {}
    if ormsgpack := _peer("ormsgpack", missing):
        readers["ormsgpack"] = ormsgpack.unpackb
        calls["ormsgpack"] = partial(ormsgpack.packb, array, option=ormsgpack.OPT_SERIALIZE_NUMPY)
    if theirs := _peer("msgpack", missing):
        readers["msgpack"] = theirs.unpackb
        calls["msgpack"] = partial(theirs.packb, array, default=lambda given: given.tolist())
    if not packs and (msgspec := _peer("msgspec.msgpack", missing)):
        readers["msgspec"] = msgspec.Decoder(list[type(array[0].item())]).decode  # type: ignore[misc]
    if not packs:
        for name, read in readers.items():
            calls[name] = lambda read=read: np.array(read(message), array.dtype)
    return calls


def _read_by_hand(data: bytes) -> Any:
    import msgpack
    import numpy as np

    dtype, items = msgpack.unpackb(data)
    return np.frombuffer(items, dtype)


READERS: dict[str, Callable[[bytes], Any]] = {"cpkg": cpkg.loads, "pickle": pickle.loads, "msgpack": _read_by_hand}
"""The functions that read what each library wrote as bytes."""


def in_bytes(array: Any, operation: str, missing: dict[str, str]) -> Calls:
    """Write an array as its bytes, or read them, with cpkg also by type."""
    calls: Calls = {"cpkg": partial(cpkg.dumps, array, compress=False), "pickle": partial(pickle.dumps, array, 5)}
    if theirs := _peer("msgpack", missing):
        calls["msgpack"] = partial(theirs.packb, array, default=lambda given: (given.dtype.str, given.tobytes()))
    if operation != "dumps":
        calls = {name: partial(READERS[name], call()) for name, call in calls.items()}
    if operation == "typed.decode, bytes":
        calls["cpkg"] = _decoding(array, cpkg.dumps(array, compress=False))
    return calls


def _peer(module: str, missing: dict[str, str]) -> Any:
    """Return the module of a library, or None."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing[module.partition(".")[0]] = str(error)
        return None


def works(case: ArrayCase, operation: str) -> Works:
    """Pack a numpy array, or read it back."""
    try:
        import numpy as np
    except ImportError as error:
        raise NotHere(error) from None
    array = case.array
    missing: dict[str, str] = {}

    def check(library: str, result: Any) -> None:
        if operation == "packb":
            result = np.array(msgpack.unpackb(result), array.dtype)
        elif operation == "dumps":
            result = READERS[library](result)
        assert result.dtype == array.dtype, f"{library} gave another dtype"
        assert np.array_equal(result, array), f"{library} gave other items"

    return Works(
        (in_bytes if operation in BYTES else lists)(array, operation, missing), missing, check, size=array.nbytes
    )


LISTS, BYTES = ("packb", "typed.decode, list"), ("dumps", "loads", "typed.decode, bytes")
NAMES = {"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "u1": "uint8", "?": "bool"}
GROUP = Group(
    "Arrays",
    [
        ArrayCase("1,000 float64", small=True, dtype="f8", count=1000),
        *(ArrayCase(f"100,000 {name}", dtype == "f8", copies=BYTES, dtype=dtype) for dtype, name in NAMES.items()),
    ],
    # bytes are copied, whatever they mean
    lambda case: (*LISTS, *BYTES) if case.dtype == "f8" else LISTS,
    works,
)
