# SPDX-License-Identifier: Apache-2.0
"""
Pairs of steps between which no signal handler runs.

A handler that raises between opening a descriptor and recording its number would leak the descriptor. So would a
handler that raises between forgetting the number and closing the descriptor. CPython and PyPy run handlers between
bytecodes; `map` calls one function with the result of another without a bytecode in between. (`iter(pop, None)` is no
alternative: on PyPy it is a generator, in which a handler may run.)
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
    """Remove the last item from a list and return `call(item, *more)`; raises IndexError for an empty list."""
    return next(map(call, map(list.pop, (kept,)), *zip(more)))


def drop_finalizer(thing: object, kind: type) -> None:
    """
    Change the class of a closed object to `kind`, a class without a finalizer.

    Python prints and drops an exception that is raised while a finalizer runs, for example by a signal handler.
    """
    thing.__class__ = kind
