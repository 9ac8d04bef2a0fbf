# SPDX-License-Identifier: Apache-2.0
"""
Writers that are never closed, in cycles of several kinds: collected, or still open when the interpreter exits.

One process opens one writer of each kind, so that the whole test costs little more than starting an interpreter or two.
"""

from __future__ import annotations

import pathlib
import sys
from types import ModuleType

import pytest
from extent import some
from processes import run_alone

# Each function gets a writer, binary or text, and ties it into something; its result is kept if the case requires it.
CYCLES = """
import gc, io, os, sys, threading, types

class Owner:
    pass

class Logging:
    def __init__(self, file):
        self.file = file
        self.itself = self
    def __del__(self):
        self.seen = self.file.closed

def itself(file):
    file.me = file

def own_method(file):
    file.method = file.write

def in_a_list(file):
    held = [file]
    held.append(held)
    file.held = held

def owner(file):
    made = Owner()
    made.file, made.writing, file.owner = file, file.write, made

def finalized_owner(file):
    file.owner = Logging(file)

def generator(file):
    def lines():
        while True:
            file.write((yield))
    file.lines = lines()
    next(file.lines)

def module(file):
    made = types.ModuleType("made")
    made.file = file
    file.made = made
    sys.modules["made_" + str(id(file))] = made

def thread(file):
    worker = threading.Thread(target=itself, args=(file,))
    worker.start()
    worker.join()
    file.worker = worker

def thread_local(file):
    made = threading.local()
    made.file = file
    file.local = made

def wrapped(file):
    file.other = io.TextIOWrapper(file, "utf-8")
    file.other.write("")
    file.other.detach()
    file.again = file

def below(file):
    file.buffer.above = file

TIES = [itself, own_method, in_a_list, owner, finalized_owner, generator, module, thread, thread_local]
TEXT = "line of text \\u00e9\\n"

def write(path, tie, is_text, size):
    if is_text:
        file = zstd.open(path, "wt", encoding="utf-8", newline="\\n")
        for _ in range(size):
            file.write(TEXT)
    else:
        file = zstd.open(path, "w")
        for _ in range(size):
            file.write(TEXT.encode())
    tie(file)
    return file

def write_all(folder):
    made = []
    for size in (1, 10000):
        for tie in TIES:
            for is_text in (False, True):
                made.append(write(os.path.join(folder, f"{tie.__name__}-{is_text}-{size}"), tie, is_text, size))
        made.append(write(os.path.join(folder, f"below-True-{size}"), below, True, size))
        made.append(write(os.path.join(folder, f"wrapped-False-{size}"), wrapped, False, size))
        made.append(write(os.path.join(folder, f"loose-True-{size}"), id, True, size))
        made.append(write(os.path.join(folder, f"loose-False-{size}"), id, False, size))
    return made
"""

ENDINGS = {
    "collected": """
gc.disable()
made = write_all(folder)
for name in [name for name in sys.modules if name.startswith("made_")]:
    del sys.modules[name]
del made
for _ in range(20):  # the finalizers of PyPy run one after the other
    gc.collect()
sys.stdout.flush()
os._exit(0)
""",
    "kept elsewhere": """
import builtins
builtins.made = write_all(folder)
""",
    "dropped": """
write_all(folder)
""",
    "kept": """
made = write_all(folder)
""",
    "in a thread": """
def work():
    global made
    made = write_all(folder)
worker = threading.Thread(target=work)
worker.start()
worker.join()
""",
    "kept by the module": """
zstd.made = write_all(folder)
""",
}
COUNT = 2 * (2 * 9 + 4)
LINE = "line of text é\n".encode()


@pytest.mark.parametrize("ending", some(list(ENDINGS), 2))
def test_unclosed_writer_is_complete_at_exit(zstd: ModuleType, ending: str, tmp_path: pathlib.Path) -> None:
    if ending == "dropped" and sys.implementation.name != "cpython":
        pytest.skip("PyPy ends without the finalizers of what is garbage by then, and flushes only what is held")
    code = f"{CYCLES}\nfolder = {str(tmp_path)!r}\n{ENDINGS[ending]}"
    result = run_alone(zstd, "zstd", code)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    found = {}
    for path in tmp_path.iterdir():
        size = int(path.name.rpartition("-")[2])
        content = path.read_bytes()
        if ending == "collected" or sys.implementation.name == "cpython":
            try:
                whole = zstd.decompress(content) if content else b""
            except zstd.ZstdError as exc:
                whole = repr(exc).encode()
        else:  # PyPy exits without running finalizers, but flushes files
            whole = zstd.ZstdDecompressor().decompress(content)
        found[path.name] = "whole" if whole == LINE * size else whole[:60]
    assert found == dict.fromkeys(found, "whole")
    assert len(found) == COUNT
