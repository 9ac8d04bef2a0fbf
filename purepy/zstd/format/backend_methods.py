# SPDX-License-Identifier: Apache-2.0
"""Functions of a backend that are methods of an object, which refers to the backend's module."""

from __future__ import annotations

from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class BackendMethods:
    """Base of such objects. `_backend` is the module, whose functions may be builtins, faster than these methods."""

    def __init__(self, backend: ModuleType) -> None:
        self._backend = backend

    def __repr__(self) -> str:
        """Name the backend: it is in what a method of this shows, say `cpkg.zstd.open`."""
        return f"<Zstandard, backend {self._backend.BACKEND}>"

    def __reduce__(self) -> tuple[object, ...]:
        # lets a method pickle like a module's function
        return _methods_of, (type(self), self._backend.__name__)


def _methods_of(kind: type[BackendMethods], module: str) -> BackendMethods:
    return kind(imported(module))
