# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers as their bytes and as lists, packed and read, with cpkg and with its peers."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import cpkg
from bench.cells import OURS, Case, Function, Group, NotHere, Pair, Works, coded
from cpkg import msgpack, typed

LISTS, BYTES = ("packb", "typed.decode, list"), ("dumps", "loads", "typed.decode, bytes")
PEERS = {"packb": ("ormsgpack", "msgpack"), "typed.decode, list": ("ormsgpack", "msgpack", "msgspec")}
"""The peers of some operations; the other operations have only msgpack."""


def made(case: Case) -> Any:
    """Return the array of a case: `count` random items of a dtype."""
    import numpy as np

    draw = np.random.default_rng(47)
    if case.dtype[0] == "f":
        return draw.random(case.count).astype(case.dtype)
    return draw.integers(0, {"?": 2, "u1": 256}.get(case.dtype, 2**31), case.count).astype(case.dtype)


def _decode(array: Any) -> Function:
    from numpy.typing import NDArray

    return typed.Decoder(NDArray[array.dtype.type]).decode


def lists(array: Any, modules: dict[str, Any]) -> dict[str, Pair]:
    """Pack an array as a list of numbers, and read such a list into an array."""
    import numpy as np

    def read(unpack: Function) -> Function:
        return lambda message: np.array(unpack(message), array.dtype)

    found: dict[str, Pair] = {OURS: (partial(msgpack.packb, numpy=True), _decode(array))}
    if module := modules.get("ormsgpack"):
        found["ormsgpack"] = partial(module.packb, option=module.OPT_SERIALIZE_NUMPY), read(module.unpackb)
    if module := modules.get("msgpack"):
        found["msgpack"] = partial(module.packb, default=lambda given: given.tolist()), read(module.unpackb)
    if module := modules.get("msgspec"):
        items = list[type(array[0].item())]  # type: ignore[misc]
        found["msgspec"] = module.msgpack.encode, read(module.msgpack.Decoder(items).decode)
    return found


def in_bytes(array: Any, modules: dict[str, Any]) -> dict[str, Pair]:
    """Write an array as its bytes, and read them."""
    import numpy as np

    found: dict[str, Pair] = {
        OURS: (partial(cpkg.dumps, compress=False), cpkg.loads),
        "pickle": (partial(pickle.dumps, protocol=5), pickle.loads),
    }
    if module := modules.get("msgpack"):

        def read(data: bytes) -> Any:
            dtype, items = module.unpackb(data)
            return np.frombuffer(items, dtype)

        found["msgpack"] = partial(module.packb, default=lambda given: (given.dtype.str, given.tobytes())), read
    return found


def works(case: Case, operation: str) -> Works:
    """Pack a numpy array, or read it back."""
    try:
        import numpy as np
    except ImportError as error:
        raise NotHere(error) from None
    array, packs = made(case), operation in ("packb", "dumps")
    absent = Works()
    modules = dict(absent.imported({name: name for name in PEERS.get(operation, ("msgpack",))}))
    pairs = (in_bytes if operation in BYTES else lists)(array, modules)
    if operation == "typed.decode, bytes":
        pairs[OURS] = pairs[OURS][0], _decode(array)

    def check(library: str, result: Any) -> None:
        if operation == "packb":
            result = np.array(msgpack.unpackb(result), array.dtype)
        elif packs:
            result = pairs[library][1](result)
        assert result.dtype == array.dtype, f"{library} gave another dtype"
        assert np.array_equal(result, array), f"{library} gave other items"

    data = None if operation in BYTES else msgpack.packb(array, numpy=True)
    return coded(pairs, array, packs, data, missing=absent.missing, check=check, size=array.nbytes)


NAMES = {"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "u1": "uint8", "?": "bool"}
CASES = [
    Case("1,000 float64", small=True, dtype="f8", count=1000),
    *(Case(f"100,000 {n}", key == "f8", copies=BYTES, dtype=key, count=100_000) for key, n in NAMES.items()),
]
# operations on bytes do not depend on the dtype, so one dtype is enough for them
GROUPS = [Group("Arrays", CASES, lambda case: (*LISTS, *BYTES) if case.dtype == "f8" else LISTS, works)]
