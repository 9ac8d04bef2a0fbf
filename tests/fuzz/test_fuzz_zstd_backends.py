# SPDX-License-Identifier: Apache-2.0
"""The fuzzer of backends against each other for a bounded time, with a seed of its own (see `seeds`)."""

from __future__ import annotations

import os

import pytest
from backends import available
from fuzz_zstd_backends import run
from seeds import seed
from zstd_oracle import FORMS, in_form

SECONDS = float(os.environ.get("CPKG_FUZZ_SECONDS", "2"))


@pytest.mark.parametrize("form", FORMS)
def test_all_backends_make_the_same_of_it(form: str) -> None:
    backends = {**available("zstd"), "pure": in_form(form)}
    results = run(list(backends.values()), SECONDS, seed=seed())
    assert results["bytes"] > 0
    assert results["ZstdError"] > 0
