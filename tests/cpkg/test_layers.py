# SPDX-License-Identifier: Apache-2.0
"""Imports run in one direction, between the layers of the package and between the rooms of Zstandard."""

from __future__ import annotations

import ast
import functools
import json
from pathlib import Path

import pytest

import cpkg
import purepy

pytestmark = pytest.mark.once

_TABLES = json.loads(Path(__file__).with_name("layers.json").read_text(encoding="utf-8"))
LAYERS = [layer.split() for layer in _TABLES["layers from the bottom up"]]
"""The modules of each layer. A file imports from its own layer and from those before it."""
THIRD_PARTY = {name: layer for layer, names in _TABLES["third parties of layers"].items() for name in names.split()}
"""Package -> the only layer whose modules may import it; purepy needs none."""
ROOMS = {
    f"purepy.zstd.{name}": [f"purepy.zstd.{room}" for room in rooms.split()]
    for name, rooms in _TABLES["rooms of Zstandard, with the rooms below"].items()
}
# Only the decoder reads the tables of a dictionary, and the encoder uses that code.
DOORS = {("purepy.zstd.encoder.dictionary", "purepy.zstd.decoder.dictionary.load_dictionary")}
# Modules that use the public names of their own package.
ON_TOP = ("cpkg.cli.", "cpkg.zstd.tarfile")


def is_in(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def room(module: str) -> str | None:
    return next((name for name in ROOMS if is_in(module, name)), None)


def level(module: str) -> int:
    """Return the layer of one of our modules by its longest prefix, or -1 for other modules."""
    prefixes = [(len(prefix), index, prefix) for index, layer in enumerate(LAYERS) for prefix in layer]
    return max(((size, index) for size, index, prefix in prefixes if is_in(module, prefix)), default=(0, -1))[1]


def imports(module: str, path: Path) -> list[str]:
    """Return everything that a file imports, anywhere in the file, as full dotted names."""
    found = []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            found.extend(f"{base}.{alias.name}" for alias in node.names)
    return found


@functools.cache
def all_imports() -> list[tuple[str, str]]:
    """Return each import of the packages: the importing module and the imported name."""
    found = []
    for package in (cpkg, purepy):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            parts = (root.name, *path.relative_to(root).with_suffix("").parts)
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.extend((module, name) for name in imports(module, path))
    return found


def test_imports_run_one_way() -> None:
    pairs = all_imports()
    upward = [(module, name) for module, name in pairs if level(name) > level(module)]
    across = [
        (module, name)
        for module, name in pairs
        if (inside := room(module)) and room(name) not in (None, inside, *ROOMS[inside]) and (module, name) not in DOORS
    ]
    assert (upward, across) == ([], [])


def circles(pairs: list[tuple[str, str]]) -> set[frozenset[str]]:
    """Return the groups of files that import each other, directly or indirectly, including imports for types."""
    modules = {module for module, _ in pairs}
    modules -= {module.rpartition(".")[0] for module in modules}  # the file of a package lists its modules
    below: dict[str, set[str]] = {module: set() for module in modules}
    for module, name in pairs:
        found = name if name in modules else name.rpartition(".")[0]
        if module in modules and found in modules and found != module:
            below[module].add(found)

    reach = below
    while (further := {module: reach[module].union(*map(reach.get, reach[module])) for module in modules}) != reach:
        reach = further
    inside = [module for module in modules if module in reach[module]]
    return {frozenset(other for other in reach[module] if module in reach[other]) for module in inside}


def test_no_files_import_each_other() -> None:
    assert circles([("a", "b.name"), ("b", "c"), ("c", "a.x"), ("d", "a")]) == {frozenset("abc")}
    assert circles(all_imports()) == set()


def own_names(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the imports of a name, not a module, from a package that contains the importing file."""
    modules = {module for module, _ in pairs} | {"cpkg._native._msgpack_ffi"}
    return [
        (module, name)
        for module, name in pairs
        if module.startswith(f"{name.rpartition('.')[0]}.") and name not in modules and not module.startswith(ON_TOP)
    ]


def test_files_import_from_modules_and_not_from_their_own_package() -> None:
    """A package collects names of its modules, so a module that imports such a name imports upwards."""
    assert own_names([("a.b", "a.c.name"), ("a.c", "a.name"), ("a", "a.b.name")]) == [("a.c", "a.name")]
    assert own_names(all_imports()) == []


def test_third_parties_stay_in_their_layer() -> None:
    homes = [(module, name, THIRD_PARTY.get(name.partition(".")[0])) for module, name in all_imports()]
    assert [(module, name) for module, name, home in homes if home and level(module) != level(home)] == []


def test_a_wrong_import_is_seen(tmp_path: Path) -> None:
    """The helper finds absolute, relative and nested imports; otherwise the tests above could not fail."""
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    from cpkg._backend import load\n    from ..cli import main\n    import cffi\n")
    found = imports("cpkg.msgpack.wrong", path)
    assert found == ["cpkg._backend.load", "cpkg.cli.main", "cffi"]
    assert level("cpkg._backend.load") < level("cpkg.msgpack.wrong") < level("cpkg.cli.main")
    assert level("json") == -1
    assert len(all_imports()) > 1000
