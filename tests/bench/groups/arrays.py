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


def lists(array: Any, missing: dict[str, str]) -> Calls:
    """Pack an array as a list of numbers; store in `missing` why a library is absent."""
    calls: Calls = {"cpkg": partial(msgpack.packb, array, numpy=True)}
    if ormsgpack := _peer("ormsgpack", missing):
        calls["ormsgpack"] = partial(ormsgpack.packb, array, option=ormsgpack.OPT_SERIALIZE_NUMPY)
    if theirs := _peer("msgpack", missing):
        calls["msgpack"] = partial(theirs.packb, array, default=lambda given: given.tolist())
    return calls


def from_lists(array: Any, missing: dict[str, str]) -> Calls:
    """Read a list of numbers into an array."""
    import numpy as np

    message = msgpack.packb(array, numpy=True)
    readers = {}
    if msgspec := _peer("msgspec.msgpack", missing):
        readers["msgspec"] = msgspec.Decoder(list[type(array[0].item())]).decode  # type: ignore[misc]
    for name in ("ormsgpack", "msgpack"):
        if module := _peer(name, missing):
            readers[name] = module.unpackb
    calls: Calls = {"cpkg": _decoding(array, message)}
    for name, read in readers.items():
        calls[name] = lambda read=read: np.array(read(message), array.dtype)
    return calls


def in_bytes(array: Any, missing: dict[str, str]) -> Calls:
    """Write an array as its bytes."""
    calls: Calls = {"cpkg": partial(cpkg.dumps, array, compress=False), "pickle": partial(pickle.dumps, array, 5)}
    if theirs := _peer("msgpack", missing):
        calls["msgpack"] = partial(theirs.packb, array, default=lambda given: (given.dtype.str, given.tobytes()))
    return calls


def _read_by_hand(data: bytes) -> Any:
    import msgpack
    import numpy as np

    dtype, items = msgpack.unpackb(data)
    return np.frombuffer(items, dtype)


READERS: dict[str, Callable[[bytes], Any]] = {"cpkg": cpkg.loads, "pickle": pickle.loads, "msgpack": _read_by_hand}
"""The functions that read what each library wrote as bytes."""


def from_bytes(array: Any, missing: dict[str, str]) -> Calls:
    """Read an array that was written as its bytes."""
    return {name: partial(READERS[name], call()) for name, call in in_bytes(array, missing).items()}


def by_type(array: Any, missing: dict[str, str]) -> Calls:
    """Read an array that was written as its bytes, with cpkg by type."""
    return {**from_bytes(array, missing), "cpkg": _decoding(array, cpkg.dumps(array, compress=False))}


def _decoding(array: Any, message: bytes) -> Callable[[], Any]:
    from numpy.typing import NDArray

    return partial(typed.Decoder(NDArray[array.dtype.type]).decode, message)


def _peer(module: str, missing: dict[str, str]) -> Any:
    """Return the module of a library, or None."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing[module.partition(".")[0]] = str(error)
        return None


OPERATIONS: dict[str, Callable[[Any, dict[str, str]], Calls]] = {
    "packb": lists,
    "typed.decode, list": from_lists,
    "dumps": in_bytes,
    "loads": from_bytes,
    "typed.decode, bytes": by_type,
}


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

    return Works(OPERATIONS[operation](array, missing), missing, check, size=array.nbytes)


NAMES = {"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "u1": "uint8", "?": "bool"}
# bytes are copied, whatever they mean
COPIES = ("dumps", "loads", "typed.decode, bytes")
GROUP = Group(
    "Arrays",
    [
        ArrayCase("1,000 float64", small=True, dtype="f8", count=1000),
        *(ArrayCase(f"100,000 {name}", dtype == "f8", copies=COPIES, dtype=dtype) for dtype, name in NAMES.items()),
    ],
    lambda case: [name for name in OPERATIONS if case.dtype == "f8" or name not in COPIES],
    works,
)
