# SPDX-License-Identifier: Apache-2.0
"""What `help()` shows of types and functions in C: the documentation of their twins in purepy, as macros of C."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

TWINS = {
    "msgpack": ("Packer", "Unpacker", "pack", "pack_into", "packb", "unpack", "unpackb", "unpackb_from"),
    "zstd": ("ZstdCompressor", "ZstdDecompressor", "compress", "decompress"),
}
"""By codec; the methods and properties of types are taken with them."""


def _documented(codec: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"purepy.{codec}")
    for name in TWINS[codec]:
        value = getattr(module, name)
        yield name, value
        if isinstance(value, type):
            members = {key: inspect.getattr_static(value, key) for key in dir(value) if not key.startswith("_")}
            yield from ((f"{name}_{key}", member) for key, member in members.items() if hasattr(member, "__get__"))


def macros(codec: str) -> str:
    """Return the definitions: `DOCUMENTED_Packer_pack` is the documentation of `Packer.pack`, a string literal."""
    # C's escapes are JSON's where the text is ASCII, but for `?`, which could begin a trigraph
    literals = ((name, json.dumps(inspect.getdoc(value) or "")) for name, value in _documented(codec))
    return "".join(f"#define DOCUMENTED_{name} {text.replace('?', chr(92) + '?')}\n" for name, text in literals)
