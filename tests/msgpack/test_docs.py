# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/msgpack.md, on every backend."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "msgpack.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_examples(msgpack: ModuleType) -> None:
    """Each example gives what the page says."""
    text = PAGE.read_text(encoding="utf-8").replace(">>> import cpkg.msgpack as msgpack\n", "")
    # dataclasses look their module up by name
    names = {"msgpack": msgpack, "__name__": __name__}
    examples = doctest.DocTestParser().get_doctest(text, names, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 30
    report: list[str] = []
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.DocTestRunner(optionflags=flags, verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)
