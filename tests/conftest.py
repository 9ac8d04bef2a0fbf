# SPDX-License-Identifier: Apache-2.0
"""
Run each test on every backend that loads, mark it, and leave out tests that another row of the gate runs.

A test that uses the fixture `msgpack` or `zstd` runs on each backend, in one process.
`--require msgpack:native,zstd:native` (or the environment variable CPKG_TEST_REQUIRE) makes it an error if one of these
backends does not load: a row that is called native must not pass without testing native code.

CPython 3.11 runs each test of the gate. Other interpreters run conformance tests, hostile input to C, tests marked
`interpreter`, and samples (`extent.some`) of the tests of Python code that all interpreters share. `--everything` runs
all tests.
"""

from __future__ import annotations

import functools
import gc
import os
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import hypothesis.core
import interrupts
import pytest
import seeds
from backends import available
from extent import IS_FULL, IS_PYPY, IS_THOROUGH

from cpkg import _backend

# The second row of an interpreter reuses the bytecode of the tests that pytest wrote for the first row, because
# compiling the tests takes half of the collection time. Processes that tests start write no bytecode.
sys.dont_write_bytecode = False

TESTS = Path(__file__).parent
MARKERS = {
    **{folder.name: f"tests of the folder {folder.name}" for folder in TESTS.iterdir() if folder.is_dir()},
    **{
        f"{backend}_{codec}": f"tests on the backend {backend} of {codec}"
        for codec, backends in _backend.MODULES.items()
        for backend in backends
    },
    "hostile": "input and calls that mean harm",
    "property": "random input",
    "documents": "the commands and programs of a page",
    "processes": "commands, each in a process",
}
ONCE = {"once", "documents", "processes"}
"""Marks of tests that depend on neither the interpreter nor the backend."""
OTHERS = {"cli", "integrations", "wheels"}
"""Folders whose tests depend on the interpreter, but not on the backend: rows named pure leave them out."""
SHARED = {"archive", "cli", "records", "zstandard", *(["typed"] if IS_PYPY else [])}
"""
Folders that test Python code which all interpreters share. CPython 3.11 runs these tests on each backend, but those
with hostile input only on the first backend; other interpreters run them on one backend, without hostile input.
"""
# fewer examples on PyPy, where most of them run before the JIT has warmed up; no deadline below, because a busy machine
# must not make a test fail
EXAMPLES = 12 if IS_PYPY else 40
OPERATIONS = 500 if IS_PYPY else 5000 if IS_FULL else 1500
# the gate tries the same examples each time, so that only a change of the code can make it fail; nightly tries new ones
hypothesis.settings.register_profile("default", max_examples=EXAMPLES, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("thorough" if IS_THOROUGH else "default")
if IS_THOROUGH:
    hypothesis.core.global_force_seed = seeds.SEED
elif IS_PYPY:
    import pypyjit

    # tests run most code only a few times: compiling code after a thousand runs takes longer than it saves
    pypyjit.set_param("threshold=5000,function_threshold=8000")

# hypothesis uses this generator, and warns if it finds no references to a generator. On 3.14 it finds none after
# gc.freeze() without this name.
RANDOM = random.Random()
hypothesis.register_random(RANDOM)
getattr(hypothesis.core, "threadlocal", hypothesis.core)._hypothesis_global_random = RANDOM


def pytest_addoption(parser: pytest.Parser) -> None:
    required = os.environ.get("CPKG_TEST_REQUIRE", "")
    for name, metavar, default, text in (
        ("--require", "CODEC:BACKEND,...", required, "backends that must load, e.g. msgpack:native,zstd:dlopen"),
        ("--backend", "BACKEND,...", "", "test only these backends (default: every one that loads)"),
        ("--operations", "N", OPERATIONS, "random calls per backend in each test of files against a model"),
    ):
        parser.addoption(name, metavar=metavar, default=default, type=type(default), help=text)
    for name, text in (
        ("--interrupts", "run only the tests that interrupt calls, and print the number of interrupts"),
        ("--everything", "run also the tests that the gate runs only on CPython 3.11, or only on the first backend"),
    ):
        parser.addoption(name, action="store_true", help=text)


@pytest.fixture
def operations(request: pytest.FixtureRequest) -> int:
    """Return the number of random calls in a test against a model."""
    return request.config.getoption("--operations")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if config.getoption("--interrupts"):
        config.pluginmanager.register(interrupts.Table())
    for item in filter(None, config.getoption("--require").split(",")):
        codec, _, backend = item.strip().partition(":")
        try:
            _backend.load(codec, backend)
        except (ImportError, ValueError) as exc:
            raise pytest.UsageError(f"--require {item}: {exc}") from exc


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its folder, the kind in its file's name and its backends; deselect other rows' tests."""
    for item in items:
        for codec, backend in _backends_of(item).items():
            item.add_marker(f"{backend}_{codec}")
        for name in (item.path.relative_to(TESTS).parts[0], item.path.stem.rpartition("_")[2]):
            if name in MARKERS or name == "nightly":
                item.add_marker(name)
    if not config.getoption("--everything") and not IS_THOROUGH:
        wanted = _wanted(config)
        others = {item for item in items if not _is_of_this_row(item, wanted)}
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]
    if IS_PYPY:
        # tests that request garbage collections come first: in a large process, each collection takes half a second
        items.sort(key=lambda item: not _asks_for_collections(item.path))


def _is_of_this_row(item: pytest.Item, wanted: list[str]) -> bool:
    """Return whether the gate runs a test on this interpreter in a row with the `wanted` backends ([]: all)."""
    marks = {mark.name for mark in item.iter_markers()}
    row = wanted[0] if wanted else ""
    if "nightly" in marks:
        return True
    is_shared = bool(marks & SHARED)
    if is_shared and not IS_FULL and (row == "pure" or not _is_on_first_backend(item, wanted)):
        return False
    if "interpreter" in marks:
        return row != "pure" or bool(_backends_of(item))
    is_of_pure = "purepy_zstd" in marks
    if is_of_pure and row not in ("", "pure"):
        return False
    if marks & ONCE:
        return IS_FULL and row in ("", "pure" if is_of_pure else "native")
    if is_of_pure:
        return IS_FULL or not marks & {"hostile", "property"}
    if row == "pure" and marks & OTHERS:
        return False
    if not marks & {"hostile", "property"}:
        return True
    if not _is_on_first_backend(item, wanted) or (is_shared and row == "pure"):
        return False
    return IS_FULL or ("hostile" in marks and row in ("", "native") and not is_shared)


def _is_on_first_backend(item: pytest.Item, wanted: list[str]) -> bool:
    """Return whether a test uses only the first tested backend of each codec, or no codec."""
    return all(backend == next(iter(_tested(codec, wanted))) for codec, backend in _backends_of(item).items())


def _backends_of(item: pytest.Item) -> dict[str, str]:
    """Return the codecs that a test uses, each with the name of its backend."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return {codec: parameters[codec].BACKEND for codec in parameters.keys() & _backend.MODULES.keys()}


def _tested(codec: str, wanted: list[str]) -> dict[str, ModuleType]:
    """Return the backends of a codec to test: the wanted ones, or all that load if none of them is wanted."""
    named = [name for name in wanted if name in _backend.MODULES[codec]]
    return {name: available(codec)[name] for name in named or available(codec) if name in available(codec)}


def _wanted(config: pytest.Config) -> list[str]:
    return [name.strip() for name in config.getoption("--backend").split(",") if name.strip()]


@functools.cache
def _asks_for_collections(path: Path) -> bool:
    """Return whether the tests of a file call the collector, as those that interrupt calls always do."""
    text = path.read_text(encoding="utf-8")
    return "interrupts" in text or "gc.collect" in text


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    """
    Exclude pytest's data for thousands of tests, and objects from other files' tests, from the garbage collections that
    tests request. A collection then takes 2 ms instead of 150.
    """
    if hasattr(gc, "freeze"):  # PyPy does not have it
        gc.collect()
        gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    interrupts.IS_NIGHTLY = item.get_closest_marker("nightly") is not None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print for each failed nightly test the command that repeats it, with the seed."""
    if IS_THOROUGH:
        for report in terminalreporter.stats.get("failed", []):
            setting = f"CPKG_TEST_SEED={seeds.SEED} HYPOTHESIS_PROFILE=thorough"
            terminalreporter.write_line(f"to repeat: {setting} pytest -m '' '{report.nodeid}'")


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"{codec} backends: {', '.join(available(codec)) or 'none'}" for codec in _backend.MODULES]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for codec in _backend.MODULES:
        if codec in metafunc.fixturenames:
            found = _tested(codec, _wanted(metafunc.config))
            metafunc.parametrize(codec, list(found.values()), ids=list(found))
