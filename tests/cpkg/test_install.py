# SPDX-License-Identifier: Apache-2.0
"""cpkg.install(): names of other packages resolve to ours only if those packages are missing."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Callable

import pytest
from processes import run_python, sections

import cpkg
import purepy

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
PROGRAMS = sections(__file__, "install_programs.txt")
PRELUDE = PROGRAMS.pop("before each")
NEEDS = {
    "a module with the name of a package": (sys.version_info < (3, 14), "there is a package of that name"),
    "a Python without libzstd": (sys.version_info >= (3, 14), "the standard library has no compression.zstd"),
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that runs code in an interpreter with only cpkg and the standard library."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for package in (cpkg, purepy):
        folder = Path(package.__file__).parent
        (packages / folder.name).symlink_to(folder, target_is_directory=True)

    def run_code(code: str) -> None:
        done = run_python("-S", "-c", code, env={**os.environ, "PYTHONPATH": str(packages)}, cwd=tmp_path)
        assert done.returncode == 0, done.stderr

    return run_code


@pytest.mark.interpreter
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(run: Callable[[str], None], name: str) -> None:
    is_possible, reason = NEEDS.get(name, (True, ""))
    if not is_possible:
        pytest.skip(reason)
    run(PRELUDE + PROGRAMS[name])


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_example(run: Callable[[str], None]) -> None:
    section = PAGE.read_text().partition("## cpkg.install")[2].partition("\n## ")[0]
    for example in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        run(example)


def test_an_unknown_name() -> None:
    length = len(sys.meta_path)
    with pytest.raises(ValueError, match=r"cannot install 'numpy': expected some of backports\.zstd, "):
        cpkg.install("msgpack", "numpy")
    assert len(sys.meta_path) == length
