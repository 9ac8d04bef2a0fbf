# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/msgpack.md, on every backend."""

from __future__ import annotations

from types import ModuleType

from documents import check_examples


def test_examples(msgpack: ModuleType) -> None:
    """Each example returns what the page shows."""
    # dataclasses look up their module by name
    names = {"msgpack": msgpack, "__name__": __name__}
    check_examples("msgpack.md", 30, names, without="import cpkg.msgpack as msgpack")
