# SPDX-License-Identifier: Apache-2.0
"""
Run msgpack's own tests with another module under the name `msgpack`.

The runner (test_upstream.py) copies this file beside the tests as conftest.py. CPKG_SUITE_MODULE names the module.
"""

import importlib
import os
import sys
import types

import pytest

module = importlib.import_module(os.environ["CPKG_SUITE_MODULE"])
sys.modules["msgpack"] = module
for submodule in ("exceptions", "ext"):
    # the facade's own submodules: they are the same for every backend
    sys.modules["msgpack." + submodule] = importlib.import_module("cpkg.msgpack." + submodule)

try:
    import tracemalloc
except ImportError:
    # PyPy 7.3.11 does not have this module, and two files import it at the top: only two tests use it
    sys.modules["tracemalloc"] = types.ModuleType("tracemalloc")
    MEASURE_MEMORY = {"test_no_memory_leak_on_nested_invalid_tag", "test_nested_headers_preallocation"}
else:
    MEASURE_MEMORY = set()


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe(reason): not to be run by several threads")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.originalname in MEASURE_MEMORY:
            item.add_marker(pytest.mark.skip(reason="this interpreter has no tracemalloc"))
