# SPDX-License-Identifier: Apache-2.0
# The module is written at build time, by setup.py or ffi_build/wheels/release.py.
from typing import TypedDict

class Built(TypedDict):
    """What the build records about a codec (`ffi_build/build_info.py`)."""

    native: bool
    reason: str
    library: str | None
    bundled: bool
    advice: str
    patches: list[str]

MODE: str
BUILT_BY: str
CODECS: dict[str, Built]
"""The records. A key is a codec; in an editable install, the suffix of the interpreter's modules follows it."""
