# SPDX-License-Identifier: Apache-2.0
"""Write the report as Markdown: an overview, and a page and a picture for each interpreter."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import headline, picture
from bench.cells import read_data
from bench.groups import ORDER
from bench.results import Cell, Row, figure, mean, number, plain, read_folder, size, table, with_interval, wrapped
from bench.turns import Ratio

LINES = 8
"""The largest number of lines of a group in the first table."""
COPIES = "One copy of memory in every library, and therefore in no mean and no bar"


NEAR = 1.05
"""cpkg is at a limit if it takes less than this many times as long as the limit."""
REASONS = read_data("reasons")
"""The known reasons why other libraries are faster in some cells: a text, patterns of the cells' whole names, and
whether the reason holds only for cells in which cpkg is at a limit. The first reason that applies to a cell is used."""


def _why(cell: Cell) -> str:
    """Return the reason why the best alternative is faster in a cell, or "" if it is unknown."""
    limits = [cell.ratios[name].value for name in cell.figures.limits if name in cell.ratios]
    at_limit = any(1 / limit < NEAR for limit in limits)
    names = dict(zip(("group", "case", "operation", "library"), (*cell.subject, cell.best)))
    for reason in REASONS:
        explains = all(re.fullmatch(reason.get(what, ".*"), name) for what, name in names.items())
        if explains and (at_limit or not reason.get("at_limit")):
            return reason["text"]
    return ""


def _filled(template: str, **parts: str) -> str:
    text = (Path(__file__).parent / "data" / template).read_text(encoding="utf-8").format(**parts)
    return wrapped(re.sub(r"\n{3,}", "\n\n", text))


def overview(rows: list[Row]) -> str:
    """Return the first page: named libraries, means, what is faster elsewhere."""
    titles = {group: None for row in rows for group in row.groups()}
    glance = [line for group in sorted(titles, key=[*rows[0].groups(), *titles].index) for line in _glance(rows, group)]
    copies = dict.fromkeys(", ".join(cell.subject) for row in rows for cell in row.cells if cell.figures.copy)
    newest = {row.implementation: row for row in rows}.values()
    return _filled(
        "overview.txt",
        block=headline.block(rows),
        pictures=" ".join(_picture(row) for row in rows if row not in newest),
        pages="".join(f"- [{row.label}]({row.name}.md): {conditions(row)}\n" for row in rows),
        glance=table(["group", "operation", *(row.label for row in rows)], glance),
        copies=f"{COPIES}: {'; '.join(copies)}." if copies else "",
        faster=_faster(rows),
    )


def _picture(row: Row) -> str:
    return f"![{picture.alternative(row)}]({row.name}.svg)"


def conditions(row: Row) -> str:
    """Return where and when a row was measured, and with which nursery on PyPy."""
    machine = row.matrix["machine"]
    quick = ["a representative tenth of the cells"] if row.matrix["settings"]["quick"] else []
    memory = [f"{size(machine['memory'])} of memory"] if machine.get("memory") else []
    where = [f"{machine.get('cpus')} CPUs of {machine.get('cpu')}", *memory, machine.get("system"), machine.get("libc")]
    when = [f"revision {machine.get('revision')}", machine.get("date")]
    return "; ".join(str(part) for part in [row.interpreter, *quick, row.nursery, *where, *when] if part)


def _glance(rows: list[Row], group: str) -> Iterator[list[str]]:
    cells = [row.groups().get(group, []) for row in rows]
    shorten = _shortened({cell.figures.operation for found in cells for cell in found})
    title = group
    for operation in dict.fromkeys(shorten(cell.figures.operation) for found in cells for cell in found):
        shown = [_lead([c.lead for c in found if shorten(c.figures.operation) == operation]) for found in cells]
        if any(shown):
            yield [title, operation, *shown]
            title = ""


def _shortened(operations: set[str]) -> Callable[[str], str]:
    """Return a function that shortens an operation's name, so that a group has at most LINES lines.

    The function returns the whole name, the part after the comma, or "all".
    """
    for shorten in (str, lambda operation: operation.rpartition(", ")[2]):
        if len({shorten(operation) for operation in operations}) <= LINES:
            return shorten
    return lambda _: "all"


def _lead(leads: list[Ratio | None]) -> str:
    """Show the mean lead over some cells, and how many of them are ahead, level and behind."""
    known = [lead for lead in leads if lead is not None]
    whole = mean(known)
    if whole is None:
        return ""
    ahead, behind = sum(lead.low > 1 for lead in known), sum(lead.high < 1 for lead in known)
    return f"{number(whole.value)} ({ahead}/{len(known) - ahead - behind}/{behind})"


def _faster(rows: list[Row]) -> str:
    """Return the table of the cells in which an alternative is faster; the worst first within each group."""
    found: dict[tuple[str, str, str], dict[str, Cell]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.behind:
                found.setdefault(cell.subject, {})[row.name] = cell
    order = [group for row in rows for group in row.groups()]
    worst = {place: min(cell.lead.value for cell in cells.values()) for place, cells in found.items()}
    lines = []
    for place in sorted(found, key=lambda place: (order.index(place[0]), worst[place])):
        cells = [found[place].get(row.name) for row in rows]
        shown = ["" if cell is None else f"{cell.best} {with_interval(cell.lead)}" for cell in cells]
        why = dict.fromkeys(_why(cell) for cell in cells if cell is not None)
        lines.append([place[0], f"{place[1]}, {place[2]}", *shown, "; ".join(filter(None, why))])
    if not lines:
        return "In no case of these results."
    return table(["group", "case", *(row.label for row in rows), "reason, if known"], lines)


def page(row: Row) -> str:
    """Return the page of one interpreter: every figure, the versions of the libraries."""
    groups = [f"## {group}\n\n{_described(group)}{_figures(cells)}" for group, cells in row.groups().items()]
    versions = table(["library", "version and build"], _versions(row))
    parts = {"label": row.label, "conditions": conditions(row), "picture": _picture(row), "versions": versions}
    return _filled("page.txt", groups="\n".join(groups), **parts)


def _described(group: str) -> str:
    """Return the description of a group: the docstring of its file."""
    path = Path(__file__).parent / "groups" / f"{ORDER.get(group)}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else None
    return f"{' '.join(text.split())}\n\n" if text else ""


def _figures(cells: list[Cell]) -> str:
    """Return a group's table, the copies by name, and why figures are missing."""
    shown = [cell for cell in cells if cell.value is not None and not cell.figures.copy]
    libraries = dict.fromkeys(name for cell in shown for name in cell.ratios)
    limits = {name for cell in shown for name in cell.figures.limits}
    names = sorted(libraries, key=lambda name: name in limits)
    head = ["case", "operation", "cpkg", *(f"{name}*" if name in limits else name for name in names)]
    lines = [
        [*cell.subject[1:], figure(cell), *(_cell(cell.ratios.get(name), name in limits) for name in names)]
        for cell in shown
    ]
    copies = [", ".join(cell.subject[1:]) for cell in cells if cell.figures.copy]
    notes = [f"{COPIES}: {'; '.join(copies)}."] if copies else []
    missing: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        for absent in cell.figures.missing.items():
            missing.setdefault(absent, []).append(", ".join(cell.subject[1:]))
    for (library, reason), places in missing.items():
        some = "; ".join(places) if len(places) < 4 else f"{len(places)} cells"
        notes.append(f"No {library}{'' if len(places) == len(cells) else f' ({some})'}: {plain(reason)}")
    return "\n".join([*([table(head, lines)] if lines else []), "".join(f"- {note}\n" for note in notes)])


def _cell(ratio: Ratio | None, limit: bool) -> str:
    if ratio is None:
        return "–"
    return f"**{with_interval(ratio)}**" if ratio.high < 1 and not limit else with_interval(ratio)


def _versions(row: Row) -> Iterator[tuple[str, str]]:
    peers = row.matrix["peers"]
    for peer in peers:
        name = f"cpkg ({peer['codecs'][0]})" if peer["name"] == "cpkg" else peer["name"]
        yield name, f"not here: {plain(peer['error'])}" if "error" in peer else f"{peer['version']}: {peer['build']}"
    known = {peer["name"] for peer in peers}
    for name, error in sorted(row.matrix["install_errors"].items()):
        if name not in known:
            yield name, f"not here: {plain(error)}"


def write(results: Path, folder: Path, rows: str = "*") -> list[Path]:
    """Write the report of the rows that match a pattern into a folder; return the written files.

    Other pages and pictures in the folder are removed.
    """
    found = read_folder(results, rows)
    files = {"README.md": overview(found)}
    for row in found:
        files |= {f"{row.name}.md": page(row), f"{row.name}.svg": picture.draw(row)}
    for stale in [*folder.glob("*.md"), *folder.glob("*.svg")]:
        if stale.name not in files:
            stale.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return [folder / name for name in files]
