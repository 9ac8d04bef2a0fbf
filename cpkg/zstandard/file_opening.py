# SPDX-License-Identifier: Apache-2.0
"""open(): a file of compressed data, for bytes or for text."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

from purepy._writing import check_text_arguments


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
    is_path = isinstance(filename, (str, bytes, os.PathLike))
    if not is_path and not hasattr(filename, "read") and not hasattr(filename, "write"):
        raise TypeError("filename must be a str, bytes, file or PathLike object")
    # wrong arguments raise before a file is created or truncated
    make_stream = decompressor().stream_reader if reads else compressor().stream_writer
    is_text = "b" not in plain
    if is_text:
        check_text_arguments(encoding, errors, newline)
    file: object = filename
    if is_path:
        file = builtins.open(filename, plain + "b" if is_text else plain)  # noqa: SIM115
    stream = make_stream(file, closefd=is_path or bool(closefd))
    if is_text:
        return io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline=newline)
    return stream
