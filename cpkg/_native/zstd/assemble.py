# SPDX-License-Identifier: Apache-2.0
"""
A backend's module over libzstd: all its names, made from a Library and the builtins that there are besides.

    library (cffi)  ->  functions.Codec        ->  compress, decompress, ...
                              ->  streams.*              ->  ZstdCompressor, ZstdDecompressor
    builtins (C, CPython)     ->  in place of, or under,     compress, decompress, what ZstdFile reads and writes with
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cpkg._native.zstd import buffered_writer, functions, streams, text_reader
from cpkg._native.zstd.library import Library
from purepy import errors
from purepy.zstd.common import file, parameters, stream_functions, zdict


class Builtins(NamedTuple):
    """
    Names that C adds to a backend on CPython, where a cffi call costs more than what a short message takes.

    `line_buffer` and `make_text_reader` are None where there is no GIL.
    """

    compress: Any
    decompress: Any
    write_buffer: Any
    line_buffer: Any
    make_text_reader: Any


def assemble(module: str, backend: str, library: Library, builtins: Builtins | None = None) -> dict[str, Any]:
    """Return the names of the backend module called `module`, `__all__` among them."""
    codec = functions.Codec(library, module)

    def derive(name: str, *bases: Any, **attributes: Any) -> Any:
        return type(name, bases, {"__module__": module, "__doc__": bases[0].__doc__, **attributes})

    compressor = derive("ZstdCompressor", streams.Compressor, __slots__=(), _library=library)
    decompressor = derive("ZstdDecompressor", streams.Decompressor, __slots__=(), _library=library)
    file_hooks: dict[str, Any] = {"_compressor_type": compressor, "_decompressor_type": decompressor}
    slots = ("_lock", "_memory", "raw")
    if builtins is not None:
        file_hooks["_writer_type"] = derive(
            "BufferedWriter", buffered_writer.BufferedWriter, builtins.write_buffer, __slots__=slots
        )
    if builtins is not None and builtins.line_buffer is not None:
        line_reader = derive("LineReader", text_reader.LineReader, builtins.line_buffer, __slots__=slots)
        readers = builtins.make_text_reader(text_reader.TextReader, line_reader), line_reader

        def text_types(encoding: str | None, newline: str | None) -> tuple[Any, Any]:
            return readers if text_reader.line_codec(encoding, newline) else file.text_types(encoding, newline)

        file_hooks["_text_reader_type"], file_hooks["_line_reader_type"] = readers
        file_hooks["_text_types"] = staticmethod(text_types)
    file_type = derive("ZstdFile", file.ZstdFile, **file_hooks)
    iterating = stream_functions.Streams(compressor, decompressor)
    names = {
        "BACKEND": backend,
        "COMPRESSION_LEVEL_DEFAULT": parameters.COMPRESSION_LEVEL_DEFAULT,
        "LIBRARY_VERSION": f"libzstd {library.version}",
        "CompressionParameter": parameters.CompressionParameter,
        "DecompressionParameter": parameters.DecompressionParameter,
        "FrameInfo": parameters.FrameInfo,
        "Strategy": parameters.Strategy,
        "ZstdCompressor": compressor,
        "ZstdDecompressor": decompressor,
        "ZstdDict": zdict.ZstdDict,
        "ZstdError": errors.ZstdError,
        "ZstdFile": file_type,
        "ZstdLimitError": errors.ZstdLimitError,
        "compress": builtins.compress if builtins else codec.compress,
        "compress_into": codec.compress_into,
        "compress_iter": iterating.compress_iter,
        "copy_stream": iterating.copy_stream,
        "decompress": builtins.decompress if builtins else codec.decompress,
        "decompress_into": codec.decompress_into,
        "decompress_iter": iterating.decompress_iter,
        "finalize_dict": codec.finalize_dict,
        "get_frame_info": codec.get_frame_info,
        "get_frame_size": codec.get_frame_size,
        "open": file.make_open(file_type),
        "parameter_bounds": codec.parameter_bounds,
        "train_dict": codec.train_dict,
        "zstd_version": library.version,
        "zstd_version_info": library.version_info,
    }
    hidden: dict[str, Any] = {"codec": codec}  # what functions of this backend are pickled by
    if builtins is not None:  # what they leave to Python
        hidden["_slow_compress"], hidden["_slow_decompress"] = codec.compress, codec.decompress
    return {**names, **hidden, "__all__": list(names)}
