# SPDX-License-Identifier: Apache-2.0
"""
Let python-zstandard's own tests meet cpkg.zstandard under the name `zstandard`.

The runner (test_upstream.py) puts this beside their folder as conftest.py. CPKG_ZSTD_BACKEND names the backend,
CPKG_SUITE_EXAMPLES how many examples each of their property tests tries.
"""

import os
import sys

import hypothesis

import cpkg.zstandard
from cpkg import _backend
from cpkg.zstandard.backend_names import names_over

sys.modules["zstandard"] = cpkg.zstandard
if _backend.zstd().BACKEND == "pure":  # which does not train
    cpkg.zstandard.train_dictionary = names_over(_backend.load("zstd", "native"))["train_dictionary"]

hypothesis.settings.register_profile(
    "cpkg",
    max_examples=int(os.environ["CPKG_SUITE_EXAMPLES"]),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
