# SPDX-License-Identifier: Apache-2.0
"""
Names that a module gets when they are first asked for (PEP 562), so that nobody waits for what he does not use.

A type checker sees them as imports under `if TYPE_CHECKING:` in the same module. Modules that are loaded for a first
call import neither typing nor importlib, each of which takes longer than all that the call needs.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Callable

    from purepy.base.locks import RLock
    from purepy.base.types import Named


def imported(name: str) -> Named:
    """Import a module by its full name and return it, as importlib.import_module does."""
    __import__(name)
    return sys.modules[name]


def lazy_names(module: str, sources: Mapping[str, str]) -> Callable[[str], Named]:
    """Return the `__getattr__` of a module whose further names are those in `sources`, each with its module there."""
    namespace = vars(sys.modules[module])

    def __getattr__(name: str) -> Named:  # noqa: N807 - tracebacks and debuggers show it under this name
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return namespace.setdefault(name, getattr(imported(sources[name]), name))

    return __getattr__


def grouped_names(module: str, group: Callable[[str], Mapping[str, object]]) -> Callable[[str], Named]:
    """
    Return the `__getattr__` of a module whose further names come in groups, each made at the first use of one of them.

    `group(name)` returns the one that a name is in, or raises AttributeError. What the module has already stays.
    """
    namespace = vars(sys.modules[module])
    locks: dict[str, RLock] = {}

    def __getattr__(name: str) -> Named:  # noqa: N807 - as above
        from purepy.base.locks import RLock

        with locks.setdefault(module, RLock()):  # two threads must not get two types of one name
            if name not in namespace:
                for key, value in group(name).items():
                    namespace.setdefault(key, value)
            return namespace[name]

    return __getattr__


def names_behind(module: str, other: object) -> tuple[Callable[[str], Named], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module whose further names are all those of another one."""
    namespace = vars(sys.modules[module])

    def __getattr__(name: str) -> Named:  # noqa: N807 - as above
        try:
            return namespace.setdefault(name, getattr(other, name))
        except AttributeError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*namespace, *dir(other)})

    return __getattr__, __dir__


class Later:
    """
    A module that is imported when a name of it is first used, for functions that may never need it.

    A name that was used is an attribute from then on, which PyPy's JIT takes as a constant.
    """

    def __init__(self, module: str) -> None:
        self.__name__ = module

    def __getattr__(self, name: str) -> Named:
        value = getattr(imported(self.__name__), name)
        setattr(self, name, value)
        return value
