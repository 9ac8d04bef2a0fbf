# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/zstd.md, on every backend."""

from __future__ import annotations

from types import ModuleType

from documents import check_examples


def test_examples(zstd: ModuleType) -> None:
    check_examples("zstd.md", 30, {"zstd": zstd}, without="from cpkg import zstd")
