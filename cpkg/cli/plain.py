# SPDX-License-Identifier: Apache-2.0
"""`cpkg --version`, `--help` and `backends` without click, to examine a bare install."""

from __future__ import annotations

import dataclasses
import json
import platform
import sys

from cpkg import backend_info
from cpkg._backend_info import states
from cpkg._version import VERSION
from cpkg.cli.standard_streams import write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpkg._backend_info import BackendInfo

_HELP = """\
usage: cpkg COMMAND [ARGUMENTS...]

  backends [--json]  print which backend serves each codec, and why
  run                run a Python program with cpkg in place of missing packages
  zstd               compress and decompress files like the zstd tool
  -V, --version      print the version

"""


def version_line() -> str:
    """Return what `cpkg --version` prints."""
    return f"cpkg {VERSION} ({platform.python_implementation()} {platform.python_version()})"


def named(chosen: BackendInfo) -> str:
    """Return the name of a backend, followed by the name of its library in parentheses, if it has one."""
    return f"{chosen.backend} ({chosen.library})" if chosen.library else chosen.backend


def backend_lines(*, as_json: bool) -> Iterator[str]:
    """
    Yield the lines that `cpkg backends` prints.

    Raises ImportError if a backend that the user named does not load.
    """
    rows = []
    for codec, chosen in backend_info().items():
        rows.append((codec, chosen, {name: reason or "loads" for name, reason in states(codec).items()}))
    if as_json:
        yield json.dumps([{**dataclasses.asdict(chosen), "backends": found} for _, chosen, found in rows])
        return
    for codec, chosen, found in rows:
        yield f"{codec}: {named(chosen)} on {chosen.interpreter}"
        yield f"  policy  {chosen.policy}"
        yield f"  reason  {chosen.reason.partition('; ')[0]}"  # the lines below explain why faster backends do not load
        for backend, state in found.items():
            yield f"  {backend:<7} {state.rpartition(f' of {codec} cannot be loaded: ')[2]}"
        if chosen.faster:
            yield f"  faster  {chosen.faster}"


def main(arguments: list[str]) -> int:
    """
    Run a command that works without click; return the exit status.

    For all other arguments and --help, prints how to install click.
    """
    lacks = "cpkg: the command line needs click, which is not installed: "
    lacks += "pip install 'cpkg-codecs[cli]' (in a checkout: pip install '.[cli]')"
    try:
        if arguments in (["-V"], ["--version"]):
            return write_text(version_line() + "\n")
        if arguments in (["-h"], ["--help"]):
            return write_text(_HELP + lacks + "\n")
        if arguments in (["backends"], ["backends", "--json"]):
            return write_text("\n".join([*backend_lines(as_json="--json" in arguments), ""]))
    except ImportError as exc:
        print(f"cpkg: {exc}", file=sys.stderr)
        return 1
    print(lacks if arguments else _HELP + lacks, file=sys.stderr)
    return 1 if arguments else 2
