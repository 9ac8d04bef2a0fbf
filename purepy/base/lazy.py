# SPDX-License-Identifier: Apache-2.0
"""
Names that a module creates when they are first used (PEP 562), so that importing it stays fast.

A type checker sees the names as imports under `if TYPE_CHECKING:` in the same module. Modules that a first call needs
import neither typing nor importlib, because each takes longer to import than everything else that the call needs.
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
    """Return a module-level `__getattr__`; `sources` maps each name to the module that defines it."""
    namespace = vars(sys.modules[module])

    def __getattr__(name: str) -> Named:  # noqa: N807 - tracebacks and debuggers show it under this name
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return namespace.setdefault(name, getattr(imported(sources[name]), name))

    return __getattr__


def public_dir(module: str) -> Callable[[], list[str]]:
    """
    Return a module-level `__dir__`, which lists `__all__` and the names that begin with an underscore.

    Completion would otherwise also show what the module imports.
    """
    namespace = vars(sys.modules[module])

    def __dir__() -> list[str]:  # noqa: N807 - as above
        return sorted({*namespace["__all__"], *(name for name in namespace if name.startswith("_"))})

    return __dir__


def grouped_names(module: str, group: Callable[[str], Mapping[str, object]]) -> Callable[[str], Named]:
    """
    Return a module-level `__getattr__` for names that come in groups; the first use of a name creates its group.

    `group(name)` returns the group that contains a name, or raises AttributeError. Existing names are kept.
    """
    namespace = vars(sys.modules[module])
    locks: dict[int, RLock] = {}

    def __getattr__(name: str) -> Named:  # noqa: N807 - as above
        from purepy.base.locks import process_lock

        with process_lock(locks):  # two threads must not create two types for one name
            if name not in namespace:
                for key, value in group(name).items():
                    namespace.setdefault(key, value)
            return namespace[name]

    return __getattr__


def names_behind(module: str, other: object) -> tuple[Callable[[str], Named], Callable[[], list[str]]]:
    """Return a module-level `__getattr__` and `__dir__` that add all names of another module."""
    namespace = vars(sys.modules[module])

    def __getattr__(name: str) -> Named:  # noqa: N807 - as above
        try:
            return namespace.setdefault(name, getattr(other, name))
        except AttributeError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*public_dir(module)(), *dir(other)})

    return __getattr__, __dir__


class Later:
    """
    A module that is imported when one of its names is first used, for functions that may never need it.

    A used name becomes an attribute, which PyPy's JIT treats as a constant.
    """

    def __init__(self, module: str) -> None:
        self.__name__ = module

    def __getattr__(self, name: str) -> Named:
        value = getattr(imported(self.__name__), name)
        setattr(self, name, value)
        return value
