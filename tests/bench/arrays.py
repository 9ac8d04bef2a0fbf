# SPDX-License-Identifier: Apache-2.0
"""
Arrays of numbers against ormsgpack, msgpack, msgspec and pickle, in processor time and in turns.

`python tests/bench/arrays.py` prints milliseconds for arrays of a million items: packed as lists of numbers by `packb`,
written as their bytes by `cpkg.dumps`, read by `cpkg.loads`, and decoded by type from either form.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import cpkg
from cpkg import msgpack, typed

COUNT = 1_000_000
DTYPES = ("f8", "f4", "i8", "i4", "u1", "?")

Ways = dict[str, Callable[[], Any]]


def sample(dtype: str, count: int = COUNT) -> Any:
    """Return an array of random items."""
    import numpy as np

    draw = np.random.default_rng(47)
    if dtype[0] == "f":
        return draw.random(count).astype(dtype)
    return draw.integers(0, {"?": 2, "u1": 256}.get(dtype, 2**31), count).astype(dtype)


def list_ways(array: Any, missing: dict[str, str]) -> Ways:
    """Return the ways to pack an array as a list of numbers; store in `missing` why a library is absent."""
    ways: Ways = {"cpkg": partial(msgpack.packb, array, numpy=True)}
    if ormsgpack := _peer("ormsgpack", missing):
        ways["ormsgpack"] = partial(ormsgpack.packb, array, option=ormsgpack.OPT_SERIALIZE_NUMPY)
    if theirs := _peer("msgpack", missing):
        ways["msgpack"] = partial(theirs.packb, array, default=lambda given: given.tolist())
    return ways


def dumping_ways(array: Any, missing: dict[str, str]) -> Ways:
    """Return the ways to write an array as its bytes."""
    ways: Ways = {"cpkg": partial(cpkg.dumps, array, compress=False), "pickle": partial(pickle.dumps, array, 5)}
    if theirs := _peer("msgpack", missing):
        ways["msgpack"] = partial(theirs.packb, array, default=lambda given: (given.dtype.str, given.tobytes()))
    return ways


def _read_by_hand(data: bytes) -> Any:
    import msgpack
    import numpy as np

    dtype, items = msgpack.unpackb(data)
    return np.frombuffer(items, dtype)


READERS: dict[str, Callable[[bytes], Any]] = {"cpkg": cpkg.loads, "pickle": pickle.loads, "msgpack": _read_by_hand}
"""The functions that read the output of each of `dumping_ways`."""


def loading_ways(array: Any, missing: dict[str, str]) -> Ways:
    """Return the ways to read the output of `dumping_ways`."""
    return {name: partial(READERS[name], way()) for name, way in dumping_ways(array, missing).items()}


def decoding_ways(array: Any, missing: dict[str, str]) -> Ways:
    """Return the ways to read the output of `dumping_ways`, for cpkg by type."""
    return {**loading_ways(array, missing), "cpkg": _decoding(array, cpkg.dumps(array, compress=False))}


def list_decoding_ways(array: Any, missing: dict[str, str]) -> Ways:
    """Return the ways to read a list of numbers into an array."""
    import numpy as np

    message = msgpack.packb(array, numpy=True)
    ways: Ways = {"cpkg": _decoding(array, message)}
    readers = {}
    if msgspec := _peer("msgspec.msgpack", missing):
        readers["msgspec"] = msgspec.Decoder(list[type(array[0].item())]).decode  # type: ignore[misc]
    for name in ("ormsgpack", "msgpack"):
        if module := _peer(name, missing):
            readers[name] = module.unpackb
    for name, read in readers.items():
        ways[name] = lambda read=read: np.array(read(message), array.dtype)
    return ways


def _decoding(array: Any, message: bytes) -> Callable[[], Any]:
    from numpy.typing import NDArray

    return partial(typed.Decoder(NDArray[array.dtype.type]).decode, message)


def _peer(module: str, missing: dict[str, str]) -> Any:
    """Return the module of a library, or None."""
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        missing[module.partition(".")[0]] = str(exc)
        return None


OPERATIONS: dict[str, tuple[Callable[[Any, dict[str, str]], Ways], Collection[str]]] = {
    "packb": (list_ways, ("ormsgpack", "msgpack")),
    "typed.decode, list": (list_decoding_ways, ("msgspec", "ormsgpack", "msgpack")),
    "dumps": (dumping_ways, ("msgpack", "pickle")),
    "loads": (loading_ways, ("msgpack", "pickle")),
    "typed.decode, bytes": (decoding_ways, ("msgpack", "pickle")),
}
"""The ways of each of cpkg's operations, and the libraries with the same operation."""


def main() -> None:
    """Print a row for each operation and dtype."""
    import turns

    arguments = turns.options(__doc__, rounds=15).parse_args()
    try:
        import numpy  # noqa: F401
    except ImportError:
        sys.exit("needs numpy: pip install numpy")
    print(turns.heading("msgpack"))
    missing: dict[str, str] = {}
    for operation, (ways, _) in OPERATIONS.items():
        for dtype in DTYPES:
            found = turns.fastest(ways(sample(dtype), missing), arguments.rounds)
            columns = [part for name, taken in found.items() for part in (name, taken.processor * 1e3)]
            turns.row(f"{operation}, {dtype}", *columns, width=24, digits=2)
    for name, reason in missing.items():
        print(f"without {name}: {reason}")


if __name__ == "__main__":
    main()
