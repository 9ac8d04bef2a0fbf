# SPDX-License-Identifier: Apache-2.0
"""Type checkers understand programs that use this package; run by the row `types`, which has mypy and pyright."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import ARCHIVES, MODULES
from processes import run_python

import cpkg

pytestmark = pytest.mark.once

ROOT = Path(cpkg.__file__).parents[1]
PROGRAM = Path(__file__).with_name("type_checkers.txt").read_text(encoding="utf-8").splitlines()
HOVERS = json.loads(Path(__file__).with_name("hovers.json").read_text(encoding="utf-8"))
"""Name -> texts that an editor must show for it: a parameter with its type, and a part of the documentation."""


def mypy(folder: Path) -> set[tuple[str, int]]:
    """Return the lines that mypy refuses, with its strictest rules."""
    pytest.importorskip("mypy", reason="in the row `types`")
    # mypy finds an installed package itself, and refuses it in MYPYPATH
    env = os.environ if ROOT.name == "site-packages" else {**os.environ, "MYPYPATH": str(ROOT)}
    command = ("-m", "mypy", "--strict", "--follow-imports=silent", "program.py", "names.py")
    run = run_python(*command, env=env, cwd=folder)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    errors = [line.split(":") for line in run.stdout.splitlines() if ": error: " in line]
    return {(name, int(number)) for name, number, *_ in errors}


def pyright(folder: Path) -> set[tuple[str, int]]:
    """Return the lines that pyright refuses."""
    pytest.importorskip("basedpyright", reason="in the row `types`")
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard", "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    run = run_python("-m", "basedpyright", "--outputjson", "program.py", "names.py", env=os.environ, cwd=folder)
    found = json.loads(run.stdout)
    assert found["summary"]["filesAnalyzed"] == 2
    errors = [item for item in found["generalDiagnostics"] if item["severity"] == "error"]
    return {(Path(item["file"]).name, item["range"]["start"]["line"] + 1) for item in errors}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_program_and_every_public_name(check: Callable[[Path], set[tuple[str, int]]], tmp_path: Path) -> None:
    """A checker refuses exactly the marked lines of the program."""
    names = []
    for module in MODULES + ARCHIVES:
        names += [f"import {module}", *(f"{module}.{name}" for name in importlib.import_module(module).__all__)]
    assert len(names) > 200
    for name, lines in (("names.py", names), ("program.py", PROGRAM)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    refused = {("program.py", number) for number, line in enumerate(PROGRAM, 1) if line.endswith("# refused")}
    assert len(refused) == 31
    assert check(tmp_path) == refused


class Editor:
    """An editor with one open program."""

    def __init__(self, program: Path) -> None:
        pytest.importorskip("basedpyright", reason="in the row `types`")
        (program.parent / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
        self.server = subprocess.Popen(
            [sys.executable, "-c", "from basedpyright.langserver import main; main()", "--stdio"],
            cwd=program.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._document = {"uri": program.as_uri()}
        hover = {"contentFormat": ["plaintext"]}
        folders = [{"uri": program.parent.as_uri(), "name": "program"}]
        self._asked = 0
        self.ask("initialize", capabilities={"textDocument": {"hover": hover}}, workspaceFolders=folders)
        self._send(method="initialized", params={})
        opened = {**self._document, "languageId": "python", "version": 1, "text": program.read_text()}
        self._send(method="textDocument/didOpen", params={"textDocument": opened})

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.server.stdin.flush()

    def _receive(self) -> Any:
        assert self.server.stdout is not None
        size = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        return json.loads(self.server.stdout.read(size))

    def ask(self, method: str, **params: Any) -> Any:
        self._asked += 1
        self._send(id=self._asked, method=method, params=params)
        while True:
            message = self._receive()
            if "method" not in message and message["id"] == self._asked:
                return message["result"]
            if "method" in message and "id" in message:  # a request of the server: answer without settings or progress
                self._send(id=message["id"], result=None)

    def hover(self, line: int, text: str) -> str:
        """Return the hover text at the end of a line."""
        place = {"line": line, "character": len(text) - 1}
        found = self.ask("textDocument/hover", textDocument=self._document, position=place)
        return str(found["contents"]["value"]) if found else ""


def test_an_editor_documents_every_name(tmp_path: Path) -> None:
    """An editor shows the parameters of a function, each with its type, and explains them."""
    modules = ("cpkg.msgpack", "cpkg.typed", "cpkg.zstandard", "cpkg.zstd")
    documented = {
        f"{name}.{key}": (inspect.getdoc(value) or "no documentation").partition("\n")[0]
        for name in modules
        for key in importlib.import_module(name).__all__
        for value in [getattr(importlib.import_module(name), key)]
        if callable(value) and getattr(value, "__module__", "builtins") != "builtins"
    }
    names = list({**documented, **HOVERS})
    program = tmp_path / "program.py"
    program.write_text("\n".join([f"import cpkg.archive, cpkg.records, {', '.join(modules)}", *names]) + "\n")
    editor = Editor(program)
    try:
        shown = {name: editor.hover(number, name) for number, name in enumerate(names, 1)}
    finally:
        editor.server.kill()
        editor.server.communicate()
    assert len(documented) > 80
    assert [name for name, line in documented.items() if line not in shown[name]] == []
    assert [name for name, parts in HOVERS.items() if not all(part in shown[name] for part in parts)] == []
