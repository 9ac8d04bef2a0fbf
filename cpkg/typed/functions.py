# SPDX-License-Identifier: Apache-2.0
"""The namespace of generated decoding functions; functions in it call the walker, or choose a type of a union."""

from __future__ import annotations

import copy

from cpkg.typed.annotations import unique_keys
from cpkg.typed.errors import ValidationError
from cpkg.typed.inputs import Message
from cpkg.typed.nodes import TEXT_KINDS
from cpkg.typed.readers import HELPERS, Meter, Mismatch
from cpkg.typed.source import Names, identifier, packed_key
from cpkg.typed.walker import Walker
from purepy.base.errors import CodecError, FormatError
from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cpkg.typed.nodes import Hook, Node


class Functions(Names):
    """The namespace that a decoding function shares with the functions it calls, which are created when needed."""

    def __init__(self, untyped: Callable[[bytes, int, int], tuple[object, int]], hook: Hook | None) -> None:
        super().__init__(HELPERS)
        self.untyped = untyped  # (data, position, depth) -> (value, end)
        self.hook = hook
        self.weighs = False
        self.meter = ""  # ", m" if the functions have a Meter as a parameter
        self.metered_from = 0  # messages of at most this size, with PADDING, have None instead; 0: none do
        self.loops: set[int] = set()  # ids of types with separate functions: at least one in each cycle of types

    def walk(self, node: Node) -> str:
        """
        Return the name of a function (data, position, depth, meter) that lets the walker read a value.

        The function returns (value, end), or raises Mismatch for a wrong value. It checks the constraints of the type's
        parts, but not those of the type itself, which the callers of the function check.
        """
        unchecked = copy.copy(node)
        unchecked.checks = None
        unused = Meter() if node.kind in (*TEXT_KINDS, "custom", "enum", "ext", "literal", "choice") else None

        def read(d: bytes, p: int, depth: int, m: Meter | None = None) -> tuple[object, int]:
            meter = m or unused or Meter()
            message = Message(d, meter.ends)
            walker = Walker(message, self.untyped_in(message), meter, hook=self.hook, is_part=True)
            try:
                return walker.walk(unchecked, p, None, depth), message.end
            except ValidationError:
                raise Mismatch from None

        return self.name("walk", node, f"read_{identifier(node.name)}", lambda _: read)

    def untyped_in(self, message: Message) -> Callable[[int, int], object]:
        """
        Return a function (position, depth) that returns the untyped value there, and moves the message's `end` past it.
        """

        def untyped(at: int, depth: int) -> object:
            try:
                value, message.end = self.untyped(message.data, at, depth)
            except CodecError as exc:
                if exc.offset is None:  # `unpack_ext` raised it, and does not know the offset
                    found = imported("cpkg.objects.types_read").find_bad_extension(message.data[at:])
                    exc.offset = None if found is None else at + found
                raise
            except (ValueError, OverflowError, TypeError) as exc:
                # bad UTF-8, bad keys and times after the year 9999, as in `loads`
                offset = getattr(exc, "offset", at)
                error = FormatError(f"{exc} (in the object at byte {offset})")
                error.offset = offset
                raise error from exc
            return value

        return untyped

    def chooser(self, union: Node) -> str:
        """
        Return the name of a function (data, position, meter) that chooses the type of the map at the position.

        The function returns the index of the type in `union.objects`. It raises KeyError for a missing or unknown tag.
        """
        if union.tag is None:
            order = [(index, unique) for index, (_, unique) in enumerate(unique_keys(union))]

            def choose(d: bytes, p: int, m: Meter) -> int:
                keys = Message(d, m.ends).keys(p).keys()
                return next((index for index, unique in order if unique <= keys), len(order) - 1)
        else:
            key, values = union.tag
            packed = packed_key(key)
            numbers = {value: union.objects.index(node) for value, node in values.items()}
            texts = {packed_key(value): number for (of, value), number in numbers.items() if of is str}

            def choose(d: bytes, p: int, m: Meter) -> int:
                first = d.startswith(packed, p + 1) and 0x80 < d[p] < 0x90
                at = p + 1 + len(packed) if first else Message(d, m.ends).keys(p)[key]
                number = texts.get(d[at : at + (d[at] & 31) + 1], -1)
                if number >= 0:
                    return number
                value = Message(d, m.ends).look(at)[1]
                return numbers[type(value), value]

        return self.constant("choose", choose)
