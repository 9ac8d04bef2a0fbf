# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401 - editors follow these imports to the documentation
"""
Decode MessagePack into dataclasses and other typed objects, with validation, and encode them.

`typed.decode(data, list[User])` returns a list of Users, or raises a ValidationError that names the first wrong value.
`typed.encode(users)` packs them. `Decoder` and `Encoder` are for many messages; `cpkg.msgpack.Unpacker` and
`unpack_async` take a Decoder as `type=`. `convert` and `to_builtins` convert objects instead of messages. `options`,
`Name`, `Exclude`, `Pattern` and `Title` configure classes and fields. `schema` and `inspect` describe types for tools.
docs/typed.md explains all of them.
"""

from __future__ import annotations

from purepy.base.lazy import lazy_names, public_dir

TYPE_CHECKING: bool = False  # the annotation makes Jedi follow the imports below, as type checkers do
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
"""The module that defines each public name; the first use of a name imports it."""

__all__ = sorted(_SOURCES)
__getattr__ = lazy_names(__name__, _SOURCES)


__dir__ = public_dir(__name__)
