# SPDX-License-Identifier: Apache-2.0
"""Encode records into Zstandard frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from cpkg import _backend, msgpack, zstd
from cpkg.objects import types_written

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cpkg._native.zstd.frame_queue import FrameQueue
    from purepy.base.types import Keywords

LEVEL: Final = 3
FRAME_SIZE: Final = 256 << 10
"""The default `frame_size`. Finding a record takes less than a millisecond; larger frames would save only 1 % space."""

_DEPTH: Final = 1024
_ARRAY16: Final = 0xDC
_CALLEE: Final = re.compile(r"^(Packer|(Packer\.)?__init__)\(\)")
"""The names of Packer in TypeErrors of different interpreters and backends."""
_PER_RECORD_PACKING: Final = frozenset(("max_total_bytes", "max_total_items"))
_NOT_PACKING: Final = frozenset(("autoreset", "buffer", "buf_size", "errors", "max_memory", "type"))
"""Options that raise TypeError: options of Packer that a writer sets itself, and options of a reader."""


def batches(options: Mapping[str, object]) -> bool:
    """Return whether one call can pack several records with these options."""
    return not _PER_RECORD_PACKING.intersection(options)


_default: Final = types_written.default_of("default= to records.open()")


def packing_options(options: Keywords) -> Keywords:
    """Return `options` for Packer with support for the types of `cpkg.dumps`; raise TypeError for invalid ones."""
    wrong = sorted(_NOT_PACKING.intersection(options))
    if wrong:
        raise TypeError(f"records.open(): {wrong[0]}= is not an option for writing")
    try:
        msgpack.Packer(**options)
    except TypeError as exc:
        raise TypeError(_CALLEE.sub("records.open()", str(exc))) from None
    given = options.get("default")
    default = _default if given is None else types_written.with_default(given)
    return {**types_written.PACKING, **options, "default": default}


class BatchPacker:
    """Packs several records per call with one set of options of `Packer`; safe for several threads."""

    def __init__(self, options: Keywords) -> None:
        # keep the Packer: on PyPy, processing its options takes as long as packing some records
        self._pack = msgpack.Packer(**{**options, "max_depth": options.get("max_depth", _DEPTH) + 1}).pack

    def pack(self, records: Sequence[object]) -> tuple[bytes, int]:
        """
        Pack the records as one array; return its bytes, and the position in them at which the first record begins.

        Raises RuntimeError if it is called from inside another call, by `default` or an attribute of an object.
        """
        rows = records if type(records) is list else list(records)
        packed = self._pack(rows)
        first = packed[0]
        return packed, 1 if first < _ARRAY16 else 3 if first == _ARRAY16 else 5


class FrameCompressor:
    """Compresses the records of a frame; safe for several threads."""

    def __init__(self, level: int, dictionary: zstd.ZstdDict | None) -> None:
        self._options: dict[int, int] = {
            int(zstd.CompressionParameter.compression_level): level,
            int(zstd.CompressionParameter.checksum_flag): 1,
        }
        self.level = level
        self.dictionary = dictionary

    def compressing_queue(self, threads: int) -> FrameQueue:
        """Return a queue of frames that `threads` C threads compress; call only if `has_threads_of_c()`."""
        make_queue = _backend.zstd().compressing_queue
        assert make_queue is not None
        return make_queue(self._options, self.dictionary, threads)

    def encode(self, content: Buffer) -> bytes:
        """Compress packed records into a frame with content size and checksum."""
        return zstd.compress(content, options=self._options, zstd_dict=self.dictionary)
