# SPDX-License-Identifier: Apache-2.0
"""
Call the types of a backend in any order: before and without __init__, twice, re-entrantly, with exports held.

python fuzz_lifetimes.py MODULE [SEED [CALLS]]

Python exceptions are fine. The fuzzer looks for faults that end the process or corrupt its memory, so it is most useful
with PYTHONMALLOC=debug or a sanitizer. It prints "done" at the end, and exceptions that finalizers could not raise.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import random
import sys
from typing import Any

# Leave out names that take addresses, end the process or wait.
LEFT_OUT = {
    *("__class__", "__delattr__", "__getattribute__", "__init_subclass__", "__setattr__", "__subclasshook__", "mro"),
}
WANTED = {
    *("Packer", "Unpacker", "ZstdCompressor", "ZstdDecompressor", "ZstdDict", "ZstdFile", "_LineBuffer"),
    *("_WriteBuffer", "_line_reader_type", "_text_reader_type", "_writer_type"),
}
KEPT = 40


class Sink(io.RawIOBase):
    """A stream that calls something at random from within its own methods."""

    fuzzer: Any = None
    reads = 0

    def _meanwhile(self) -> None:
        if self.fuzzer.chance.random() < 0.3:
            self.fuzzer.meanwhile()

    def _hold(self, view: Any) -> None:
        """Keep an export of a writer's or reader's memory; exports of Python's own types are invalid after the call."""
        if isinstance(view, memoryview) and isinstance(view.obj, bytearray):
            self.fuzzer.keep(view)

    def readable(self) -> bool:
        return True

    writable = seekable = readable

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._meanwhile()
        return offset

    def tell(self) -> int:
        self._meanwhile()
        return 0

    def write(self, data: Any, /) -> int:
        self._meanwhile()
        if self.fuzzer.chance.random() < 0.2:
            raise OSError("no room")
        self._hold(data)
        return len(data)

    def readinto(self, buffer: Any, /) -> int:
        self._meanwhile()
        self._hold(buffer)
        self.reads += 1
        size = min(len(buffer), 50) if self.reads < 30 else 0
        buffer[:size] = (b"line \xc3\xa9\r\n\n" * 9)[:size]
        return size

    def readall(self) -> bytes:
        self._meanwhile()
        return b"rest\n" * 4


class Exporter(bytearray):
    """A buffer that calls something while it is exported, if a class in Python can (Python 3.12 and later)."""

    fuzzer: Any = None

    def __buffer__(self, flags: int) -> memoryview:
        self.fuzzer.meanwhile()
        return super().__buffer__(flags)  # type: ignore[misc, no-any-return]


class Finalized:
    """An object that calls a function when it is collected."""

    def __init__(self, fuzzer: Any) -> None:
        self.fuzzer = fuzzer
        self.itself = self

    def __del__(self) -> None:
        self.fuzzer.meanwhile()


class Index:
    """A number that calls something when it is converted."""

    def __init__(self, fuzzer: Any) -> None:
        self.fuzzer = fuzzer

    def __index__(self) -> int:
        self.fuzzer.meanwhile()
        return int(self.fuzzer.chance.randrange(-2, 100))


class Fuzzer:
    def __init__(self, module: Any, seed: int) -> None:
        self.chance = random.Random(seed)
        self.depth = 0
        self.objects: list[Any] = []
        self.module = module
        Sink.fuzzer = Exporter.fuzzer = self
        named = dict(vars(module))
        if hasattr(module, "ZstdFile"):
            file = module.ZstdFile
            for name in ("_writer_type", "_line_reader_type", "_text_reader_type", "_reader_type"):
                named[name] = getattr(file, name, None)
            self.frame = module.compress(b"line of text\r\n" * 300)
        else:
            self.frame = module.packb([1, "two", {"three": [4.0, b"five", None]}] * 9)
        self.types = tuple(thing for name, thing in sorted(named.items()) if isinstance(thing, type) and name in WANTED)
        makers = (type(lambda: None), type(len), type(self.keep))
        self.functions = [
            thing
            for name, thing in sorted(named.items())
            if isinstance(thing, makers) and not name.startswith("_") and name not in ("train_dict", "finalize_dict")
        ]

    def keep(self, thing: Any) -> None:
        if len(self.objects) < KEPT:
            self.objects.append(thing)
        else:
            self.objects[self.chance.randrange(KEPT)] = thing

    def argument(self) -> Any:
        pick, choice = self.chance.randrange, self.chance.choice
        kind = pick(16)
        makers = (
            Sink,
            lambda: Exporter(b"exported\n" * pick(30)),
            lambda: Index(self),
            lambda: choice((b"", b"a line\n" * pick(40), bytearray(pick(300)), memoryview(self.frame), self.frame)),
            lambda: choice((None, "text\n" * pick(9), "utf-8", "r", "w", "\n", "", True, 1.5)),
            lambda: choice((-1, 0, 1, 2, 3, 16, 100, 2**31, 2**63, 2**64, -(2**40))),
            lambda: io.BytesIO(self.frame),
            dict,
            lambda: [self.argument() for _ in range(pick(3))] if self.depth < 9 else [],
            lambda: bytearray(16 << pick(5)),
            lambda: pick(300),
        )
        if kind < 5:
            return choice(self.objects) if self.objects else pick(300)
        return makers[kind - 5]()

    def arguments(self) -> list[Any]:
        return [self.argument() for _ in range((0, 0, 1, 1, 1, 1, 2, 2, 3)[self.chance.randrange(9)])]

    def make(self) -> None:
        kind = self.chance.choice(self.types)
        how = self.chance.randrange(6)
        if how == 0:
            self.keep(object.__new__(kind))
        elif how == 1:
            self.keep(kind.__new__(kind))
        elif how == 2 and "Writer" in kind.__name__ + kind.__qualname__:
            self.keep(kind(Sink(), 1 << self.chance.randrange(9)))
        elif how == 2 and "LineReader" in kind.__name__:
            self.keep(kind(Sink(), 16 << self.chance.randrange(5)))
        elif how == 3 and "File" in kind.__name__:
            self.keep(kind(io.BytesIO(self.frame) if self.chance.random() < 0.5 else Sink(), self.chance.choice("rw")))
        elif how == 4 and hasattr(self.module, "open"):
            mode = self.chance.choice(("rt", "wt", "rb"))
            self.keep(self.module.open(io.BytesIO(self.frame), mode, encoding="utf-8"))
        else:
            self.keep(kind(*self.arguments()))

    def call(self) -> None:
        thing = self.chance.choice([thing for thing in self.objects if isinstance(thing, self.types)] or self.types)
        names = [name for name in dir(type(thing)) if name not in LEFT_OUT]
        name = self.chance.choice(names)
        if self.chance.random() < 0.15:
            name = "__init__"
        attribute = getattr(thing, name)
        if self.chance.random() < 0.1:
            self.keep(attribute)
        if callable(attribute):
            arguments = self.arguments()
            is_over_text = any(isinstance(argument, io.TextIOWrapper) for argument in arguments)
            if isinstance(thing, io.TextIOWrapper) and name == "__init__" and (is_over_text or self.depth > 1):
                return  # Python's own type crashes if it is initialized while it reads, or over itself
            result = attribute(*arguments)
            if self.chance.random() < 0.5:
                self.keep(result)

    def meanwhile(self) -> None:
        """Do something during a call, unless it is itself deep in other calls."""
        if self.depth < 4:
            self.step()

    def step(self) -> None:
        self.depth += 1
        try:
            kind = self.chance.randrange(20)
            if kind < 4 or not self.objects:
                self.make()
            elif kind == 4:
                del self.objects[self.chance.randrange(len(self.objects))]
            elif kind == 5 and self.depth < 3:
                gc.collect(self.chance.randrange(3))
            elif kind == 6:
                self.objects.append([Finalized(self), self.chance.choice(self.objects)])
                del self.objects[:-KEPT]
            elif kind == 7:
                self.keep(self.chance.choice(self.functions)(*self.arguments()))
            elif kind == 8:
                thing = self.chance.choice(self.objects)
                thing.cycle = thing
            else:
                self.call()
        except (Exception, GeneratorExit):
            pass
        finally:
            self.depth -= 1


def main() -> None:
    module = importlib.import_module(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    faulthandler.enable()
    if hasattr(gc, "set_threshold"):  # PyPy does not have it
        gc.set_threshold(50)
    fuzzer = Fuzzer(module, seed)
    for _ in range(calls):
        fuzzer.step()
    fuzzer.depth = 9  # from here on, finalizers call nothing
    print("done")


if __name__ == "__main__":
    main()
