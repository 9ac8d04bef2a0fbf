# SPDX-License-Identifier: Apache-2.0
"""Write cpkg/_build_info.py, which records which modules were built and why others were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import Any


def record(
    native: bool, reason: str, version: str | None, advice: str, bundled: bool = False, patches: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the record of a codec; `bundled`: the module contains the library, `patches`: those of the library."""
    noted = {"native": native, "reason": reason, "library": version, "bundled": bundled, "advice": advice}
    return {**noted, "patches": list(patches)}


def text(mode: str, built_by: str, codecs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the source of the module."""
    return (
        '"""Written by the build: what was compiled into this installation, and why the rest was not."""\n\n'
        f"MODE = {mode!r}\n"
        f"BUILT_BY = {built_by!r}\n"
        f"CODECS = {pformat(dict(codecs), width=110)}\n"
    )
