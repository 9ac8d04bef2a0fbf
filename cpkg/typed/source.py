# SPDX-License-Identifier: Apache-2.0
"""
Generate functions for one type each: their lines, the names in them, and their compilation.

Tracebacks show the source of a function under the file name `<cpkg.typed NAME>`. The names of classes and fields are
untrusted: in the source they are plain identifiers, or literals.
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
    """The namespace of generated functions: helpers, and the constants and other functions that they use."""

    def __init__(self, helpers: Mapping[str, Named]) -> None:
        self.namespace: dict[str, Named] = {"__name__": __name__, **helpers}
        self._names: dict[tuple[str, int], str] = {}
        self._numbers = count()  # threads that need a name at the same time get different numbers
        self._kept: list[object] = []  # the objects that the names stand for, kept so that their ids stay unique

    def name(self, role: str, of: object, prefix: str, make: Callable[[str], object]) -> str:
        """
        Return the name of an object, which has one name for each role; for a new name, call `make(name)` for its value.
        """
        name = self._names.get((role, id(of)))
        if name is None:
            name = f"{prefix}_{next(self._numbers)}"
            self._kept.append(of)
            self.namespace[name] = make(name)
            self._names[role, id(of)] = name  # last, so that after an interrupt every name has its value
        return name

    def constant(self, prefix: str, value: object) -> str:
        """Return a name, which begins with `prefix`, for the object `value`."""
        return self.name(prefix, value, prefix, lambda _: value)

    def function(self, prefix: str, node: Node, write: Callable[[str], Source]) -> str:
        """Return the name of a function for a type; its first call compiles the Source that `write(name)` returns."""

        def make(name: str) -> object:
            def compile_first(*args: object) -> object:
                if self.namespace[name] is compile_first:  # unless another thread has compiled it
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
        """Append lines, with the current indentation."""
        self.lines.extend(["    " * self.indent + text for text in texts])

    def block(self, head: str) -> Source:
        """Write the first line of a block, and indent the lines written inside `with`."""
        self.line(head)
        return self

    def compile(self, name: str) -> Callable[..., Any]:
        """Compile the lines, add the function to the namespace, and return it."""
        text = "\n".join(self.lines) + "\n"
        file = f"<cpkg.typed {name}>"
        exec(compile(text, file, "exec", dont_inherit=True), self.names.namespace)
        function: Callable[..., Any] = self.names.namespace[name]
        # linecache.checkcache() keeps lines without a modification time
        shown = linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        weakref.finalize(function, _forget, file, shown).atexit = False
        return function


def _forget(file: str, shown: object) -> None:
    """Remove the lines of a deleted function, unless another function with the same name has replaced them."""
    if linecache.cache.get(file) is shown:
        del linecache.cache[file]


def identifier(name: str) -> str:
    """
    Return the name of a type for use in a function's name: all characters but ASCII letters and digits become "_".
    """
    return "".join([character if character.isascii() and character.isalnum() else "_" for character in name])


def is_plain(name: str) -> bool:
    """Return whether a name can be used in source as an attribute or a keyword argument."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


def attribute(of: str, name: str) -> str:
    """Return the source that reads the attribute `name` of the expression `of`."""
    return f"{of}.{name}" if is_plain(name) else f"getattr({of}, {name!r})"


def packed_key(key: str) -> bytes:
    """Return the packed form of a key."""
    packed = utf8(key)
    return str_header(len(packed)) + packed


def packed_texts(table: Mapping[tuple[type, Any], object]) -> dict[bytes, object]:
    """Return the entries of a table whose values are text of at most 255 bytes, by the packed form of the text."""
    packed = {}
    for (of, value), result in table.items():
        if of is str:
            try:
                key = packed_key(value)
            except UnicodeEncodeError:  # no message can contain it
                continue
            if len(key) < 258:
                packed[key] = result
    return packed
