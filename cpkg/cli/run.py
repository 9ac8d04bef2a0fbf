# SPDX-License-Identifier: Apache-2.0
"""`cpkg run`: run a program with cpkg in place of missing MessagePack and Zstandard packages."""

from __future__ import annotations

import builtins
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Final

USAGE: Final = """\
usage: cpkg run [--names NAME,...] [--force] [SCRIPT | -m MODULE | -c CODE | -]

Calls cpkg.install() and runs a program as `python` would, with the arguments
that follow: a script, directory, zip file, module, code or stdin.

--names NAME,...  install only these:
                  backports.zstd, compression.zstd, msgpack, zstandard
--force           also replace installed packages of these names
"""


def main(arguments: Sequence[str]) -> int:
    """
    Call install(), run the program that `arguments` name, and return 0; for --help, only print the usage.

    Exceptions of the program, including SystemExit, are not caught. Returns 2 for wrong arguments or a script that
    cannot be read, 1 for a module, folder or zip file that cannot be run.
    """
    from cpkg._install import install

    arguments = list(arguments)
    names: list[str] = []
    force = False
    while arguments and arguments[0].startswith(("--names", "--force")):
        option, given, value = arguments.pop(0).partition("=")
        if option == "--force" and not given:
            force = True
            continue
        if option != "--names" or not (given or arguments):
            return _misused("--names needs names, separated by commas")
        names += (value if given else arguments.pop(0)).split(",")
    if not arguments:
        return _misused("no program given")
    if arguments[0] in ("-h", "--help"):
        from cpkg.cli.standard_streams import write_text

        return write_text(USAGE)
    kind, *rest = arguments
    if kind in ("-m", "-c") and not rest:
        return _misused(f"{kind} needs an argument")
    if kind.startswith("-") and kind not in ("-m", "-c", "-"):
        return _misused(f"no such option: {kind}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this function prints its own message below
            ours = install(*names, force=force)
    except ValueError as exc:
        return _misused(str(exc))
    theirs = [name for name in ours if not ours[name] and (names or name != "compression.zstd")]
    if theirs:
        print(
            f"cpkg run: already installed, not replaced: {', '.join(theirs)} (use --force to replace)", file=sys.stderr
        )
    if kind == "-m":
        return _run_module(rest[0], rest[1:])
    if kind == "-c":
        _set_path("")
        return _run_code(rest[0], "<string>", ["-c", *rest[1:]], {})
    if kind == "-":
        _set_path("")
        return _run_code(sys.stdin.read(), "<stdin>", arguments, {"__file__": "<stdin>"})
    return _run_path(kind, arguments)


def _misused(message: str) -> int:
    print(f"cpkg run: {message}\n{USAGE.splitlines()[0]}", file=sys.stderr)
    return 2


def _set_path(first: str | None) -> None:
    """
    Replace the first entry of `sys.path` by `first`, as `python` would, or remove it if `first` is None.

    Changes nothing if Python runs with -P or -I, which leave out that entry.
    """
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[:1] = [] if first is None else [first]


def _run_path(path: str, arguments: list[str]) -> int:
    is_folder = os.path.isdir(path) or _is_archive(path)
    if is_folder and not _has_main(path):
        print(f"cpkg run: can't find '__main__' module in {path!r}", file=sys.stderr)
        return 1
    if is_folder or path.endswith(".pyc"):
        import runpy

        _set_path(None)  # run_path inserts the path of the program
        sys.argv[:] = arguments
        runpy.run_path(path, run_name="__main__")
        return 0
    try:
        with open(path, "rb") as file:
            code = file.read()
    except OSError as exc:
        print(f"cpkg run: cannot read {path!r}: {exc.strerror}", file=sys.stderr)
        return 2
    _set_path(os.path.dirname(os.path.realpath(path)))
    name = os.path.join(os.getcwd(), path)
    return _run_code(code, name, arguments, {"__file__": name})


def _is_archive(path: str) -> bool:
    import zipfile

    return zipfile.is_zipfile(path)


def _has_main(folder: str) -> bool:
    """Return whether a directory or zip file has a `__main__` module."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec("__main__", [folder])
    return found is not None and found.loader is not None


def _run_module(name: str, arguments: list[str]) -> int:
    import importlib.util
    import runpy

    _set_path(os.getcwd())
    sys.argv[:] = ["-m", *arguments]
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None:
        print(f"cpkg run: no module named {name!r}", file=sys.stderr)
        return 1
    if found.submodule_search_locations is not None and importlib.util.find_spec(f"{name}.__main__") is None:
        print(f"cpkg run: no module named '{name}.__main__': the package {name!r} cannot be run", file=sys.stderr)
        return 1
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    return 0


def _run_code(code: str | bytes, name: str, arguments: list[str], known: dict[str, str]) -> int:
    sys.argv[:] = arguments
    module = ModuleType("__main__")
    module.__dict__.update(known, __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
    return 0
