# SPDX-License-Identifier: Apache-2.0
"""Draw the plots of the report as SVG: the times of successive calls on PyPy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import matplotlib as mpl

mpl.use("svg")
from matplotlib.figure import Figure

from bench.results import Row

WARMUP_GROUP = "Ready at once"

OURS = "#b3261e"
COLOURS = ("#3b6ea5", "#5a9367", "#8a6fb0", "#c78a2c", "#4a9aa5", "#7a7a7a", "#a0627a", "#5c6b2f")


@dataclass
class Plot:
    """One drawing. name: its file name without suffix. svg: the whole drawing."""

    name: str
    title: str
    svg: str


def _style(label: str, ours: bool, number: int) -> dict[str, object]:
    if ours:
        return {"color": OURS, "linewidth": 2.4, "marker": "o", "zorder": 5, "label": label}
    return {"color": COLOURS[number % len(COLOURS)], "linewidth": 1.2, "marker": ".", "label": label}


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
            style = _style(library, cell.ours, number)
            (handles[library],) = ax.plot([at for at, _ in course], [value * 1e6 for _, value in course], **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"{case}: {operation.split(',')[0]}", fontsize=9)
        ax.set_xlabel("call", fontsize=8)
        ax.set_ylabel("µs", fontsize=8)
        ax.grid(True, which="major", alpha=0.3)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=8, fontsize=8, frameon=False)
    name = f"warm-up-{row.name}"
    # a fixed salt and no date: the same results draw the same bytes, so that a commit shows only real changes
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    return Plot(name, f"From the first call to warm calls, {row.name}", svg[svg.index("<svg") :])


def draw(rows: list[Row]) -> Iterator[Plot]:
    """Draw every plot that the results allow: warm-up on PyPy, but not for quick rows, which have too few points."""
    for row in rows:
        plot = warm_up(row) if row.name.startswith("pypy") and not row.quick else None
        if plot is not None:
            yield plot
