# SPDX-License-Identifier: Apache-2.0
"""Draw the plots of the report as SVG: throughput against size, and the course of the calls on PyPy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import matplotlib as mpl

mpl.use("svg")
from matplotlib.figure import Figure

from bench.results import Row

ZSTD_GROUP = "Zstandard one-shot"
MSGPACK_GROUP = "MessagePack"
WARMUP_GROUP = "Ready at once"

OURS = "#b3261e"
COLOURS = ("#3b6ea5", "#5a9367", "#8a6fb0", "#c78a2c", "#4a9aa5", "#7a7a7a", "#a0627a", "#5c6b2f")


@dataclass
class Plot:
    """One drawing. name: its file name without ending. svg: the drawing, whole."""

    name: str
    title: str
    svg: str


def _style(label: str, ours: bool, limit: bool, number: int) -> dict[str, object]:
    if ours:
        return {"color": OURS, "linewidth": 2.4, "marker": "o", "zorder": 5, "label": label}
    if limit:
        return {"color": "black", "linewidth": 1.2, "linestyle": "--", "label": label}
    return {"color": COLOURS[number % len(COLOURS)], "linewidth": 1.2, "marker": ".", "label": label}


def _render(figure: Figure, name: str, title: str) -> Plot:
    # a fixed salt and no date: the same results draw the same bytes, so that a commit shows real changes alone
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    return Plot(name, title, svg[svg.index("<svg") :])


def _slug(*parts: str) -> str:
    return "-".join("".join(c if c.isalnum() or c == "." else "-" for c in part.lower()) for part in parts)


def throughput(row: Row, level: int = 3) -> Plot | None:
    """Draw bytes per second against size for both directions of Zstandard."""
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    drawn = 0
    handles: dict[str, object] = {}
    for ax, operation in zip(axes, ("compress", "decompress")):
        for number, library in enumerate(row.libraries(ZSTD_GROUP)):
            points = sorted(
                (cell.info["size"], cell.throughput)
                for key, cell in row.cells.items()
                if key.group == ZSTD_GROUP
                and key.operation == operation
                and key.library == library
                and key.case.endswith(f" level {level}")
                and len(key.case.split()) == 3
                and cell.throughput
            )
            if len(points) < 2:
                continue
            any_cell = next(
                cell for key, cell in row.cells.items() if key.library == library and key.group == ZSTD_GROUP
            )
            style = _style(library, any_cell.ours, any_cell.limit, number)
            (handles[library],) = ax.plot([p[0] for p in points], [p[1] / 1e6 for p in points], **style)
            drawn += 1
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_title(f"{operation}, level {level}", fontsize=10)
        ax.set_xlabel("uncompressed size")
        ax.set_ylabel("MB/s")
        ticks = [(1 << 10, "1 KiB"), (1 << 14, "16 KiB"), (1 << 20, "1 MiB"), (1 << 27, "128 MiB")]
        ax.set_xticks([value for value, _ in ticks], [label for _, label in ticks])
        ax.grid(True, which="major", alpha=0.3)
    if not drawn:
        return None
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    title = f"Zstandard throughput against size, {row.name}"
    return _render(figure, _slug("throughput", row.name), title)


def serializers(row: Row) -> Plot | None:
    """Draw, for each object, how long each library takes as a multiple of ours."""
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    drawn = 0
    handles: dict[str, object] = {}
    for ax, operation in zip(axes, ("pack", "unpack")):
        lines = [c for c in row.comparisons(MSGPACK_GROUP) if c.operation == operation and c.ours is not None]
        for number, library in enumerate(row.libraries(MSGPACK_GROUP)):
            points = [
                (at, c.cells[library].value / c.ours.value)
                for at, c in enumerate(lines)
                if library in c.cells and c.ours is not None
            ]
            if not points:
                continue
            style = _style(library, library == "cpkg", False, number)
            style["linestyle"] = "-" if library == "cpkg" else ""
            style["marker"] = "o"
            (handles[library],) = ax.plot([p[0] for p in points], [p[1] for p in points], **style)
            drawn += 1
        ax.set_yscale("log")
        ax.set_title(f"{operation}: time as a multiple of cpkg's", fontsize=10)
        ax.set_xticks(range(len(lines)), [c.case for c in lines], rotation=40, ha="right", fontsize=8)
        ax.grid(True, axis="y", which="major", alpha=0.3)
    if not drawn:
        return None
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=8, fontsize=8, frameon=False)
    return _render(figure, _slug("messagepack", row.name), f"MessagePack against the alternatives, {row.name}")


def warm_up(row: Row) -> Plot | None:
    """Draw the seconds of a call against its number in the process."""
    courses = {
        key: cell
        for key, cell in row.cells.items()
        if key.group == WARMUP_GROUP and cell.info.get("course") and not key.case.endswith("16KiB")
    }
    panels = list(dict.fromkeys((key.case, key.operation) for key in courses))
    if not panels:
        return None
    columns = 3
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(9.5, 2.6 * lines + 0.4), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    handles: dict[str, object] = {}
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (case, operation) in zip(axes.flat, panels):
        libraries = [key.library for key in courses if (key.case, key.operation) == (case, operation)]
        for number, library in enumerate(libraries):
            cell = next(c for key, c in courses.items() if key[1:] == (case, operation, library))
            course = cell.info["course"]
            style = _style(library, cell.ours, False, number)
            (handles[library],) = ax.plot([at for at, _ in course], [value * 1e6 for _, value in course], **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"{case}: {operation.split(',')[0]}", fontsize=9)
        ax.set_xlabel("call", fontsize=8)
        ax.set_ylabel("µs", fontsize=8)
        ax.grid(True, which="major", alpha=0.3)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=8, fontsize=8, frameon=False)
    return _render(figure, _slug("warm-up", row.name), f"From the first call to the warm one, {row.name}")


def draw(rows: list[Row]) -> Iterator[Plot]:
    """Draw every plot that the results allow: none for a quick row, which has too few points; warm-up on PyPy."""
    for row in rows:
        if row.matrix["settings"]["quick"]:
            continue
        makers = (throughput, serializers, warm_up) if row.name.startswith("pypy") else (throughput, serializers)
        for maker in makers:
            plot = maker(row)
            if plot is not None:
                yield plot
