# SPDX-License-Identifier: Apache-2.0
"""
MessagePack: a drop-in for the `msgpack` package (1.2.4), on the fastest backend that works here.

Code written for `msgpack` runs after `import cpkg.msgpack as msgpack`: every name, argument, default, exception and
alias is here and behaves as in the C extension of `msgpack`. docs/msgpack.md lists the differences with their reasons,
and shows every option in an example. `cpkg.backend_info()` reports which backend was chosen and why. All backends give
the same bytes, objects and errors.

Packing: `packb` (`dumps`), `pack` (`dump`) to a stream, `pack_into` a buffer, `Packer` for many messages.
Unpacking: `unpackb` (`loads`), `unpack` (`load`) from a stream, `unpackb_from` an offset in a buffer, `Unpacker` for a
stream of messages, `unpack_async` for an asynchronous stream.
Values without a Python type: `ExtType`, `Timestamp`, and `Raw` for values that stay packed.
Beyond `msgpack`: errors have the `offset` of the byte that is wrong, a truncated message raises TruncatedError, and
every function takes the options `max_depth`, `max_total_items` and `max_total_bytes`. Packers also take `sort_keys`,
`dataclass`, `date`, `uuid`, `enum`, `decimal` and `numpy`, and `Packer` takes `buffer`. Unpackers also take
`tuple_keys`, `bin_view` and `raw_depth`.

Each name has its own documentation.
"""

from __future__ import annotations

from cpkg._backend import choose
from purepy.base.lazy import imported, public_dir
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

TYPE_CHECKING: bool = False  # the annotation makes Jedi follow the imports below, as type checkers do

if TYPE_CHECKING:
    from cpkg.msgpack import exceptions as exceptions
    from cpkg.msgpack import ext as ext
    from purepy.base.types import Named

    # type checkers see the pure backend, whose signatures all backends share
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


__dir__ = public_dir(__name__)


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
