# SPDX-License-Identifier: Apache-2.0
"""The mutation fuzzer for a bounded time, with a seed of its own (see `seeds`): fuzz_zstd_decode.py."""

from __future__ import annotations

import os

import pytest
from fuzz_zstd_decode import run
from seeds import seed
from zstd_oracle import FORMS, in_form, libzstd

SECONDS = float(os.environ.get("CPKG_FUZZ_SECONDS", "2"))


@pytest.mark.parametrize("form", FORMS)
def test_it_raises_or_agrees_with_libzstd(form: str) -> None:
    """Mutated frames raise ZstdError or give what libzstd gives; a failure prints its input."""
    results = run(in_form(form), libzstd(), SECONDS, seed=seed(), frame_count=30)
    assert results["refused"] > 10
    assert results["decoded"] > 0
