# SPDX-License-Identifier: Apache-2.0
"""
Read and write compressed files through fsspec (and so in Dask, in pandas with URLs, ...) with this codec.

    from cpkg.integrations import fsspec as zstd_for_fsspec
    zstd_for_fsspec.register(level=7)

    fsspec.open("s3://bucket/data.jsonl.zst", "rt", compression="infer")
    fsspec.open("zstd://data.bin::s3://bucket/data.bin.zst")     # also without `register`

After `cpkg.install()`, fsspec uses this codec by itself, unless another Zstandard package is installed. `register`
always replaces the codec of fsspec, and can set a level. The entry point of this package provides the protocol `zstd`,
which only reads: for a file in the seekable format, it fetches and decompresses only the frames that are read.
"""

from __future__ import annotations

import io
from typing import Any, ClassVar

try:
    import fsspec
    from fsspec.archive import AbstractArchiveFileSystem
    from fsspec.compression import register_compression
except ImportError as exc:
    raise ImportError(f"cpkg.integrations.fsspec needs fsspec: pip install fsspec ({exc})") from exc

from cpkg import zstd

__all__ = ["ZstdFileSystem", "register"]


def register(*, level: int = zstd.COMPRESSION_LEVEL_DEFAULT) -> None:
    """Register the compression `zstd` for names that end with `.zst`, replacing fsspec's; `level` is for writing."""

    def open_file(file: object, mode: str = "rb", **options: object) -> Any:
        if "r" not in mode:
            options.setdefault("level", level)
        make: Any = zstd.ZstdFile
        return make(file, mode, **options)

    register_compression("zstd", open_file, ["zst"], force=True)


class _Owner:
    """
    A file whose close() also closes the compressed file, and whose `size` is the size of the content.

    `name` is the name of the content, because other file systems infer the compression from the name.
    """

    name = ""

    def __init__(self, target: Any, name: str) -> None:
        self._target = target
        self.name = name
        super().__init__(target)  # type: ignore[call-arg]

    @property
    def size(self) -> int:
        """The size of the content in bytes; without a seek table, this decompresses the whole file."""
        file: Any = self
        before = file.tell()
        size: int = file.seek(0, io.SEEK_END)
        file.seek(before)
        return size

    def close(self) -> None:
        try:
            super().close()  # type: ignore[misc]
        finally:
            self._target.close()


class _File(_Owner, zstd.ZstdFile):
    """A compressed file without a seek table, which is decompressed from its beginning."""


class _SeekableFile(_Owner, zstd.SeekableZstdFile):
    """A compressed file with a seek table, of which only the frames that are read are decompressed."""


class ZstdFileSystem(AbstractArchiveFileSystem):
    """
    A read-only filesystem with a single file, the content of a compressed file.

    fo: the URL or path of the compressed file; its name without `.zst` is the name of the file in this filesystem.
    target_protocol, target_options: how to access the compressed file. fsspec passes these for `zstd://NAME::URL`.

    The size of the file is known if the compressed file is in the seekable format, otherwise it is None.
    """

    protocol: ClassVar[str] = "zstd"
    root_marker: ClassVar[str] = ""
    cachable: ClassVar[bool] = False

    def __init__(
        self, fo: str, target_protocol: str | None = None, target_options: dict[str, Any] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.fo = fo
        self._fetched, self._path = fsspec.core.url_to_fs(fo, protocol=target_protocol, **(target_options or {}))
        self.name = self._path.rstrip("/").rsplit("/", 1)[-1].removesuffix(".zst")
        self.dir_cache: dict[str, object] | None = None

    def _get_dirs(self) -> None:
        if self.dir_cache is None:
            with self._decompressed() as file:
                table = file.seek_table_info if isinstance(file, _SeekableFile) else None
            size = None if table is None else table[2]
            self.dir_cache = {self.name: {"name": self.name, "size": size, "type": "file"}}

    def _decompressed(self) -> Any:
        target = self._fetched.open(self._path, "rb")
        try:
            is_seekable = zstd.SeekableZstdFile.is_seekable_format_file(target)
            return (_SeekableFile if is_seekable else _File)(target, self.name)
        except BaseException:
            target.close()
            raise

    def _open(self, path: str, mode: str = "rb", **options: object) -> Any:
        """
        Open the content for reading.

        Raises FileNotFoundError unless `path` is the name of the only file, and ValueError unless `mode` is "rb".
        Reading raises ZstdError for damage, and EOFError if the file ends inside a frame.
        """
        if mode != "rb":
            raise ValueError(f"zstd:// is read-only: mode must be 'rb', not {mode!r}")
        if path != self.name:
            raise FileNotFoundError(f"no file {path!r} in {self.fo}: its only file is {self.name!r}")
        return self._decompressed()
