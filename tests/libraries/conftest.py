# SPDX-License-Identifier: Apache-2.0
"""A separate Redis process, in a folder of the test session, on a socket without a port; Django's settings."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.conf import settings

settings.configure()
django.setup()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of this session's Redis server."""
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
    """Allow the libraries to call functions that other libraries have deprecated."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("default::DeprecationWarning"))
