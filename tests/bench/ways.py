# SPDX-License-Identifier: Apache-2.0
"""How a child process calls each library: as text, because nothing may be imported before the clock runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

PEP784 = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


@dataclass(frozen=True)
class Way:
    """How a child calls one library. imports: a statement; there, back: expressions of one-argument functions."""

    name: str
    imports: str
    there: str
    back: str

    @property
    def ours(self) -> bool:
        """Whether it is ours."""
        return self.name == "cpkg"


MSGPACK = [
    Way("cpkg", "import cpkg.msgpack as m", "m.packb", "m.unpackb"),
    Way("msgpack", "import msgpack as m", "m.packb", "m.unpackb"),
    Way("ormsgpack", "import ormsgpack as m", "m.packb", "m.unpackb"),
    Way("msgspec", "import msgspec.msgpack as m", "m.encode", "m.decode"),
    Way("json", "import json as m", "m.dumps", "m.loads"),
]
ZSTD = [
    Way("cpkg", "import cpkg.zstd as z", "z.compress", "z.decompress"),
    Way(PEP784, f"import {PEP784} as z", "z.compress", "z.decompress"),
    Way("zstandard", "import zstandard as z", "z.compress", "z.decompress"),
    Way("zstd", "import zstd as z", "(lambda data: z.compress(data, 3, 1))", "z.decompress"),
]
