# SPDX-License-Identifier: Apache-2.0
"""
A backend's module over libzstd: all its names, made from a Library and the builtins that there are besides.

    library (cffi)  ->  functions.Codec        ->  compress, decompress, ...
                              ->  Compressor, ...        ->  ZstdCompressor, ZstdDecompressor
    builtins (C, CPython)     ->  instead of, or under,      compress, decompress, ZstdCompressor, ZstdDecompressor, and
                                                             what ZstdFile reads and writes with

They are created in groups, each at the first access to one of its names: compressing one message needs no files.
"""

from __future__ import annotations

import sys

from purepy._lazy import imported
from purepy._locks import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cpkg._native.cffi_types import FFI, Lib
    from cpkg._native.zstd.library import Library

OLDEST = (1, 4, 8)

_CODEC_FUNCTIONS = frozenset(
    {
        *("compress", "compress_into", "decompress", "decompress_into"),
        *("finalize_dict", "get_frame_info", "get_frame_size", "parameter_bounds", "train_dict"),
    }
)
_HIDDEN = frozenset({"_slow_compress", "_slow_decompress", "codec"})
_STREAMS = frozenset({"ZstdCompressor", "ZstdDecompressor", "compress_iter", "copy_stream", "decompress_iter"})
_FILES = frozenset({"ZstdFile", "open"})
_EXTRAS = frozenset({"SeekableZstdFile", "index_frames", "iter_frames", "verify"})
_ASYNC = frozenset({"acompress", "adecompress", "aopen"})


def version_of(ffi: FFI, lib: Lib) -> tuple[tuple[int, int, int], str]:
    """Return the version of a libzstd as numbers and as text; ImportError for one that is too old."""
    number = lib.ZSTD_versionNumber()
    info = (number // 10000, number // 100 % 100, number % 100)
    text = ffi.string(lib.ZSTD_versionString()).decode("ascii")
    if info < OLDEST:
        raise ImportError(f"libzstd {text} is too old, {'.'.join(map(str, OLDEST))} or newer is needed")
    return info, text


class Builtins:
    """
    Names that C adds to a backend on CPython, where a cffi call costs more than what a short message takes.

    `line_buffer` and `make_text_reader` are None where there is no GIL.
    """

    __slots__ = (
        "compress",
        "compressor",
        "decompress",
        "decompressor",
        "line_buffer",
        "make_text_reader",
        "write_buffer",
    )

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.compress = namespace["compress"]
        self.compressor = namespace["_Compressor"]
        self.decompress = namespace["decompress"]
        self.decompressor = namespace["_Decompressor"]
        self.write_buffer = namespace["_WriteBuffer"]
        self.line_buffer = namespace.get("_LineBuffer")
        self.make_text_reader = namespace.pop("_make_text_reader", None)


class Names:
    """
    Names of a backend module; `get` is its `__getattr__`.

    `make_library` returns the Library. What the module has already stays.
    """

    def __init__(
        self, module: str, backend: str, ffi: FFI, lib: Lib, make_library: Callable[[], Library], builtins: Any = None
    ) -> None:
        info, version = version_of(ffi, lib)
        self._module = module
        self._namespace = namespace = vars(sys.modules[module])
        self._make_library = make_library
        self._builtins: Builtins | None = builtins
        self._lock = RLock()  # two threads must not get two types of one name
        self._facts = {
            "BACKEND": backend,
            "HAS_ARCHIVES": namespace["HAS_ARCHIVES"],
            "IS_WRAPPED": True,
            "RELEASES_GIL": True,
            "LIBRARY_VERSION": f"libzstd {version}",
            "zstd_version": version,
            "zstd_version_info": info,
        }
        namespace.update(self._facts)

    def get(self, name: str) -> Any:
        """Return the value of a name, and store it and the rest of its group in the module."""
        if name in _CODEC_FUNCTIONS or name in _HIDDEN:
            make = self._functions
        elif name in _STREAMS:
            make = self._streams
        elif name in _FILES:
            make = self._files
        elif name in _EXTRAS:
            make = self._extras
        elif name in _ASYNC:
            make = self._async
        else:
            sources = imported("purepy.zstd.format.shared_names").SHARED
            if name == "__all__":
                public = {*_CODEC_FUNCTIONS, *_STREAMS, *_FILES, *_EXTRAS, *_ASYNC, *sources, *self._facts}
                return self._namespace.setdefault(name, sorted(public))
            if name not in sources:
                raise AttributeError(f"module {self._module!r} has no attribute {name!r}")
            return self._namespace.setdefault(name, getattr(imported(sources[name]), name))
        with self._lock:
            if name not in self._namespace:
                for key, value in make().items():
                    self._namespace.setdefault(key, value)
            return self._namespace[name]

    def _derive(self, name: str, *bases: Any, **attributes: Any) -> Any:
        return type(name, bases, {"__module__": self._module, "__doc__": bases[0].__doc__, **attributes})

    def _functions(self) -> dict[str, Any]:
        from cpkg._native.zstd.functions import Codec

        codec = Codec(self._make_library(), self._module)
        return {
            "codec": codec,  # what functions of this backend are pickled by
            "_slow_compress": codec.compress,  # what builtins leave to Python
            "_slow_decompress": codec.decompress,
            **{name: getattr(codec, name) for name in _CODEC_FUNCTIONS},
        }

    def _streams(self) -> dict[str, Any]:
        from purepy.zstd.files import streams

        compressor, decompressor = self._stream_types()
        iterating = streams.Streams(self._module, compressor, decompressor)
        return {
            "ZstdCompressor": compressor,
            "ZstdDecompressor": decompressor,
            "compress_iter": iterating.compress_iter,
            "copy_stream": iterating.copy_stream,
            "decompress_iter": iterating.decompress_iter,
        }

    def _stream_types(self) -> tuple[object, object]:
        """Return the types of compressors and decompressors: of C where there are some, else their twins of Python."""
        if self._builtins is not None:
            modes = {"CONTINUE": 0, "FLUSH_BLOCK": 1, "FLUSH_FRAME": 2}
            return (
                self._derive("ZstdCompressor", self._builtins.compressor, __slots__=(), **modes),
                self._derive("ZstdDecompressor", self._builtins.decompressor, __slots__=()),
            )
        from cpkg._native.zstd.compressor import Compressor
        from cpkg._native.zstd.decompressor import Decompressor

        library = self.get("codec").library
        return (
            self._derive("ZstdCompressor", Compressor, __slots__=(), _library=library),
            self._derive("ZstdDecompressor", Decompressor, __slots__=(), _library=library),
        )

    def _files(self) -> dict[str, Any]:
        from purepy.zstd.files import opening, zstd_file

        file_type = self._derive(
            "ZstdFile",
            zstd_file.ZstdFile,
            _backend=self._module,
            _compressor_type=self.get("ZstdCompressor"),
            _decompressor_type=self.get("ZstdDecompressor"),
            **self._file_hooks(),
        )
        return {"ZstdFile": file_type, "open": opening.make_open(file_type)}

    def _extras(self) -> dict[str, Any]:
        from purepy.zstd.seekable.inspecting import names_of

        return names_of(self._module, self.get("ZstdFile"))

    def _async(self) -> dict[str, Any]:
        from purepy.zstd.aio.functions import names_of

        return names_of(self._module)

    def _file_hooks(self) -> dict[str, Any]:
        """Return the functions and types that files use instead of those of purepy."""
        builtins = self._builtins
        if builtins is None:
            return {}
        from cpkg._native.zstd import buffered_writer, text_reader
        from purepy.zstd.files import zstd_file

        slots = ("_lock", "_memory", "raw")
        hooks: dict[str, Any] = {
            "_writer_type": self._derive(
                "BufferedWriter", buffered_writer.BufferedWriter, builtins.write_buffer, __slots__=("_ends", *slots)
            )
        }
        if builtins.line_buffer is not None:
            line_reader = self._derive("LineReader", text_reader.LineReader, builtins.line_buffer, __slots__=slots)
            readers = builtins.make_text_reader(text_reader.TextReader, line_reader), line_reader

            def text_types(encoding: str | None, newline: str | None) -> tuple[Any, Any]:
                return readers if text_reader.line_codec(encoding, newline) else zstd_file.text_types(encoding, newline)

            hooks["_text_reader_type"], hooks["_line_reader_type"] = readers
            hooks["_text_types"] = staticmethod(text_types)
        return hooks
