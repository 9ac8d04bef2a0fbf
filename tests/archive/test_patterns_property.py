# SPDX-License-Identifier: Apache-2.0
"""Patterns match the same names as in GNU tar."""

from __future__ import annotations

import io
import string
import subprocess
import tarfile
from pathlib import Path

import pytest
from archives import created, make_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import needs

from cpkg import archive
from purepy.tar.patterns import matcher


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("patterns") / "tree"
    names = ("a", "a/b", "a/b/c", "a/b.c", "b", "b/a", "ab", "a*", "[a]", "b/a/b/c", ".b", "a/.b", "a b/é")
    return make_files(root, {f"x/{name}/f": b"" for name in names})


TEXTS = st.text(st.sampled_from("ab*?[]!-/.\\cfx"), min_size=1, max_size=6).filter(lambda text: text[-1] != "\\")


@needs("tar")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(TEXTS, min_size=1, max_size=2))
def test_exclude_is_gnu_tars(engine: str, tree: Path, patterns: list[str]) -> None:
    command = ["tar", "-cf", "-", *(f"--exclude={pattern}" for pattern in patterns), "-C", tree, "x"]
    done = subprocess.run(command, capture_output=True, check=False, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    theirs = []
    if done.stdout.strip(b"\0"):
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as file:
            theirs = file.getnames()
    made = created("x", base=tree, exclude=patterns)
    assert sorted(entry.name for entry in archive.entries(io.BytesIO(made))) == sorted(theirs)


def test_sets_and_escapes() -> None:
    for pattern, yes, no in (
        ("[a-c]x", ["ax", "d/bx"], ["dx", "[a-c]x"]),
        ("[!a]", ["b", "x/b"], ["a"]),
        ("[[:digit:]]*", ["1", "12", "x/1a"], ["a1"]),
        ("[]]", ["]"], ["[]]"]),
        ("\\*", ["*"], ["a"]),
        ("[", ["["], ["a"]),
        ("*.o", ["a.o", "d/a.o", "a.o/x"], ["a.oo"]),
        ("d/*.o", ["d/x/y.o", "e/d/a.o"], ["d.o"]),
    ):
        matches = matcher([pattern], anchored=False)
        assert matches is not None
        assert [name for name in yes if not matches(name)] == []
        assert [name for name in no if matches(name)] == []
    anchored = matcher(["d", "x*"], anchored=True)
    assert anchored is not None
    assert [anchored(name) for name in ("d", "d/e", "a/d", "xy/z", "dd")] == [True, True, False, True, False]
    assert matcher([], anchored=True) is None
    for name, members in {
        "alnum": string.ascii_letters + string.digits,
        "alpha": string.ascii_letters,
        "blank": " \t",
        "cntrl": "".join(map(chr, range(32))) + "\x7f",
        "digit": string.digits,
        "graph": "".join(map(chr, range(33, 127))),
        "lower": string.ascii_lowercase,
        "print": "".join(map(chr, range(32, 127))),
        "punct": string.punctuation,
        "space": string.whitespace,
        "upper": string.ascii_uppercase,
        "xdigit": string.hexdigits,
    }.items():
        matches = matcher([f"[[:{name}:]]"], anchored=True)
        assert matches is not None
        assert {char for char in map(chr, range(128)) if matches(char)} == set(members), name
