# SPDX-License-Identifier: Apache-2.0
"""
Conversion of the standard library's and numpy's value types into what MessagePack has.

One function serves the packers of all backends, so that an object packs to the same bytes whichever packs it.
A packer calls it only after none of its own types matched: its cost never falls on plain data.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from purepy.base.types import OptionValues

DATACLASS: Final = 1
DATE: Final = 2
UUID: Final = 4
ENUM: Final = 8
DECIMAL: Final = 16
NUMPY: Final = 32

NOT_CONVERTED: Final = object()
"""Returned by `convert` for an object that none of the requested conversions covers."""

# Arrays of these kinds convert: bool, int, unsigned, float, str, bytes and objects (whose items are packed in turn).
# Complex numbers, times and records have no form that a reader would expect, so that they stay errors.
_NUMPY_KINDS: Final = "biufUSO"


def conversion_flags(options: OptionValues) -> int:
    """Gather the options of a packer into the bits that `convert` takes; 0 if nothing is to be converted."""
    return (
        (DATACLASS if options.dataclass else 0)
        | (DATE if options.date else 0)
        | (UUID if options.uuid else 0)
        | (ENUM if options.enum else 0)
        | (DECIMAL if options.decimal else 0)
        | (NUMPY if options.numpy else 0)
    )


def convert(flags: int, obj: object) -> object:
    """
    Return what to pack in the place of `obj`, or NOT_CONVERTED.

    The result is never itself an object that `flags` would convert (a member of an Enum whose value is a UUID gives
    a str); what a container in it holds is left for the packer to convert. Errors of the object's own methods pass.
    """
    replacement = _convert_once(flags, obj)
    if replacement is NOT_CONVERTED:
        return NOT_CONVERTED
    deeper = convert(flags, replacement)
    return replacement if deeper is NOT_CONVERTED else deeper


def _convert_once(flags: int, obj: object) -> object:
    # An object cannot be of a module's type while that module is not imported, which spares importing it here.
    modules = sys.modules
    if flags & ENUM and "enum" in modules and isinstance(obj, modules["enum"].Enum):
        return obj.value
    if flags & DATACLASS and hasattr(type(obj), "__dataclass_fields__"):
        return {field.name: getattr(obj, field.name) for field in modules["dataclasses"].fields(obj)}
    if flags & DATE and "datetime" in modules:
        datetime = modules["datetime"]
        # a datetime is a date too, but loses its time as one; it has an option of its own
        if isinstance(obj, datetime.date) and not isinstance(obj, datetime.datetime):
            return obj.isoformat()
    if flags & UUID and "uuid" in modules and isinstance(obj, modules["uuid"].UUID):
        return str(obj)
    if flags & DECIMAL and "decimal" in modules and isinstance(obj, modules["decimal"].Decimal):
        return str(obj)
    if flags & NUMPY and modules.get("numpy") is not None:
        return _convert_numpy(modules["numpy"], obj)
    return NOT_CONVERTED


def _convert_numpy(numpy: Any, obj: Any) -> object:
    if isinstance(obj, numpy.ndarray):
        return obj.tolist() if obj.dtype.kind in _NUMPY_KINDS else NOT_CONVERTED
    if isinstance(obj, numpy.bool_):
        return bool(obj)
    if isinstance(obj, numpy.integer) and not isinstance(obj, numpy.timedelta64):
        return int(obj)
    if isinstance(obj, numpy.floating):
        return float(obj)
    # these are subclasses of str and bytes: they come here only where strict_types refused them
    if isinstance(obj, numpy.str_):
        return str(obj)
    if isinstance(obj, numpy.bytes_):
        return bytes(obj)
    return NOT_CONVERTED
