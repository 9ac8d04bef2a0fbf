# SPDX-License-Identifier: Apache-2.0
"""
`zipfile` with method 93, Zstandard: the interpreter's own module, whose ZipFile also writes and reads this method.

Replaces `zipfile` of Python 3.14 and `backports.zstd.zipfile`. Members of several frames are read completely, and no
member produces more bytes than the archive declares. Everything else is as in the interpreter's module.
"""

from __future__ import annotations

import copy
import errno
import io
import zipfile as _standard
from typing import TYPE_CHECKING, Any, Callable
from zipfile import ZIP_STORED as ZIP_STORED
from zipfile import BadZipFile as BadZipFile
from zipfile import ZipInfo as ZipInfo
from zlib import crc32

from cpkg import zstd
from purepy.base.errors import LimitError
from purepy.base.lazy import names_behind

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Parameters

ZIP_ZSTANDARD = 93
ZSTANDARD_VERSION = 63

__all__ = sorted({*_standard.__all__, "ZIP_ZSTANDARD"})

_ZipFile: Any = _standard.ZipFile
_READ_SIZE = 1 << 16
_PIECE_SIZE = 1 << 20

if getattr(_standard, "zstd", _standard) is None:
    _standard.zstd = zstd  # type: ignore[attr-defined]  # a Python with the method, built without libzstd


class ZipFile(_ZipFile):  # type: ignore[misc]
    """
    A ZIP archive.

    `file`, `mode`, `allowZip64`, `compression` and `kwargs` are those of `zipfile.ZipFile`; `compression` may also be
    ZIP_ZSTANDARD.

    With ZIP_ZSTANDARD, `compresslevel` is a Zstandard level, and `options` are those of `cpkg.zstd.compress`. With
    `max_output_size`, in bytes, opening (and so reading, extracting or testing) a member that declares more bytes
    raises LimitError; a member never produces more bytes than it declares. A damaged member, or a member with another
    size than it declares, raises BadZipFile.
    """

    def __init__(
        self,
        file: Any,
        mode: str = "r",
        compression: int = ZIP_STORED,
        allowZip64: bool = True,  # noqa: N803
        compresslevel: int | None = None,
        *,
        options: Parameters = None,
        max_output_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        self._options = dict(options or {})
        self._max_output_size = max_output_size
        is_ours = compression == ZIP_ZSTANDARD
        if is_ours:
            self._make_compressor(compresslevel)  # wrong arguments raise before the file is opened
        super().__init__(file, mode, ZIP_STORED if is_ours else compression, allowZip64, compresslevel, **kwargs)
        if is_ours:
            self.compression = ZIP_ZSTANDARD

    def _RealGetContents(self) -> None:  # noqa: N802
        try:
            super()._RealGetContents()
        except (ValueError, OverflowError, OSError) as exc:  # older Pythons seek to before the file's start
            if isinstance(exc, OSError) and exc.errno != errno.EINVAL:
                raise
            raise BadZipFile("Bad offset for central directory") from exc

    def _make_compressor(self, level: int | None) -> object:
        if not self._options:
            return zstd.ZstdCompressor(level)
        if level is None:
            return zstd.ZstdCompressor(options=self._options)
        return zstd.ZstdCompressor(options={**self._options, zstd.CompressionParameter.compression_level: level})

    def open(self, name: Any, mode: str = "r", pwd: object = None, **kwargs: object) -> Any:
        """
        Open a member for reading or writing; `name`, `mode`, `pwd` and `kwargs` are those of `zipfile.ZipFile.open`.

        For reading, a member compressed with method 93 is returned as an io.BufferedReader. Raises LimitError for a
        member that declares more than `max_output_size` bytes, and BadZipFile for one that begins outside the archive.
        """
        if mode != "r":
            return super().open(name, mode, pwd, **kwargs)
        member = name if isinstance(name, ZipInfo) else self.getinfo(name)
        if self._max_output_size is not None and member.file_size > self._max_output_size:
            error = LimitError(
                f"the member {member.filename!r} has {member.file_size} bytes, "
                f"more than max_output_size={self._max_output_size}"
            )
            error.advice = "if you trust the archive, raise max_output_size"
            raise error
        if not 0 <= member.header_offset <= self.start_dir:  # otherwise the error would depend on the file and system
            raise BadZipFile(f"File {member.filename!r} begins outside the archive, at {member.header_offset}")
        if member.compress_type != ZIP_ZSTANDARD:
            return super().open(name, mode, pwd, **kwargs)
        return io.BufferedReader(_Member(member, lambda: self._open_compressed(member, pwd)), _READ_SIZE)

    def _open_compressed(self, member: ZipInfo, pwd: object) -> object:
        """Open the stored, decrypted bytes of a member."""
        stored = copy.copy(member)
        stored.compress_type = ZIP_STORED
        stored.file_size = member.compress_size
        file = super().open(stored, "r", pwd)
        file._expected_crc = None  # the CRC applies to the content, not to the stored bytes
        return file

    def _writecheck(self, zinfo: ZipInfo) -> None:
        if zinfo.compress_type != ZIP_ZSTANDARD:
            super()._writecheck(zinfo)
            return
        zinfo.compress_type = ZIP_STORED  # a method that every version knows
        try:
            super()._writecheck(zinfo)
        finally:
            zinfo.compress_type = ZIP_ZSTANDARD

    def _open_to_write(self, zinfo: ZipInfo, force_zip64: bool = False) -> object:
        if zinfo.compress_type != ZIP_ZSTANDARD:
            return super()._open_to_write(zinfo, force_zip64)
        compressor = self._make_compressor(zinfo._compresslevel)  # type: ignore[attr-defined]
        zinfo.extract_version = max(ZSTANDARD_VERSION, zinfo.extract_version)
        zinfo.create_version = max(ZSTANDARD_VERSION, zinfo.create_version)
        writer = super()._open_to_write(zinfo, force_zip64)
        writer._compressor = compressor
        return writer


class _Member(io.RawIOBase):
    """The content of a member, decompressed piece by piece on demand; its size and checksum are verified."""

    mode = "rb"

    def __init__(self, member: ZipInfo, open_compressed: Callable[[], Any]) -> None:
        self.name = member.filename
        self._size = member.file_size
        self._expected_crc = member.CRC
        self._open_compressed = open_compressed
        self._compressed: Any = None
        self._start()

    def _start(self) -> None:
        if self._compressed is not None:
            self._compressed.close()
        self._compressed = self._open_compressed()
        self._decompressor = zstd.ZstdDecompressor(multi_frame=True)
        self._fed = 0
        self._position = 0
        self._crc = 0
        self._is_finished = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        with memoryview(buffer) as view, view.cast("B") as room:
            data = self._next(room.nbytes)
            room[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self._next(_PIECE_SIZE), b""))

    def _next(self, size: int) -> bytes:
        """Return up to `size` bytes of content, b"" at its end; raises BadZipFile if the size or CRC is wrong."""
        if self._is_finished or not size:
            return b""
        data = self._decompress(size)
        self._position += len(data)
        self._crc = crc32(data, self._crc)
        if self._position > self._size or (self._position == self._size and self._decompress(1)):
            raise BadZipFile(f"File {self.name!r} holds more than the {self._size} bytes that it declares")
        if self._position == self._size or not data:
            if self._position < self._size:
                raise BadZipFile(f"File {self.name!r} holds less than the {self._size} bytes that it declares")
            if self._crc != self._expected_crc:
                raise BadZipFile(f"Bad CRC-32 for file {self.name!r}")
            self._is_finished = True
        return data

    def _decompress(self, size: int) -> bytes:
        """Return up to `size` bytes of content, b"" at the end of the stored bytes; raises BadZipFile for damage."""
        try:
            while True:
                piece = b""
                if self._decompressor.needs_input:
                    piece = self._compressed.read(_READ_SIZE)
                    if not piece:
                        if self._fed and not self._decompressor.eof:
                            raise BadZipFile(f"File {self.name!r} ends inside a Zstandard frame")
                        return b""
                    self._fed += len(piece)
                content = self._decompressor.decompress(piece, size)
                if content:
                    return content
        except EOFError as exc:
            raise BadZipFile(f"File {self.name!r} extends beyond the end of the archive") from exc
        except zstd.ZstdError as exc:
            raise BadZipFile(f"Bad Zstandard data in file {self.name!r}: {exc}") from exc

    def seekable(self) -> bool:
        seekable: bool = self._compressed.seekable()
        return seekable

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if not self.seekable():
            raise io.UnsupportedOperation("underlying stream is not seekable")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}.get(whence)
        if base is None:
            raise ValueError("whence must be os.SEEK_SET (0), os.SEEK_CUR (1), or os.SEEK_END (2)")
        position = min(max(base + offset, 0), self._size)
        if position < self._position:
            self._start()
        while self._position < position:
            self._next(min(position - self._position, _PIECE_SIZE))
        return position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed and self._compressed is not None:
            self._compressed.close()
        super().close()


_path: Any = getattr(_standard, "_path", _standard)  # the module with the types that Path gives its archive


class _CompleteDirs(_path.CompleteDirs, ZipFile):  # type: ignore[misc]
    """A ZipFile that also lists the folders that have no entry but contain members."""


class _FastLookup(_path.FastLookup, _CompleteDirs):  # type: ignore[misc]
    """A _CompleteDirs that collects its names only once."""


class Path(_standard.Path):
    """A path `at` inside an archive, `root` (a ZipFile or its name); see `zipfile.Path`."""

    def __init__(self, root: Any, at: str = "") -> None:
        if not isinstance(root, _standard.ZipFile):
            root = _FastLookup(root)
        elif isinstance(root, ZipFile) and not isinstance(root, _CompleteDirs):
            root.__class__ = _FastLookup if "r" in root.mode else _CompleteDirs
        super().__init__(root, at)


__getattr__, __dir__ = names_behind(__name__, _standard)

if __name__ == "__main__":
    _standard.ZipFile = ZipFile  # type: ignore[misc]
    _standard.main()  # type: ignore[attr-defined]
