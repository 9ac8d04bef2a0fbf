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
COMMON = {"cpkg", "cpkg._backend", "purepy", "purepy._lazy"}
NATIVE = {"cpkg._native", "_cffi_backend"}
MSGPACK = {
    *("cpkg.msgpack", "purepy.errors", "purepy._fields"),
    *("purepy.msgpack", "purepy.msgpack.exceptions", "purepy.msgpack.ext", "purepy.msgpack.interface"),
}
MSGPACK_NATIVE = {*NATIVE, "cpkg._native.msgpack", "cpkg._native._msgpack_ffi"}
PURE_PACKING = {
    *(
        "purepy._jit",
        "purepy._locks",
        "purepy.msgpack.builders",
        "purepy.msgpack.conversions",
        "purepy.msgpack.encoder",
    ),
    *("purepy.msgpack.formats", "purepy.msgpack.options", "purepy.msgpack.packing", "purepy.msgpack.plain_writer"),
}
PURE_UNPACKING = {
    *(
        "purepy._jit",
        "purepy.msgpack.decoder",
        "purepy.msgpack.decoder_base",
        "purepy.msgpack.formats",
        "purepy.msgpack.keys",
        "purepy.msgpack.oneshot",
    ),
    *("purepy.msgpack.options", "purepy.msgpack.plain_reader", "purepy.msgpack.skimmer"),
}
PACKING = {
    "native": {
        "cpython": {"cpkg._native.msgpack.cpython"},
        "pypy": {
            *(
                "cpkg._native.cffi_modules",
                "cpkg._native.msgpack.pypy",
                "cpkg._native.msgpack.pypy.backend",
                "cpkg._native.msgpack.pypy.functions_pack",
            ),
            *("cpkg._native.msgpack.pypy.marshal", "cpkg._native.msgpack.pypy.marshal_pack"),
            *("purepy.msgpack.options", "purepy.msgpack.packing"),
        },
    },
    "pure": {"any": {*PURE_PACKING, "purepy.msgpack.packer"}},
}
UNPACKING = {
    "native": {
        "cpython": {"cpkg._native.msgpack.cpython"},
        "pypy": {
            *(
                "cpkg._native.cffi_modules",
                "cpkg._native.msgpack.pypy",
                "cpkg._native.msgpack.pypy.backend",
                "cpkg._native.msgpack.pypy.functions_unpack",
            ),
            *("cpkg._native.msgpack.pypy.marshal", "cpkg._native.msgpack.pypy.marshal_read"),
            *("cpkg._native.msgpack.pypy.checks", "purepy.msgpack.options"),
        },
    },
    "pure": {"any": PURE_UNPACKING},
}
JOB = {
    *("cpkg.objects", "cpkg.objects.dumps_loads", "cpkg.objects.types_written"),
    *("purepy.zstd", "purepy.zstd.format", "purepy.zstd.format.rules", "purepy.zstd.names"),
}
ZSTD_COMMON = {
    *(
        "purepy._buffers",
        "purepy._locks",
        "purepy.zstd",
        "purepy.zstd.format",
        "purepy.zstd.format.backend_methods",
        "purepy.zstd.functions",
        "purepy.zstd.names",
        "purepy.zstd.format.error_codes",
        "purepy.zstd.format.locks",
    ),
    *("purepy.zstd.format.parameters", "purepy.zstd.format.zdict", "purepy.zstd.format.rules", "purepy.errors"),
}
ZSTD_LIBRARY = {
    *NATIVE,
    *(
        "cpkg._native.zstd",
        "cpkg._native.zstd.backend_names",
        "cpkg._native.zstd.functions",
        "cpkg._native.zstd.library",
    ),
    "cpkg._native.zstd.contexts",
    *("cpkg._native.zstd.settings", "cpkg._native.buffers", "cpkg._native.pins", "cpkg._native.pressure"),
    *ZSTD_COMMON,
}
ZSTD = {
    "native": {
        "cpython": {
            *NATIVE,
            *("cpkg._native._zstd_ffi", "cpkg._native.cffi_modules", "purepy._locks"),
            *(f"cpkg._native.zstd{end}" for end in ("", ".backend_names", ".compiled")),
        },
        "pypy": {
            *("cpkg._native._zstd_ffi", "cpkg._native.cffi_modules"),
            *("cpkg._native.zstd.compiled", "cpkg._native.zstd.compiled_library"),
            *ZSTD_LIBRARY,
        },
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
