# SPDX-License-Identifier: Apache-2.0
"""
Run tests in Pyodide under node, with the pure wheel of dist/: `python tests/wheels/pyodide.py [PYTEST'S ARGUMENTS...]`.

Needs node and npm, which fetches Pyodide. Without arguments, this runs the tests of both codecs, records and archives
with the pure codecs and with the libzstd of Pyodide, then the page of docs/browser.md in headless Chromium.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rows import PYTEST, ROOT, copy_tests, make_site, needed, wheel, without

PINNED = {"pyodide": "314.0.7", "node": "25.9.0"}
"""Packages of npm. Older versions of node lack stack switching in WebAssembly, which waiting inside a call needs."""
WORK = ROOT / "build" / "pyodide"
FOLDERS = ("tests/msgpack", "tests/zstd", "tests/records", "tests/archive")


def fetched() -> Path:
    """Return the folder of npm packages; missing packages are fetched."""
    npm = needed("npm", "apt-get install nodejs npm")
    modules = WORK / "node_modules"
    if all(_version(modules / name) == version for name, version in PINNED.items()):
        return modules
    WORK.mkdir(parents=True, exist_ok=True)
    packages = [f"{name}@{version}" for name, version in PINNED.items()]
    options = ("--loglevel=error", "--no-audit", "--no-fund", "--no-save", "--prefix", str(WORK))
    subprocess.run([npm, "install", *options, *packages], check=True)
    return modules


def _version(package: Path) -> str | None:
    """Return the version of an npm package, None if it is missing."""
    try:
        version: str = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    except FileNotFoundError:
        return None
    return version


def main(arguments: list[str]) -> int:
    """Run the tests and, if no tests were named, the page; return the exit status."""
    ours = wheel("py3-none-any", "pure")
    packages = fetched()
    target = ("--platform=any", "--python-version=3.14", "--implementation=py", "--abi=none")
    site = make_site(WORK, ours, target)
    chosen = arguments or [*FOLDERS, *without("pyodide")]
    program = [packages / "node" / "bin" / "node", Path(__file__).with_suffix(".mjs")]
    command = [*program, packages / "pyodide", site, copy_tests(WORK), *PYTEST, "-p", "lacking", *chosen]
    status = subprocess.run(command, check=False).returncode
    if not arguments:
        page = [sys.executable, "-m", "pytest", "-q", "-m", "browser", "tests/wheels/test_browser.py"]
        environment = {**os.environ, "CPKG_TEST_PYODIDE": str(packages / "pyodide"), "CPKG_TEST_WHEEL": str(ours)}
        status = status or subprocess.run(page, cwd=ROOT, env=environment, check=False).returncode
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
