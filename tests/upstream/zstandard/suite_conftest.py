# SPDX-License-Identifier: Apache-2.0
"""
Run python-zstandard's own tests with cpkg.zstandard under the name `zstandard`.

The runner (test_upstream.py) copies this file beside the tests as conftest.py. CPKG_ZSTD_BACKEND names the backend,
CPKG_SUITE_EXAMPLES sets the number of examples for each property test.
"""

import os
import sys

import hypothesis

import cpkg.zstandard
from cpkg import _backend
from cpkg.zstandard.backend_names import names_over

sys.modules["zstandard"] = cpkg.zstandard
if _backend.zstd().BACKEND == "pure":  # it cannot train dictionaries
    cpkg.zstandard.train_dictionary = names_over(_backend.load("zstd", "native"))["train_dictionary"]

hypothesis.settings.register_profile(
    "cpkg",
    max_examples=int(os.environ["CPKG_SUITE_EXAMPLES"]),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
