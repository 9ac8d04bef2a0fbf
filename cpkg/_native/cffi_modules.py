# SPDX-License-Identifier: Apache-2.0
"""
Import the modules that the build created with cffi; on PyPy, do so without setting up the interpreter's C API.

For every extension module, importlib calls `_imp.create_dynamic` and then `_imp.exec_dynamic`. A cffi module is
complete after the first call, but the second sets up PyPy's whole C API, which takes 3 ms (pypy/pypy issue 2711; 7.3.11
and 8.0.1). So on PyPy this module does what importlib does, without the second call.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock

from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Named

_lock = allocate_lock()


def cffi_module(name: str) -> Named:
    """Import and return the cffi module called `name` in this package; raise ImportError if that fails."""
    full_name = f"{__package__}.{name}"
    if sys.implementation.name == "pypy":
        with _lock:
            if full_name not in sys.modules:
                _create(full_name, name)
    return imported(full_name)


def _create(full_name: str, name: str) -> None:
    """Load the extension module `full_name` and register it where imports look for it; do nothing if it is missing."""
    # the contents of importlib.machinery, which would take a millisecond to import
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import ExtensionFileLoader, PathFinder

    package: Named = sys.modules[__package__]
    spec = PathFinder.find_spec(full_name, package.__path__)
    if spec is not None and type(spec.loader) is ExtensionFileLoader:
        module = module_from_spec(spec)
        sys.modules[full_name] = module
        setattr(package, name, module)
