# SPDX-License-Identifier: Apache-2.0
"""
The main job: objects to MessagePack, compressed with Zstandard where that makes them smaller, and back.

How `loads` distinguishes the two forms: a Zstandard frame starts with 28 b5 2f fd, a skippable frame with one of
50..5f and then 2a 4d 18 (RFC 8878, sections 3.1.1 and 3.1.2). In MessagePack 28 and 50..5f are positive fixints:
each is a whole object of one byte. An object that begins with one of them ends there, so no object of two bytes or
more can begin like a frame, and nothing needs to be written in front to mark the form.
"""

from __future__ import annotations

from cpkg import _backend
from cpkg.objects import types_written
from purepy.base.errors import CodecError, FormatError, LimitError, TruncatedError, ZstdLimitError
from purepy.base.lazy import imported
from purepy.msgpack.interface import HEAVIEST
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN, MAGIC, is_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, Literal, TypeVar

    from typing_extensions import Buffer, TypeAlias

    from cpkg._backend_protocols import Function, MsgpackBackend, ZstdBackend

    Message = TypeVar("Message", bound="Bytes")

Compress: TypeAlias = "bool | Literal['auto']"
Bytes: TypeAlias = "bytes | memoryview"

MAX_DEPTH: Final = 1024
MIN_SIZE: Final = 128
"""Messages shorter than this are not worth trying: a frame costs 13 to 18 bytes before it saves one."""

TIMESTAMP: Final = 3
"""Timestamps become datetimes."""

LEVEL: Final = 3

_LEVEL_KEY, _CHECKSUM_KEY = 100, 201
"""`CompressionParameter.compression_level` and `checksum_flag`, without the module that has them."""

OUTPUT_FLOOR: Final = 64 * 2**20
MEMORY_FLOOR: Final = 64 * 2**20
EXPANSION: Final = 100
"""`loads` lets input grow to the larger of a floor and so many times its size, unless an argument says otherwise."""

DEFAULT_WINDOW: Final = 2**27
"""Frames with a larger window are refused, unless more output is expected."""

# By default a length may be as large as the whole message, so the error of a message that is cut would say that it
# exceeds the limit. No header can declare more than this.
_ANY_LENGTH: Final = 2**32 - 1


class Codecs:
    """
    The functions of the backends that are chosen.

    `dumps` and `loads` are those of this module, or what the compiled module has in their place.
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
            return
        # with the options of a call without arguments, which are so many that taking them is half of a short message
        assert msgpack.prepare_packb is not None
        assert msgpack.prepare_unpackb is not None
        self.plain_packb = msgpack.prepare_packb(
            default=types_written.pack_default,
            datetime=True,
            dataclass=True,
            enum=True,
            numpy=True,
            max_depth=MAX_DEPTH,
        )
        self.plain_unpackb = msgpack.prepare_unpackb(
            ext_hook=types_written.unpack_ext,
            strict_map_key=False,
            tuple_keys=True,
            timestamp=TIMESTAMP,
            max_depth=MAX_DEPTH,
            max_str_len=_ANY_LENGTH,
            max_bin_len=_ANY_LENGTH,
            max_array_len=_ANY_LENGTH,
            max_map_len=_ANY_LENGTH,
            max_ext_len=_ANY_LENGTH,
        )

    @property
    def find_excess(self) -> Function:
        """The function that weighs a message, which few need."""
        return self._msgpack.find_excess

    @property
    def zstd(self) -> ZstdBackend:
        """The Zstandard module; the chosen one is loaded when a message is first worth compressing."""
        if self._zstd is None:
            self._zstd = _backend.zstd()
        return self._zstd


_chosen: Codecs | None = None


def _compiled_functions(msgpack: MsgpackBackend) -> tuple[Function, Function]:
    """Create the compiled module's `dumps` and `loads`, which leave rare cases to those here."""
    assert msgpack.job_functions is not None
    functions: tuple[Function, Function] = msgpack.job_functions(
        {
            "dumps": dumps,
            "loads": loads,
            "finish": _finish_chosen,
            # what the compiled Zstandard module lends to them; None if another one was chosen
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
    """Return the documentation of a builtin, its signature in front as the interpreter reads it."""
    options = ", ".join(f"{name}={value!r}" for name, value in function.__kwdefaults__.items())
    return f"{function.__name__}({first}, *, {options})\n--\n\n{function.__doc__}"


def _finish_chosen(message: bytes, compress: Compress, level: int, checksum: bool) -> bytes:
    return finish(chosen_codecs().zstd, message, compress=compress, level=level, checksum=checksum)


def chosen_codecs() -> Codecs:
    """Return the functions of the backends that are chosen."""
    global _chosen
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

    `compress` is "auto", True (always a Zstandard frame) or False (never). `level` is Zstandard's, 1 (fast) to 22
    (small), or negative (faster still). With "auto", messages of less than `min_size` bytes are not tried.
    `checksum` adds four bytes with which `loads` notices damage to the compressed data. `default` is called with
    each object that cannot be packed and returns what to pack in its place. `sort_keys` orders each map by the
    packed bytes of its keys. Containers may nest `max_depth` deep.

    Beyond MessagePack's own types it packs datetime, date, time, timedelta, UUID and Decimal, which `loads` gives
    back, as well as numpy's arrays of numbers and array.array; instances of dataclasses and attrs classes (as maps),
    members of an Enum (as their values), tuples and sets (as arrays) and numpy's scalars (as numbers).

    Raises TypeError for an object that cannot be packed, OverflowError for an integer beyond 64 bits and ValueError
    for one too deep or too large, or for a wrong argument.
    """
    if compress not in (True, False, "auto"):
        raise ValueError(f"compress must be True, False or 'auto', not {compress!r}")
    if level is not LEVEL:
        _check_level(level)  # here, since a short message never meets the compressor
    codecs = chosen_codecs()
    message: bytes
    if default is None and sort_keys is False and max_depth is MAX_DEPTH and codecs.dumps is dumps:
        message = codecs.plain_packb(obj)
    else:
        message = codecs.packb(
            obj,
            default=types_written.pack_default if default is None else types_written.with_default(default),
            datetime=True,  # written out: `**` takes PyPy four times as long as a short message
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
    """Return a message compressed, or with "auto" itself if that is no smaller."""
    if checksum:
        frame = zstd.compress(message, options={_LEVEL_KEY: level, _CHECKSUM_KEY: 1})
    else:
        frame = zstd.compress(message, level)
    return frame if compress is True or len(frame) < len(message) else message


def _check_level(level: int) -> None:
    import operator  # which takes longer to import than a short message to pack

    if not LEVEL_MIN <= operator.index(level) <= LEVEL_MAX:
        raise ValueError(f"level must be {LEVEL_MIN} to {LEVEL_MAX}, not {level}")


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
) -> Any:
    """
    Return the object that `dumps` packed into `data`, a bytes-like object.

    Takes any single MessagePack object, alone or compressed into one or several Zstandard frames.

    `max_output_size` limits the size of the message in bytes, whatever a frame's header declares; `max_memory` the
    memory in bytes that its objects take, computed from their headers before one exists (docs/objects.md has the weight
    of each type). By default each is 64 MiB or 100 times the size of `data` as it is given, compressed or not,
    whichever is larger; a `max_output_size` of yours allows twice as much memory. -1 removes a limit.
    `max_total_items` limits the number of keys, values and containers, if it is given. Containers may nest
    `max_depth` deep.

    `ext_hook(code, data)` is called for extension types other than those that `dumps` writes (without it they become
    ExtType), `object_hook(dict)` for each map. Arrays become lists, or tuples with `use_list=False`; as keys of a map
    always tuples. Map keys may be of any type unless `strict_map_key` allows str and bytes alone. `timestamp` chooses
    what times become: 3 datetime in UTC, 0 Timestamp with its nanoseconds, 1 float, 2 int nanoseconds. With `type` the
    object is of that type, as `cpkg.typed.decode` makes it; then hooks, `use_list`, `strict_map_key` and `timestamp`
    have no use and must not be given (TypeError).

    Raises CodecError (one of TruncatedError, FormatError, ExtraData, StackError, LimitError, ZstdError,
    ZstdLimitError) for data that is damaged or exceeds a limit. Its `offset` counts in the compressed data for a
    ZstdError, in the message for the others.
    """
    codecs = chosen_codecs()
    message = decompress(codecs, data, max_output_size)
    # a smaller message cannot exceed the limit of `loads`, which is also the limit of a Decoder for this size
    if max_memory is None and (
        len(message) * EXPANSION > MEMORY_FLOOR or (max_output_size is not None and type is not None)
    ):
        max_memory = memory_allowed(memoryview(data).nbytes, max_output_size)
    if type is not None:
        if ext_hook or object_hook or use_list is not True or strict_map_key or timestamp != TIMESTAMP:
            raise TypeError("with type= there are no hooks, use_list, strict_map_key or timestamp")
        return imported("cpkg.typed.codecs").decode_message(message, type, max_memory, max_depth, max_total_items)
    if max_memory is not None:
        check_memory(codecs, message, max_memory, max_depth)
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
            object_hook=object_hook,
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
        exc.offset = imported("cpkg.objects.types_read").find_bad_extension(
            message
        )  # the hook that raised it does not know the offset
        raise
    except CodecError:
        raise
    except (ValueError, OverflowError, TypeError) as exc:
        # Bad UTF-8, bad keys and times beyond year 9999 are no CodecErrors in the module that cpkg.msgpack replaces.
        # The backends mark theirs with an offset; without one it comes from the caller's hook and is his.
        offset = getattr(exc, "offset", None)
        if offset is None:
            raise
        error = FormatError(f"{exc} (in the object at byte {offset})")
        error.offset = offset
        raise error from exc


def memory_allowed(size: int, max_output_size: int | None) -> int:
    """Return the default of `max_memory` for data of that size, -1 for no limit."""
    if max_output_size is None:
        return max(MEMORY_FLOOR, size * EXPANSION)
    # whoever says how large a message may be expects objects of that size, and about as much around them
    return -1 if max_output_size < 0 else max(MEMORY_FLOOR, size * EXPANSION, 2 * max_output_size)


def check_memory(codecs: Codecs, message: Bytes, max_memory: int, max_depth: int, heaviest: int = HEAVIEST) -> int:
    """
    Raise LimitError if the objects of a message take more than `max_memory` bytes, about.

    `heaviest` is what a byte of a message weighs at most. Returns how many bytes are left, -1 if they are not counted:
    there is no limit, or not even the heaviest message of that size reaches it.
    """
    if max_memory < 0 or len(message) * heaviest <= max_memory:  # by default, where nothing is compressed or typed
        return -1
    found: int = codecs.find_excess(message, max_memory, max_depth)
    if found >= 0:
        error = LimitError(memory_text(len(message), max_memory))
        error.offset = found
        raise error
    return ~found


def memory_text(size: int, max_memory: int) -> str:
    """Return the text of the error for a message whose objects take too much."""
    return f"the objects in a message of {size} bytes take more memory than max_memory={max_memory} allows"


def decompress(codecs: Codecs, data: Buffer, max_output_size: int | None) -> Bytes:
    """Return the message in `data`, as bytes or a view of them."""
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
            # who expects so much output allows a window of that size, too
            parameter = codecs.zstd.DecompressionParameter.window_log_max
            largest = parameter.bounds()[1]
            options = {parameter: largest if limit is None else min(largest, limit.bit_length() - 1)}
        try:
            return codecs.zstd.decompress(data, options=options, max_output_size=limit)
        except ZstdLimitError as exc:
            if exc.code == imported("purepy.zstd.format.error_codes").WINDOW_TOO_LARGE:
                exc.advice = "if you trust the data, allow as much with max_output_size"
            raise
    if max_output_size is not None and 0 <= max_output_size < size:
        raise LimitError(f"a message of {size} bytes exceeds max_output_size={max_output_size}")
    if 1 < size < 4 and MAGIC.startswith(bytes(data)):
        raise _truncated(f"the data ends inside the magic number of a Zstandard frame, after {size} bytes", 0)
    return data


def _as_bytes(data: Buffer) -> Bytes:
    """Return a bytes-like object as one whose items are bytes, without a copy where possible."""
    if isinstance(data, str):
        raise TypeError("loads takes a bytes-like object, not str")
    view = memoryview(data)
    return view.cast("B") if view.c_contiguous else view.tobytes()


def _truncated(message: str, offset: int) -> TruncatedError:
    error = TruncatedError(message)
    error.offset = offset
    return error
