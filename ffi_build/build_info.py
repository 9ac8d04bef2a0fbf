# SPDX-License-Identifier: Apache-2.0
"""The contents of cpkg/_build_info.py, which records which native modules were built and why others were not."""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from pprint import pformat
from typing import Any


def record(
    native: bool, reason: str, version: str | None, advice: str, bundled: bool = False, patches: Sequence[str] = ()
) -> dict[str, Any]:
    """
    Return the record of a codec for `text`.

    `native` is whether the codec's module was built, and `reason` explains why or why not. `version` is the version of
    the library, None if no library was found. `advice` explains how to get a native module. `bundled` is whether the
    module contains the library, and `patches` are the names of the patches to the library.
    """
    noted = {"native": native, "reason": reason, "library": version, "bundled": bundled, "advice": advice}
    return {**noted, "patches": list(patches)}


def with_others(path: Path, codecs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return the records of an editable install: `codecs` of this interpreter, and those of others from the file `path`.

    Several interpreters may use one source folder. So a key consists of the name of the codec and the suffix of the
    interpreter's extension modules.
    """
    try:
        found = runpy.run_path(str(path))["CODECS"]
    except (OSError, SyntaxError, KeyError):
        found = {}
    others = {name: noted for name, noted in found.items() if "." in name}
    return {**others, **{codec + EXTENSION_SUFFIXES[0]: noted for codec, noted in codecs.items()}}


def text(mode: str, built_by: str, codecs: Mapping[str, Mapping[str, Any]]) -> str:
    """
    Return the source of cpkg/_build_info.py with the build's mode and the `record` of each codec.

    `built_by` is the interpreter that ran the build, or the compilers of a wheel with native modules.
    """
    return (
        '"""Written by the build: which native modules this installation has, and why it lacks the others."""\n\n'
        f"MODE = {mode!r}\n"
        f"BUILT_BY = {built_by!r}\n"
        f"CODECS = {pformat(dict(codecs), width=110)}\n"
    )
