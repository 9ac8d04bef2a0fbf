# SPDX-License-Identifier: Apache-2.0
"""Unpacking a stream: the `Unpacker`."""

from __future__ import annotations

import sys

from purepy.base.errors import BufferFull, OutOfData
from purepy.base.locks import Lock
from purepy.base.uninterrupted import call_and_keep
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.decoder import Decoder
from purepy.msgpack.decoder_base import at
from purepy.msgpack.ext import Raw
from purepy.msgpack.formats import ARRAY, FAMILY, LENGTH_BYTES, LENGTHS, MAP
from purepy.msgpack.interface import typed_functions
from purepy.msgpack.oneshot import contiguous
from purepy.msgpack.options import DOCUMENTATION, UNPACKING, as_count
from purepy.msgpack.plain_reader import LENGTH_READERS
from purepy.msgpack.skimmer import Skimmer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Final, NoReturn

    from purepy.base.types import Buffer, OptionValues
    from purepy.msgpack.oneshot import Readable

_READ_SIZE: Final = 1024 * 1024
_SHORT: Final = 256
"""New data is joined at once with unread data of at most this many bytes."""

_INT_MAX: Final = 2**31 - 1

_NOT_A_HOOKS: Final = (MemoryError, TimeoutError)
"""Errors that any line may raise, not only a hook: a TimeoutError usually comes from a signal handler."""

_MORE: Final = object()
"""Returned while an object is incomplete."""


class Unpacker:
    __doc__ = DOCUMENTATION["Unpacker"]
    _decoder_type: ClassVar[type[Decoder]] = Decoder
    _started = 0
    """The stream offset where the current or last object begins."""
    _at = 0
    """The result of `tell()` within a call: the bytes read before the decoder or the file was called."""
    _typed: Callable[[Raw, int], object] | None = None
    """Creates an object of `type` from its message and the offset of the message's end."""
    _unsettled = False
    """True while a method changes the state. If a method starts with it true, an earlier call was interrupted."""

    @UNPACKING.taken_by()
    def __init__(
        self,
        file_like: Readable | None = None,
        *,
        read_size: int = 0,
        max_buffer_size: int = 100 * 1024 * 1024,
        options: OptionValues,
    ) -> None:
        lock = self.__dict__.get("_lock") or Lock()
        if lock.locked():
            raise _busy("__init__")
        if file_like is not None and not callable(file_like.read):
            raise TypeError("`file_like.read` must be a callable.")
        max_buffer_size = as_count("max_buffer_size", max_buffer_size) or _INT_MAX
        read_size = as_count("read_size", read_size)
        if read_size > max_buffer_size:
            raise ValueError("read_size should be less or equal to max_buffer_size")
        typed = None
        if options.type is not None:
            typed, depth = typed_functions().reader(**options._asdict())
            options = options._replace(raw_depth=0, max_depth=depth, max_total_bytes=-1)  # `typed` counts these bytes
        decoder = self._decoder_type(options, max_buffer_size, max_buffer_size)
        self._unsettled = True
        self._typed = typed
        self._decoder = decoder
        self._file = file_like
        self._read_size = read_size or min(max_buffer_size, _READ_SIZE)
        self._max_buffer_size = max_buffer_size
        # Unread bytes: `_data` from the decoder's position, then `_pending`. They are joined only if a value is cut at
        # the end of `_data` and `_pending` has enough of its bytes. So each byte is copied a fixed number of times,
        # whatever the sizes of the pieces.
        self._data = b""
        self._pending = bytearray()
        self._partial: str | None = None  # the method that stopped within an object
        self._skimmer: Skimmer | None = None
        self._lock = lock
        self._unsettled = False

    def __getattr__(self, name: str) -> Any:
        """
        Set the default options for a subclass whose `__init__` did not call `super().__init__()`.

        Then returns the attribute. Raises AttributeError in all other cases.
        """
        if name not in ("_lock", "_decoder") or "_lock" in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        Unpacker.__init__(self)
        return getattr(self, name)

    __class_getitem__: ClassVar[object] = classmethod(type(list[int]))  # types.GenericAlias

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def _enter(self, method: str) -> Lock:
        """
        Return the lock to hold during a method; raise RuntimeError if a method is running, in this thread or another.

        Waiting is no alternative, because a hook would wait forever for its own caller. If two threads pass this check
        at the same moment, the second one waits.
        """
        lock = self._lock
        if lock.locked():
            raise _busy(method)
        return lock

    def _check_whole(self) -> None:
        """Raise RuntimeError if an exception has interrupted an earlier call while it changed the state."""
        if self._unsettled:
            raise RuntimeError(
                f"an exception interrupted the object that begins at byte {self._started} of the stream: "
                "create a new Unpacker"
            )

    # --- input ----------------------------------------------------------------------------------------------------

    def feed(self, next_bytes: Buffer, /) -> None:
        """
        Append the bytes of the buffer `next_bytes` to the stream.

        Raises BufferFull if more than `max_buffer_size` bytes would wait, and AssertionError if there is a `file_like`
        that has not ended.
        """
        with self._enter("feed"):
            self._check_whole()
            if self._file is not None:
                raise AssertionError("unpacker.feed() is not be able to use with `file_like`.")
            if type(next_bytes) is not bytes:
                next_bytes = contiguous(next_bytes)[0]
            if self._unread() + len(next_bytes) > self._max_buffer_size:
                raise self._full()
            self._unsettled = True
            self._append(next_bytes)
            self._unsettled = False

    def _full(self) -> BufferFull:
        return BufferFull(f"more than max_buffer_size({self._max_buffer_size}) bytes wait to be unpacked")

    def _unread(self) -> int:
        decoder = self._decoder
        return len(self._data) - decoder.position - decoder.consumed + len(self._pending)

    def _append(self, data: bytes) -> None:
        decoder = self._decoder
        rest = len(self._data) - decoder.position
        if self._pending or rest > _SHORT:
            self._pending += data
        else:
            self._trim()
            self._data = self._data + data if rest else data

    def _join(self) -> None:
        """Join the unread bytes of `_data` and `_pending` into `_data`."""
        self._trim()
        self._data = b"".join((self._data, self._pending))
        self._pending = bytearray()

    def _trim(self) -> None:
        """Drop the part of `_data` before the decoder's position."""
        decoder = self._decoder
        self._data = self._data[decoder.position :]
        decoder.base += decoder.position
        decoder.position = 0

    def _fill(self) -> bool:
        """
        Read once from the file; return whether it had more data, False without a file.

        Raises BufferFull if `max_buffer_size` bytes already wait, or if the file returns more than fits.
        """
        if self._file is None:
            return False
        free = self._max_buffer_size - self._unread()
        if free <= 0:
            raise self._full()
        self._at = self._position()
        self._unsettled = True
        data = self._read_file(min(self._read_size, free), free)
        if data:
            self._append(data)
        else:
            self._file = None
        self._unsettled = False
        return bool(data)

    def _read_file(self, size: int, most: int) -> bytes:
        """
        Call the file's `read(size)` and return its data; raise BufferFull for more than `most` bytes.

        If `read` raises an Exception, or its result is refused, the Unpacker is left unchanged.
        """
        read: list[Any] = []
        try:
            call_and_keep(read, self._file.read, size)  # type: ignore[union-attr]
        except Exception:
            self._unsettled = bool(read)
            raise
        data = read[0]
        if data and type(data) is not bytes:
            try:
                data = contiguous(data)[0]
            except (TypeError, ValueError, BufferError):
                self._unsettled = False
                raise
        if data and len(data) > most:
            self._unsettled = False
            raise self._full()
        return data  # type: ignore[no-any-return]

    # --- output ---------------------------------------------------------------------------------------------------

    def _run(self, method: str, step: Callable[[], bool]) -> object:
        """Call `step` until its object is complete, reading from the file in between; return the object, or _MORE."""
        with self._enter(method):  # no `try` here: on CPython 3.11 its first line is outside the `with` block
            self._check_whole()
            if self._partial is not None and self._partial != method:
                raise ValueError("Cannot switch unpacking methods while an object is incomplete")
            result = self._advance(method, step)
            return result

    def _advance(self, method: str, step: Callable[[], bool]) -> object:
        decoder = self._decoder
        while True:
            self._unsettled = True
            rest = len(self._data) - decoder.position
            if rest < decoder.needed <= rest + len(self._pending):
                self._join()
                rest = len(self._data)
            if rest >= decoder.needed:
                self._at = decoder.base + decoder.position + decoder.consumed
                if self._partial is None:
                    self._started = self._at
                    self._partial = method
                try:
                    complete = step()
                except BaseException as exc:
                    # after an error of a hook the stream continues at its position, as in msgpack
                    if exc is decoder.error or (isinstance(exc, Exception) and not isinstance(exc, _NOT_A_HOOKS)):
                        self._drop()
                        self._unsettled = False
                    raise
                if complete:
                    result = decoder.result
                    self._drop()
                    if decoder.position == len(self._data):
                        self._trim()  # an idle Unpacker keeps no data that was read
                    self._unsettled = False
                    return result
            else:
                if decoder.position:
                    self._trim()
                self._unsettled = False
                if not self._fill():
                    return _MORE

    def _drop(self) -> None:
        """Drop the current object; the stream continues at the decoder's position."""
        self._partial = None
        self._skimmer = None
        self._decoder.reset()

    def _step_unpack(self) -> bool:
        decoder = self._decoder
        complete = decoder.run(self._data, memoryview(self._data) if decoder.bin_view else None)
        if complete and self._typed is not None:
            self._at = self._position()
            decoder.result = self._typed(decoder.result, self._at)
        return complete

    def _step_skim(self) -> bool:
        decoder = self._decoder
        skimmer = self._skimmer
        keep = self._partial == "unpack_raw"
        if skimmer is None:
            offset = decoder.base + decoder.position
            self._skimmer = skimmer = Skimmer(decoder.max_depth, decoder.max_depth, offset, keep)
        if not decoder.skim(skimmer, self._data, limited=keep):
            return False
        decoder.result = Raw(skimmer.fragment()) if keep else None
        return True

    def _step_header(self, family: int) -> bool:
        decoder = self._decoder
        start = decoder.position
        byte = self._data[start]
        if FAMILY[byte] != family:
            raise decoder.fail(ValueError("Unexpected type header on stream"), start)
        field = LENGTH_BYTES[byte]
        if start + 1 + field > len(self._data):
            # here, unlike elsewhere, the C code of msgpack does not count the first byte of a cut header as read
            return decoder.cut(start, 0, 1 + field)
        decoder.result = LENGTH_READERS[field](self._data, start + 1)[0] if field else LENGTHS[byte]
        decoder.position = start + 1 + field
        return True

    def _next(self, method: str, step: Callable[[], bool]) -> Any:
        """Return the result of `step` for the next object; raise OutOfData if the object is incomplete."""
        result = self._run(method, step)
        if result is _MORE:
            decoder = self._decoder
            raise at(OutOfData("No more data to unpack."), decoder.base + decoder.position)
        return result

    def unpack(self) -> Any:
        """Return the next object; raise OutOfData if it is incomplete."""
        return self._next("unpack", self._step_unpack)

    def __iter__(self) -> Unpacker:
        return self

    def __next__(self) -> Any:
        result = self._run("unpack", self._step_unpack)
        if result is _MORE:
            raise StopIteration("No more data to unpack.")
        return result

    def unpack_raw(self) -> Raw:
        """Return the next object undecoded, after checking that it is well-formed; OutOfData if it is incomplete."""
        raw: Raw = self._next("unpack_raw", self._step_skim)
        return raw

    def skip(self) -> None:
        """Skip the next object; raise OutOfData if it is incomplete."""
        self._next("skip", self._step_skim)

    def read_array_header(self) -> int:
        """
        Return the number of items of the next array; later calls unpack the items.

        Raises ValueError for another type, and OutOfData if the header is incomplete.
        """
        length: int = self._next("read_array_header", lambda: self._step_header(ARRAY))
        return length

    def read_map_header(self) -> int:
        """
        Return the number of pairs of the next map; later calls unpack the keys and values.

        Raises ValueError for another type, and OutOfData if the header is incomplete.
        """
        length: int = self._next("read_map_header", lambda: self._step_header(MAP))
        return length

    def read_bytes(self, nbytes: int, /) -> bytes:
        """Return the next `nbytes` bytes of the stream; fewer if not so many are here after one read of the file."""
        nbytes = as_count("nbytes", nbytes)
        with self._enter("read_bytes"):
            self._check_whole()
            if self._partial is not None:
                raise ValueError("Cannot switch unpacking methods while an object is incomplete")
            decoder = self._decoder
            self._started = self._at = self._position()
            self._unsettled = True
            if self._pending:
                self._join()
            end = min(decoder.position + nbytes, len(self._data))
            found = self._data[decoder.position : end]
            beyond = 0
            if len(found) < nbytes and self._file is not None:
                more = self._read_file(nbytes - len(found), sys.maxsize) or b""
                found += more
                beyond = len(more)
            decoder.position = end
            if beyond:
                self._trim()
                decoder.base += beyond
            self._unsettled = False
            return found

    def tell(self) -> int:
        """
        Return how many bytes of the stream were read; between objects, the offset of the next object.

        Within a hook, bytes decoded since the call began, or since it last read from the file, do not count.
        """
        return self._at if self._lock.locked() else self._position()

    def _position(self) -> int:
        decoder = self._decoder
        return decoder.base + decoder.position + decoder.consumed


def _busy(method: str) -> RuntimeError:
    return RuntimeError(f"Unpacker.{method}() cannot be called while unpacking is in progress")


unpack_async = make_unpack_async(Unpacker)
