# SPDX-License-Identifier: Apache-2.0
"""`dumps` and `loads` with any backends."""

from __future__ import annotations

from types import ModuleType

import pytest
from any_codecs import codecs_of

from cpkg.objects import dumps_loads


@pytest.fixture
def codecs(request: pytest.FixtureRequest, msgpack: ModuleType) -> dumps_loads.Codecs:
    """Return the codecs with each MessagePack backend, and with each Zstandard backend if the test takes `zstd`."""
    return codecs_of(msgpack, request.node.callspec.params.get("zstd"))
