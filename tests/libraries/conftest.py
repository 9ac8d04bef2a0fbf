# SPDX-License-Identifier: Apache-2.0
"""
What these tests need and PyPy cannot have: no skip hides in a row that is green, since the list is checked.

Redis runs as a process of its own, in a folder of the test session, on a socket without a port.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.conf import settings

settings.configure()
django.setup()

# file -> what it needs, and PyPy cannot import (docs/integrations.md has the errors)
_CPYTHON_ONLY = {"test_numcodecs.py": "numcodecs", "test_zarr.py": "zarr"}

collect_ignore = []
if sys.implementation.name == "pypy":
    for _file, _library in _CPYTHON_ONLY.items():
        with contextlib.suppress(ImportError):
            importlib.import_module(_library)
            raise AssertionError(f"{_library} can be imported on PyPy now: run {_file}")
        collect_ignore.append(_file)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of a Redis server of this session."""
    server = shutil.which("redis-server")
    assert server is not None, "install redis-server"
    folder: Path = tmp_path_factory.mktemp("redis")
    socket = folder / "socket"
    command = [server, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "ready to accept connections" in line.lower() or "now ready" in line.lower():
                break
        yield f"unix://{socket}"
        process.terminate()
        process.stdout.read()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the libraries call what others of them have deprecated."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("default::DeprecationWarning"))
