# SPDX-License-Identifier: Apache-2.0
"""
Run tests of Zstandard with cpkg.zstd instead of the module that they are for; print the results as JSON.

    python runner.py MODULE TEST_MODULE ...

MODULE is the name that cpkg.zstd takes (compression.zstd, backports.zstd). Of test modules with other subjects, only
the tests with Zstandard in their name run.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import types
import unittest
from collections.abc import Iterator

import cpkg.zstd
from cpkg import _backend
from cpkg.zstd import tarfile, zipfile


def stand_in(name: str) -> None:
    """Replace a module by cpkg.zstd, and its archive modules by cpkg's if it has any."""
    parent = name.rpartition(".")[0]
    try:
        package = importlib.import_module(parent)
    except ImportError:
        package = sys.modules[parent] = types.ModuleType(parent)
    setattr(package, "zstd", cpkg.zstd)
    sys.modules[name] = cpkg.zstd
    if name == "backports.zstd":
        private = types.ModuleType("backports.zstd._zstd")
        sys.modules.update({f"{name}.tarfile": tarfile, f"{name}.zipfile": zipfile, f"{name}._zstd": private})


def tests_in(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        elif "zst" in item.id().lower():
            yield item


stand_in(sys.argv[1])
if _backend.zstd().BACKEND == "pure":  # it cannot train, and the suite first trains a dictionary
    native = _backend.load("zstd", "native")
    cpkg.zstd.train_dict, cpkg.zstd.finalize_dict = native.train_dict, native.finalize_dict
loader = unittest.TestLoader()
suite = unittest.TestSuite(tests_in(loader.loadTestsFromNames(sys.argv[2:])))
result = unittest.TextTestRunner(io.StringIO(), verbosity=0).run(suite)
failed = {test.id(): text for test, text in [*result.failures, *result.errors]}
print(json.dumps({"run": result.testsRun, "failed": failed, "skipped": [test.id() for test, _ in result.skipped]}))
