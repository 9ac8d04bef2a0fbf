# SPDX-License-Identifier: Apache-2.0
"""
Let imports of other packages' names find cpkg's modules if those packages are absent.

Libraries import `msgpack`, `zstandard`, `backports.zstd` or `compression.zstd`. A finder at the end of `sys.meta_path`
receives a name only after all other finders have failed, so an installed package wins, even if it becomes importable
later. With `force`, and for a `compression.zstd` that was built without libzstd, a second finder at the start of
`sys.meta_path` wins over installed packages. Both finders create modules that have those names and the attributes of
cpkg's modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.abc import InspectLoader, Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import CodeType, ModuleType

from purepy.base.errors import raise_if_from_handler

# a name that libraries import -> the cpkg module that provides it; below, the same for submodules
_TARGETS = {
    "backports.zstd": "cpkg.zstd",
    "compression.zstd": "cpkg.zstd",
    "msgpack": "cpkg.msgpack",
    "zstandard": "cpkg.zstandard",
}
_SUBMODULES = {
    "backports.zstd.tarfile": "cpkg.zstd.tarfile",
    "backports.zstd.zipfile": "cpkg.zstd.zipfile",
    "msgpack.exceptions": "cpkg.msgpack.exceptions",
    "msgpack.ext": "cpkg.msgpack.ext",
    "msgpack.fallback": "cpkg.msgpack",
    "zstandard.backend_c": "cpkg.zstandard",
    "zstandard.backend_cffi": "cpkg.zstandard",
}


def install(*names: str, force: bool = False) -> dict[str, bool]:
    """
    Let other packages' names resolve to cpkg's modules in this process if those packages are absent.

    `names` are some of `backports.zstd`, `compression.zstd`, `msgpack` and `zstandard`; no names means all of them.
    Installed packages stay, unless `force` is true: then all later imports of these names find cpkg. A standard
    `compression.zstd` that was built without libzstd counts as absent. Call the function before importing the libraries
    that use these names, because most of them decide during their own import. It may be called again. Interpreters that
    this process starts do not inherit the setting.

    Returns, for each of the names, whether it resolves to cpkg now. Without `force`, a name does not if another package
    of that name is importable or imported, or if None in `sys.modules` forbids its import. Warns (RuntimeWarning) if a
    name in `names` does not resolve to cpkg. Raises ValueError for a name that is not one of the four.
    """
    for name in names:
        if name not in _TARGETS:
            raise ValueError(f"cannot install {name!r}: expected some of {', '.join(_TARGETS)}")
    wanted = names or tuple(_TARGETS)
    _last.names.update(wanted)
    if _last not in sys.meta_path:
        sys.meta_path.append(_last)
    if force:
        _first.names.update(wanted)
        for module in list(sys.modules):
            if any(f"{module}.".startswith(f"{name}.") and not is_ours(name) for name in wanted):
                del sys.modules[module]
    elif "compression.zstd" in wanted and _lacks_library():
        _first.names.add("compression.zstd")
    if _first.names and _first not in sys.meta_path:
        sys.meta_path.insert(0, _first)
    ours = {name: is_ours(name) for name in wanted}
    missed = [name for name in names if not ours[name]]
    if missed:
        import warnings

        text = f"cpkg.install: not replaced, already installed: {', '.join(missed)} (force=True replaces them)"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return ours


def _lacks_library() -> bool:
    """
    Return whether this Python has a `compression.zstd` that does not work, because it was built without libzstd.

    Returns False if `sys.modules` already has this name.
    """
    return sys.version_info >= (3, 14) and "compression.zstd" not in sys.modules and find_spec("_zstd") is None


def is_ours(name: str) -> bool:
    """Return whether an import of `name`, a key of `_TARGETS`, finds cpkg's module."""
    module = sys.modules.get(name)
    if module is not None and module is sys.modules.get(_TARGETS[name]):
        return True  # the caller put cpkg's module there
    try:
        spec = find_spec(name)
    except Exception as exc:  # a parent that is not cpkg's and cannot be imported, or is not a package
        raise_if_from_handler(exc)
        return False
    return spec is not None and isinstance(spec.loader, _Loader)


class _Loader(Loader):
    """Creates a module with the attributes of the module `target`, which are looked up at their first use."""

    def __init__(self, target: str) -> None:
        self.target = target

    def get_code(self, name: str) -> CodeType | None:
        """Return the code of the target, which `python -m` runs; None if the target has no code."""
        spec = find_spec(self.target)
        loader = None if spec is None else spec.loader
        return loader.get_code(self.target) if isinstance(loader, InspectLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        target = importlib.import_module(self.target)

        def fetch(name: str) -> object:
            submodule = f"{module.__name__}.{name}"
            if submodule in _SUBMODULES:
                return importlib.import_module(submodule)
            # the import system itself reads __path__ and similar names
            if (name.startswith("__") and name != "__version__") or not hasattr(target, name):
                raise AttributeError(f"module {module.__name__!r} ({self.target}) has no attribute {name!r}")
            value = getattr(target, name)
            setattr(module, name, value)
            return value

        names = getattr(target, "__all__", None)
        module.__dict__.update(
            __doc__=target.__doc__,
            __file__=target.__file__,  # the file with the code
            __all__=[name for name in dir(target) if name[0] != "_"] if names is None else list(names),
            __getattr__=fetch,
            __dir__=lambda: sorted({*module.__dict__, *dir(target)}),
        )


class _Portions:
    """
    The `__path__` of an empty package that exists only to contain a module, such as `backports` for `backports.zstd`.

    Each iteration searches `sys.path` again, and yields the folders of a namespace package with the same name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __iter__(self) -> Iterator[str]:
        spec = PathFinder.find_spec(self._name)
        return iter(() if spec is None else spec.submodule_search_locations or ())


class _Finder:
    """
    Finds the modules in `names`, and the submodules of these modules in `_SUBMODULES`.

    `_last` also provides the packages that contain the modules (`backports`, `compression`) if no other finder does.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in self.names:
            return ModuleSpec(name, _Loader(_TARGETS[name]), origin=_TARGETS[name], is_package=True)
        parent = name.rpartition(".")[0]
        if name in _SUBMODULES:
            # only below a package from cpkg
            if parent in self.names and is_ours(parent):
                return ModuleSpec(name, _Loader(_SUBMODULES[name]), origin=_SUBMODULES[name])
        elif self is _last and not parent and any(wanted.startswith(name + ".") for wanted in self.names):
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = _Portions(name)  # type: ignore[assignment]
            return spec
        return None


_last = _Finder()
_first = _Finder()
"""The finder before all others, for `force` and for a `compression.zstd` that was built without libzstd."""
