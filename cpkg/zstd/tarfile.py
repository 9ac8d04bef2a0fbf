# SPDX-License-Identifier: Apache-2.0
"""
`tarfile` with Zstandard: the interpreter's own module, with the additional modes `...:zst` and `...|zst`.

Replaces `tarfile` of Python 3.14 and `backports.zstd.tarfile`. All frames of a stream (`r|zst`, `r|*`) are read, and a
stream that ends inside a frame raises ReadError; the standard module stops at the end of the first frame. Everything
else is the interpreter's: formats, extraction filters, other compressions.
"""

from __future__ import annotations

import builtins
import tarfile as _standard
from tarfile import RECORDSIZE
from tarfile import ReadError as ReadError
from tarfile import StreamError as StreamError
from tarfile import TarError as TarError
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from cpkg.zstd import ZstdError, ZstdFile
from purepy.base.lazy import names_behind
from purepy.base.reading import read_full, read_some
from purepy.zstd.format.rules import is_frame

__all__ = list(_standard.__all__)
if TYPE_CHECKING:
    from tarfile import TarFile as _TarFile

    from typing_extensions import Self

    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument
else:
    _TarFile = _standard.TarFile

_SKIP_SIZE = 1 << 17
_MAGIC_SIZE = 4


class TarFile(_TarFile):
    """A tar archive; see `tarfile.TarFile`, and `open` for the Zstandard modes."""

    OPEN_METH: ClassVar[dict[str, str]] = {**_TarFile.OPEN_METH, "zst": "zstopen"}

    @classmethod
    def open(
        cls, name: Any = None, mode: str = "r", fileobj: Any = None, bufsize: int = RECORDSIZE, **kwargs: Any
    ) -> Self:
        """
        Open a tar archive; `mode` is a mode of `tarfile.open` or "r:zst", "w:zst", "x:zst", "r|zst", "w|zst".

        `name`, `fileobj` and other keywords (`kwargs`) are those of `tarfile.open`. With the Zstandard modes, `level`
        (for writing), `options`, `zstd_dict` and `threads` are those of `cpkg.zstd.open`. "r", "r:*" and "r|*" detect
        compression with Zstandard. "r|zst" and "r|*" read any object with read(), forward only; `bufsize` has no effect
        on Zstandard.

        Raises ReadError if the file is not such an archive, and the errors of `tarfile.open` and `cpkg.zstd.open`.
        """
        filemode, bar, comptype = mode.partition("|")
        if not bar or comptype not in ("zst", "*") or not (name or fileobj):
            opened: Self = super().open(name, mode, fileobj, bufsize, **kwargs)  # type: ignore[call-overload]
            return opened
        if comptype == "*":
            return cls._open_any_stream(name, mode, fileobj, bufsize, **kwargs)
        if filemode == "w":
            return cls.zstopen(name, "w", fileobj, **kwargs)
        if filemode in ("r", ""):
            return cls._open_stream(name, fileobj or name, (), **kwargs)
        raise ValueError("mode must be 'r' or 'w'")

    @classmethod
    def zstopen(
        cls,
        name: Any,
        mode: str = "r",
        fileobj: Any = None,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> Self:
        """
        Open an archive compressed with Zstandard; `mode` is "r", "w" or "x" (replaces Python 3.14's `TarFile.zstopen`).

        `name`, `fileobj`, `level`, `options`, `zstd_dict`, `threads` and `kwargs` are those of `open`.
        """
        if mode not in ("r", "w", "x"):
            raise ValueError("mode must be 'r', 'w' or 'x'")
        file: Any = ZstdFile(  # type: ignore[call-overload]
            fileobj or name, mode, level=level, options=options, zstd_dict=zstd_dict, threads=threads
        )
        try:
            archive = cls.taropen(name, mode, file, **kwargs)  # type: ignore[arg-type]
        except BaseException as exc:
            file.close()
            if mode == "r" and isinstance(exc, (ZstdError, EOFError)):
                raise ReadError(f"not a zstd file that can be read: {exc}") from exc
            raise
        vars(archive)["_extfileobj"] = False
        return archive

    @classmethod
    def _open_stream(
        cls,
        name: Any,
        source: Any,
        owned: tuple[BinaryIO, ...],
        level: Any = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> Self:
        # ZstdFile refuses a level for reading
        file = ZstdFile(source, "r", level=level, options=options, zstd_dict=zstd_dict, threads=threads)
        stream: Any = _Stream(file, owned)
        try:
            archive = cls(name, "r", stream, **kwargs)
        except BaseException:
            stream.close()
            raise
        vars(archive)["_extfileobj"] = False
        return archive

    @classmethod
    def _open_any_stream(cls, name: Any, mode: str, fileobj: Any, bufsize: int, **kwargs: Any) -> Self:
        """Open a stream (`mode` "r|*") in the format that its first bytes indicate."""
        if mode not in ("r|*", "|*"):
            raise ValueError("mode must be 'r' or 'w'")
        source = fileobj or builtins.open(name, "rb")  # noqa: SIM115
        try:
            first = read_full(source, _MAGIC_SIZE)
            whole = _Repeated(first, source)
            if is_frame(first):
                return cls._open_stream(name, whole, () if fileobj else (source,), **kwargs)
            opened: Self = super().open(name, mode, whole, bufsize, **kwargs)  # type: ignore[call-overload]
            stream: Any = opened.fileobj
            stream._extfileobj = fileobj is not None  # otherwise the stream closes the caller's file
            return opened
        except BaseException:
            if fileobj is None:
                source.close()
            raise


class _Repeated:
    """A file whose first bytes were already read: it returns `first`, then the rest of `file`."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first = first
        self._file = file

    def read(self, size: int) -> bytes:
        data, self._first = self._first[:size], self._first[size:]
        return data + read_some(self._file, size - len(data)) if len(data) < size else data

    def close(self) -> None:
        self._file.close()


class _Stream:
    """The file object that TarFile reads: the content of all frames, forward only."""

    def __init__(self, file: ZstdFile, owned: tuple[BinaryIO, ...]) -> None:
        self._file = file
        self._owned = owned
        self._position = 0

    def read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except (ZstdError, EOFError) as exc:
            raise ReadError(f"invalid compressed data: {exc}") from exc
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise StreamError("seeking backwards is not allowed")
        while position > self._position and self.read(min(position - self._position, _SKIP_SIZE)):
            pass
        return self._position

    def close(self) -> None:
        self._file.close()
        for file in self._owned:
            file.close()


open = TarFile.open


def is_tarfile(name: Any) -> bool:
    """Return whether `name`, a path or file object, is a tar archive that `open` can read."""
    try:
        if hasattr(name, "read"):
            position = name.tell()
            open(fileobj=name).close()
            name.seek(position)
        else:
            open(name).close()
    except TarError:
        return False
    return True


__getattr__, __dir__ = names_behind(__name__, _standard)


class _ByName(TarFile):
    """A TarFile that chooses the compression by the file's suffix, like the command line of Python 3.14."""

    @classmethod
    def open(cls, name: Any = None, mode: str = "r", *arguments: Any, **options: Any) -> Self:
        if mode == "w" and str(name).endswith((".zst", ".tzst")):
            mode = "w:zst"
        return super().open(name, mode, *arguments, **options)


if __name__ == "__main__":
    vars(_standard).update(TarFile=_ByName, open=_ByName.open, is_tarfile=is_tarfile)
    _standard.main()  # type: ignore[attr-defined]
