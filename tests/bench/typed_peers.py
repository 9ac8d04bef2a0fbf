# SPDX-License-Identifier: Apache-2.0
"""The libraries that encode and decode by type: for each a function that returns both functions for a type
and a value of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.cells import Pair


def _msgspec(kind: Any, value: Any) -> Pair:
    from msgspec import msgpack

    encode = msgpack.Encoder(enc_hook=lambda obj: obj.cents).encode
    try:
        return encode, msgpack.Decoder(kind, dec_hook=lambda cls, value: cls(value)).decode
    except TypeError as error:  # it knows unions of its Structs only
        return encode, str(error)


def _ormsgpack(kind: Any, value: Any) -> Pair:
    import ormsgpack

    def default(obj: Any) -> Any:
        if hasattr(obj, "code"):
            return ormsgpack.Ext(obj.code, obj.data)
        return obj.cents if hasattr(obj, "cents") else str(obj)

    return partial(ormsgpack.packb, default=default), "decodes to dicts only"


def _mashumaro(kind: Any, value: Any) -> Pair:
    from mashumaro.codecs.msgpack import MessagePackDecoder, MessagePackEncoder

    return MessagePackEncoder(kind).encode, MessagePackDecoder(kind).decode


def _cattrs(kind: Any, value: Any) -> Pair:
    from cattrs.preconf.msgpack import make_converter

    converter = make_converter(detailed_validation=False)
    return (lambda value: converter.dumps(value, kind)), (lambda data: converter.loads(data, kind))


def _pydantic(kind: Any, value: Any) -> Pair:
    import msgpack
    import pydantic

    adapter = pydantic.TypeAdapter(kind)
    try:
        msgpack.packb(adapter.dump_python(value))
        mode = "python"
    except TypeError:  # msgpack does not know times and UUIDs: write them as text
        mode = "json"
    dump = partial(adapter.dump_python, mode=mode)
    return (lambda obj: msgpack.packb(dump(obj))), (lambda data: adapter.validate_python(msgpack.unpackb(data)))


def _apischema(kind: Any, value: Any) -> Pair:
    import apischema
    import msgpack

    structure, plain = apischema.deserialization_method(kind), apischema.serialization_method(kind)
    return (lambda value: msgpack.packb(plain(value))), (lambda data: structure(msgpack.unpackb(data)))


PEERS: dict[str, Callable[[Any, Any], Pair]] = {
    "msgspec": _msgspec,
    "ormsgpack": _ormsgpack,
    "mashumaro": _mashumaro,
    "cattrs": _cattrs,
    "pydantic": _pydantic,
    "apischema": _apischema,
    "pickle": lambda kind, value: (partial(pickle.dumps, protocol=5), pickle.loads),
}
