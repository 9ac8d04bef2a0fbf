# SPDX-License-Identifier: Apache-2.0
"""Read the entries of an uncompressed archive that arrives in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Union

from purepy.base.errors import ArchiveError, ArchiveLimitError
from purepy.tar import sparse
from purepy.tar.decode import (
    NUL_BLOCK,
    READ_KEYS,
    SIZE_MAX,
    decode,
    is_checksum_right,
    number,
    parse_pax,
    string,
    within,
)
from purepy.tar.entry import BLOCK, FILE, Entry, padding
from purepy.tar.ordinary import ordinary

Chunk = Union[bytes, bytearray, memoryview]

HEADER_MAX: Final = 1 << 20
"""The largest pax header or long name that is accepted (1 MiB, as in Go's reader)."""
_GLOBAL_MAX: Final = 64 << 10
"""The largest size of the pax records that apply to all entries: each entry copies them."""
_FEW: Final = 64 << 10
"""Data of up to this size in bytes is copied, which is faster than a view."""
_BATCH: Final = 64
_LONG_NAME, _LONG_LINK, _PAX, _PAX_SUN, _PAX_GLOBAL = b"L", b"K", b"x", b"X", b"g"
_BEFORE_ENTRIES: Final = frozenset((_LONG_NAME, _LONG_LINK, _PAX, _PAX_SUN, _PAX_GLOBAL))
_NO_MEMBERS: Final = {b"V": "volume label", b"M": "continued file of a multi-volume archive", b"N": "old name list"}


class Content:
    """
    The uncompressed bytes of an archive, read from chunks.

    `skip` is called with a number of bytes and may skip some of them before the next chunk is decompressed; it returns
    how many it skipped. If `chunks` leaves out parts of the content, `position_after` must return the position in the
    content at which the last chunk ends.
    """

    def __init__(
        self,
        chunks: Iterable[Chunk],
        skip: Callable[[int], int] | None = None,
        position_after: Callable[[], int] | None = None,
    ) -> None:
        self._chunks = iter(chunks)
        self._skip = skip
        self._position_after = position_after
        self._chunk: Any = b""  # bytes or a buffer whose slices are bytes: faster than slicing memoryviews
        self._at = self._end = 0
        self._start = 0  # position of the chunk

    @property
    def position(self) -> int:
        """The position of the next byte in the uncompressed archive."""
        return self._start + self._at

    def begin(self) -> int:
        """Return the position of the next entry, after any content that was left out."""
        if self._at == self._end:
            self._more(is_within=False)
        return self._start + self._at

    def _more(self, *, is_within: bool = True) -> bool:
        """Go to the next chunk; return whether there is one. If `is_within` an entry, omitted bytes are an error."""
        start = self._start + self._at
        for chunk in self._chunks:
            size = len(chunk)
            if size:
                self._chunk = chunk if type(chunk[:0]) is bytes else memoryview(chunk)
                self._at, self._end = 0, size
                self._start = start if self._position_after is None else self._position_after() - size
                if is_within and self._start != start:
                    error = ArchiveError(f"the list of members is wrong: it omits part of the entry at byte {start:,}")
                    error.offset = start
                    raise error
                return True
        self._chunk = b""
        self._at = self._end = 0
        self._start = start
        return False

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer only at the end."""
        at = self._at
        end = at + size
        if end <= self._end:
            self._at = end
            return bytes(self._chunk[at:end])
        return b"".join(map(bytes, self.pieces(size)))

    def read_exactly(self, size: int) -> bytes:
        """Return the next `size` bytes; raises ArchiveError if there are fewer."""
        data = self.read(size)
        if len(data) != size:
            raise self.cut()
        return data

    def ordinary(self) -> Entry | None:
        """Read and return the next entry if `tar.ordinary` accepts its headers in this chunk; otherwise return None."""
        chunk = self._chunk
        found = ordinary(chunk, self._at, self._end) if not isinstance(chunk, memoryview) else None
        if found is None:
            return None
        entry, self._at = found
        return entry

    def take(self, some: Callable[[Any, int, int, int], int]) -> bool:
        """
        Offer the rest of the current chunk to a function; return whether it consumed any of it.

        `some` is called with the chunk, the begin and end of its unread bytes, and the position of the chunk in the
        content. It returns the index in the chunk of the first byte that it did not consume.
        """
        at, self._at = self._at, some(self._chunk, self._at, self._end, self._start)
        return self._at != at

    def few(self, size: int, fill: int) -> tuple[bytes] | None:
        """
        Return a tuple of one item, the next `size` bytes, and skip the `fill` bytes after them.

        Returns None and skips nothing if `size` exceeds 64 KiB or this chunk has fewer than `size + fill` bytes left.
        """
        at = self._at
        end = at + size
        if size > _FEW or end + fill > self._end:
            return None
        self._at = end + fill
        return (bytes(self._chunk[at:end]),)

    def pieces(self, size: int) -> Iterator[memoryview]:
        """Yield the next `size` bytes as views of chunks; fewer only at the end."""
        while size:
            if self._at == self._end and not self._more():
                return
            piece = memoryview(self._chunk)[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            yield piece

    def skip(self, size: int) -> None:
        """Skip `size` bytes; raises ArchiveError if there are fewer."""
        at = self._at + size
        if at <= self._end:
            self._at = at
            return
        while size:
            here = min(size, self._end - self._at)
            self._at += here
            size -= here
            if size and self._skip is not None:
                skipped = self._skip(size)
                self._start += skipped
                size -= skipped
            if size and not self._more():
                raise self.cut()

    def cut(self) -> ArchiveError:
        """Return the error for an archive that ends too early."""
        error = ArchiveError(
            f"the archive is truncated: it ends inside an entry (at byte {self.position:,} of its content)"
        )
        error.offset = self.position
        return error


class TarReader:
    """
    Iterates over the entries of an archive.

    After each entry, `data()` yields its data in pieces; unread data is skipped. `batch` returns several entries with
    their data. The iterator ends at the end-of-archive marker. It raises ArchiveError if the marker is missing, or the
    content is damaged or not an archive.
    """

    def __init__(self, content: Content) -> None:
        self.content = content
        self._size = self._padding = 0
        self._global: dict[str, bytes] = {}
        self._seen = False
        self._ended = False

    def __iter__(self) -> Iterator[Entry]:
        while (entry := self.next()) is not None:
            yield entry

    def next(self) -> Entry | None:
        """Return the next entry, or None at the end."""
        if self._ended:
            return None
        self.finish()
        start = self.content.begin()
        try:
            return self._next(start)
        except ArchiveError as exc:
            if exc.offset is None:
                exc.offset = start
            raise

    def take(self, some: Callable[[Any, int, int, int], int]) -> bool:
        """Offer the chunk from the next entry on to a function that consumes whole entries; see `Content.take`."""
        if self._global or self._ended:
            return False
        self.finish()
        self.content.begin()
        if not self.content.take(some):
            return False
        self._seen = True
        return True

    def batch(self, most: int = _BATCH) -> list[tuple[Entry, Iterable[bytes | memoryview]]]:
        """
        Return up to `most` of the next entries, with their data in pieces; an empty list at the end.

        The data of the last entry must be read before the next call, which skips what was not read.
        """
        found: list[tuple[Entry, Iterable[bytes | memoryview]]] = []
        self.finish()
        content = self.content
        while not (self._global or self._ended) and len(found) < most:
            start = content.position if found else content.begin()
            entry = content.ordinary()
            if entry is None:
                break
            entry.position = start
            self._seen = True
            size = entry.size
            data = content.few(size, padding(size))
            if data is None:
                self._size, self._padding = size, padding(size)
                found.append((entry, self.data()))
                break
            found.append((entry, data))
        if not found:
            entry = self.next()
            if entry is not None:
                found.append((entry, self.data()))
        return found

    def _next(self, start: int) -> Entry | None:
        pax: dict[str, bytes] = {}
        pieces: list[tuple[int, int]] = []
        long_name = long_link = None
        while True:
            block = self._block()
            if block is None:
                return None
            flag = block[156:157]
            if flag in _BEFORE_ENTRIES:
                size = within(number(block[124:136]), 0, SIZE_MAX, "size")
                if size > HEADER_MAX:
                    raise ArchiveLimitError(f"a header has {size:,} bytes, more than {HEADER_MAX:,}")
                data = self.content.read_exactly(size)
                self.content.skip(padding(size))
                if flag == _LONG_NAME:
                    long_name = string(data)
                elif flag == _LONG_LINK:
                    long_link = string(data)
                else:
                    records, found = parse_pax(data)
                    if flag == _PAX_GLOBAL:
                        self._keep_global(records)
                    else:  # the last of several headers counts, as in GNU tar, bsdtar and Go
                        pax, pieces = records, found
                continue
            if flag in _NO_MEMBERS:
                if flag != b"V":
                    raise ArchiveError(f"the archive contains a {_NO_MEMBERS[flag]}, which is not supported")
                size = within(number(block[124:136]), 0, SIZE_MAX, "size")
                self.content.skip(size + padding(size))
                continue
            if self._global:
                pax = {**self._global, **pax}
            entry = decode(block, pax, long_name, long_link)
            entry.position = start
            if entry.type == FILE:
                sparse.read_map(block, pax, pieces, entry, self.content.read_exactly)
            self._size = entry.stored_size
            self._padding = padding(self._size)
            return entry

    def _keep_global(self, records: dict[str, bytes]) -> None:
        """Keep records that apply to all following entries; raises ArchiveLimitError if they are too large."""
        self._global.update((key, value) for key, value in records.items() if key.startswith(READ_KEYS))
        size = sum(map(len, self._global)) + sum(map(len, self._global.values()))
        if size > _GLOBAL_MAX:
            raise ArchiveLimitError(f"the headers for all entries have {size:,} bytes, more than {_GLOBAL_MAX:,}")

    def _block(self) -> bytes | None:
        """Return the next header, or None at the end of the archive."""
        block = self.content.read(BLOCK)
        if len(block) < BLOCK:
            if self._seen and not block:
                raise ArchiveError("the archive is truncated: the end-of-archive marker is missing")
            raise self.content.cut() if self._seen else ArchiveError("not a tar archive: it is shorter than a header")
        if block == NUL_BLOCK:
            following = self.content.read(BLOCK)
            if following not in (NUL_BLOCK, b""):
                raise ArchiveError("a header is missing: found one block of zeros, expected two at the end")
            self._ended = True
            return None
        if not is_checksum_right(block):
            what = "a header is damaged" if self._seen else "not a tar archive, or its first header is damaged"
            raise ArchiveError(f"{what}: the checksum is wrong (at byte {self.content.position - BLOCK:,})")
        self._seen = True
        return block

    def finish(self) -> None:
        """Skip the unread data of the last entry."""
        self.content.skip(self._size + self._padding)
        self._size = self._padding = 0

    def data(self) -> Iterator[memoryview]:
        """Yield the data of the last entry (the stored pieces of a sparse file); raises ArchiveError if truncated."""
        for piece in self.content.pieces(self._size):
            self._size -= len(piece)  # before the piece is used, so that the rest is skipped even after an error
            yield piece
        if self._size:
            raise self.content.cut()
