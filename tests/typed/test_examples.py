# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/typed.md and docs/schema_evolution.md run in order."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest
from documents import DOCS, blocks, section


@pytest.mark.parametrize("name", ["typed.md", "schema_evolution.md"])
def test_every_example_of_the_page_runs(monkeypatch, name):
    pytest.importorskip("annotated_types")
    page = DOCS / name
    examples = blocks(page.read_text(encoding="utf-8"), "python")
    assert len(examples) >= 6
    module = types.ModuleType("examples_of_typed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = "from __future__ import annotations\n"
    for example in examples:
        exec(compile(code + example, str(page), "exec", dont_inherit=True), vars(module))


def test_the_example_service_runs(tmp_path, msgpack):
    (example,) = blocks(section("typed.md", "A service"), "python")
    program = tmp_path / "service.py"
    program.write_text(example, encoding="utf-8")
    env = {**os.environ, "CPKG_MSGPACK_BACKEND": msgpack.BACKEND}
    subprocess.run([sys.executable, "-W", "error", program.name], cwd=tmp_path, env=env, check=True, timeout=60)
