# SPDX-License-Identifier: Apache-2.0
"""
Run tests in Pyodide under node, with the pure wheel of dist/: `python tests/wheels/pyodide.py [PYTEST'S ARGUMENTS...]`.

Needs node and npm, which fetches Pyodide. Without arguments it runs the tests of both codecs, records and archives,
on the pure codecs and on the libzstd that Pyodide has, and then the page of docs/browser.md in headless Chromium.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rows import PYTEST, ROOT, copy_tests, make_site, needed, wheel, without

PINNED = {"pyodide": "314.0.7", "node": "25.9.0"}
"""Packages of npm. Older nodes cannot wait for an event loop within a call (WebAssembly's stack switching)."""
WORK = ROOT / "build" / "pyodide"
FOLDERS = ("tests/msgpack", "tests/zstd", "tests/records", "tests/archive")
LEFT_OUT = (
    # these take an exception at every line, or minutes, which is hours there
    *("interrupts", "test_kill_hostile", "test_memory", "test_model_hostile", "test_file_model"),
    # an event loop that goes on meanwhile, calls cancelled midway and frames checked side by side need threads
    *("test_the_loop_goes_on", "cancelled", "test_large_frames_are_checked_one_at_a_time"),
    # its file system has no hard links, whose absence these tests see as a problem or a file that is not there
    *("test_hard_links_over_an_old_tree", "test_reproducible", "test_strip_components_and_members"),
    # it takes no notice of the umask, gives links no times, keeps milliseconds, blocks of 4 KiB and names of UTF-8
    *("test_a_tree_comes_back", "test_over_what_is_there", "test_many_frames_and_a_large_file"),
    *("test_a_directory_and_a_pattern", "test_each_frame_is_lost_by_itself", "test_sparse_files_both_ways"),
    *("test_create_list_verify_extract", "test_an_empty_directory_gives_way"),
    # a pipe that is empty does not wait
    "test_lines_come_as_soon",
    # the fault of CPython's that this is about is in Pyodide's
    "test_digested_dictionary_is_deterministic",
    # there is no user root, and locks keep nobody out
    *("test_lists_are_text_in_archives", "test_wrong_use"),
)


def fetched() -> Path:
    """Return the folder of npm's packages, which are fetched where they are not there."""
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
    """Return the version of a package of npm's, None if it is not there."""
    try:
        version: str = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    except FileNotFoundError:
        return None
    return version


def main(arguments: list[str]) -> int:
    """Run the tests, and the page if none were named; return an exit status."""
    ours = wheel("py3-none-any", "pure")
    packages = fetched()
    target = ("--platform=any", "--python-version=3.14", "--implementation=py", "--abi=none")
    site = make_site(WORK, ours, target)
    chosen = arguments or [*FOLDERS, *without(LEFT_OUT)]
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
