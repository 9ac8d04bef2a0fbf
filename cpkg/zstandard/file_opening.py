# SPDX-License-Identifier: Apache-2.0
"""open(): a file of compressed data, for bytes or for text."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any


def open_file(
    filename: Any,
    mode: str,
    compressor: Any,
    decompressor: Any,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
    closefd: bool | None,
) -> Any:
    """Do what `open` is documented to do; `compressor` and `decompressor` are called where they are needed."""
    plain = mode.replace("t", "")
    reads = plain in ("r", "rb")
    if not reads and plain not in ("w", "wb", "a", "ab", "x", "xb"):
        raise ValueError(f"Invalid mode: {mode!r}")
    if isinstance(filename, (str, bytes, os.PathLike)):
        made = compressor() if not reads else decompressor()  # before the file, which it may be wrong to make
        file: Any = builtins.open(filename, plain if plain.endswith("b") else plain + "b")  # noqa: SIM115
        closefd = True
    elif hasattr(filename, "read") or hasattr(filename, "write"):
        made = compressor() if not reads else decompressor()
        file = filename
    else:
        raise TypeError("filename must be a str, bytes, file or PathLike object")
    stream = (made.stream_reader if reads else made.stream_writer)(file, closefd=bool(closefd))
    if "b" in plain:
        return stream
    return io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline=newline)
