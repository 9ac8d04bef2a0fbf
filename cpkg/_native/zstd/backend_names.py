# SPDX-License-Identifier: Apache-2.0
"""
The names of a backend that uses libzstd through cffi, built from a Library and, in the compiled backend on CPython,
from builtin functions and types in C.

- Functions are methods of a `functions.Codec` that uses the Library. Builtin `compress` and `decompress` replace two
  of them.
- ZstdCompressor and ZstdDecompressor derive from builtin types, or without these from `Compressor` and `Decompressor`.
- The buffers of ZstdFile derive from builtin types; without these, ZstdFile uses purepy's buffers.

Names are created in groups, at the first access to a name of the group: compressing one message needs no files.
"""

from __future__ import annotations

import sys

from purepy.base.lazy import grouped_names, imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from cpkg._native.cffi_types import FFI, Lib
    from cpkg._native.zstd.functions import Codec
    from cpkg._native.zstd.library import Library

OLDEST = (1, 4, 8)

_SLOW = {"_slow_compress": "compress", "_slow_decompress": "decompress"}
"""Functions that C code calls for cases it does not handle: the name that it looks up -> the Codec's method."""


def version_of(ffi: FFI, lib: Lib) -> tuple[tuple[int, int, int], str]:
    """Return the version of a libzstd as numbers and as text; raises ImportError if it is too old."""
    number = lib.ZSTD_versionNumber()
    info = (number // 10000, number // 100 % 100, number % 100)
    text = ffi.string(lib.ZSTD_versionString()).decode("ascii")
    if info < OLDEST:
        raise ImportError(f"libzstd {text} is too old, {'.'.join(map(str, OLDEST))} or newer is needed")
    return info, text


class Names:
    """
    The names of a backend module; `get` is its `__getattr__`.

    `make_library` returns the Library. Existing names of the module are kept, including the builtins from C.
    """

    def __init__(self, module: str, ffi: FFI, lib: Lib, make_library: Callable[[], Library]) -> None:
        info, version = version_of(ffi, lib)
        self._backend = sys.modules[module]
        self._namespace = vars(self._backend)
        self._make_library = make_library
        # hidden from callers: with classes other than those below, C would treat any object as a buffer
        self._make_text_reader: Callable[..., object] | None = self._namespace.pop("_make_text_reader", None)
        self._namespace.update(
            IS_WRAPPED=True,
            RELEASES_GIL=True,
            HAS_LONG_MATCHES=True,
            LIBRARY_VERSION=f"libzstd {version}",
            zstd_version=version,
            zstd_version_info=info,
        )
        self.get = grouped_names(module, self._group)

    def _group(self, name: str) -> Mapping[str, object]:
        if name in ("ZstdCompressor", "ZstdDecompressor"):
            return self._stream_types()
        if name in _SLOW:
            return {name: getattr(self.get("codec"), _SLOW[name])}
        group: Mapping[str, object] = imported("purepy.zstd.names").group_of(
            name, self._backend, self._make_codec, self._file_hooks
        )
        return group

    def _make_codec(self, backend: ModuleType) -> Codec:
        from cpkg._native.zstd.functions import Codec

        return Codec(backend, self._make_library())

    def _derive(self, name: str, *bases: type, **attributes: object) -> type:
        return type(name, bases, {"__module__": self._backend.__name__, "__doc__": bases[0].__doc__, **attributes})

    def _stream_types(self) -> dict[str, object]:
        """Return ZstdCompressor and ZstdDecompressor by name, based on the types of C if they exist."""
        if "_Compressor" in self._namespace:
            modes = {"CONTINUE": 0, "FLUSH_BLOCK": 1, "FLUSH_FRAME": 2}
            compressor = self._derive("ZstdCompressor", self._namespace["_Compressor"], __slots__=(), **modes)
            decompressor = self._derive("ZstdDecompressor", self._namespace["_Decompressor"], __slots__=())
        else:
            from cpkg._native.zstd.compressor import Compressor
            from cpkg._native.zstd.decompressor import Decompressor

            library = self.get("codec").library
            compressor = self._derive("ZstdCompressor", Compressor, __slots__=(), _library=library)
            decompressor = self._derive("ZstdDecompressor", Decompressor, __slots__=(), _library=library)
        return {"ZstdCompressor": compressor, "ZstdDecompressor": decompressor}

    def _file_hooks(self) -> dict[str, object]:
        """
        Return, by name, the types that files use instead of purepy's; they are based on types of C.

        `_text_types` is a function that returns the types for reading text, given an encoding and a newline option.
        Returns {} for a module without these types of C (on PyPy and in the `dlopen` backend), and only `_writer_type`
        on a CPython without a GIL.
        """
        builtins = self._namespace
        if "_WriteBuffer" not in builtins:
            return {}
        from cpkg._native.zstd import buffered_writer, text_reader
        from purepy.zstd.files import zstd_file

        slots = ("_lock", "_memory", "raw")
        bases = buffered_writer.BufferedWriter, builtins["_WriteBuffer"]
        writer_type = self._derive("BufferedWriter", *bases, __slots__=("_ends", *slots))
        if self._make_text_reader is None:
            return {"_writer_type": writer_type}
        line_reader = self._derive("LineReader", text_reader.LineReader, builtins["_LineBuffer"], __slots__=slots)
        readers = self._make_text_reader(text_reader.TextReader, line_reader), line_reader

        def text_types(encoding: str | None, newline: str | None) -> tuple[object, object]:
            return readers if text_reader.line_codec(encoding, newline) else zstd_file.text_types(encoding, newline)

        return {
            "_writer_type": writer_type,
            "_text_reader_type": readers[0],
            "_line_reader_type": line_reader,
            "_text_types": staticmethod(text_types),
        }
