# SPDX-License-Identifier: Apache-2.0
"""Run the command line: `python -m cpkg`, and the console script `cpkg`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    if sys.argv[1:2] == ["run"]:
        from cpkg.cli.run import main as run

        return run(sys.argv[2:])  # it executes a program, which handles Ctrl-C itself
    if sys.argv[1:2] == ["zstd"]:
        from cpkg.cli.zstd.main import main as zstd

        return zstd(sys.argv[2:])
    try:
        return _main()
    except KeyboardInterrupt:  # before the command line could handle it
        if sys.stderr is not None:
            print("cpkg: interrupted", file=sys.stderr)
        return 130


def _main() -> int:
    """
    Load the command line, run it and return its exit status.

    If click is not installed, loads the reduced command line instead, which does not need click.
    """
    try:
        from cpkg.cli.commands import main as run
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != "click":
            raise
        from cpkg.cli.plain import main as plain

        return plain(sys.argv[1:])
    return run()


if __name__ == "__main__":
    sys.exit(main())
