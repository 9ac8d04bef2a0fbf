# SPDX-License-Identifier: Apache-2.0
"""
python-zstandard's own tests, from the sdist of the release that cpkg.zstandard replaces, on each backend.

The sdist is fetched, so these tests have a separate row
(`tox run -e upstream-zstandard-3.11`). All tests run, also those that the suite skips unless ZSTD_SLOW_TESTS is
set. Failing tests are listed with the reason in failing.json; each of them must fail.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from backends import available
from sources import run_tests, suite_of

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDIST = (
    "https://files.pythonhosted.org/packages/fd/aa/3e0508d5a5dd96529cdc5a97011299056e14c6505b678fd58938792794b1"
    "/zstandard-0.25.0.tar.gz"
)
SHA256 = "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b"
COLLECTED = 292
EXAMPLES = {"native": 30, "dlopen": 30, "stdlib": 30, "pure": 1 if sys.implementation.name == "cpython" else 3}

FAILING = json.loads((HERE / "failing.json").read_text(encoding="utf-8"))
"""
Failing tests by their reasons: on every backend (errors of the original, for which tests/zstandard shows the right
results, or an estimate), with another libzstd than the original's 1.5.7, and on two backends that support less.
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite_of(SDIST, SHA256, tmp_path_factory.mktemp("zstandard"), "tests", HERE / "suite_conftest.py")


@pytest.mark.parametrize("backend", list(available("zstd")))
def test_suite(backend: str, suite: Path) -> None:
    """Every test passes except the listed ones."""
    variables = {
        "CPKG_ZSTD_BACKEND": backend,
        "CPKG_SUITE_EXAMPLES": str(EXAMPLES[backend]),
        "HYPOTHESIS_PROFILE": "cpkg",
        "ZSTD_SLOW_TESTS": "1",
    }
    found, output = run_tests(
        suite, "--tb=short", "tests", named=lambda where, name: f"{where.rpartition('.')[2]}.{name}", **variables
    )
    assert sum(map(len, found.values())) == COLLECTED, output
    assert found["skipped"] == []
    assert set(found["failed"]) == expected(backend), output


@pytest.mark.parametrize("backend", list(available("zstd")))
def test_signatures(backend: str, suite: Path) -> None:
    """cpkg's names and attributes match the original's stub; functions have its parameters, defaults and order."""
    import cpkg.zstandard
    from cpkg.zstandard.backend_names import names_over

    ours = SimpleNamespace(**{**vars(cpkg.zstandard), **names_over(available("zstd")[backend])})
    wrong = []
    for node in ast.parse(next(suite.glob("source/*/zstandard/__init__.pyi")).read_text()).body:
        if isinstance(node, ast.AnnAssign):
            wrong += [] if hasattr(ours, ast.unparse(node.target)) else [ast.unparse(node.target)]
        elif isinstance(node, ast.FunctionDef):
            wrong += differences(node, getattr(ours, node.name), ours)
        elif isinstance(node, ast.ClassDef):
            kind = getattr(ours, node.name)
            for member in node.body:
                if isinstance(member, ast.AnnAssign):
                    attribute = ast.unparse(member.target)
                    wrong += [] if has_attribute(kind, attribute) else [f"{node.name}.{attribute}"]
                if isinstance(member, ast.FunctionDef) and member.name not in NOT_THERE:
                    if any(ast.unparse(decorator) == "property" for decorator in member.decorator_list):
                        wrong += [] if has_attribute(kind, member.name) else [f"{node.name}.{member.name}"]
                    elif member.name != "__init__" or node.name in CONSTRUCTED:
                        wrong += differences(member, getattr(kind, member.name), ours)
    assert wrong == []


NOT_THERE = ("next", "__enter__", "__exit__", "__getitem__", "writelines", "readline")
"""Names that are in the stub but not in the types, or that accept only positional arguments."""
CONSTRUCTED = ("ZstdCompressor", "ZstdDecompressor", "ZstdCompressionDict", "ZstdCompressionParameters")


def has_attribute(kind: type, name: str) -> bool:
    """Return whether a class has an attribute, or declares it for its instances."""
    return hasattr(kind, name) or name in kind.__annotations__


def differences(node: ast.FunctionDef, found: Any, ours: SimpleNamespace) -> list[str]:
    """Return the function's name if cpkg's function cannot be called as the stub declares."""
    theirs = [argument.arg for argument in node.args.args if argument.arg != "self"]
    defaults = [None] * (len(theirs) - len(node.args.defaults)) + [ast.unparse(value) for value in node.args.defaults]
    parameters = [each for each in inspect.signature(found).parameters.values() if each.name not in ("self", "kwargs")]
    for number, (wanted, default) in enumerate(zip(theirs, defaults)):
        if number == len(parameters) or parameters[number].name != wanted:
            return [f"{node.name}: {wanted}"]
        value = parameters[number].default
        if (default is not None) != (value is not inspect.Parameter.empty):
            return [f"{node.name}: {wanted} has a default in one of both"]
        if default not in (None, "None", "...") and eval(default, vars(ours)) != value:  # a number or a constant
            return [f"{node.name}: {wanted}={value!r}, not {default}"]
    return [f"{node.name}: {each.name}" for each in parameters[len(theirs) :] if each.default is each.empty]


def expected(backend: str) -> set[str]:
    """Return the tests that fail."""
    kinds = ["every", *({backend} & {"pure", "stdlib"})]
    if backend != "pure" and available("zstd")[backend].zstd_version_info != (1, 5, 7):
        kinds.append("other libzstd")
    return {test for kind in kinds for tests in FAILING[kind].values() for test in tests}
