# SPDX-License-Identifier: Apache-2.0
"""Each test of typed decoding runs on every backend of MessagePack that loads."""

from __future__ import annotations

import pytest

from cpkg.typed import codecs, streams


@pytest.fixture(autouse=True)
def backend(monkeypatch, msgpack):
    """Take the backend of the fixture `msgpack` for what is decoded and encoded, with functions from the first call."""
    for module in (codecs, streams):
        monkeypatch.setattr(module, "msgpack_module", lambda: msgpack)
    monkeypatch.setattr(codecs, "WALKED", 0)
    monkeypatch.setattr(codecs, "_encoder", None)
    monkeypatch.setattr(codecs, "_decoders", {})
    return msgpack
