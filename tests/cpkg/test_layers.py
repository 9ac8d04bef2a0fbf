# SPDX-License-Identifier: Apache-2.0
"""Imports run one way: standard library <- purepy <- cpkg._native <- cpkg._backend <- facades <- cpkg <- cli."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cpkg
import purepy

# The layers from the ground up, each with its modules. A file imports from its own layer and from those before it.
LAYERS = [
    ("purepy",),
    ("cpkg._version", "cpkg._build_info", "cpkg._files"),
    ("cpkg._native",),
    ("cpkg._backend",),
    ("cpkg.msgpack", "cpkg.zstd"),
    ("cpkg.archive", "cpkg.records", "cpkg.zstandard"),
    ("cpkg._backend_info",),
    ("cpkg._objects", "cpkg._set_order", "cpkg._extension_values"),
    ("cpkg._job", "cpkg._job_files", "cpkg._install"),
    ("cpkg",),
    ("cpkg.integrations", "cpkg.dask"),
    ("cpkg.cli", "cpkg.__main__"),
]
# Where third parties may be imported; purepy and all the rest need none.
THIRD_PARTY = {
    "cffi": "cpkg._native",
    "_cffi_backend": "cpkg._native",
    "dask": "cpkg.dask",
    "pandas": "cpkg.dask",
    "pyarrow": "cpkg.cli",
    "click": "cpkg.cli",
    "rich": "cpkg.cli",
    **dict.fromkeys(
        ("blake2signer", "django", "django_redis", "joblib", "kombu", "numcodecs", "numpy", "starlette"),
        "cpkg.integrations",
    ),
}


# The rooms of the pure Zstandard codec: what each imports from the others.
ROOMS = {
    "purepy.zstd.common": (),
    "purepy.zstd.decoder": ("purepy.zstd.common",),
    "purepy.zstd.encoder": ("purepy.zstd.common",),
}
# Reading the tables of a dictionary is the decoder's work, whoever uses them.
DOORS = {("purepy.zstd.encoder.dictionary", "purepy.zstd.decoder.dictionary.load_dictionary")}


def room(module: str) -> str | None:
    return next((name for name in ROOMS if module == name or module.startswith(name + ".")), None)


def level(module: str) -> int:
    """Return the layer of a module of ours by its longest prefix, or -1 for anybody else's."""
    found = [
        (len(prefix), index)
        for index, layer in enumerate(LAYERS)
        for prefix in layer
        if module == prefix or module.startswith(prefix + ".")
    ]
    return max(found)[1] if found else -1


def source_files() -> list[tuple[str, Path]]:
    files = []
    for package in (cpkg, purepy):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            parts = (root.name, *path.relative_to(root).with_suffix("").parts)
            files.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return files


def imports(module: str, path: Path) -> list[str]:
    """Return what a file imports, wherever in the file it stands, as full dotted names."""
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


FILES = source_files()
EACH_FILE = pytest.mark.parametrize(("module", "path"), FILES, ids=[module for module, _ in FILES])


@EACH_FILE
def test_imports_run_one_way(module: str, path: Path) -> None:
    """A file imports from its own layer and those below it."""
    wrong = [name for name in imports(module, path) if level(name) > level(module)]
    assert wrong == []


@EACH_FILE
def test_third_parties_stay_in_their_layer(module: str, path: Path) -> None:
    """Import cffi in the native layer alone, click and rich in the command line."""
    for name in imports(module, path):
        home = THIRD_PARTY.get(name.partition(".")[0])
        assert home is None or level(module) == level(home), f"{module} imports {name}"


@EACH_FILE
def test_rooms_of_zstd(module: str, path: Path) -> None:
    """Decoder and encoder use what they have in common, which knows neither, and not each other."""
    inside = room(module)
    if inside is None:
        return
    wrong = [
        name
        for name in imports(module, path)
        if room(name) not in (None, inside, *ROOMS[inside]) and (module, name) not in DOORS
    ]
    assert wrong == []


def test_a_wrong_import_is_seen(tmp_path: Path) -> None:
    """The reader finds absolute, relative and nested imports: without it the tests above could not fail."""
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    from cpkg._backend import load\n    from ..cli import main\n    import cffi\n")
    found = imports("cpkg.msgpack.wrong", path)
    assert found == ["cpkg._backend.load", "cpkg.cli.main", "cffi"]
    assert level("cpkg._backend.load") < level("cpkg.msgpack.wrong") < level("cpkg.cli.main")
    assert level("json") == -1
