# SPDX-License-Identifier: Apache-2.0
"""The backends that are available for tests."""

from __future__ import annotations

import functools
from types import ModuleType

from cpkg import _backend


@functools.cache
def available(codec: str) -> dict[str, ModuleType]:
    """Return the backends of a codec that load here, by name."""
    found = {}
    for backend in _backend.MODULES[codec]:
        try:
            found[backend] = _backend.load(codec, backend)
        except ImportError:
            continue
    return found
