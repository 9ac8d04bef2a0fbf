# SPDX-License-Identifier: Apache-2.0
"""The base class of objects whose methods serve as a backend's functions."""

from __future__ import annotations

from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class BackendMethods:
    """
    Base of objects whose methods serve as functions of a backend.

    `_backend` is the backend's module. Methods call its functions where it may have faster builtins.
    """

    def __init__(self, backend: ModuleType) -> None:
        self._backend = backend

    def __repr__(self) -> str:
        """Return a text that names the backend; the repr of a method, such as `cpkg.zstd.open`, contains this text."""
        return f"<Zstandard, backend {self._backend.BACKEND}>"

    def __reduce__(self) -> tuple[object, ...]:
        # lets a method pickle like a module's function
        return _methods_of, (type(self), self._backend.__name__)


def _methods_of(kind: type[BackendMethods], module: str) -> BackendMethods:
    return kind(imported(module))
