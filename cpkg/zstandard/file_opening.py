# SPDX-License-Identifier: Apache-2.0
"""open(): opens a file of compressed data, for bytes or text."""

from __future__ import annotations

import builtins
import io
import os
from typing import TYPE_CHECKING, Any, Callable

from purepy.base.writing import MarkedText, check_text_arguments, missing_mark

if TYPE_CHECKING:
    from cpkg.zstandard.compressor import ZstdCompressor
    from cpkg.zstandard.decompressor import ZstdDecompressor


def make_open(
    compressor_type: Callable[[], ZstdCompressor], decompressor_type: Callable[[], ZstdDecompressor]
) -> Callable[..., object]:
    """Return the function `open` for a backend's types."""

    def open(
        filename: Any,
        mode: str = "rb",
        cctx: ZstdCompressor | None = None,
        dctx: ZstdDecompressor | None = None,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool | None = None,
    ) -> object:
        """
        Open a file of compressed data; `filename` is a path or a file object.

        `mode` is "r", "w", "a" or "x" (default "rb"): with "b" the file is opened for bytes, without it, or with "t",
        for text. For bytes, the result is a ZstdDecompressionReader or a ZstdCompressionWriter, for text an
        io.TextIOWrapper. `cctx` is the ZstdCompressor and `dctx` the ZstdDecompressor to use instead of one with
        default settings. `encoding`, `errors` and `newline` are those of io.TextIOWrapper.
        Closing the result closes a file object only if `closefd` is true. A file that was opened by its path is always
        closed. Raises ValueError for another mode, and TypeError for an object that is neither a path nor a file.
        """
        plain = mode.replace("t", "")
        reads = plain in ("r", "rb")
        if not reads and plain not in ("w", "wb", "a", "ab", "x", "xb"):
            raise ValueError(f"Invalid mode: {mode!r}")
        is_path = isinstance(filename, (str, bytes, os.PathLike))
        if not is_path and not hasattr(filename, "read") and not hasattr(filename, "write"):
            raise TypeError("filename must be a str, bytes, file or PathLike object")
        # wrong arguments raise before a file is created or truncated
        make_stream: Any = (
            (dctx or decompressor_type()).stream_reader if reads else (cctx or compressor_type()).stream_writer
        )
        is_text = "b" not in plain
        if is_text:
            check_text_arguments(encoding, errors, newline)
        file = builtins.open(filename, plain + "b" if is_text else plain) if is_path else filename  # noqa: SIM115
        stream = make_stream(file, closefd=is_path or bool(closefd))
        if not is_text:
            return stream
        mark = b"" if reads or (plain == "a" and is_path and file.tell()) else missing_mark(encoding)
        if not mark:
            return io.TextIOWrapper(stream, encoding, errors, newline)
        text_file = MarkedText(stream, encoding, errors, newline)
        text_file.mark = mark
        return text_file

    return open
