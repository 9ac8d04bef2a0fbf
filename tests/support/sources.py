# SPDX-License-Identifier: Apache-2.0
"""The sources of other projects, whose tests run with our modules instead of theirs."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Callable

import cpkg

ROOT = Path(__file__).resolve().parents[2]


def unpack(url: str, sha256: str, folder: Path) -> Path:
    """Fetch an archive, check its hash, and unpack it into `folder`; return the only folder in it.

    The archive is not fetched if the folder CPKG_UPSTREAM_SOURCES has it. pip is not used, because it would begin to
    build the package, and refuses packages for other interpreters.
    """
    kept = Path(os.environ.get("CPKG_UPSTREAM_SOURCES", os.devnull)) / url.rpartition("/")[2]
    if kept.exists():
        data = kept.read_bytes()
    else:
        with urllib.request.urlopen(url, timeout=120) as answer:
            data = answer.read()
    assert hashlib.sha256(data).hexdigest() == sha256, url
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder)
    (unpacked,) = folder.iterdir()
    return unpacked


def python_path(*folders: Path) -> str:
    """Return a PYTHONPATH: these folders, the source tree if cpkg comes from there, and this process's PYTHONPATH."""
    tree = [ROOT] if Path(cpkg.__file__).resolve().parents[1] == ROOT else []
    return os.pathsep.join([*map(str, (*folders, *tree)), *filter(None, [os.environ.get("PYTHONPATH")])])


def run_tests(
    folder: Path, *arguments: object, named: Callable[[str, str], str], **variables: str
) -> tuple[dict[str, list[str]], str]:
    """
    Run pytest in a folder, with `variables` in its environment; return the tests' names by result, and the output.

    The results are "passed", "failed" and "skipped". `named` returns a test's name from its class or module and its
    function.
    """
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path(), **variables}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    for case in ET.parse(report).getroot().iter("testcase"):
        said = {child.tag for child in case}
        how = "failed" if said & {"failure", "error"} else "skipped" if "skipped" in said else "passed"
        found[how].append(named(case.get("classname", ""), case.get("name", "")))
    return found, done.stdout[-20000:]


def suite_of(url: str, sha256: str, folder: Path, tests: str, conftest: Path) -> Path:
    """Move the folder `tests` of an archive to `folder`, copy this conftest there, and return `folder`."""
    shutil.move(unpack(url, sha256, folder / "source") / tests, folder / tests)
    shutil.copy(conftest, folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder
