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

sys.modules["zstandard"] = cpkg.zstandard

hypothesis.settings.register_profile(
    "cpkg",
    max_examples=int(os.environ["CPKG_SUITE_EXAMPLES"]),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
