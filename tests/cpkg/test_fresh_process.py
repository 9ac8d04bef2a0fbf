# SPDX-License-Identifier: Apache-2.0
"""Modules that the first calls in a process load: those that they run, since each is waited for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from backends import available
from processes import run_python

import cpkg

# Each takes longer to import than packing a first message does in all.
HEAVY = {
    *("typing", "dataclasses", "inspect", "ast", "re", "platform", "contextlib", "asyncio", "importlib", "collections"),
    *("datetime", "threading", "weakref", "copy", "locale", "tempfile", "cffi"),
}
# What the compiled modules need: the numbers of parameters are an enum.
ENUM = {"enum", "types", "operator", "functools", "collections"}

HERE = Path(__file__).parent


def of(package: str, names: str = "") -> set[str]:
    """Return the full names of a package and of what is in it."""
    return {package, *(f"{package}.{name}" for name in names.split())}


COMMON = {"cpkg", "cpkg._backend", "purepy", "purepy._lazy"}
NATIVE = {"cpkg._native", "_cffi_backend"}
MSGPACK = {"cpkg.msgpack", "purepy.errors", "purepy._fields", *of("purepy.msgpack", "exceptions ext interface")}
MSGPACK_NATIVE = {*NATIVE, "cpkg._native.msgpack", "cpkg._native._msgpack_ffi"}
PURE_PACKING = of("purepy", "_jit _locks") | of(
    "purepy.msgpack", "builders conversions encoder formats options packing plain_writer"
)
PURE_UNPACKING = of("purepy", "_jit") | of(
    "purepy.msgpack", "decoder decoder_base formats keys oneshot options plain_reader skimmer"
)
PYPY_MSGPACK = {"cpkg._native.cffi_modules", "purepy.msgpack.options"}
PACKING = {
    "native": {
        "cpython": {"cpkg._native.msgpack.cpython"},
        "pypy": PYPY_MSGPACK
        | of("cpkg._native.msgpack.pypy", "backend functions_pack marshal marshal_pack")
        | {"purepy.msgpack.packing"},
    },
    "pure": {"any": {*PURE_PACKING, "purepy.msgpack.packer"}},
}
UNPACKING = {
    "native": {
        "cpython": {"cpkg._native.msgpack.cpython"},
        "pypy": PYPY_MSGPACK | of("cpkg._native.msgpack.pypy", "backend functions_unpack marshal marshal_read checks"),
    },
    "pure": {"any": PURE_UNPACKING},
}
JOB = of("cpkg.objects", "dumps_loads types_written") | of("purepy.zstd", "format format.rules names")
ZSTD_COMMON = of("purepy", "_buffers _locks errors") | of(
    "purepy.zstd",
    "format format.backend_methods format.error_codes format.locks format.parameters format.rules format.zdict "
    "functions names",
)
ZSTD_LIBRARY = (
    NATIVE
    | of("cpkg._native", "buffers pins pressure")
    | of("cpkg._native.zstd", "backend_names functions library contexts settings")
    | ZSTD_COMMON
)
ZSTD = {
    "native": {
        "cpython": NATIVE
        | of("cpkg._native", "_zstd_ffi cffi_modules")
        | of("cpkg._native.zstd", "backend_names compiled")
        | {"purepy._locks"},
        "pypy": ZSTD_LIBRARY
        | of("cpkg._native", "_zstd_ffi cffi_modules")
        | of("cpkg._native.zstd", "compiled compiled_library"),
    },
    "dlopen": {"any": {"cpkg._native._zstd_abi", "cpkg._native.zstd.dlopen", *ZSTD_LIBRARY}},
}


# what the interpreter's own package imports is not ours to choose
OURS = pytest.mark.parametrize("backend", [name for name in available("zstd") if name != "stdlib"])


def loaded(code: str, **policies: str) -> set[str]:
    """Return the modules that a process imports for a piece of code, with the backends of these policies."""
    code = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CPKG_")}
    # without site, whose files of installed packages import what they like
    paths = os.pathsep.join([str(Path(cpkg.__file__).parents[1]), *filter(None, sys.path)])
    # not in a checkout, whose packages are those of the source, without what is built
    done = run_python("-S", "-W", "error", "-c", code, env={**clean, **policies, "PYTHONPATH": paths}, cwd=HERE)
    assert done.stderr == ""
    found = {name for name in done.stdout.split() if not name.endswith("_ffi.lib")}
    assert "cpkg" in found
    return found


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in ("cpkg", "purepy", "_cffi_backend")}


def on_this(table: dict[str, set[str]]) -> set[str]:
    return table["any"] if "any" in table else table[sys.implementation.name]


def test_importing_cpkg_loads_nothing_else() -> None:
    found = loaded("import cpkg")
    assert ours(found) == {"cpkg"}
    assert not found & HEAVY


@pytest.mark.parametrize("backend", available("msgpack"))
@pytest.mark.parametrize(
    ("code", "table"),
    [("cpkg.msgpack.packb(1)", PACKING), ("cpkg.msgpack.unpackb(b'\\x01')", UNPACKING)],
    ids=["packb", "unpackb"],
)
def test_first_messages(backend: str, code: str, table: dict[str, dict[str, set[str]]]) -> None:
    found = loaded(f"import cpkg.msgpack; {code}", CPKG_MSGPACK_BACKEND=backend)
    expected = COMMON | MSGPACK | (MSGPACK_NATIVE if backend == "native" else set()) | on_this(table[backend])
    assert ours(found) <= expected
    assert not found & HEAVY


@OURS
@pytest.mark.parametrize("code", ["compress(b'1' * 1000)", "decompress(bytes.fromhex('28b52ffd200109000031'))"])
def test_first_frames(backend: str, code: str) -> None:
    found = loaded(f"from cpkg import zstd; zstd.{code}", CPKG_ZSTD_BACKEND=backend)
    if backend == "pure":
        other = "decoder" if code.startswith("compress") else "encoder"
        assert not {name for name in found if name.startswith(("cpkg._native", f"purepy.zstd.{other}"))}
    else:
        assert ours(found) <= COMMON | {"cpkg.zstd"} | on_this(ZSTD[backend])
    # the keys of options are an enum, as they are in what this replaces
    assert not found & (HEAVY - ENUM)
    if backend == "native" and sys.implementation.name == "cpython":
        assert not found & ENUM


@pytest.mark.parametrize("backend", available("msgpack"))
def test_the_main_job_loads_no_more_than_its_codec(backend: str) -> None:
    """`dumps` and `loads` of a short message need no Zstandard, and no dates."""
    found = loaded("import cpkg; cpkg.loads(cpkg.dumps(1))", CPKG_MSGPACK_BACKEND=backend)
    codec = on_this(PACKING[backend]) | on_this(UNPACKING[backend])
    expected = COMMON | MSGPACK | JOB | codec | (MSGPACK_NATIVE if backend == "native" else set())
    assert ours(found) <= expected - {"cpkg.msgpack"}
    assert not found & HEAVY


@OURS
def test_a_compressed_message_loads_one_codec_of_zstandard(backend: str) -> None:
    found = loaded("import cpkg; assert cpkg.loads(cpkg.dumps('a' * 1000))", CPKG_ZSTD_BACKEND=backend)
    foreign = {"native": "purepy.zstd.encoder", "dlopen": "cpkg._native._zstd_ffi", "pure": "cpkg._native.zstd"}
    assert not {name for name in found if name.startswith(foreign[backend])}
    assert not {name for name in found if name.startswith("purepy.zstd.encoder.training")}
    assert not found & (HEAVY - ENUM)
