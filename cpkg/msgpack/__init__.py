# SPDX-License-Identifier: Apache-2.0
"""
MessagePack: a drop-in for the `msgpack` package (1.2.4), on the fastest backend that works here.

`import cpkg.msgpack as msgpack` serves code written for `msgpack`: every name, argument, default, exception and alias
of it is here, and behaves as its C extension does. What differs, each with its reason, and every option with
examples, is in docs/msgpack.md. `cpkg.backend_info()` says which backend was chosen and why; the backends give the
same bytes, objects and errors.

Packing: `packb` (`dumps`), `pack` (`dump`) to a stream, `pack_into` a buffer, `Packer` for many messages.
Unpacking: `unpackb` (`loads`), `unpack` (`load`) from a stream, `unpackb_from` a place in a buffer, `Unpacker` for a
stream of messages, `unpack_async` for an asynchronous one.
Values without a Python type: `ExtType`, `Timestamp`, and `Raw` for values that stay packed.
Beyond `msgpack`: errors have the `offset` of the byte they are about, a message that is cut raises TruncatedError, and
all take the options `max_depth`, `max_total_items` and `max_total_bytes`. Packers take `sort_keys`, `dataclass`,
`date`, `uuid`, `enum`, `decimal` and `numpy`, and `Packer` takes `buffer`; unpackers take `tuple_keys`, `bin_view` and
`raw_depth`.

The documentation of each name is on the name itself.
"""

from __future__ import annotations

from cpkg._backend import choose
from purepy.base.lazy import imported
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

TYPE_CHECKING: bool = False  # whose type has Jedi look at the imports below, as type checkers do

if TYPE_CHECKING:
    from cpkg.msgpack import exceptions as exceptions
    from cpkg.msgpack import ext as ext
    from purepy.base.types import Named

    # what a type checker sees is the pure backend: all backends have its signatures
    from purepy.msgpack import (
        Packer,
        Unpacker,
        dump,
        dumps,
        load,
        loads,
        pack,
        pack_into,
        packb,
        unpack,
        unpack_async,
        unpackb,
        unpackb_from,
    )
    from purepy.msgpack.exceptions import *  # noqa: F403
else:
    _module = choose("msgpack").module

    def __getattr__(name: str) -> Named:
        """Return a name of the backend, or one of the two submodules, at its first use."""
        if name in interface.FUNCTIONS:
            return globals().setdefault(name, getattr(_module, name))
        if name in ("exceptions", "ext"):
            return imported(f"cpkg.msgpack.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Packer",
    "Unpacker",
    "dump",
    "dumps",
    "exceptions",
    "ext",
    "load",
    "loads",
    "pack",
    "pack_into",
    "packb",
    "unpack",
    "unpack_async",
    "unpackb",
    "unpackb_from",
]
__all__ += interface.__all__
