# SPDX-License-Identifier: Apache-2.0
"""
Shared code of the rows for interpreters that tox does not support: Windows, Pyodide and GraalPy.

Each row unpacks a wheel from dist/ and packages from PyPI into a folder, the site, and copies the tests into another
folder, away from the source. Nothing is skipped: if a program is missing, the row ends and names its package.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTEST = ("-q", "-p", "no:cacheprovider")
PACKAGES = (
    "pytest",
    "pytest-benchmark",
    "hypothesis",
    "click",
    "annotated-types",
    "attrs",
    "typing-extensions",
)


def needed(program: str, package: str) -> str:
    """Return the path of a program; raises SystemExit with the package to install if it is missing."""
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"no {program} here: {package}")
    return found


def wheel(tag: str, argument: str) -> Path:
    """Return our wheel for a system from dist/; `argument` is the argument of the row `wheels` that builds it."""
    found = sorted((ROOT / "dist").glob(f"cpkg_codecs-*-{tag}.whl"))
    if not found:
        raise SystemExit(f"no wheel for {tag} in dist/: tox run -e wheels -- {argument}")
    return found[-1]


def make_site(work: Path, ours: Path, target: Sequence[str], packages: Sequence[str] = PACKAGES) -> Path:
    """Fill a folder with our wheel and packages for a system, which the pip options `target` describe."""
    site, wheels = work / "site", work / "wheels"
    for folder in (site, wheels):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    options = ("--only-binary=:all:", *target, "-d", str(wheels))
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *options, *packages], check=True)
    for path in [*wheels.glob("*.whl"), ours]:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    return site


def copy_tests(work: Path) -> Path:
    """Copy the tests, their configuration and the pages that they test, to a folder without the source."""
    tests = work / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(ROOT / "tests", tests / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", tests / "docs")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tests)
    return tests


def without(row: str) -> list[str]:
    """Return pytest arguments that deselect tests which the system of a row does not support (left_out.json)."""
    reasons = json.loads(Path(__file__).with_name("left_out.json").read_text(encoding="utf-8"))[row]
    return ["-k", " and ".join(f"not {name}" for names in reasons.values() for name in names)]
