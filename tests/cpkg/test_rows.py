# SPDX-License-Identifier: Apache-2.0
"""All lists of interpreters agree: rows of tox, rows run by CI, the classifiers of the package, the README."""

from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def expanded(text: str) -> Iterator[str]:
    """Yield the expansions of a tox name: `{a,b}-c` is a-c and b-c."""
    parts = [part.split(",") for part in re.split(r"[{}]", text)]
    return map("".join, itertools.product(*parts))


def of_tox() -> configparser.ConfigParser:
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(read("tox.ini"))
    return config


def rows() -> set[str]:
    """Return the rows that `tox run` runs."""
    lines = of_tox()["tox"]["env_list"].splitlines()
    return {row for line in lines if line and not line.startswith("#") for row in expanded(line)}


def interpreters(kind: str) -> set[str]:
    """Return the interpreters with rows of a kind, by their tox names."""
    sections = [name.partition(":")[2] for name in of_tox().sections()]
    names = [name for section in sections for name in expanded(section)] + list(rows())
    found = [name[: -len(kind) - 1] for name in names if name.endswith(f"-{kind}")]
    return {name for name in found if re.fullmatch(r"(pypy)?3\.\d+t?", name)}


def named(text: str) -> set[str]:
    """Return the interpreters whose rows are named in a text, except those without the GIL."""
    return set(re.findall(r"\b((?:pypy)?3\.\d+)-\w+", text))


def test_ci_runs_rows_of_tox() -> None:
    here, newest = re.findall(r"^(?:rows|newest)=(\S+)$", read(".ci/run"), re.MULTILINE)
    assert set(f"{here},{newest}".split(",")) <= rows()


def test_github_runs_all_rows() -> None:
    config = of_tox()
    labelled = [name for name in config.sections() if "nightly" in config[name].get("labels", "").split()]
    nightly = [row for name in labelled for row in expanded(name.partition(":")[2])]
    for workflow, wanted in (("tests", rows()), ("nightly", nightly)):
        found = re.findall(r'rows: "([^"]+)"', read(f".github/workflows/{workflow}.yml"))
        assert sorted(",".join(found).split(",")) == sorted(wanted)


def test_wheels_are_built_and_tried_on_all() -> None:
    text = read(".github/workflows/wheels.yml")
    all_of_them = interpreters("wheel")
    assert all_of_them == interpreters("native")
    built = re.findall(r"^ +((?:pypy)?3\.\d+t?)$", text, re.MULTILINE)
    tried = re.search(r"python: (\[.*pypy.*\])", text)
    assert set(built) == all_of_them
    assert tried is not None
    assert set(re.findall(r'"([^"]+)"', tried[1])) == all_of_them


def test_classifiers_and_benchmarks() -> None:
    with_the_gil = {name for name in interpreters("native") if name[-1] != "t"}
    found = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', read("pyproject.toml"))
    assert set(found) == {name for name in with_the_gil if name[0] == "3"}
    assert interpreters("native-bench") == interpreters("wheel-bench") == with_the_gil | {"3.14t"}


def test_the_readme() -> None:
    text = read("README.md")
    cpython = sorted((name for name in interpreters("pure") if name[0] == "3"), key=lambda name: int(name[2:]))
    pypy = sorted(name for name in interpreters("pure") if name[0] == "p")
    header = re.search(r"\| on Linux \| CPython (\S+) to (\S+) \| (PyPy [^|]+) \|", text)
    assert header is not None
    assert (header[1], header[2]) == (cpython[0], cpython[-1])
    assert [f"pypy{number}" for number in re.findall(r"\((3\.\d+)\)", header[3])] == sorted(pypy, key=len)
    said = re.search(r"`\.ci/run` runs (.+?) and both PyPys; on GitHub\s(.+?)\sas well\.", text, re.DOTALL)
    assert said is not None
    ours, theirs = set(re.findall(r"3\.\d+", said[1])), set(re.findall(r"3\.\d+", said[2]))
    assert ours | set(pypy) == named(read(".ci/run"))
    assert theirs == named(read(".github/workflows/tests.yml")) - ours - set(pypy)
