# SPDX-License-Identifier: Apache-2.0
"""open(): binary and text files over any backend's ZstdFile."""

from __future__ import annotations

import io
import sys

from purepy.base.locks import calls_of
from purepy.base.writing import MarkedText, check_text_arguments, missing_mark
from purepy.zstd.files.zstd_file import TEXT_CHUNK_SIZE, ZstdFile
from purepy.zstd.format.backend_methods import BackendMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from purepy.base.types import File, Parameters
    from purepy.zstd.format.zdict import DictArgument


class TextWriter(io.TextIOWrapper):
    """
    A text file for writing; a file that an interrupt has broken is closed without further writing.

    io.TextIOWrapper has no protection against a call from inside one of its own calls. A write() from inside loses its
    text, or puts it before text that still waits. A close() from inside closes the file while text is being written. So
    `write_alone` replaces write() while another call runs. At other times write() is a method in C, which is several
    times faster.
    """

    def close(self) -> None:
        self._check_alone("close")
        raw = self.buffer._buffer.raw  # type: ignore[attr-defined]
        raw.drops = raw.give_up() or raw.closed
        self.write = self.write_alone  # type: ignore[method-assign]
        try:
            super().close()
        finally:
            self.__dict__.pop("write", None)

    def write_alone(self, text: str, /) -> int:
        """Write a str and return its length; raises RuntimeError if called from inside another method of this file."""
        self._check_alone("write")
        return type(self).write(self, text)

    def _check_alone(self, name: str) -> None:
        outer = next(calls_of(sys._getframe(1).f_back, self.buffer, self), None)
        if outer is not None:
            raise RuntimeError(f"{name}() of a text file was called from inside {outer}: let that call return first")


class MarkedTextWriter(MarkedText, TextWriter):
    """A TextWriter that writes a byte order mark first."""


class Opening(BackendMethods):
    """The function `open` of one backend."""

    def open(
        self,
        file: object,
        /,
        mode: str = "rb",
        *,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        threads: int | None = None,
        frame_size: int | None = None,
        padding: bool = False,
    ) -> File:
        """
        Open a Zstandard file in binary or text mode (replaces `compression.zstd.open`).

        Args:
            file (str | bytes | PathLike | file object): a path to open, or an object with read() or write(), which
                close() leaves open.
            mode (str): "r", "w", "x" or "a", optionally with "b" for a ZstdFile, or with "t" for an io.TextIOWrapper.
            level (int | None): for writing, -131072 to 22; None and 0 mean 3.
            options (dict[int, int] | None): for writing, values of CompressionParameter, instead of `level`; for
                reading, values of DecompressionParameter.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            encoding (str | None): the encoding of text; None as for the builtin `open`. In binary mode, this and the
                next two arguments raise ValueError.
            errors (str | None): how encoding errors are handled.
            newline (str | None): how line ends are translated.
            threads (int | None): how many frames may be processed at a time, 0 for one per core. If `threads` or
                `frame_size` is given, a file is written in several frames, and flush() ends a frame.
            frame_size (int | None): for writing, the most bytes of content in a frame; None for 16 to 64 MiB, depending
                on the level and the options.
            padding (bool): for reading, whether zero bytes may follow the frames; they add nothing to the content.

        Raises ValueError for another mode, and TypeError or ValueError for other wrong arguments. A corrupted
        dictionary raises ZstdError when the file is opened or used. Reading raises EOFError for a file that is empty or
        ends inside a frame, and ZstdError for a file that is damaged or not a Zstandard file.
        """
        is_text = "t" in mode
        binary_mode = mode.replace("t", "")
        if is_text:
            if "b" in binary_mode:
                raise ValueError(f"Invalid mode: {mode!r}")
        else:
            for name, value in (("encoding", encoding), ("errors", errors), ("newline", newline)):
                if value is not None:
                    raise ValueError(f'Argument "{name}" not supported in binary mode')
        file_type: type[ZstdFile] = self._backend.ZstdFile
        binary_file = file_type.__new__(file_type)
        text_type: Callable[..., io.TextIOWrapper] = io.TextIOWrapper
        if is_text and "r" in mode:
            text_type, binary_file._reader_type = file_type._text_types(encoding, newline)
        elif is_text:
            check_text_arguments(encoding, errors, newline)
            mark = missing_mark(encoding)
            text_type = MarkedTextWriter if mark else TextWriter
        file_type.__init__(
            binary_file,
            file,
            binary_mode,
            level=level,
            options=options,
            zstd_dict=zstd_dict,
            threads=threads,
            frame_size=frame_size,
            padding=padding,
        )
        if not is_text:
            return binary_file
        text_file: File = text_type(binary_file, encoding, errors, newline)
        text_file._CHUNK_SIZE = TEXT_CHUNK_SIZE
        if binary_file._is_writing:
            binary_file._write_for(text_file)
            if mark and not (binary_mode == "a" and binary_file._close_fp and binary_file._fp.tell()):
                text_file.mark = mark
        return text_file
