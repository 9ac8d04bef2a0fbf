# SPDX-License-Identifier: Apache-2.0
"""The fuzzers of Zstandard for a bounded time each, with a seed of its own (see `seeds`)."""

from __future__ import annotations

import os

import fuzz_zstd_backends
import fuzz_zstd_decode
import pytest
from backends import available
from seeds import SEED
from zstd_oracle import FORMS, in_form, libzstd

SECONDS = float(os.environ.get("CPKG_FUZZ_SECONDS", "2"))

# whatever the row: libzstd, and the pure codec in each form that it takes
pytestmark = [pytest.mark.once, pytest.mark.parametrize("form", FORMS)]


def test_mutated_frames(form: str) -> None:
    """They raise ZstdError or give what libzstd gives; a failure prints its input."""
    results = fuzz_zstd_decode.run(in_form(form), libzstd(), SECONDS, seed=SEED, frame_count=30)
    assert results["refused"] > 10
    assert results["decoded"] > 0


def test_all_backends_make_the_same_of_it(form: str) -> None:
    backends = {**available("zstd"), "pure": in_form(form)}
    results = fuzz_zstd_backends.run(list(backends.values()), SECONDS, seed=SEED)
    assert results["bytes"] > 0
    assert results["ZstdError"] > 0
