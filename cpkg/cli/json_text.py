# SPDX-License-Identifier: Apache-2.0
"""Write JSON and JSON Lines."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import uuid
from typing import TYPE_CHECKING

from cpkg.objects import dumps_loads
from purepy.base.errors import LimitError
from purepy.msgpack.ext import ExtType, Timestamp

if TYPE_CHECKING:
    from purepy.base.types import Keywords

LINES_SUFFIXES = (".jsonl", ".ndjson")

_EPOCH = datetime.datetime(1970, 1, 1)


class JSONError(ValueError):
    """Text that is not JSON, JSON values that MessagePack cannot hold, or data that JSON cannot hold."""


def member(path: str, key: object) -> str:
    if isinstance(key, str) and key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{json.dumps(key) if isinstance(key, str) else repr(key)}]"


def render(data: bytes, *, lines: bool, indent: int | None, allow_nan: bool, limits: Keywords) -> bytes:
    """
    Return a packed object as JSON text; with `lines`, a packed array as JSON Lines, each item on a line.

    Raises JSONError for values that JSON cannot hold and, with `lines`, for anything but an array; RecursionError for
    values that are nested too deep; and the errors of `cpkg.loads`, to which `limits` are passed.
    """
    options: Keywords = {"allow_nan": allow_nan, "ensure_ascii": False}
    options |= {"indent": indent} if indent is not None and not lines else {"separators": (",", ":")}
    try:
        # In nearly all messages all keys are str, and the encoder of `json` can do the whole work.
        # The encoder would write an ExtType, which is a tuple, as an array, so the hook replaces ExtTypes.
        value = dumps_loads.loads(data, timestamp=0, strict_map_key=True, ext_hook=plain_ext, **limits)
        return _encode(value, lines, json.JSONEncoder(default=_plain, **options))
    except LimitError:
        raise
    except (TypeError, ValueError, RecursionError):
        value = dumps_loads.loads(data, timestamp=0, **limits)
        return _encode(_with_str_keys(value, "$", allow_nan), lines, json.JSONEncoder(**options))


def _encode(value: object, lines: bool, encoder: json.JSONEncoder) -> bytes:
    if not lines:
        return (encoder.encode(value) + "\n").encode()
    if not isinstance(value, list):
        raise JSONError(f"JSON Lines needs an array, one line per item; found {describe(value)}")
    return "".join([encoder.encode(item) + "\n" for item in value]).encode()


def lines(values: list[object], *, allow_nan: bool) -> bytes:
    """
    Return values as JSON Lines; extension values must already be converted by `plain_ext`.

    Raises JSONError for values that JSON cannot hold, and RecursionError for values that are nested too deep.
    """
    options: Keywords = {"allow_nan": allow_nan, "ensure_ascii": False, "separators": (",", ":")}
    try:
        return _encode(values, True, json.JSONEncoder(default=_plain, **options))
    except (TypeError, ValueError, RecursionError):
        return _encode([_with_str_keys(value, "$", allow_nan) for value in values], True, json.JSONEncoder(**options))


def describe(value: object) -> str:
    """Return a phrase for any value but a list: "an object", "a string", "a boolean", "null" or "a single value"."""
    if isinstance(value, dict):
        return "an object"
    return {str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a single value")


def _plain(value: object) -> object:
    """
    Convert a value for which JSON has no type to a value that JSON can hold.

    A NumPy array becomes a list, whose items may need conversion as well. Raises TypeError for an unknown type.
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Timestamp):
        return _rfc3339(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (uuid.UUID, decimal.Decimal)):
        return str(value)
    if hasattr(type(value), "tolist"):  # an array
        return value.tolist()  # type: ignore[attr-defined]
    if isinstance(value, ExtType):
        return plain_ext(value.code, value.data)
    raise TypeError(f"JSON cannot represent a {type(value).__name__}")


def plain_ext(code: int, data: bytes) -> dict[str, object]:
    """Return the JSON form of an extension value: an object with `ext`, its code, and `data`, in base64."""
    return {"ext": code, "data": base64.b64encode(data).decode("ascii")}


def _rfc3339(stamp: Timestamp) -> str:
    """
    Return a time as RFC 3339 in UTC, without trailing zeros of the fraction.

    A time outside the years 1 to 9999 becomes the number of seconds since 1970, as text.
    """
    nanoseconds = stamp.nanoseconds
    try:
        text, end = (_EPOCH + datetime.timedelta(seconds=stamp.seconds)).isoformat(), "Z"
    except OverflowError:
        # a Timestamp's nanoseconds count forwards, the digits of a negative number backwards
        whole, nanoseconds = divmod(abs(stamp.seconds * 10**9 + nanoseconds), 10**9)
        text, end = f"{'-' * (stamp.seconds < 0)}{whole}", ""
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return f"{text}{fraction}{end}"


def _with_str_keys(value: object, path: str, allow_nan: bool) -> object:
    """
    Return a copy that JSON can hold, in which all keys are str.

    Raises JSONError, whose text has the path, for NaN and infinities without `allow_nan`, for keys that become equal,
    and for a value of an unknown type.
    """
    if isinstance(value, dict):
        copy: dict[str, object] = {}
        for key, item in value.items():
            name = _key(key, path, allow_nan)
            if name in copy:
                raise JSONError(f"two keys of the map at {path} become {json.dumps(name)} in JSON")
            copy[name] = _with_str_keys(item, member(path, key), allow_nan)
        return copy
    if isinstance(value, ExtType):
        return _plain(value)
    if isinstance(value, list):
        return [_with_str_keys(item, f"{path}[{index}]", allow_nan) for index, item in enumerate(value)]
    if isinstance(value, float) and not allow_nan and value - value != 0:
        raise JSONError(f"{path}: {value!r} is not JSON; --allow-nan writes it")
    if value is None or isinstance(value, (str, int, float)):
        return value
    try:
        plain = _plain(value)
    except TypeError as exc:
        raise JSONError(f"{path}: {exc}; read it in Python") from None
    return _with_str_keys(plain, path, allow_nan) if isinstance(plain, list) else plain


def _key(key: object, path: str, allow_nan: bool) -> str:
    plain = _with_str_keys(_listed(key), f"a key of the map at {path}", allow_nan)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _listed(value: object) -> object:
    if isinstance(value, tuple) and not isinstance(value, ExtType):
        return [_listed(item) for item in value]
    return value
