# SPDX-License-Identifier: Apache-2.0
"""From records to a Zstandard frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from cpkg import _backend, msgpack, zstd
from purepy.base.locks import RLock

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cpkg._native.zstd.frame_queue import FrameQueue
    from purepy.base.types import Keywords

LEVEL: Final = 3
FRAME_SIZE: Final = 256 << 10
"""So many bytes of records make a frame: a record is found in less than a millisecond, and larger ones gain 1 %."""

_DEPTH: Final = 1024
_ARRAY16: Final = 0xDC
_CALLEE: Final = re.compile(r"^(Packer|(Packer\.)?__init__)\(\)")
"""The names that interpreters and backends have for Packer in its TypeErrors."""
_PER_RECORD_PACKING: Final = frozenset(("max_total_bytes", "max_total_items"))
_NOT_PACKING: Final = frozenset(("autoreset", "buffer", "buf_size", "errors", "max_memory", "type"))
"""Options of Packer that a writer sets itself, and those of a reader."""


def batches(options: Mapping[str, object]) -> bool:
    """Return whether several records can be packed by one call under these options."""
    return not _PER_RECORD_PACKING.intersection(options)


def check_packing(options: Keywords) -> None:
    """Refuse options that a writer does not take."""
    wrong = sorted(_NOT_PACKING.intersection(options))
    if wrong:
        raise TypeError(f"a record writer takes no {wrong[0]}")
    try:
        msgpack.Packer(**options)
    except TypeError as exc:
        raise TypeError(_CALLEE.sub("records.open()", str(exc))) from None


class BatchPacker:
    """Packs several records by one call, under one set of options of `Packer`; used by several threads at once."""

    def __init__(self, options: Keywords) -> None:
        self.locks: dict[int, Any] = {}
        """By thread, where options may call functions of the caller's: a lock that it holds while it packs."""
        self._has_options = bool(options)
        # kept, because to take options takes PyPy as long as to pack some records
        self._pack = msgpack.Packer(**{**options, "max_depth": options.get("max_depth", _DEPTH) + 1}).pack

    def pack(self, records: Sequence[object]) -> tuple[bytes, int]:
        """Return bytes, and from where on they are the records, one behind the other."""
        rows = records if type(records) is list else list(records)
        if self._has_options:
            with self.locks.setdefault(get_ident(), RLock()):
                packed = self._pack(rows)
        else:
            packed = self._pack(rows)
        first = packed[0]
        return packed, 1 if first < _ARRAY16 else 3 if first == _ARRAY16 else 5

    def is_packing(self) -> bool:
        """Return whether the calling thread is inside of `pack`."""
        lock = self.locks.get(get_ident())
        return lock is not None and bool(lock._is_owned())


class FrameCompressor:
    """Compresses the records of a frame; used by several threads at once."""

    def __init__(self, level: int, dictionary: zstd.ZstdDict | None) -> None:
        self._options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        self.level = level
        self.dictionary = dictionary

    def compressing_queue(self, threads: int) -> FrameQueue:
        """Return a queue of frames that so many threads of C compress; see `has_threads_of_c`."""
        make_queue = _backend.zstd().compressing_queue
        assert make_queue is not None
        return make_queue(self._options, self.dictionary, threads)

    def encode(self, content: Buffer) -> bytes:
        """Return the frame for records packed one behind the other; it has their size and checksum."""
        return zstd.compress(content, options=self._options, zstd_dict=self.dictionary)
