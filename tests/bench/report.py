# SPDX-License-Identifier: Apache-2.0
"""Write the report: one self-contained HTML page with plots, and Markdown with a picture for the repository."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import compare, first_screen, goals, model, picture, plots, verdicts
from bench.markdown import markdown_table, wrapped
from bench.results import BUSY_LIMIT, NOISE_LIMIT, Row, read_folder

INTRO = (
    "Every library gets the same bytes or objects and the same options, in the same process or in fresh processes of "
    "the same kind. Each result is checked. Interpreters are compared on one machine, libraries within one run."
)
NOTHING_OLDER = "There are no older results of these rows to compare with."
NOWHERE = "In no case of these results."
FASTER = "Where something else is faster"
SIDE_BY_SIDE = "Interpreters and backends side by side"
NOISE = (
    "Each cell is measured in several passes over the whole matrix. The result of a pass is the lower quartile of its "
    "rounds, and the result of the cell is the best of its passes. A cell is marked as noisy (~) if the second best "
    f"pass is more than {NOISE_LIMIT:.0%} slower (15 % for files, 25 % for whole processes), or if its control, a "
    f"fixed Python loop measured next to it, ran more than {BUSY_LIMIT} times slower than in the rest of the run."
)


@dataclass
class Group:
    """The report's text on one group. page: the name of its page, without suffix; behind: where cpkg is slower."""

    title: str
    page: str
    behind: list[str]
    backends: model.Table
    verdicts: list[tuple[str, list[str]]]


def _groups(rows: list[Row]) -> list[Group]:
    behind = model.behind(rows)
    titles = dict.fromkeys(group for row in rows for group in row.groups())
    return [
        Group(
            title,
            "group-" + re.sub(r"[^a-z0-9]+", "-", title.lower()),
            behind.get(title, []),
            model.backends(rows, title),
            list(model.file_verdicts(rows)) if title == verdicts.GROUP else [],
        )
        for title in titles
    ]


def _content(rows: list[Row], old: list[Row]) -> dict[str, Any]:
    return {
        "intro": INTRO,
        "noise": NOISE,
        "nothing_older": NOTHING_OLDER,
        "nowhere": NOWHERE,
        "faster": FASTER,
        "side_by_side": SIDE_BY_SIDE,
        "overview": model.overview(rows),
        "advice": model.advice(rows),
        "goals": goals.table(rows),
        "changed": list(changed(rows, old)),
        "groups": _groups(rows),
        "first_screen": first_screen.draw(rows),
        "picture": picture.draw(rows),
        "plots": list(plots.draw(rows)),
        "summary": model.summary,
        "details": [(row, [model.group_table(row, group) for group in row.groups()]) for row in rows],
        "peers": model.peers_table(rows),
        "machine": model.machine_table(rows),
    }


def changed(rows: list[Row], old: list[Row]) -> Iterator[str]:
    """List for each row what became slower since older results, worst first; other interpreters' rows do not count."""
    earlier = {row.name: row for row in old}
    for row in rows:
        if row.name not in earlier:
            continue
        before = earlier[row.name]
        found = [c for c in compare.changes([before], [row]) if c.verdict != compare.MISSING]
        counts = Counter(change.verdict for change in found)
        date = before.matrix["machine"].get("date") or "the older results"
        yield (
            f"{row.name}: of {len(found)} figures that {date} has as well, {counts[compare.REGRESSION]} slower, "
            f"{counts[compare.FASTER]} faster, {counts[compare.OK]} as they were, "
            f"{counts[compare.NOISY]} changed but too noisy to judge, {counts[compare.OTHER]} of other bytes"
        )
        slower = [change for change in found if change.verdict == compare.REGRESSION]
        yield from map(str, sorted(slower, key=lambda change: -(change.ratio or 0)))


def html(content: dict[str, Any]) -> str:
    """Render the page; it needs no other files."""
    return picture.render("report.html.j2", **content) + "\n"


def _row_page(row: Row, tables: list[model.Table]) -> str:
    parts = [
        f"# {row.name}\n\n{model.summary(row)}.\n",
        "The column of the first library shows its figures. The other columns show how many times as long a library "
        "takes (below 1: faster). **Bold**: fastest of its line. ~: noisy. ⚠: standard deviation above 1/60 of the "
        "best time. n/a: not available, or not supported (reasons in the [overview](README.md) and below).\n",
    ]
    parts += [f"## {table.title}\n\n{markdown_table(table)}" for table in tables]
    reasons = dict.fromkeys((key.library, reason) for key, reason in row.missing.items())
    if reasons:
        parts.append("## Without a figure\n\n" + "\n".join(f"- {name}: {reason}" for name, reason in reasons) + "\n")
    return wrapped("\n".join(parts))


def _group_page(group: Group) -> str:
    parts = [
        f"# {group.title}\n",
        "All groups: [results](README.md).\n",
        f"## {FASTER}\n",
        _listed(group.behind),
    ]
    if group.backends.lines:
        parts.append(f"## {SIDE_BY_SIDE}\n\n{markdown_table(group.backends)}")
    if group.verdicts:
        parts.append("## Verdicts\n")
        parts += [f"### {title}\n\n```\n" + "\n".join(lines) + "\n```\n" for title, lines in group.verdicts]
    return wrapped("\n".join(parts))


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) + "\n" if lines else f"{NOWHERE}\n"


def _worst(group: Group) -> str:
    """Describe how often other libraries are faster in a group, and where most."""
    link = f"[{group.title}]({group.page}.md)"
    places = f"{len(group.behind)} place{'s' * (len(group.behind) > 1)}"
    return f"{link}: {places}; {group.behind[0]}" if group.behind else f"{link}: nowhere"


def markdown(content: dict[str, Any]) -> dict[str, str]:
    """Return the files of the Markdown report: README.md, a page per group and per row, two drawings."""
    groups = content["groups"]
    parts = [
        "# Benchmark results\n",
        f"{content['intro']} How to measure and read them: [benchmarking](../notebook/benchmarking.md).\n",
        f"![{first_screen.TITLE}, per interpreter]({first_screen.NAME})\n",
        "\n".join(f"- [{row.name}]({row.name}.md): {model.summary(row)}" for row, _ in content["details"]) + "\n",
        f"![{picture.TITLE}, per case]({picture.NAME})\n",
        f"## {content['overview'].title}\n\n{markdown_table(content['overview'])}",
        f"## {content['advice'].title}\n\n{markdown_table(content['advice'])}",
        f"## {content['goals'].title}\n\n{markdown_table(content['goals'])}",
        "## What got slower\n",
        "\n".join(f"- {line}" for line in content["changed"] or [NOTHING_OLDER]) + "\n",
        f"## {FASTER}\n",
        "By group, with the worst case of each. The page of a group has all cases, and cpkg's figures side by side.\n",
        _listed([_worst(group) for group in groups]),
    ]
    parts += [f"## {content[name].title}\n\n{markdown_table(content[name])}" for name in ("peers", "machine")]
    parts.append(f"## How noise is judged\n\n{content['noise']}\n")
    files = {"README.md": wrapped("\n".join(parts))}
    for row, tables in content["details"]:
        files[f"{row.name}.md"] = _row_page(row, tables)
    for group in groups:
        files[f"{group.page}.md"] = _group_page(group)
    files[picture.NAME] = content["picture"]
    files[first_screen.NAME] = content["first_screen"]
    return files


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".new", delete=False, encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def write(results: Path, page: Path | None, folder: Path | None, old: Path | None = None) -> list[Path]:
    """Write the page and the Markdown folder from all results; return the written files.

    `old` are results to compare with; by default those in the folder `old` beside the results, if it exists. Pages and
    plots in the folder for rows that no longer exist are removed.
    """
    if old is None and (results / "old").is_dir():
        old = results / "old"
    content = _content(read_folder(results), read_folder(old) if old is not None else [])
    written = []
    if page is not None:
        _write(page, html(content))
        written.append(page)
    if folder is not None:
        files = markdown(content)
        for old in [*folder.glob("*.md"), *folder.glob("*.svg")]:
            if old.name not in files:
                old.unlink()
        for name, text in files.items():
            _write(folder / name, text)
            written.append(folder / name)
    return written
