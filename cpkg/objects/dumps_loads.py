# SPDX-License-Identifier: Apache-2.0
"""
Convert objects to MessagePack, compressed with Zstandard if that makes them smaller, and back.

`loads` distinguishes the two forms by their first bytes. A Zstandard frame starts with 28 b5 2f fd, a skippable frame
with a byte from 50 to 5f and then 2a 4d 18 (RFC 8878, sections 3.1.1 and 3.1.2). In MessagePack the bytes 28 and 50 to
5f are positive fixints, each a whole object of one byte. So no object of two bytes or more can begin like a frame, and
the data needs no marker.
"""

from __future__ import annotations

from cpkg import _backend
from cpkg.objects import types_written
from cpkg.objects.types_written import TIMESTAMP
from purepy.base.errors import CodecError, FormatError, LimitError, TruncatedError, ZstdLimitError
from purepy.base.lazy import imported
from purepy.base.locks import process_lock
from purepy.msgpack.interface import HEAVIEST
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN, MAGIC, is_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, Literal, TypedDict, TypeVar, overload

    from typing_extensions import Buffer, TypeAlias, Unpack

    from cpkg._backend_protocols import Function, MsgpackBackend, ZstdBackend
    from purepy.base.locks import RLock
    from purepy.base.types import TypedDecoder

    Kind = TypeVar("Kind")
    Message = TypeVar("Message", bound="Bytes")

    class LimitOptions(TypedDict, total=False):
        """Options of `loads` and `load` with and without `type`."""

        max_output_size: int | None
        max_memory: int | None
        max_total_items: int | None
        max_depth: int
        all_errors: bool

    class LoadOptions(LimitOptions, total=False):
        """All options of `loads` and `load` except `type`."""

        ext_hook: Callable[[int, bytes], object] | None
        object_hook: Callable[[dict[Any, Any]], object] | None
        use_list: bool
        strict_map_key: bool
        timestamp: int


Compress: TypeAlias = "bool | Literal['auto']"
Bytes: TypeAlias = "bytes | memoryview"

MAX_DEPTH: Final = 1024
MIN_SIZE: Final = 128
"""By default, messages of fewer bytes are not compressed: the headers of a frame take 13 to 18 bytes."""

LEVEL: Final = 3

_LEVEL_KEY, _CHECKSUM_KEY = 100, 201
"""`CompressionParameter.compression_level` and `checksum_flag`, without importing their module."""

OUTPUT_FLOOR: Final = 64 * 2**20
MEMORY_FLOOR: Final = 64 * 2**20
EXPANSION: Final = 100
"""By default `loads` allows the larger of a floor and EXPANSION times the size of its input."""

DEFAULT_WINDOW: Final = 2**27
"""Frames with a larger window are refused, unless `max_output_size` is at least twice this number, or -1."""

# By default, backends limit lengths to the size of the message. A truncated message would then exceed this limit, and
# not raise TruncatedError. No header can declare more than 2**32 - 1.
_ANY_LENGTH: Final = 2**32 - 1
_MORE: Final = "if you trust the data, allow as much with max_output_size"
_LARGER_WINDOW: Final = "if you trust the data, set max_output_size to at least twice the window, or to -1"


class Codecs:
    """
    The functions of the chosen backends.

    `dumps` and `loads` are the functions of this module, or those of the compiled module.
    """

    __slots__ = ("_msgpack", "_zstd", "dumps", "loads", "packb", "plain_packb", "plain_unpackb", "unpackb")

    def __init__(self, msgpack: MsgpackBackend) -> None:
        self.packb = msgpack.packb
        self.unpackb = msgpack.unpackb
        self._msgpack = msgpack
        self._zstd: ZstdBackend | None = None
        self.dumps: Function = dumps
        self.loads: Function = loads
        if msgpack.job_functions is not None:
            self.dumps, self.loads = _compiled_functions(msgpack)
            self.plain_unpackb = self.loads  # a whole message never looks like a frame
            return
        # For calls with default options: passing so many keywords would take half as long as packing a short message.
        assert msgpack.prepare_packb is not None
        assert msgpack.prepare_unpackb is not None
        self.plain_packb = msgpack.prepare_packb(**types_written.PACKING, max_depth=MAX_DEPTH)
        self.plain_unpackb = msgpack.prepare_unpackb(
            **types_written.UNPACKING,
            strict_map_key=False,
            tuple_keys=True,
            max_depth=MAX_DEPTH,
            max_str_len=_ANY_LENGTH,
            max_bin_len=_ANY_LENGTH,
            max_array_len=_ANY_LENGTH,
            max_map_len=_ANY_LENGTH,
            max_ext_len=_ANY_LENGTH,
        )

    @property
    def find_excess(self) -> Function:
        """The backend's function `find_excess` (see `purepy.msgpack.weigher`), which is loaded on first use."""
        return self._msgpack.find_excess

    @property
    def zstd(self) -> ZstdBackend:
        """The chosen Zstandard backend, which is loaded when it is first needed."""
        if self._zstd is None:
            self._zstd = _backend.zstd()
        return self._zstd


_chosen: Codecs | None = None
_choosing: dict[int, RLock] = {}


def _compiled_functions(msgpack: MsgpackBackend) -> tuple[Function, Function]:
    """Create the `dumps` and `loads` of the compiled module, which leave rare cases to those of this module."""
    assert msgpack.job_functions is not None
    functions: tuple[Function, Function] = msgpack.job_functions(
        {
            "dumps": dumps,
            "loads": loads,
            "finish": _finish_chosen,
            # the C functions of the compiled Zstandard module; None if another backend was chosen
            "find_zstd": lambda: chosen_codecs().zstd._job_calls,
            "pack_default": types_written.pack_default,
            "with_default": types_written.with_default,
            "unpack_ext": types_written.unpack_ext,
            "CodecError": CodecError,
            "dumps_doc": _documented(dumps, "obj"),
            "loads_doc": _documented(loads, "data"),
            "LEVEL": LEVEL,
            "MIN_SIZE": MIN_SIZE,
            "OUTPUT_FLOOR": OUTPUT_FLOOR,
            "MEMORY_FLOOR": MEMORY_FLOOR,
            "EXPANSION": EXPANSION,
            "HEAVIEST": HEAVIEST,
            "DEFAULT_WINDOW": DEFAULT_WINDOW,
        }
    )
    return functions


def _documented(function: Any, first: str) -> str:
    """
    Return the docstring of a builtin: the signature in the interpreter's notation, then the text of `function`.

    `first` is the name of the positional parameter.
    """
    options = ", ".join(f"{name}={value!r}" for name, value in function.__kwdefaults__.items())
    return f"{function.__name__}({first}, *, {options})\n--\n\n{function.__doc__}"


def _finish_chosen(message: bytes, compress: Compress, level: int, checksum: bool) -> bytes:
    return finish(chosen_codecs().zstd, message, compress=compress, level=level, checksum=checksum)


def chosen_codecs() -> Codecs:
    """Return the functions of the chosen backends; the first call chooses the backends."""
    global _chosen
    if _chosen is None:
        # without the lock, a second thread could replace the compiled module's functions while the first one uses them
        with process_lock(_choosing):
            if _chosen is None:
                _chosen = Codecs(_backend.msgpack())
    return _chosen


def dumps(
    obj: object,
    *,
    compress: Compress = "auto",
    level: int = LEVEL,
    min_size: int = MIN_SIZE,
    checksum: bool = True,
    default: Callable[[Any], object] | None = None,
    sort_keys: bool = False,
    max_depth: int = MAX_DEPTH,
) -> bytes:
    """
    Return `obj` as MessagePack, compressed with Zstandard if that makes it smaller.

    `compress` is "auto", True (always a Zstandard frame) or False (never). `level` is the Zstandard level, from 1
    (fast) to 22 (small), or negative (faster still); 0 means 3. With "auto", messages of fewer than `min_size` bytes
    are not compressed. `checksum` adds four bytes by which `loads` detects damage to the compressed data. `default` is
    called with each object that cannot be packed, and returns the object to pack instead. `sort_keys` orders each map
    by the packed bytes of its keys. Containers may be nested `max_depth` deep.

    Beyond MessagePack's own types, `dumps` packs datetime, date, time, timedelta, UUID, Decimal, array.array of
    numbers, and numpy arrays of numbers, bools and times, and `loads` returns them with their types. A datetime with a
    time zone is returned in UTC. Instances of dataclasses and attrs classes become maps, Enum members become their
    values, tuples and sets become arrays, and numpy's bools, ints and floats become bools and numbers.

    Raises TypeError for an object that cannot be packed, OverflowError for an integer of more than 64 bits or a
    datetime outside the years 1 to 9999 in UTC, ValueError for an object that is too deep or too large and for text
    that is not valid Unicode, BufferError for a strided memoryview, RuntimeError for a container whose size changes
    while it is packed, and TypeError, ValueError or OverflowError for a wrong argument.
    """
    if compress is not False and compress is not True and compress != "auto":
        raise ValueError(f"compress must be True, False or 'auto', not {compress!r}")
    if level is not LEVEL:
        _check_level(level)  # here, since the compressor never sees a short message
    if min_size is not MIN_SIZE:
        min_size = imported("purepy.base.cores").checked_int("min_size", min_size)
    codecs = chosen_codecs()
    message: bytes
    if default is None and sort_keys is False and max_depth is MAX_DEPTH and codecs.dumps is dumps:
        message = codecs.plain_packb(obj)
    else:
        message = codecs.packb(
            obj,
            default=types_written.pack_default if default is None else types_written.with_default(default),
            datetime=True,  # keywords, because on PyPy `**` takes four times as long as a short message
            dataclass=True,
            enum=True,
            numpy=True,
            sort_keys=sort_keys,
            max_depth=max_depth,
        )
    if not compress or (compress == "auto" and len(message) < min_size):
        return message
    return finish(codecs.zstd, message, compress=compress, level=level, checksum=checksum)


def finish(
    zstd: ZstdBackend, message: Message, *, compress: Compress, level: int, checksum: bool = True
) -> bytes | Message:
    """Return the compressed message; with "auto", the message itself if compression does not make it smaller."""
    if checksum:
        frame = zstd.compress(message, options={_LEVEL_KEY: level, _CHECKSUM_KEY: 1})
    else:
        frame = zstd.compress(message, level)
    return frame if compress is True or len(frame) < len(message) else message


def _check_level(level: int) -> None:
    checked_int = imported("purepy.base.cores").checked_int  # the import takes longer than packing a short message
    if not LEVEL_MIN <= checked_int("level", level) <= LEVEL_MAX:
        raise ValueError(f"level must be {LEVEL_MIN} to {LEVEL_MAX}, not {level}")


if TYPE_CHECKING:

    @overload
    def loads(data: Buffer, *, type: type[Kind] | TypedDecoder[Kind], **options: Unpack[LimitOptions]) -> Kind: ...
    @overload
    def loads(data: Buffer, *, type: object = None, **options: Unpack[LoadOptions]) -> Any: ...


def loads(
    data: Buffer,
    *,
    max_output_size: int | None = None,
    max_memory: int | None = None,
    max_total_items: int | None = None,
    max_depth: int = MAX_DEPTH,
    ext_hook: Callable[[int, bytes], object] | None = None,
    object_hook: Callable[[dict[Any, Any]], object] | None = None,
    use_list: bool = True,
    strict_map_key: bool = False,
    timestamp: int = TIMESTAMP,
    type: Any = None,
    all_errors: bool = False,
) -> Any:
    """
    Return the object that `dumps` packed into `data`, a bytes-like object.

    Accepts any single MessagePack object, alone or compressed into one or several Zstandard frames.

    `max_output_size` limits the size of the message in bytes, whatever a frame's header declares. `max_memory` limits
    the memory in bytes that the objects of the message take, computed from the headers before any object exists
    (docs/objects.md lists the weight of each type). The default of each limit is 64 MiB or 100 times the size of
    `data`, compressed or not, whichever is larger. If you give `max_output_size`, the default of `max_memory` is at
    least twice as much. -1 removes a limit; `max_output_size=-1` without `max_memory` removes both. `max_total_items`
    limits the number of keys, values and containers; the default is no limit. Containers may be nested `max_depth`
    deep.

    `ext_hook(code, data)` is called for extension types that `dumps` does not write. Without a hook, such codes from 0
    to 127 become ExtType, and negative codes raise FormatError. `object_hook(dict)` is called for each map, and its
    result replaces the dict. Arrays become lists, or tuples with `use_list=False`; in map keys they always become
    tuples. Map keys may have any hashable type, unless `strict_map_key` allows only str and bytes. `timestamp` chooses
    the form of timestamps: 3 datetime in UTC, 0 Timestamp (with nanoseconds), 1 float of seconds, 2 int of nanoseconds.

    With `type`, a type or a `cpkg.typed.Decoder`, the object has that type; hooks, `use_list`, `strict_map_key` and
    `timestamp` then raise TypeError. With `all_errors`, which needs `type`, a ValidationError lists every error of the
    message. A Decoder has its own options: only `max_output_size` may be given with it.

    Raises CodecError (a TruncatedError, FormatError, ExtraData, StackError, LimitError, ZstdError or ZstdLimitError)
    for data that is damaged or exceeds a limit, and ValidationError, also a CodecError, for an object not of `type`.
    The error's `offset` (None if unknown) counts in the compressed data for a ZstdError, and in the message for all
    others. Raises TypeError, ValueError or OverflowError for a wrong argument. Exceptions of hooks pass unchanged.
    """
    codecs = chosen_codecs()
    if max_output_size is not None:
        max_output_size = checked_limit("max_output_size", max_output_size)
    if max_memory is not None:
        max_memory = checked_limit("max_memory", max_memory)
    if max_total_items is not None:
        max_total_items = checked_limit("max_total_items", max_total_items)
    message = decompress(codecs, data, max_output_size)
    # a message below this size cannot exceed the default limit; a Decoder has the same default limit for this size
    allowed = max_memory
    if max_memory is None and (
        len(message) * EXPANSION > MEMORY_FLOOR or (max_output_size is not None and type is not None)
    ):
        allowed = memory_allowed(memoryview(data).nbytes, max_output_size)
    if type is not None:
        if (
            ext_hook is not None
            or object_hook is not None
            or use_list is not True
            or strict_map_key
            or timestamp != TIMESTAMP
        ):
            raise TypeError("type= cannot be combined with hooks, use_list, strict_map_key or timestamp")
        decode = imported("cpkg.typed.codecs").decode_message
        try:
            return decode(message, type, allowed, max_memory, max_total_items, max_depth, all_errors)
        except CodecError as exc:
            _advise(exc, data)
            raise
    if all_errors:
        raise TypeError("all_errors= needs type=")
    if allowed is not None:
        check_memory(codecs, message, allowed, max_depth)
    try:
        if (
            ext_hook is None
            and object_hook is None
            and use_list is True
            and strict_map_key is False
            and timestamp is TIMESTAMP
            and max_depth is MAX_DEPTH
            and max_total_items is None
            and codecs.loads is loads
        ):
            return codecs.plain_unpackb(message)
        return codecs.unpackb(
            message,
            ext_hook=types_written.unpack_ext if ext_hook is None else types_written.with_ext_hook(ext_hook),
            object_hook=types_written.checked_hook("object_hook", object_hook),
            use_list=use_list,
            strict_map_key=strict_map_key,
            tuple_keys=not strict_map_key,
            timestamp=timestamp,
            max_depth=max_depth,
            max_total_items=-1 if max_total_items is None else max_total_items,
            max_str_len=_ANY_LENGTH,
            max_bin_len=_ANY_LENGTH,
            max_array_len=_ANY_LENGTH,
            max_map_len=_ANY_LENGTH,
            max_ext_len=_ANY_LENGTH,
        )
    except types_written.ExtensionError as exc:
        if exc.offset is None:  # `unpack_ext` raised it, and does not know the offset
            exc.offset = imported("cpkg.objects.types_read").find_bad_extension(message)
        raise
    except CodecError as exc:
        _advise(exc, data)
        raise
    except (ValueError, OverflowError, TypeError) as exc:
        # For bad UTF-8, bad keys and times after the year 9999, msgpack raises other exceptions than CodecErrors. The
        # backends set an offset in them; an exception without an offset comes from a hook, and passes unchanged.
        offset = getattr(exc, "offset", None)
        if offset is None:
            raise
        error = FormatError(f"{exc} (in the object at byte {offset})")
        error.offset = offset
        raise error from exc


def checked_limit(name: str, limit: int) -> int:
    """Return the limit `name` as an int; raise TypeError for another type, and ValueError if it is below -1."""
    if type(limit) is int and limit >= -1:
        return limit
    limit = imported("purepy.base.cores").checked_int(name, limit)
    if limit < -1:
        raise ValueError(f"{name} must be 0 or more, or -1 for no limit, not {limit}")
    return limit


def _advise(error: CodecError, data: Buffer) -> None:
    """Add advice to an error if the data is a record file, whose frames decompress to a message that looks wrong."""
    mistaken = imported("purepy.base.mistaken")
    with memoryview(data) as view:
        beginning = view[:12].tobytes() if view.ndim == 1 else b""
    if mistaken.advice_for(beginning) is mistaken.RECORDS:
        error.advice = mistaken.RECORDS


def memory_allowed(size: int, max_output_size: int | None) -> int:
    """Return the default of `max_memory` for data of this size; -1 (no limit) if `max_output_size` is negative."""
    if max_output_size is None:
        return max(MEMORY_FLOOR, size * EXPANSION)
    # a caller that allows a message of some size expects its objects to take that much, and about as much overhead
    return -1 if max_output_size < 0 else max(MEMORY_FLOOR, size * EXPANSION, 2 * max_output_size)


def check_memory(codecs: Codecs, message: Bytes, max_memory: int, max_depth: int, heaviest: int = HEAVIEST) -> int:
    """
    Raise LimitError if the objects of a message take more than about `max_memory` bytes.

    `heaviest` is the most bytes of memory that one byte of a message takes. Returns how many of the `max_memory` bytes
    are left, or -1 if they were not counted: there is no limit, or no message of this size can exceed it.
    """
    if max_memory < 0 or len(message) * heaviest <= max_memory:  # with the default limit, unless compressed or typed
        return -1
    found: int = codecs.find_excess(message, max_memory, max_depth)
    if found >= 0:
        error = name_memory(LimitError(), len(message), max_memory)
        error.offset = found
        raise error
    return ~found


def name_memory(error: LimitError, size: int, max_memory: int) -> LimitError:
    """Return `error` with the text and advice for a message whose objects take too much memory."""
    error.args = (f"the objects in a message of {size} bytes take more memory than max_memory={max_memory} allows",)
    error.advice = "if you trust the data, raise max_memory"
    return error


def decompress(codecs: Codecs, data: Buffer, max_output_size: int | None) -> Bytes:
    """
    Return the message in `data`: the content of its Zstandard frames if it begins like a frame, otherwise the data.

    Raises TruncatedError for empty data or a part of the magic number, LimitError for a message of more than
    `max_output_size` bytes, and the errors of decompression.
    """
    if type(data) is not bytes:
        data = _as_bytes(data)
    size = len(data)
    if not size:
        raise _truncated("the data is empty: expected a MessagePack object or a Zstandard frame", 0)
    if data[0] < 0x60 and is_frame(data):
        if max_output_size is None:
            limit: int | None = max(OUTPUT_FLOOR, size * EXPANSION)
        else:
            limit = max_output_size if max_output_size >= 0 else None
        options = None
        if max_output_size is not None and not 0 <= max_output_size < 2 * DEFAULT_WINDOW:
            # a caller that expects so much output also allows a window of that size
            parameter = codecs.zstd.DecompressionParameter.window_log_max
            largest = parameter.bounds()[1]
            options = {parameter: largest if limit is None else min(largest, limit.bit_length() - 1)}
        try:
            return codecs.zstd.decompress(data, options=options, max_output_size=limit)
        except ZstdLimitError as exc:
            is_window = exc.code == imported("purepy.zstd.format.error_codes").WINDOW_TOO_LARGE
            exc.advice = _LARGER_WINDOW if is_window else _MORE
            raise
    if max_output_size is not None and 0 <= max_output_size < size:
        error = LimitError(f"an uncompressed message of {size} bytes exceeds max_output_size={max_output_size}")
        error.advice = _MORE
        raise error
    if 1 < size < 4 and MAGIC.startswith(bytes(data)):
        raise _truncated(f"the data ends inside the magic number of a Zstandard frame, after {size} bytes", 0)
    return data


def _as_bytes(data: Buffer) -> Bytes:
    """Return a memoryview of a buffer's bytes, or a copy if they are not contiguous; raise TypeError for others."""
    try:
        view = memoryview(data)
    except TypeError:
        if hasattr(type(data), "__buffer__"):
            raise  # the object's own __buffer__ raised this error
        raise TypeError(
            f"data must be a bytes-like object, not {type(data).__name__}: use load to read a path or a file"
        ) from None
    return view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes()


def _truncated(message: str, offset: int) -> TruncatedError:
    error = TruncatedError(message)
    error.offset = offset
    return error
