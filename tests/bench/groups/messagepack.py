# SPDX-License-Identifier: Apache-2.0
"""MessagePack: pack and unpack, against MessagePack libraries and other serializers."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from bench import payloads, peers
from bench.cells import Case, Group, NotHere, Works

OPERATIONS = ("pack", "unpack")
FALLBACK = "msgpack fallback"


def works(case: Case, operation: str) -> Works:
    """Pack or unpack an object in one call, with the garbage collector enabled, as in a program."""
    try:
        value = payloads.load_object(case.name)
    except ImportError as error:
        raise NotHere(error) from None
    libraries, missing = peers.loaded("msgpack")
    if "msgpack" in libraries and not case.small:
        missing[FALLBACK] = "would take seconds, where msgpack has its C extension"
        libraries.pop(FALLBACK, None)
    reference = next(peers.independent("msgpack"))[1]
    formats = {peer.name: peer.format for peer in peers.of("msgpack")}
    packed = {"msgpack": bytes(reference.forth(value))}
    decoders = {"msgpack": reference.back, "json": json.loads}
    try:
        packed["json"] = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except TypeError as error:
        for name in [name for name in libraries if formats[name] == "json"]:
            del libraries[name]
            missing[name] = f"the format has no such type: {error}"
    if "cbor2" in libraries:
        packed["cbor"], decoders["cbor"] = bytes(libraries["cbor2"].forth(value)), libraries["cbor2"].back

    def check(library: str, result: Any) -> None:
        if operation == "unpack":
            assert result == value, f"{library} gave another object"
        else:
            # equal bytes need no further check; other bytes may be another valid encoding of the object
            form = formats[library]
            assert result == packed[form] or decoders[form](result) == value, f"{library} packed something else"

    calls = {
        name: partial(each.forth, value) if operation == "pack" else partial(each.back, packed[formats[name]])
        for name, each in libraries.items()
    }
    sizes = {form: len(data) for form, data in packed.items()}
    return Works(calls, missing, check, formats=formats, size=sizes["msgpack"], info={"packed": sizes})


QUICK, BIG = ("small", "regular", "large"), ("bin", "generated", "botocore")
# for the bin, every library only copies memory
CASES = [Case(name, name in QUICK, name not in BIG, copies=OPERATIONS * (name == "bin")) for name in payloads.OBJECTS]
GROUPS = [Group("MessagePack", CASES, OPERATIONS, works)]
