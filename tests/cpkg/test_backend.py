# SPDX-License-Identifier: Apache-2.0
"""The policy: which backend is chosen or refused, and the reported reason."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from backends import available
from processes import run_python

import cpkg
from cpkg import _backend, _backend_info, _backend_protocols

VARIABLES = ("CPKG_BACKEND", "CPKG_MSGPACK_BACKEND", "CPKG_ZSTD_BACKEND")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Forget chosen and loaded backends, and the policy in the environment."""
    monkeypatch.setattr(_backend, "_chosen", {})
    monkeypatch.setattr(_backend, "_loaded", {})
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, because backends are chosen once per process."""
    clean = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    return run_python("-I", "-W", "error", "-c", code, env={**clean, **environment})


@pytest.mark.parametrize("codec", _backend.MODULES)
def test_auto_takes_the_first_that_loads(fresh: pytest.MonkeyPatch, codec: str) -> None:
    assert _backend.choose(codec).module is next(iter(available(codec).values()))


@pytest.mark.parametrize(
    ("codec", "protocol"), [("msgpack", _backend_protocols.MsgpackBackend), ("zstd", _backend_protocols.ZstdBackend)]
)
def test_each_backend_has_all_names_of_its_protocol(codec: str, protocol: type) -> None:
    """Names that mypy knows from declarations exist at run time, although C or first use creates them."""
    kinds = property, types.FunctionType
    names = [name for name, value in vars(protocol).items() if isinstance(value, kinds) and name[:2] != "__"]
    assert len(names) > 15
    for module in available(codec).values():
        assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("codec", _backend.MODULES)
def test_a_named_backend_is_the_one_that_runs(fresh: pytest.MonkeyPatch, codec: str) -> None:
    """The variable of a codec has precedence over the common one."""
    fresh.setenv("CPKG_BACKEND", "native")
    fresh.setenv(f"CPKG_{codec.upper()}_BACKEND", "pure")
    choice = _backend.choose(codec)
    assert choice.module.BACKEND == "pure"
    assert (choice.policy, choice.source) == ("pure", f"CPKG_{codec.upper()}_BACKEND")


def test_a_backend_that_cannot_load(fresh: pytest.MonkeyPatch) -> None:
    """A named backend is an ImportError with the reason; `auto` falls back, and reports the reason and what to do."""
    fresh.setattr(_backend, "_built", lambda codec: (False, "not built: no compiler"))
    fresh.setattr(_backend_info, "_advice", lambda codec: "install a compiler")
    fresh.setitem(_backend.MODULES["msgpack"], "native", "cpkg._native.does_not_exist")
    info = _backend_info._info("msgpack")
    assert info.backend == "pure"
    assert "not built: no compiler" in info.reason
    assert info.faster == "install a compiler"
    fresh.setattr(_backend, "_chosen", {})
    fresh.setenv("CPKG_MSGPACK_BACKEND", "native")
    reason = r"the native backend of msgpack cannot be loaded: not built: no compiler"
    with pytest.raises(ImportError, match=reason) as caught:
        _backend.choose("msgpack")
    assert "cannot be loaded" not in str(caught.value.__cause__)  # the traceback has the reason's own error, once


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_source_folder_in_front_of_the_installed_package_is_named(
    fresh: pytest.MonkeyPatch, tmp_path: Path, is_installed: bool
) -> None:
    """The reason names both folders. Metadata without a package comes from an editable install, which nothing hides."""
    metadata = tmp_path / "cpkg_codecs-0.1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: cpkg-codecs\nVersion: 0.1.0\n", encoding="utf-8")
    if is_installed:
        (tmp_path / "cpkg").mkdir()
    folder = str(Path(_backend.__file__).parents[1])
    fresh.setattr(_backend, "record", lambda codec: None)
    fresh.setattr(sys, "path", [folder, str(tmp_path)])
    advice = "build the native modules: run pip install -e . in the source folder"
    parts = ["never installed with this interpreter (pip install -e .)"]
    if is_installed:
        advice = "start Python in another folder, or run pip install -e . in the source folder"
        parts = [f"source folder {folder}, which", f"hides the package installed in {tmp_path}: {advice}"]
    assert _backend_info._advice("zstd") == advice
    is_built, reason = _backend._built("zstd")
    assert (is_built, [part for part in parts if part not in reason]) == (False, [])


@pytest.mark.parametrize(
    ("system", "advice"), [("linux", "install gcc"), ("win32", "tox run -e wheels -- windows"), ("emscripten", "None")]
)
def test_the_advice_of_a_pure_wheel_is_for_the_system(fresh: pytest.MonkeyPatch, system: str, advice: str) -> None:
    """A pure wheel may be built on one system and installed on another, for which no compiler can be installed."""
    fresh.setattr(_backend, "record", lambda codec: {"native": False, "reason": "", "advice": "install gcc"})
    fresh.setattr(sys, "platform", system)
    assert advice in str(_backend_info._advice("zstd"))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("dlopen", r"msgpack has no dlopen .*native, pure\); .* for zstd only, set CPKG_ZSTD_BACKEND=dlopen"),
        ("natvie", "CPKG_BACKEND=natvie: expected one of auto, native, dlopen, stdlib, pure"),
    ],
)
def test_a_policy_that_does_not_exist(fresh: pytest.MonkeyPatch, policy: str, message: str) -> None:
    """A misspelt policy must not mean `auto`."""
    fresh.setenv("CPKG_BACKEND", policy)
    pytest.raises(ImportError, _backend.choose, "msgpack").match(message)


@pytest.mark.skipif("dlopen" not in available("zstd"), reason="needs a libzstd to open")
def test_no_dlopen_on_windows() -> None:
    """Windows would load a file of that name from the current folder."""
    done = python("import sys, cpkg; sys.platform = 'win32'; import cpkg._native.zstd.dlopen")
    assert done.stderr.endswith("ImportError: Windows does not include libzstd\n")


def test_unknown_names_are_value_errors() -> None:
    """`load` is for programmers, so wrong names are distinguished from a missing backend."""
    for codec, backend, text in (("zip", "native", "unknown codec 'zip'"), ("zstd", "auto", "unknown backend 'auto'")):
        pytest.raises(ValueError, _backend.load, codec, backend).match(text)


def test_the_report_is_complete() -> None:
    report = cpkg.backend_info()
    assert sorted(report) == ["msgpack", "zstd"]
    for codec, info in report.items():
        assert info.codec == codec
        assert info.policy in _backend.POLICIES
        assert info.reason
        assert sys.version.split()[0] in info.interpreter
        if info.backend in ("native", "dlopen"):
            assert info.library


@pytest.mark.parametrize("codec", _backend.MODULES)
def test_a_library_inside_of_the_module_is_called_bundled(fresh: pytest.MonkeyPatch, codec: str) -> None:
    """The copy in a wheel and the system's library may have the same version; only the native backend uses the copy."""
    fresh.setattr(_backend, "record", lambda codec: {"native": True, "reason": "", "bundled": True, "advice": ""})
    for backend, module in available(codec).items():
        fresh.setenv("CPKG_BACKEND", backend)
        fresh.setattr(_backend, "_chosen", {})
        expected = f"bundled {module.LIBRARY_VERSION}" if backend == "native" else module.LIBRARY_VERSION
        assert _backend_info._info(codec).library == expected


def test_the_facades_serve_what_was_chosen() -> None:
    code = "import cpkg; info = cpkg.backend_info(); print(info['msgpack'].backend, info['zstd'].backend,"
    code += " cpkg.unpackb(cpkg.packb([1, 'a'])), cpkg.decompress(cpkg.compress(b'abc' * 2)))"
    done = python(code, CPKG_BACKEND="pure")
    assert (done.stdout, done.stderr) == ("pure pure [1, 'a'] b'abcabc'\n", "")


def test_completion_and_inspect_see_every_name_without_dask() -> None:
    """`cpkg.dask` raises AttributeError there, the only error that they ignore; an import names what to install."""
    done = python(Path(__file__).with_name("without_dask.txt").read_text(encoding="utf-8"))
    assert done.stderr == ""
    assert "cpkg.dask needs Dask (pip install 'dask[distributed]')" in done.stdout


@pytest.mark.skipif(not os.environ.get("CPKG_TEST_NOBUILD"), reason="only in the rows that build without a compiler")
def test_without_a_compiler() -> None:
    report = cpkg.backend_info()
    assert (report["msgpack"].backend, report["zstd"].backend) == ("pure", "dlopen")
    for codec, library in (("msgpack", "msgpack-c"), ("zstd", "libzstd")):
        pytest.raises(ImportError, _backend.load, codec, "native").match(f"not built: no usable {library}")
    if sys.implementation.name == "cpython":
        assert "libmsgpack-dev" in str(report["msgpack"].faster)
    assert "libzstd-dev" in str(report["zstd"].faster)


@pytest.mark.skipif("native" not in available("msgpack"), reason="needs the native module")
def test_c_that_only_pypy_calls_is_only_in_its_module() -> None:
    declarations = Path(__file__).parents[2] / "ffi_build/msgpack/pypy/cdef.h"
    names = re.findall(r"\b(cpkg_\w+)\(", declarations.read_text(encoding="utf-8"))
    assert len(names) > 20
    module = Path(importlib.import_module("cpkg._native._msgpack_ffi").__file__ or "").read_bytes()
    assert [name for name in names if name.encode() in module] == (names if sys.implementation.name == "pypy" else [])


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="only CPython has builtins")
@pytest.mark.skipif("native" not in available("zstd"), reason="needs the native module")
def test_builtins_that_cannot_be_set_up_say_why() -> None:
    result = python(Path(__file__).with_name("refused_builtin.txt").read_text(encoding="utf-8"))
    assert result.returncode == 0, result.stderr
    backend, _, reason = result.stdout.partition(" ")
    assert backend != "native"
    assert "no place for a _WriteBuffer" in reason
