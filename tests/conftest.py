# SPDX-License-Identifier: Apache-2.0
"""
One fixture per codec that gives a test every backend that loads, side by side in one process.

`--require msgpack:native,zstd:native` (or the environment variable CPKG_TEST_REQUIRE) turns a backend that does
not load into an error: a row that is called native and tests nothing native must not pass.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from pathlib import Path

import hypothesis
import hypothesis.core
import interrupts
import pytest
from backends import available

from cpkg import _backend

# The second row of an interpreter reads what pytest has made of the tests for the first one: to make it is half of the
# time that collecting them takes. Processes that tests start go on writing no bytecode.
if os.environ.get("CI"):
    sys.dont_write_bytecode = False

TESTS = Path(__file__).parent
MARKERS = {
    **{folder.name: f"tests of the folder {folder.name}" for folder in TESTS.iterdir() if folder.is_dir()},
    **{
        f"{backend}_{codec}": f"tests on the backend {backend} of {codec}"
        for codec, backends in _backend.MODULES.items()
        for backend in backends
    },
    "hostile": "inputs and calls that mean harm",
    "property": "random inputs",
    "documents": "the commands and programs of a page",
}
# HYPOTHESIS_PROFILE=thorough is for a long run by hand; no deadline, since a busy machine is not a failure
# and fewer examples where most of them run before the JIT has warmed up
EXAMPLES = 12 if sys.implementation.name == "pypy" else 40
OPERATIONS = 1000 if sys.implementation.name == "pypy" else 5000
# CI tries the same examples each time, so that it judges the change; developers' runs go on looking for new ones
hypothesis.settings.register_profile(
    "default", max_examples=EXAMPLES, deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# hypothesis' own generator, held where the collector finds it: on 3.14 it does not, behind gc.freeze(), and hypothesis
# warns of one that nobody holds
RANDOM = random.Random()
hypothesis.register_random(RANDOM)
getattr(hypothesis.core, "threadlocal", hypothesis.core)._hypothesis_global_random = RANDOM


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        default=os.environ.get("CPKG_TEST_REQUIRE", ""),
        metavar="CODEC:BACKEND,...",
        help="backends that must load, e.g. msgpack:native,zstd:native,zstd:dlopen",
    )
    parser.addoption(
        "--backend",
        default="",
        metavar="BACKEND,...",
        help="test these backends alone (default: every one that loads)",
    )
    parser.addoption(
        "--operations",
        type=int,
        default=OPERATIONS,
        metavar="N",
        help="how many random calls each test of files against a model makes per backend (default: %(default)s)",
    )
    parser.addoption(
        "--interrupts",
        action="store_true",
        help="run the tests that interrupt calls alone, and print how often they did",
    )


@pytest.fixture
def operations(request: pytest.FixtureRequest) -> int:
    """How many random calls a test against a model makes."""
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its folder, with the attitude in its file's name, and with its backends."""
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        for codec in parameters.keys() & _backend.MODULES.keys():
            item.add_marker(f"{parameters[codec].BACKEND}_{codec}")
        for name in (item.path.relative_to(TESTS).parts[0], item.path.stem.rpartition("_")[2]):
            if name in MARKERS:
                item.add_marker(name)


def pytest_collection_finish() -> None:
    """Keep what pytest has made of six thousand tests out of the collections that tests ask for: 2 ms each, not 150."""
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.collect()
        gc.freeze()


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"{codec} backends: {', '.join(available(codec)) or 'none'}" for codec in _backend.MODULES]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = [name.strip() for name in metafunc.config.getoption("--backend").split(",") if name.strip()]
    for codec in _backend.MODULES:
        if codec in metafunc.fixturenames:
            found = {name: module for name, module in available(codec).items() if not wanted or name in wanted}
            metafunc.parametrize(codec, list(found.values()), ids=list(found))
