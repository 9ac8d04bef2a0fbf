# SPDX-License-Identifier: Apache-2.0
"""What `help()` shows of types and functions in C: the documentation of their twins in Python, as macros of C."""

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
"""By codec; the methods and properties of types are taken with them."""

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
    """Read the drop-in's sources: importing it would load a module that may be just about to be built anew."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(DROP_IN.glob("*.py"))]
    classes = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}

    def members(node: ast.ClassDef) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in classes:
                found.update(members(classes[base.id]))
        functions = (inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef))
        found.update((function.name, ast.get_docstring(function)) for function in functions)
        return found

    for name, node in classes.items():
        yield f"DROPIN_{name}", ast.get_docstring(node) or ""
        yield from ((f"DROPIN_{name}_{key}", text) for key, text in members(node).items() if text and key[0] != "_")


def macros(codec: str) -> str:
    """
    Return the definitions of string literals.

    `DOCUMENTED_Packer_pack` is the documentation of `Packer.pack`, `DROPIN_ZstdCompressor_compress` that of
    `cpkg.zstandard.ZstdCompressor.compress`.
    """
    texts = [*_documented(codec), *(_of_drop_in() if codec == "zstd" else ())]
    # C's escapes are JSON's where the text is ASCII, but for `?`, which could begin a trigraph
    literals = ((name, json.dumps(text).replace("?", chr(92) + "?")) for name, text in texts)
    return "".join(f"#define {name} {literal}\n" for name, literal in literals)
