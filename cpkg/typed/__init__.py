# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401 - editors find there the documentation of what the stub declares
"""
MessagePack straight into dataclasses and their kin, checked on the way, and back.

`typed.decode(data, list[User])` gives Users, or a ValidationError that says where the message is not of that type;
`typed.encode(users)` packs them. `Decoder` and `Encoder` are for many messages; `cpkg.msgpack.Unpacker` and
`unpack_async` take a Decoder as `type=`. `convert` and `to_builtins` are for objects instead of messages, `options`,
`Name`, `Exclude`, `Pattern` and `Title` for what classes say about themselves, `schema` and `inspect` for tools.
docs/typed.md shows all.
"""

from __future__ import annotations

from purepy.base.lazy import lazy_names

TYPE_CHECKING: bool = False  # whose type has Jedi look at the imports below, as type checkers do
if TYPE_CHECKING:
    from cpkg.typed.class_options import Exclude, Name, Pattern, Title, options
    from cpkg.typed.codecs import Decoder, Encoder, convert, decode, encode, to_builtins
    from cpkg.typed.errors import ValidationError
    from cpkg.typed.nodes import UNSET, UnsetType
    from cpkg.typed.schemas import inspect, schema

_SOURCES = {
    **dict.fromkeys(("Decoder", "Encoder", "convert", "decode", "encode", "to_builtins"), "cpkg.typed.codecs"),
    **dict.fromkeys(("Exclude", "Name", "Pattern", "Title", "options"), "cpkg.typed.class_options"),
    **dict.fromkeys(("UNSET", "UnsetType"), "cpkg.typed.nodes"),
    **dict.fromkeys(("inspect", "schema"), "cpkg.typed.schemas"),
    "ValidationError": "cpkg.typed.errors",
}
"""The modules of the public names, which are loaded at their first use."""

__all__ = sorted(_SOURCES)
__getattr__ = lazy_names(__name__, _SOURCES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
