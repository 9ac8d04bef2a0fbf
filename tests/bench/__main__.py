# SPDX-License-Identifier: Apache-2.0
"""The commands around the matrix: `python tests/bench COMMAND`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# if the folder is run, Python puts the folder itself first in sys.path; support/bench.py makes a package of it
sys.path[0] = str(Path(__file__).resolve().parent.parent / "support")

RESULTS = Path(".benchmarks")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    commands.add_parser("install", help="try to install every peer into this environment, keep the errors")

    report = commands.add_parser("report", help="write the HTML page and the Markdown report")
    where = "folder with the JSON files (default: .benchmarks, or what bench-quick wrote below it)"
    report.add_argument("results", type=Path, nargs="?", help=where)
    report.add_argument("--html", type=Path, default=RESULTS / "report.html")
    report.add_argument("--old", type=Path, help="older results to compare with (default: RESULTS/old if it exists)")
    report.add_argument("--markdown", type=Path, help="folder of the Markdown report")

    compare = commands.add_parser("compare", help="what changed beyond noise; exits 1 on a regression")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--allow-missing", action="store_true", help="do not fail for figures that are missing in NEW")

    verdicts = commands.add_parser("verdicts", help="'X is N times slower/faster on A than on B'")
    verdicts.add_argument("a", help="ROW or ROW:LIBRARY, for example 3.11-native:gzip")
    verdicts.add_argument("b", help="the same")
    verdicts.add_argument("--results", type=Path, default=RESULTS)

    publish = commands.add_parser(
        "publish", help="measure all rows of interpreters, then write docs/benchmarks and README"
    )
    publish.add_argument("interpreters", nargs="+", metavar="INTERPRETER", help="3.11, pypy3.9, ...")
    publish.add_argument("--wheels", action="store_true", help="measure the wheels in dist/, not a local build")
    publish.add_argument("--minutes", type=float, help="end each row after that many minutes; a second call continues")
    publish.add_argument("-k", dest="only", metavar="NAME", help="only some figures: nothing is written to docs")
    noisy = "so many per cent of a row's comparisons may rest on noisy figures, and be marked (default: 0)"
    publish.add_argument("--marked", type=float, default=0, metavar="PERCENT", help=noisy)
    publish.add_argument("--results", type=Path, default=RESULTS)

    readme = commands.add_parser("readme", help="write the README's lines about performance from the results")
    readme.add_argument("results", type=Path, nargs="?", default=RESULTS)
    readme.add_argument("--readme", type=Path, default=Path("README.md"))

    return _run(parser.parse_args(arguments))


def _run(given: argparse.Namespace) -> int:
    # each command has its own imports: `install` runs before anything is installed, only `report` needs matplotlib
    if given.command == "install":
        from bench import peers

        for requirement, error in peers.install().items():
            print(f"{requirement}: {error}")
        return 0
    from bench.results import NotResults, folder_of_results

    try:
        if given.command == "report":
            from bench import report

            results = given.results or folder_of_results(RESULTS)
            print(*report.write(results, given.html, given.markdown, given.old), sep="\n")
            return 0
        if given.command == "compare":
            from bench.compare import compare

            return compare(given.old, given.new, given.allow_missing)
        if given.command == "readme":
            from bench import readme_table

            changed = readme_table.update(given.results, given.readme)
            print(f"{given.readme}: {'written' if changed else 'unchanged'}")
            return 0
        return _publish(given) if given.command == "publish" else _verdicts(given)
    except (NotResults, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _publish(given: argparse.Namespace) -> int:
    from bench.publish import publish

    code = publish(given.interpreters, given.results, given.wheels, given.minutes, given.only, given.marked)
    if code or given.only is not None:
        return code
    from bench import readme_table, report

    report.write(given.results, RESULTS / "report.html", Path("docs/benchmarks"))
    readme_table.update(given.results, Path("README.md"))
    print("docs/benchmarks and README.md are written")
    return 0


def _verdicts(given: argparse.Namespace) -> int:
    from bench.results import read_folder
    from bench.verdicts import GROUP, Side, between

    rows = {row.name: row for row in read_folder(given.results)}
    sides = []
    for text in (given.a, given.b):
        name, _, library = text.partition(":")
        if name not in rows:
            raise ValueError(f"no row {name!r} in {given.results}: it has {', '.join(rows)}")
        sides.append(Side(rows[name], library or rows[name].libraries(GROUP)[0]))
    lines = list(between(*sides))
    print("\n".join(lines) or "the two sides have no case in common")
    return 0 if lines else 2


if __name__ == "__main__":
    sys.exit(main())
