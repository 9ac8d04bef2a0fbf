# SPDX-License-Identifier: Apache-2.0
"""
Two steps between which no signal handler runs.

A handler that raises between opening a descriptor and noting its number would leak the descriptor; one between
forgetting the number and closing it would, as well. CPython and PyPy run handlers between bytecodes. `map` calls one
function with what another gives, without a bytecode in between. (`iter(pop, None)` is a generator on PyPy, in which a
handler may run.)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Item = TypeVar("_Item")
    _Result = TypeVar("_Result")


def call_and_keep(kept: list[_Item], call: Callable[..., _Item], argument: Any, *more: Any) -> None:
    """Append the result of `call(argument, *more)` to a list."""
    kept.extend(map(call, (argument,), *zip(more)))


def pop_and_call(kept: list[Any], call: Callable[..., _Result], *more: Any) -> _Result:
    """Take the last item out of a list and return `call(item, *more)`; IndexError for an empty list."""
    return next(map(call, map(list.pop, (kept,)), *zip(more)))


def drop_finalizer(thing: object, kind: type) -> None:
    """
    Make an object that is closed one of a class without a finalizer.

    Python prints and drops an exception that comes while a finalizer runs, for example that of a signal handler.
    """
    thing.__class__ = kind
