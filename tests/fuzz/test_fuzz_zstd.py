# SPDX-License-Identifier: Apache-2.0
"""Run the fuzzers of Zstandard for some rounds; nightly runs each for minutes."""

from __future__ import annotations

import fuzz_zstd_backends
import fuzz_zstd_decode
import pytest
from backends import available
from seeds import SEED
from zstd_oracle import FORMS, in_form, libzstd

# on every row: libzstd, and the pure codec in each of its forms
pytestmark = [pytest.mark.once, pytest.mark.parametrize("form", FORMS)]


def test_mutated_frames(form: str) -> None:
    """The decoder raises ZstdError or returns the same as libzstd; a failure prints its input."""
    results = fuzz_zstd_decode.run(in_form(form), libzstd(), SEED, frame_count=10, rounds=300)
    assert results["refused"] > 10
    assert results["decoded"] > 0


def test_all_backends_agree(form: str) -> None:
    backends = {**available("zstd"), "pure": in_form(form)}
    results = fuzz_zstd_backends.run(list(backends.values()), SEED, rounds=25)
    assert results["bytes"] > 0
    assert results["ZstdError"] > 0
