# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/zstandard.md, on every backend."""

from __future__ import annotations

from types import SimpleNamespace

from documents import check_examples


def test_examples(zstandard: SimpleNamespace) -> None:
    """Each example gives what the page shows."""
    check_examples("zstandard.md", 15, {"zstandard": zstandard}, without="import cpkg.zstandard as zstandard")
