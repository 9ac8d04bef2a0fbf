# SPDX-License-Identifier: Apache-2.0
"""
Functions that are written for one type each: their lines, the names in these, compiling at the first call.

The source of a function appears in tracebacks under the file name `<cpkg.typed NAME>`. Names of classes and fields are
data: they reach the source as plain identifiers, or else within literals.
"""

from __future__ import annotations

import keyword
import linecache
import weakref
from itertools import count

from purepy.base.pypy import utf8
from purepy.msgpack.plain_writer import str_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cpkg.typed.nodes import Node
    from purepy.base.types import Named


class Names:
    """What written functions name, each other too, made as it is needed."""

    def __init__(self, helpers: Mapping[str, Named]) -> None:
        self.namespace: dict[str, Named] = {"__name__": __name__, **helpers}
        self._names: dict[tuple[str, int], str] = {}
        self._numbers = count()  # threads that need a name at once get different ones
        self._kept: list[object] = []  # what the names are for, whose ids must stay theirs

    def name(self, role: str, of: object, prefix: str, make: Callable[[str], object]) -> str:
        """Return the name of what stands for an object in a role; `make(name)` makes it."""
        name = self._names.get((role, id(of)))
        if name is None:
            name = f"{prefix}_{next(self._numbers)}"
            self._kept.append(of)
            self.namespace[name] = make(name)
            self._names[role, id(of)] = name  # last: an interrupt leaves no name without what it is for
        return name

    def constant(self, prefix: str, value: object) -> str:
        """Return a name for an object."""
        return self.name(prefix, value, prefix, lambda _: value)

    def function(self, prefix: str, node: Node, write: Callable[[str], Source]) -> str:
        """Return the name of a function that is written and compiled when it is first called."""

        def make(name: str) -> object:
            def compile_first(*args: object) -> object:
                if self.namespace[name] is compile_first:  # another thread may have been here
                    write(name).compile(name)
                return self.namespace[name](*args)

            return compile_first

        return self.name(prefix, node, f"{prefix}_{identifier(node.name)}", make)


class Source:
    """The lines of one function."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: list[str] = []
        self.indent = 0

    def __enter__(self) -> None:
        self.indent += 1

    def __exit__(self, *error: object) -> None:
        self.indent -= 1

    def line(self, *texts: str) -> None:
        """Write lines."""
        self.lines.extend(["    " * self.indent + text for text in texts])

    def block(self, head: str) -> Source:
        """Write the line that begins a block; `with` it lines are indented."""
        self.line(head)
        return self

    def compile(self, name: str) -> Callable[..., Any]:
        """Return the function of this name, which its namespace has from now on."""
        text = "\n".join(self.lines) + "\n"
        file = f"<cpkg.typed {name}>"
        exec(compile(text, file, "exec", dont_inherit=True), self.names.namespace)
        function: Callable[..., Any] = self.names.namespace[name]
        # without a time, checkcache() keeps the lines
        shown = linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        weakref.finalize(function, _forget, file, shown).atexit = False
        return function


def _forget(file: str, shown: object) -> None:
    """Remove the lines of a function that is gone, unless another function of the same name has replaced them."""
    if linecache.cache.get(file) is shown:
        del linecache.cache[file]


def identifier(name: str) -> str:
    """Return a type's name as a part of a function's name."""
    return "".join([character if character.isascii() and character.isalnum() else "_" for character in name])


def is_plain(name: str) -> bool:
    """Return whether a name can be written in source as an attribute or a keyword."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


def attribute(of: str, name: str) -> str:
    """Return the source that reads an attribute."""
    return f"{of}.{name}" if is_plain(name) else f"getattr({of}, {name!r})"


def packed_key(key: str) -> bytes:
    """Return a key as it is in a message."""
    packed = utf8(key)
    return str_header(len(packed)) + packed


def packed_texts(table: Mapping[tuple[type, Any], object]) -> dict[bytes, object]:
    """Return the values of a table that are for text of at most 255 bytes, by what the text is packed as."""
    packed = {}
    for (of, value), result in table.items():
        if of is str:
            try:
                key = packed_key(value)
            except UnicodeEncodeError:  # no message has it
                continue
            if len(key) < 258:
                packed[key] = result
    return packed
