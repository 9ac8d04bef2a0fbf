# SPDX-License-Identifier: Apache-2.0
"""Several interpreters in one process: each gets a backend that gives it its own types."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from backends import available
from processes import run_python, sections

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython", reason="CPython's interpreters")

PATH = f"import sys\nsys.path[:0] = {sys.path!r}\n"
PROGRAMS = sections(__file__, "interpreter_programs.txt")
RUNNER, CHECK = (PATH + PROGRAMS[name] for name in ("run in another", "check"))
TELL = "print(*(info[codec].backend for codec in ('msgpack', 'zstd')), flush=True)\n"
WHY = 'assert "interpreter" in info["msgpack"].reason, info["msgpack"].reason\n'
EACH = """
for each in info.values():
    assert "interpreters" in each.reason, each.reason
    assert "main interpreter" in each.faster, each.faster
"""


def run(code: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CPKG_")}
    result = run_python("-I", "-c", RUNNER + code, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout.split("\n")[:-1]


def test_interpreters_that_share_everything() -> None:
    """The first interpreter has the native backends, whatever others come and go."""
    if not {"native"} <= available("msgpack").keys() & available("zstd").keys():
        pytest.skip("needs the native backends")
    again = f"run_in_another({CHECK + WHY + TELL!r}, 'shared')\n"
    found = run(CHECK + TELL + again + again + CHECK + TELL)
    assert found[0] == found[3] == "native native"
    assert {line.split()[0] for line in found[1:3]} == {"pure"}
    assert not any("native" in line for line in found[1:3])


def test_an_interpreter_that_comes_first() -> None:
    """Backends stay bound to it after it ends: its types are gone, but objects of the process may refer to them."""
    found = run(f"run_in_another({CHECK + TELL!r}, 'shared')\n{CHECK + TELL}")
    assert len(found) == 2
    # without the GIL, it has no native backends
    assert "native" not in found[1] or "native" not in found[0]


# In 3.12 an import of the standard library's own datetime or hashlib there is enough to end the process at its exit.
a_gil_each = pytest.mark.skipif(sys.version_info < (3, 13), reason="a GIL each works from Python 3.13 on")


@a_gil_each
@pytest.mark.parametrize("order", ["after the main interpreter", "before it"])
def test_interpreters_with_a_gil_each(order: str) -> None:
    """cffi does not load there; backends without cffi do."""
    why = EACH if {"native"} <= available("msgpack").keys() & available("zstd").keys() else ""
    other = f"run_in_another({CHECK + why + TELL!r}, 'own')\n"
    found = run((CHECK + TELL if order[0] == "a" else "") + other + CHECK + TELL)
    assert found[-1] == run(CHECK + TELL)[0]
    assert "native" not in found[-2]
    assert "dlopen" not in found[-2]


@a_gil_each
def test_cffi_itself_loads_in_no_interpreter_with_its_own_gil() -> None:
    """No module that cffi generates can be native there. Once this fails, docs/notebook/wheels.md has what to do."""
    pytest.importorskip("_cffi_backend")
    code = "try:\n    import _cffi_backend\nexcept ImportError as error:\n    print(error, flush=True)\n"
    refused = "module _cffi_backend does not support loading in subinterpreters"
    assert run(f"run_in_another({PATH + code!r}, 'own')\n") == [refused]


@pytest.mark.skipif(sys.version_info[:2] != (3, 12), reason="Python 3.12 initialises what it then refuses")
def test_an_interpreter_with_its_own_gil_does_not_load_cffi() -> None:
    """Otherwise cffi's types refer to memory that ends with the interpreter, and their next use ends the process."""
    use = "from cpkg import msgpack\nassert msgpack.unpackb(msgpack.packb([1])) == [1]\n"
    tell = f"{use}from cpkg import _backend\nprint(_backend.choose('msgpack').module.BACKEND, flush=True)\n"
    cffi = "import cffi, gc\nfor size in range(200):\n    cffi.FFI().new(f'int[{size}]')\n    gc.collect()\n"
    found = run(f"run_in_another({PATH + tell!r}, 'own')\n{tell}{cffi}")
    assert found == ["pure", run(tell)[0]]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters is new in Python 3.14")
def test_a_pool_of_interpreters(tmp_path: Path) -> None:
    """Objects are passed between interpreters as messages; each has its own copy of this package."""
    (tmp_path / "pool_of_interpreters.py").write_text(PROGRAMS["a module for a pool"], encoding="utf-8")
    found = run(f"sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAMS["a pool"])
    assert found == ["stdlib" if "stdlib" in available("zstd") else "pure"]


def test_a_second_import() -> None:
    """A second import of everything creates new types; the types of the first import are not changed."""
    assert run(PROGRAMS["a second import"].replace("CHECK\n", CHECK)) == []
