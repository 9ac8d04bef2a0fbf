# SPDX-License-Identifier: Apache-2.0
"""The first calls in a process import only modules that they use, because each import takes time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from backends import available
from processes import run_python

import cpkg

HERE = Path(__file__).parent
IMPORTS = {
    part: {f"{package}.{name}".lstrip(".") for package, names in packages.items() for name in names.split()}
    for part, packages in json.loads(HERE.joinpath("first_imports.json").read_text(encoding="utf-8")).items()
}
"""Part of a call -> our modules that it may import, by package."""
HEAVY = IMPORTS["take longer than packing a first message"]
ENUM = IMPORTS["needed by compiled modules, whose parameter numbers are an enum"]
# imports of the interpreter's own package are not ours to choose
OURS = pytest.mark.parametrize("backend", [name for name in available("zstd") if name != "stdlib"])


def loaded(code: str, **policies: str) -> set[str]:
    """Return the modules that a process imports for some code, with backends according to these policies."""
    code = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CPKG_")}
    # without site, because .pth files of installed packages may import anything
    paths = os.pathsep.join([str(Path(cpkg.__file__).parents[1]), *filter(None, sys.path)])
    # not in a checkout, whose packages lack the built modules
    done = run_python("-S", "-W", "error", "-c", code, env={**clean, **policies, "PYTHONPATH": paths}, cwd=HERE)
    assert done.stderr == ""
    found = {name for name in done.stdout.split() if not name.endswith("_ffi.lib")}
    assert "cpkg" in found
    return found


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in ("cpkg", "purepy", "_cffi_backend")}


def allowed(backend: str, *parts: str) -> set[str]:
    """Return the modules for parts of a call, including those of a backend on this interpreter."""
    each = [name for part in parts for name in (part, f"{part} on {backend}")]
    found = {"always", *each, *(f"{name}, {sys.implementation.name}" for name in each)}
    if "cpkg.zstd" in parts and (backend == "dlopen" or sys.implementation.name == "pypy"):
        found.add("cpkg.zstd on a library")
    return set().union(*(IMPORTS[name] for name in found & IMPORTS.keys()))


def test_importing_cpkg_loads_nothing_else() -> None:
    found = loaded("import cpkg")
    assert ours(found) == {"cpkg"}
    assert not found & HEAVY


@pytest.mark.parametrize("backend", available("msgpack"))
@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("import cpkg.msgpack; cpkg.msgpack.packb(1)", "cpkg.msgpack, packing"),
        ("import cpkg.msgpack; cpkg.msgpack.unpackb(b'\\x01')", "cpkg.msgpack, unpacking"),
        ("import cpkg; cpkg.loads(cpkg.dumps(1))", "cpkg.msgpack, packing, unpacking, dumps and loads"),
    ],
)
def test_first_messages(backend: str, code: str, parts: str) -> None:
    """`dumps` and `loads` of a short message need no Zstandard, no dates, and not the facade."""
    found = loaded(code, CPKG_MSGPACK_BACKEND=backend)
    facade = {"cpkg.msgpack"} if "dumps" in code else set()
    assert ours(found) <= allowed(backend, *parts.split(", ")) - facade
    assert not found & HEAVY


@OURS
@pytest.mark.parametrize("code", ["compress(b'1' * 1000)", "decompress(bytes.fromhex('28b52ffd200109000031'))"])
def test_first_frames(backend: str, code: str) -> None:
    found = loaded(f"from cpkg import zstd; zstd.{code}", CPKG_ZSTD_BACKEND=backend)
    if backend == "pure":
        other = "decoder" if code.startswith("compress") else "encoder"
        assert not {name for name in found if name.startswith(("cpkg._native", f"purepy.zstd.{other}"))}
    else:
        assert ours(found) <= allowed(backend, "cpkg.zstd") | {"cpkg.zstd"}
    # the keys of options are an enum, as in the replaced library
    assert not found & (HEAVY - ENUM)
    if backend == "native" and sys.implementation.name == "cpython":
        assert not found & ENUM


@OURS
def test_a_compressed_message_loads_one_codec_of_zstandard(backend: str) -> None:
    found = loaded("import cpkg; assert cpkg.loads(cpkg.dumps('a' * 1000))", CPKG_ZSTD_BACKEND=backend)
    foreign = {"native": "purepy.zstd.encoder", "dlopen": "cpkg._native._zstd_ffi", "pure": "cpkg._native.zstd"}
    assert not {name for name in found if name.startswith(foreign[backend])}
    assert not {name for name in found if name.startswith("purepy.zstd.encoder.training")}
    assert not found & (HEAVY - ENUM)


def test_record_files_load_no_checks_and_parts() -> None:
    code = "with records.open(place, 'wb') as file: file.append(1)\nassert list(records.open(place)) == [1]"
    found = loaded(f"import io; from cpkg import records; place = io.BytesIO(); exec({code!r})")
    assert not found & {"dataclasses", "inspect", "asyncio", "cpkg.records.checking", "cpkg.records.splitting"}
    found = loaded("from cpkg import records; assert {*dir(records)} >= {*records._SOURCES}; records.splits")
    assert "cpkg.records.splitting" in found
