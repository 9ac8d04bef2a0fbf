# SPDX-License-Identifier: Apache-2.0
"""Run each test of typed decoding on every backend of MessagePack that loads."""

from __future__ import annotations

import pytest

from cpkg.typed import codecs, streams


@pytest.fixture(autouse=True)
def backend(monkeypatch, msgpack):
    """Decode and encode with the backend of the fixture `msgpack`, and with compiled functions from the first call."""
    for module in (codecs, streams):
        monkeypatch.setattr(module, "msgpack_module", lambda: msgpack)
    monkeypatch.setattr(codecs, "WALKED", 0)
    monkeypatch.setattr(codecs, "_encoder", None)
    monkeypatch.setattr(codecs, "_decoders", {})
    return msgpack
