# SPDX-License-Identifier: Apache-2.0
"""Choose the path through PyPy's native backend: `marshal`, as in a new process, or the loops that the JIT compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

BOTH_WAYS = {
    *("test_calls", "test_differential_property", "test_input_hostile", "test_keys_hostile", "test_views_hostile"),
    *("test_pack", "test_pack_races_hostile", "test_text_hostile", "test_unpack"),
}
"""The modules whose tests run on both paths; the others take the path that the backend chooses, at first marshal."""

COMPILED_WAY = {"test_pypy"}
"""The modules that test the loops themselves."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if sys.implementation.name != "pypy":
        return
    name = metafunc.module.__name__.rpartition(".")[2]
    if name in BOTH_WAYS:
        metafunc.parametrize("pypy_way", ["marshal", "compiled"], indirect=True)
    elif name in COMPILED_WAY:
        metafunc.parametrize("pypy_way", ["compiled"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the second run of tests of the pure backend, which has only one path."""
    kept, dropped = [], []
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        twice = parameters.get("pypy_way") == "marshal" and getattr(parameters.get("msgpack"), "BACKEND", "") == "pure"
        (dropped if twice else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.fixture(autouse=True)
def pypy_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Force the path in the test's parameters, if there is one."""
    way: str | None = getattr(request, "param", None)
    module: Any = sys.modules.get("cpkg._native.msgpack.pypy.marshal")
    if way is None or module is None:
        yield
        return
    accounts = (module.READING, module.WRITING)
    before = [account.left for account in accounts]
    for account in accounts:
        account.left = 2**62 if way == "marshal" else 0
    yield
    for account, left in zip(accounts, before):
        account.left = left
