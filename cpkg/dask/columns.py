# SPDX-License-Identifier: Apache-2.0
"""Convert values of records to pandas columns with the requested dtypes, without changing any value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas

_INT64_MAX = 2**63 - 1
_PLAIN = {bool: "bool", int: "int64", float: "float64"}
_NULLABLE = {bool: "boolean", int: "Int64"}
_ADVICE = "pass another dtype for the column in meta"


class MisfitError(ValueError):
    """A record is not a map, or a value does not fit the dtype of its column."""


def _named(place: int, first: int | None) -> str:
    return f"record {first + place}" if first is not None else "a record"


def check_maps(rows: list[object], before: int, first: int | None) -> None:
    """
    Raise MisfitError for a record that is not a map.

    `before` records of the split precede `rows`. `first` is the number of the split's first record, None if unknown.
    """
    if set(map(type, rows)) <= {dict}:
        return
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            found = f"{_named(before + place, first)}: expected a map, found {type(row).__name__}"
            raise MisfitError(f"{found}; read such records with read_records")


def empty(types: Mapping[str, object]) -> pandas.DataFrame:
    """Return an empty DataFrame with columns of these names and dtypes."""
    return pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in types.items()})


def guessed(rows: list[Any]) -> pandas.DataFrame:
    """Return an empty DataFrame with the keys of some maps as columns; the types of the values decide the dtypes."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return empty({name: _guess([row.get(name) for row in rows]) for name in names})


def _guess(values: list[Any]) -> object:
    kinds = set(map(type, values))
    has_gaps = type(None) in kinds
    kinds.discard(type(None))
    present = [value for value in values if value is not None]
    if kinds == {int, float}:
        return "float64"
    if len(kinds) != 1:
        return "object"
    (kind,) = kinds
    if kind is int and max(present) > _INT64_MAX:
        return "object" if min(present) < 0 else "UInt64" if has_gaps else "uint64"
    return _dtype_of(kind, has_gaps) if kind in _PLAIN else pandas.Series(present).dtype


_OF_KINDS = {"int": int, "float": float, "bool": bool, "str": str}


def of_type(kind: object) -> pandas.DataFrame:
    """Return an empty DataFrame with the fields of a type as columns; raises TypeError if the type has no fields."""
    return empty({name: _dtype(field) for name, field in _fields(kind)[1].items()})


def _fields(kind: object) -> tuple[bool, dict[str, tuple[dict[str, object], bool]]]:
    """Return whether objects of a type are dicts, and for each field its type and whether it may be missing."""
    from cpkg import typed

    found = typed.inspect(kind)
    if "fields" not in found:
        raise TypeError(f"type: expected a dataclass or another class with fields, found {found['name']}")
    is_dict = issubclass(found["type"], dict)
    fields = found["fields"]
    return is_dict, {field["name"]: (field["type"], is_dict and not field["required"]) for field in fields}


def _dtype(field: tuple[dict[str, Any], bool]) -> object:
    kind, has_gaps = field
    parts = kind.get("parts", [kind]) if kind["kind"] == "union" else [kind]
    present = [part for part in parts if part["kind"] != "none"]
    has_gaps = has_gaps or len(present) < len(parts)
    if len(present) != 1:
        return "object"
    (kind,) = present
    if kind["kind"] == "timedelta":
        return "timedelta64[us]"
    kinds = {_OF_KINDS.get(kind["kind"])} if kind["kind"] != "literal" else {type(value) for value in kind["values"]}
    has_gaps = has_gaps or type(None) in kinds
    kinds.discard(type(None))
    return _dtype_of(kinds.pop(), has_gaps) if len(kinds) == 1 else "object"


def _dtype_of(kind: type | None, has_gaps: bool) -> object:
    if kind in _PLAIN:
        return _NULLABLE.get(kind, _PLAIN[kind]) if has_gaps else _PLAIN[kind]
    return pandas.Series([""]).dtype if kind is str else "object"


def getters(kind: object, names: Iterable[str]) -> dict[str, Callable[[object], object]]:
    """
    Return a dict from each column name to a function that returns the column's value from an object of a type.

    For a column that is not a field of the type, the function returns None.
    """
    is_dict, fields = _fields(kind)
    get: Callable[[str], Callable[[object], object]] = operator.attrgetter
    return {
        name: operator.methodcaller("get", name) if is_dict else get(name) if name in fields else _nothing
        for name in names
    }


def _nothing(row: object) -> None:
    return None


def column(name: str, values: list[object], dtype: object, first: int | None) -> pandas.Series:
    """
    Return values as a pandas.Series of `dtype`; None is a missing value.

    `first` is the record number of the first value, or None if numbers are unknown. Raises MisfitError, with the number
    of the record if known, for the first value that the dtype cannot represent exactly.
    """
    kinds = set(map(type, values))
    try:
        series = pandas.Series(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as exc:
        for place, value in enumerate(values):
            if not _is_held(value, dtype):
                raise _misfit(name, place, value, dtype, first) from exc
        raise MisfitError(f"column {name!r}: {exc}; {_ADVICE}") from exc
    if str(series.dtype) == "object" or _is_exact(kinds, series.dtype):
        return series
    for place, (value, held) in enumerate(zip(values, series)):
        if not _is_same(value, held, series.dtype):
            raise _misfit(name, place, value, dtype, first)
    return series


def _misfit(name: str, place: int, value: object, dtype: object, first: int | None) -> MisfitError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return MisfitError(f"{_named(place, first)}: {name!r} is {shown}, which does not fit {dtype}; {_ADVICE}")


def _is_exact(kinds: set[type], dtype: object) -> bool:
    """
    Return whether pandas, for any value of these types, either stores it exactly in this dtype or raises an error.

    False means that each stored value must be compared with the original.
    """
    if str(dtype) == "float64":
        return kinds <= {float, type(None)}
    return str(dtype) in ("int64", "Int64") and kinds <= ({int} if str(dtype) == "int64" else {int, type(None)})


def _is_held(value: object, dtype: object) -> bool:
    try:
        series = pandas.Series([value], dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    return _is_same(value, series[0], series.dtype)


def _is_same(value: Any, held: Any, dtype: object) -> bool:
    """Return whether `held`, from a series of `dtype`, is `value` unchanged; None is NA, a bool is never a number."""
    types = pandas.api.types
    if value is None:
        return bool(pandas.isna(held))
    if types.is_bool_dtype(dtype):
        return type(value) is bool and bool(held) is value
    if types.is_integer_dtype(dtype):
        return type(value) is int and int(held) == value
    if types.is_float_dtype(dtype):
        if type(value) not in (int, float):
            return False
        return value != value or (type(value) is int and int(held) == value) or (type(value) is float and held == value)
    if types.is_string_dtype(dtype):
        return isinstance(value, str) and str(held) == value
    return type(value) is not bool and bool(held == value)
