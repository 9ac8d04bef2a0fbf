# SPDX-License-Identifier: Apache-2.0
"""What type checkers make of programs that use this package; run by the row `types`, which has mypy and pyright."""

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

import cpkg

pytestmark = pytest.mark.once

ROOT = Path(cpkg.__file__).parents[1]
TYPED = """
import asyncio
from dataclasses import dataclass
from cpkg import msgpack, records, typed
@dataclass
class User:
    id: int
a: int = typed.decode(b"", User).id
b: str = typed.Decoder(list[User]).decode(b"")[0].id
c: User = typed.convert({}, User)
d: int = next(typed.Unpacker(type=User))
e: int = msgpack.unpackb(b"", type=User, max_depth=2).id
f: str = msgpack.unpackb(b"", type=User).id
g: User = next(msgpack.Unpacker(type=User))
h: int = msgpack.Unpacker(type=User).unpack()
i: int = msgpack.unpackb(b"") + msgpack.Unpacker().unpack() + next(iter(msgpack.Unpacker()))
j: int = msgpack.unpackb_from(b"", type=list[User])[0][0].id + msgpack.unpack(open("x", "rb"), type=User).id
msgpack.unpackb(b"", type=User, raw=True)
async def read(reader: asyncio.StreamReader) -> None:
    async for k in msgpack.unpack_async(reader, type=User):
        l: str = k.id
    async for m in msgpack.unpack_async(reader, type=typed.Decoder(User)):
        n: str = m.id
    async for o in typed.unpack_async(reader, type=typed.Decoder(User)):
        p: str = o.id
decoder = typed.Decoder(list[User], max_depth=2)
q: int = msgpack.unpackb(b"", type=decoder)[0].id
r: str = msgpack.unpackb(b"", type=decoder)[0].id
s: str = msgpack.unpackb_from(b"", type=decoder)[0][0].id
t: str = msgpack.unpack(open("x", "rb"), type=decoder)[0].id
u: str = next(msgpack.Unpacker(type=decoder))[0].id
v: str = msgpack.Unpacker(type=decoder).unpack()[0].id
w: str = next(typed.Unpacker(type=decoder))[0].id
x: int = records.open("x", type=User)[0].id
y: str = records.open("x", type=User)[0].id
z: list[str] = [user.id for user in records.open(["x"], type=User)]
records.open("x")[0].anything
"""
RESULTS = """
import io
from cpkg import zstandard, zstd
from cpkg.zstd import tarfile
async def read() -> None:
    async with zstd.aopen("x") as file:
        a: bytes = await file.read()
        b: str = await file.read()
    c: str = await (await zstd.aopen("x", "rt")).readline()
    d: bytes = await (await zstd.aopen("x", "rt")).readline()
e: zstandard.ZstdDecompressionReader = zstandard.open("x")
f: zstandard.ZstdCompressionWriter = zstandard.open("x", "wb")
g: io.TextIOWrapper = zstandard.open("x", "rt")
h: io.TextIOWrapper = zstandard.open("x")
i: list[str] = tarfile.open("x", "r:zst").getnames()
j: list[bytes] = tarfile.open("x", "r:zst").getnames()
k: zstd.ZstdFile = zstd.open("x")
l: io.TextIOWrapper = zstd.open("x", "rt")
m: io.TextIOWrapper = zstd.open("x")
"""
WRONG = """
import cpkg
from cpkg import archive, msgpack, zstd
cpkg.loads("text")
msgpack.unpackb(b"", object_hook=3)
zstd.open("x", mode="banana")
archive.extract("x", "y", filter="nonsense")
msgpack.packb(1, no_such_option=True)
msgpack.Packer(max_depth="deep")
zstd.aopen("x", "banana")
"""

HOVERS = {
    "cpkg.dumps": ("min_size: int", "messages of less than `min_size` bytes are not tried"),
    "cpkg.msgpack.packb": ("max_depth: int = 1024", "max_depth (int): how deep"),
    "cpkg.msgpack.loads": ("raw: bool = False", "raw (bool): give str as bytes"),
    "cpkg.msgpack.Packer": ("buffer: bytearray | None = None", "buffer (bytearray | None): where to append"),
    "cpkg.msgpack.Unpacker": ("max_buffer_size: int = 104857600", "max_buffer_size (int): how many bytes may wait"),
    "cpkg.zstd.compress": ("threads: int | None = None", "threads (int | None): how many threads"),
    "cpkg.zstd.open": ("encoding: str | None = None", "encoding (str | None): of text"),
    "cpkg.zstd.ZstdFile": ("mode: _ReadMode", 'mode (str): "r", "w", "x" or "a"'),
    "cpkg.zstandard.compress": ("level: int = 3", "`level` is that of a ZstdCompressor"),
    "cpkg.zstandard.open": ("closefd: bool | None = None", "A file object is closed"),
    "cpkg.archive.create": ("exclude: Patterns", "exclude"),
    "cpkg.records.open": ("frame_size: int", "frame_size: how many bytes of records make a frame"),
    "cpkg.typed.decode": ("data: Buffer", "Return the object that a MessagePack message holds"),
    "cpkg.typed.Decoder.convert": ("from_attributes: bool = False", "Return an object of this type made of"),
    "cpkg.zstd.ZstdCompressor.flush": ("mode: Literal[1, 2] = 2", "Return what is left of the data"),
    "cpkg.zstd.ZstdDecompressor.eof": ("property", "Whether the end of the frame was reached"),
    "cpkg.zstd.ZstdFile.peek": ("size: int = 0", "Return some of the bytes ahead"),
}


def mypy(program: Path) -> list[int]:
    """Return the lines that mypy refuses, with its strictest rules."""
    pytest.importorskip("mypy", reason="in the row `types`")
    # an installed package is found by itself, and may not be named
    env = os.environ if ROOT.name == "site-packages" else {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", program.name]
    run = subprocess.run(command, cwd=program.parent, env=env, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return sorted({int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line})


def pyright(program: Path) -> list[int]:
    """Return the lines that pyright refuses."""
    pytest.importorskip("basedpyright", reason="in the row `types`")
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard", "reportUnusedExpression": False}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", program.name]
    run = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    errors = [item for item in found["generalDiagnostics"] if item["severity"] == "error"]
    return sorted({item["range"]["start"]["line"] + 1 for item in errors})


CHECKERS = pytest.mark.parametrize("check", [mypy, pyright])


@CHECKERS
def test_every_public_name_is_seen(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    lines = []
    for module in MODULES + ARCHIVES:
        names = importlib.import_module(module).__all__
        lines += [f"import {module}", *(f"{module}.{name}" for name in names)]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines) + "\n")
    assert len(lines) > 200
    assert [lines[number - 1] for number in check(program)] == []


@CHECKERS
def test_what_is_decoded_has_its_type(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    assert check(program) == [9, 11, 13, 15, 18, 21, 23, 25, 28, 29, 30, 31, 32, 33, 35, 36]


@CHECKERS
def test_wrong_arguments_are_refused(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WRONG)
    assert check(program) == [4, 5, 6, 7, 8, 9, 10]


@CHECKERS
def test_results_have_their_types(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RESULTS)
    assert check(program) == [8, 10, 14, 16, 19]


class Editor:
    """An editor with one program open in it."""

    def __init__(self, program: Path) -> None:
        pytest.importorskip("basedpyright", reason="in the row `types`")
        (program.parent / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
        self._server = subprocess.Popen(
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

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._server.stdin.flush()

    def _receive(self) -> Any:
        assert self._server.stdout is not None
        size = 0
        while line := self._server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        return json.loads(self._server.stdout.read(size))

    def ask(self, method: str, **params: Any) -> Any:
        self._asked += 1
        self._send(id=self._asked, method=method, params=params)
        while True:
            message = self._receive()
            if "method" not in message and message["id"] == self._asked:
                return message["result"]
            if "method" in message and "id" in message:  # what the server asks: no settings, no progress
                self._send(id=message["id"], result=None)

    def hover(self, line: int, text: str) -> str:
        """Return what it shows over the end of a line."""
        place = {"line": line, "character": len(text) - 1}
        found = self.ask("textDocument/hover", textDocument=self._document, position=place)
        return str(found["contents"]["value"]) if found else ""


def test_an_editor_documents_every_function_and_type(tmp_path: Path) -> None:
    modules = ("cpkg.msgpack", "cpkg.typed", "cpkg.zstandard", "cpkg.zstd")
    found = [(f"{name}.{key}", getattr(importlib.import_module(name), key)) for name in modules
             for key in importlib.import_module(name).__all__]  # fmt: skip
    found = [(name, value) for name, value in found if getattr(value, "__module__", "builtins") != "builtins"]
    program = tmp_path / "program.py"
    program.write_text("\n".join([f"import {', '.join(modules)}", *(name for name, _ in found)]) + "\n")
    editor = Editor(program)
    try:
        shown = [editor.hover(number, name) for number, (name, _) in enumerate(found, 1)]
    finally:
        editor.close()
    assert len(found) > 80
    undocumented = [name for (name, value), text in zip(found, shown) if first_line(value) not in text]
    assert undocumented == []


def first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "no documentation").partition("\n")[0]


def test_an_editor_shows_options_and_documentation(tmp_path: Path) -> None:
    """Over the name of a function stand its parameters, each with its type, and what they mean."""
    lines = ["import cpkg.archive, cpkg.records, cpkg.typed, cpkg.zstandard", *HOVERS]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines) + "\n")
    editor = Editor(program)
    try:
        shown = {name: editor.hover(number, name) for number, name in enumerate(HOVERS, 1)}
    finally:
        editor.close()
    for name, (parameter, meaning) in HOVERS.items():
        assert parameter in shown[name], name
        assert meaning in shown[name], name
