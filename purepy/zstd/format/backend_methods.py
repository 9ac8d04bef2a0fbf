# SPDX-License-Identifier: Apache-2.0
"""Functions of a backend that are methods of one object, which has the backend's module."""

from __future__ import annotations

from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class BackendMethods:
    """Base of such objects: `_backend` is the module, whose functions may be builtins that are faster than these."""

    def __init__(self, backend: ModuleType) -> None:
        self._backend = backend

    def __reduce__(self) -> tuple[object, ...]:
        # what pickles is a function of a module, as it would be without a class
        return _methods_of, (type(self), self._backend.__name__)


def _methods_of(kind: type[BackendMethods], module: str) -> BackendMethods:
    return kind(imported(module))
