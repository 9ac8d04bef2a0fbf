# SPDX-License-Identifier: Apache-2.0
"""The report before it becomes HTML or Markdown: tables of shown cells, lists of findings, series for plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench import reasons, verdicts
from bench.results import Cell, Comparison, Row, geometric_mean

# A ratio nearer to 1 than this counts as level: smaller differences are not repeatable on an ordinary machine.
LEVEL = 0.05

GOOD, BAD, EVEN, OWN, LIMIT, NONE = "good", "bad", "even", "own", "limit", "none"


@dataclass
class Shown:
    """One cell of a table. tone: the verdict, as a colour. best: the fastest of its line. note: shown on demand."""

    text: str
    tone: str = NONE
    best: bool = False
    noisy: bool = False
    note: str = ""


@dataclass
class Table:
    """A table with its heading."""

    title: str
    head: list[str]
    lines: list[list[Shown]] = field(default_factory=list)
    caption: str = ""


def seconds(value: float) -> str:
    """Show a time with three digits and a suitable unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def size(value: float) -> str:
    """Show bytes with three digits and a suitable unit."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power:
            return f"{value / (1 << power):.3g} {unit}"
    return f"{value:.0f} B"


def figure(cell: Cell) -> str:
    """Show a cell's own value, with its throughput if that is more informative."""
    if cell.unit == "bytes":
        return size(cell.value)
    speed = cell.throughput
    if speed is not None and cell.info.get("size", 0) >= 1024:
        return f"{seconds(cell.value)} ({speed / 1e6:.3g} MB/s)"
    return seconds(cell.value)


def tone(ratio: float) -> str:
    """Colour a ratio for which larger is better."""
    if ratio >= 1 + LEVEL:
        return GOOD
    return BAD if ratio <= 1 - LEVEL else EVEN


def _ratio(value: float) -> str:
    """Show a ratio with two decimals, and a small ratio with two significant digits."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _note(cell: Cell) -> str:
    parts = [figure(cell), f"spread {cell.noise:.0%} over {cell.passes} passes"]
    if cell.busy:
        parts.append("measured while the machine was busy")
    sizes = [name for name in ("compressed", "packed", "token") if name in cell.info]
    parts += [f"{name} {cell.info[name]:,} bytes" for name in sizes]
    if "options" in cell.info:
        parts.append(str(cell.info["options"]))
    if cell.rule60 is False:
        parts.append("standard deviation above 1/60 of the best")
    return ", ".join(parts)


def _shown(comparison: Comparison, library: str) -> Shown:
    cell = comparison.cells.get(library)
    if cell is None:
        reason = comparison.missing.get(library)
        return Shown("n/a" if reason else "", note=reason or "")
    ours, fastest = comparison.ours, comparison.fastest
    best = fastest is not None and cell is fastest
    flag = " ⚠" if cell.rule60 is False else ""
    if cell.ours or ours is None or not ours.value:
        return Shown(figure(cell) + flag, OWN if cell.ours else NONE, best, cell.noisy, _note(cell))
    ratio = cell.value / ours.value
    colour = LIMIT if cell.limit or cell.key.library == "plain" else tone(ratio)
    return Shown(f"{_ratio(ratio)}{flag}", colour, best, cell.noisy, _note(cell))


def group_table(row: Row, group: str) -> Table:
    """Return one group of one row: a line per case and operation, a column per library."""
    libraries = row.libraries(group)
    table = Table(group, ["case", "operation", *libraries])
    for comparison in row.comparisons(group):
        names = [Shown(comparison.case), Shown(comparison.operation)]
        table.lines.append([*names, *(_shown(comparison, library) for library in libraries)])
    return table


class Work(NamedTuple):
    """One line of the overview: an operation of a group; operations that only copy memory have separate lines."""

    group: str
    operation: str
    copy: bool = False

    @property
    def label(self) -> str:
        """The operation as shown."""
        return f"{self.operation}, a copy" if self.copy else self.operation


def _works(rows: list[Row]) -> list[Work]:
    """Return the lines of the overview."""
    found: dict[Work, None] = {}
    for row in rows:
        for group in row.groups():
            for comparison in row.comparisons(group):
                found[Work(group, comparison.operation, comparison.copy)] = None
    return list(found)


def gains(row: Row, work: Work) -> list[Comparison]:
    """Return the comparisons of one line in which cpkg has an alternative."""
    return [
        c
        for c in row.comparisons(work.group)
        if (c.operation, c.copy) == (work.operation, work.copy) and c.gain is not None
    ]


def overview(rows: list[Row]) -> Table:
    """Return the matrix of ratios: how many times faster cpkg is than the best alternative (geometric mean)."""
    table = Table(
        "At a glance",
        ["group", "operation", *(row.name for row in rows)],
        caption="Each figure is the number of times that cpkg is faster than the fastest library of the same format on "
        "the same interpreter in the same run (for the peak: uses less memory). It is the geometric mean of the cases, "
        "followed by the number of cases in which cpkg is ahead. For the signer the comparison is with the fastest "
        "serializer or compressor of any format. Cases in which every library only copies memory are listed separately "
        "and excluded from the means.",
    )
    return _filled(table, _works(rows), lambda work: (_overview(row, work) for row in rows))


def _filled(table: Table, works: list[Work], cells: Callable[[Work], Iterable[Shown]]) -> Table:
    """Add a line for each work that has a cell with text."""
    for work in works:
        line = [*cells(work)]
        if any(shown.text for shown in line):
            table.lines.append([Shown(work.group), Shown(work.label), *line])
    return table


def _overview(row: Row, work: Work) -> Shown:
    compared = gains(row, work)
    mean = geometric_mean(c.gain for c in compared if c.gain is not None)
    if mean is None:
        return Shown("")
    won = sum(1 for c in compared if c.gain is not None and c.gain >= 1)
    noisy = sum(1 for c in compared if c.noisy)
    note = f"{noisy} of {len(compared)} cases noisy" if noisy else ""
    return Shown(f"{_ratio(mean)} ({won}/{len(compared)})", tone(mean), noisy=noisy * 2 > len(compared), note=note)


def advice(rows: list[Row]) -> Table:
    """Recommend per interpreter cpkg's fastest backend, or, if faster, the alternative that wins most often."""
    interpreters = list(dict.fromkeys(row.interpreter for row in rows))
    table = Table(
        "What to use",
        ["group", "operation", *interpreters],
        caption="The fastest library: cpkg, with its backend and its lead over the best alternative, "
        "or the alternative that wins most cases if cpkg is slower.",
    )
    of = {name: [row for row in rows if row.interpreter == name] for name in interpreters}
    works = [work for work in _works(rows) if not work.copy]
    return _filled(table, works, lambda work: (_advice(each, work) for each in of.values()))


def _advice(rows: list[Row], work: Work) -> Shown:
    means = {row.name: geometric_mean(c.gain or 0 for c in gains(row, work)) for row in rows}
    known = {name: mean for name, mean in means.items() if mean is not None}
    if not known:
        return Shown("")
    name = max(known, key=lambda key: known[key])
    mean = known[name]
    if mean >= 1 - LEVEL:
        return Shown(f"cpkg {name.rsplit('-', 1)[-1]} ({mean:.2f})", tone(mean))
    row = next(row for row in rows if row.name == name)
    behind = (c.best_alternative for c in gains(row, work) if c.gain is not None and c.gain < 1)
    winners = Counter(cell.key.library for cell in behind if cell is not None)
    return Shown(f"{winners.most_common(1)[0][0]} ({_ratio(mean)})" if winners else f"({_ratio(mean)})", BAD)


def behind(rows: list[Row]) -> dict[str, list[str]]:
    """Return, by group, a line for each place where something beats cpkg's fastest backend there, worst first."""
    best: dict[tuple[str, str, str, str], tuple[float, str]] = {}
    for row in rows:
        for group in row.groups():
            for comparison in row.comparisons(group):
                ours, other = comparison.ours, comparison.faster_other
                if ours is None or not ours.value:
                    continue
                place = (row.interpreter, group, comparison.case, comparison.operation)
                gain = other.value / ours.value if other is not None else 1.0
                if gain > best.get(place, (0.0, ""))[0]:
                    best[place] = (gain, _behind(row, comparison, ours, other, gain) if other is not None else "")
    found: dict[str, list[str]] = {}
    for (_, group, _, _), (gain, line) in sorted(best.items(), key=lambda item: item[1]):
        if gain < 1 - LEVEL:
            found.setdefault(group, []).append(line)
    return found


def _behind(row: Row, comparison: Comparison, ours: Cell, other: Cell, gain: float) -> str:
    words = "takes" if other.unit == "seconds" else "needs"
    remark = ", noisy" if ours.noisy or other.noisy else ""
    if ours.info.get("format") != other.info.get("format"):
        remark = f" (another format: {other.info.get('format')}){remark}"
    place = f"{row.name}: {comparison.group}, {comparison.case}, {comparison.operation}"
    reason = reasons.why(comparison, other.key.library)
    return f"{place}: {other.key.library} {words} {gain:.2f} of ours{remark}{f': {reason}' if reason else ''}"


def summary(row: Row) -> str:
    """Describe in a few words a row and how reliable it is."""
    noisy = sum(cell.noisy for cell in row.cells.values())
    quick = ", the quick tenth" if row.quick else ""
    return f"{row.interpreter}{quick}, {noisy} of {len(row.cells)} figures noisy"


def backends(rows: list[Row], group: str) -> Table:
    """Return cpkg's figures for one group across all rows: interpreters and backends side by side."""
    table = Table(group, ["case", "operation", *(row.name for row in rows)])
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in rows:
        for comparison in row.comparisons(group):
            if comparison.ours is not None:
                cells.setdefault((comparison.case, comparison.operation), {})[row.name] = comparison.ours
    for (case, operation), found in cells.items():
        fastest = min(found.values(), key=lambda cell: cell.value)
        line = [Shown(case), Shown(operation)]
        for row in rows:
            cell = found.get(row.name)
            line.append(Shown(figure(cell), OWN, cell is fastest, cell.noisy, _note(cell)) if cell else Shown(""))
        table.lines.append(line)
    return table


def file_verdicts(rows: list[Row]) -> Iterator[tuple[str, list[str]]]:
    """Return the verdict lines of the file group: cpkg against the others in each row, then row against row."""
    for row in rows:
        libraries = row.libraries(verdicts.GROUP)
        if "cpkg.zstd" not in libraries:
            continue
        for other in libraries:
            if other != "cpkg.zstd":
                lines = list(verdicts.between(verdicts.Side(row, "cpkg.zstd"), verdicts.Side(row, other)))
                if lines:
                    yield f"{row.name}: cpkg.zstd and {other}", lines
        grown = list(verdicts.growth(row))
        if grown:
            yield f"{row.name}: growth", grown
    with_files = [row for row in rows if "cpkg.zstd" in row.libraries(verdicts.GROUP)]
    for row in with_files[1:]:
        first = with_files[0]
        lines = list(verdicts.between(verdicts.Side(row, "cpkg.zstd"), verdicts.Side(first, "cpkg.zstd")))
        if lines:
            yield f"cpkg.zstd on {row.name} and on {first.name}", lines


def peers_table(rows: list[Row]) -> Table:
    """List every library with its version and build per row, or with its error."""
    table = Table("Versions and builds", ["library", *(row.name for row in rows)])
    names = dict.fromkeys((peer["name"], peer["codecs"][0]) for row in rows for peer in row.matrix["peers"])
    for name, codec in names:
        line = [Shown(f"{name} ({codec})" if name == "cpkg" else name)]
        for row in rows:
            peer = next((p for p in row.matrix["peers"] if p["name"] == name and codec in p["codecs"]), None)
            if peer is None:
                line.append(Shown(""))
            elif "error" in peer:
                line.append(Shown(f"not here: {peer['error']}", NONE))
            else:
                line.append(Shown(f"{peer['version']}: {peer['build']}"))
        table.lines.append(line)
    extra = sorted({name for row in rows for name in row.matrix["install_errors"]})
    known = {peer["name"] for row in rows for peer in row.matrix["peers"]}
    for name in (name for name in extra if name not in known):
        table.lines.append([Shown(name), *(Shown(row.matrix["install_errors"].get(name, "")) for row in rows)])
    return table


def machine_table(rows: list[Row]) -> Table:
    """Describe where and when each row was measured."""
    fields = ("interpreter", "cpu", "cpus", "memory", "system", "libc", "compiler", "revision", "date")
    labels = {"cpu": "processor", "cpus": "usable CPUs", "libc": "C library"}
    table = Table("Machine", ["", *(row.name for row in rows)])
    for key in fields:
        values: list[Any] = [row.matrix["machine"].get(key) for row in rows]
        shown = ["" if value is None else size(value) if key == "memory" and value else str(value) for value in values]
        table.lines.append([Shown(labels.get(key, key)), *map(Shown, shown)])
    passes = [row.matrix["settings"] for row in rows]
    shown = [f"{s['passes']} of {s['seconds']} s{', quick' if s['quick'] else ''}" for s in passes]
    table.lines.append([Shown("passes"), *map(Shown, shown)])
    noisy = [f"{sum(cell.noisy for cell in row.cells.values())} of {len(row.cells)}" for row in rows]
    table.lines.append([Shown("noisy figures"), *map(Shown, noisy)])
    return table
