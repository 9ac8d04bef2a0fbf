# SPDX-License-Identifier: Apache-2.0
"""Write docstrings of Python functions and types as C macros, for the counterparts of these functions in C."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

TWINS = {
    "msgpack": ("Packer", "Unpacker", "pack", "pack_into", "packb", "unpack", "unpackb", "unpackb_from"),
    "zstd": ("ZstdCompressor", "ZstdDecompressor", "compress", "decompress"),
}
"""For each codec, names in purepy that have a counterpart in C; methods and properties of the types are included."""

DROP_IN = Path(__file__).resolve().parent.parent / "cpkg" / "zstandard"


def _documented(codec: str) -> Iterator[tuple[str, str]]:
    module = importlib.import_module(f"purepy.{codec}")
    for name in TWINS[codec]:
        value = getattr(module, name)
        yield f"DOCUMENTED_{name}", inspect.getdoc(value) or ""
        if isinstance(value, type):
            members = {key: inspect.getattr_static(value, key) for key in dir(value) if not key.startswith("_")}
            for key, member in members.items():
                if hasattr(member, "__get__"):
                    yield f"DOCUMENTED_{name}_{key}", inspect.getdoc(member) or ""


def _of_drop_in() -> Iterator[tuple[str, str]]:
    """
    Yield the macro names and docstrings of two methods of the drop-in, read from its source.

    Importing the drop-in would load the module that is being rebuilt.
    """
    for name, method in (("ZstdCompressor", "compress"), ("ZstdDecompressor", "decompress")):
        source = DROP_IN / f"{name[4:].lower()}.py"
        nodes = ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        found = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == method)
        yield f"DROPIN_{name}_{method}", ast.get_docstring(found) or ""


def macros(codec: str) -> str:
    """
    Return the source of C macros whose values are docstrings, as string literals.

    `DOCUMENTED_Packer_pack` is the docstring of `Packer.pack`, `DROPIN_ZstdCompressor_compress` the docstring of
    `cpkg.zstandard.ZstdCompressor.compress`.
    """
    texts = [*_documented(codec), *(_of_drop_in() if codec == "zstd" else ())]
    # For ASCII text, C and JSON have the same escapes, except for `?`, which could begin a trigraph in C.
    literals = ((name, json.dumps(text).replace("?", chr(92) + "?")) for name, text in texts)
    return "".join(f"#define {name} {literal}\n" for name, literal in literals)
