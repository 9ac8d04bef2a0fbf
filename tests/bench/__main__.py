# SPDX-License-Identifier: Apache-2.0
"""Commands that measure the benchmark matrix and report its results: `python tests/bench COMMAND`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# `python tests/bench` puts this folder first in sys.path; tests/support has bench.py, which is the package `bench`
sys.path[0] = str(Path(__file__).resolve().parent.parent / "support")

RESULTS = Path(".benchmarks")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cell = commands.add_parser("cell", help="measure one cell in this process; prints JSON, for `measure`")
    cell.add_argument("cell", nargs="+", metavar="PART", help="GROUP CASE OPERATION NUMBER [LIBRARY-TO-LEAVE-OUT ...]")
    measure = commands.add_parser("measure", help="measure cells, and print each library's ratio to cpkg")
    measure.add_argument("groups", nargs="*", metavar="GROUP", help="(default: all)")
    measure.add_argument("--slow", action="store_true", help="also the cells that take minutes or gigabytes")
    builds = commands.add_parser("builds", help="compare cpkg in two environments: FIRST's time divided by SECOND's")
    builds.add_argument("pythons", nargs=2, metavar="PYTHON", help="FIRST and SECOND: the python of an environment")
    for command in (measure, builds):
        command.add_argument("-k", dest="only", default="", metavar="TEXT", help="cells whose name contains this")
        command.add_argument("--quick", action="store_true", help="the representative tenth")
    serve = commands.add_parser("serve", help="time a cell for each line of standard input, for `builds`")
    serve.add_argument("cell", nargs=3, metavar="PART", help="GROUP CASE OPERATION")
    commands.add_parser("install", help="try to install every peer into this environment, keep the errors")
    report = commands.add_parser("report", help="write the report: Markdown, with a picture of each row")
    report.add_argument("--folder", type=Path, default=RESULTS / "report", help="(default: .benchmarks/report)")
    readme = commands.add_parser("readme", help="write the README's pictures and table of performance from the results")
    readme.add_argument("--readme", type=Path, default=Path("README.md"))
    where = "folder with the JSON files (default: .benchmarks, or what bench-quick wrote below it)"
    for command in (report, readme):
        command.add_argument("results", type=Path, nargs="?", help=where)
        command.add_argument("--rows", default="*", metavar="PATTERN", help="some rows (default: *), such as *-wheel")
    publish = commands.add_parser("publish", help="measure a row of each interpreter, write docs/benchmarks, README.md")
    some = "3.11, pypy3.9, ... (default: all five)"
    publish.add_argument("interpreters", nargs="*", metavar="INTERPRETER", help=some)
    build = "what is measured: wheel (default; in dist/), native, dlopen or pure"
    publish.add_argument("--build", default="wheel", help=build)
    publish.add_argument("--minutes", type=float, help="end each row after that many minutes; a second call continues")
    publish.add_argument("-k", dest="only", metavar="NAME", help="only some cells: nothing is written to docs")

    return _run(parser.parse_args(arguments))


def _run(given: argparse.Namespace) -> int:
    # import for each command only what it needs: `install` runs before peers are installed, and cells need few modules
    if given.command == "install":
        from bench import peers

        for requirement, error in peers.install().items():
            print(f"{requirement}: {error}")
    elif given.command in ("cell", "measure", "builds", "serve"):
        from bench import measure

        if given.command == "cell":
            measure.child(*given.cell)
        elif given.command == "measure":
            measure.show(given.groups, given.only, given.quick, given.slow)
        elif given.command == "builds":
            return measure.builds(given.pythons, given.only, given.quick)
        else:
            measure.serve(*given.cell)
    else:
        from bench.results import NotResults

        try:
            return _read(given)
        except (NotResults, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
    return 0


def _read(given: argparse.Namespace) -> int:
    """Run a command that reads results."""
    from bench import headline, measure, report
    from bench.results import folder_of_results, read_folder

    if given.command == "publish":
        code = measure.publish(given.interpreters, RESULTS, given.build, given.minutes, given.only)
        if not code and given.only is None:
            rows = f"*-{given.build}"
            report.write(RESULTS, Path("docs/benchmarks"), rows=rows)
            headline.update(read_folder(RESULTS, rows), Path("README.md"), "docs/benchmarks/")
            print("docs/benchmarks and README.md are written")
        return code
    results = given.results or folder_of_results(RESULTS)
    if given.command == "report":
        print(*report.write(results, given.folder, given.rows), sep="\n")
    else:
        changed = headline.update(read_folder(results, given.rows), given.readme, "docs/benchmarks/")
        print(f"{given.readme}: {'written' if changed else 'unchanged'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
