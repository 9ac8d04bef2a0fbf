# SPDX-License-Identifier: Apache-2.0
"""
`dumps` and `loads` over any backends of the two codecs, side by side in one process.

While these functions run, no other thread may pack or unpack.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable

from msgpack_oracle import outcome

import purepy.msgpack
from cpkg import _backend
from cpkg.objects import dumps_loads
from cpkg.objects.dumps_loads import Codecs


def codecs_of(msgpack: ModuleType, zstd: ModuleType | None = None) -> Codecs:
    """Return the functions over a backend of each codec; without `zstd`, over the chosen backend of Zstandard."""
    codecs = Codecs(msgpack)
    codecs._zstd = _backend.zstd() if zstd is None else zstd
    return codecs


PURE = codecs_of(purepy.msgpack)


def encode(codecs: Codecs, obj: object, **options: Any) -> bytes:
    """Call `dumps` with these backends."""
    packed: bytes = _call_with(codecs, codecs.dumps, obj, options)
    return packed


def decode(codecs: Codecs, data: Any, **options: Any) -> Any:
    """Call `loads` with these backends."""
    return _call_with(codecs, codecs.loads, data, options)


def check_like_pure(codecs: Codecs, call: Callable[..., Any], value: object, **options: Any) -> Any:
    """Check that a call of `encode` or `decode` has the same outcome as with the pure backend; return the outcome."""
    pure = outcome(call, PURE, value, **options)
    assert outcome(call, codecs, value, **options) == pure, value
    return pure


def _call_with(codecs: Codecs, function: Callable[..., Any], value: object, options: dict[str, Any]) -> Any:
    before, dumps_loads._chosen = dumps_loads._chosen, codecs
    lend_anew(codecs)
    try:
        return function(value, **options)
    finally:
        dumps_loads._chosen = before
        lend_anew(codecs)


def lend_anew(codecs: Codecs) -> None:
    """Make the compiled functions look up the chosen Zstandard module and the constants of `dumps_loads` again."""
    if codecs.dumps is not dumps_loads.dumps:
        dumps_loads._compiled_functions(codecs._msgpack)
