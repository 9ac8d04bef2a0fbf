# SPDX-License-Identifier: Apache-2.0
"""Draw the README's table as a small picture: a bar per interpreter, to the right if cpkg is ahead."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jinja2

from bench.readme_table import Lead, leads
from bench.results import Row

NAME = "overview.svg"
TITLE = "Times faster than the fastest other library of the same format"
COLOURS = ("#1f6feb", "#388bfd", "#79c0ff", "#d29922", "#e3b341", "#8957e5", "#bc8cff")
WIDTH, LEFT, RIGHT, TOP = 760, 215, 20, 52
THICKNESS, GAP = 7, 8
TICKS = (0.5, 1, 2, 4, 8, 16)


def render(name: str, **content: Any) -> str:
    """Fill in a template of this folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=name.endswith(".svg.j2"),
    )
    return environment.get_template(name).render(content)


def draw(rows: list[Row]) -> str:
    """Return the picture as SVG; the same results draw the same bytes."""
    found = leads(rows)
    interpreters = list(dict.fromkeys(row.interpreter for row in rows))
    gains = [lead.gain for line in found.values() for lead in line.values()]
    low = math.log(min([1 / 1.5, *gains]))
    high = math.log(max([2.2, *gains]))

    def place(gain: float) -> float:
        return round(LEFT + (math.log(gain) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    lines = []
    y = TOP
    for label, line in found.items():
        bars = []
        for number, interpreter in enumerate(interpreters):
            lead = line.get(interpreter)
            if lead is not None:
                bars.append(_bar(lead, interpreter, number, y, place))
                y += THICKNESS
        lines.append({"label": label, "bars": bars, "middle": y - len(bars) * THICKNESS // 2 + 4})
        y += GAP
    ticks = [{"value": tick, "x": place(tick), "text": f"{tick:g}×"} for tick in TICKS if low <= math.log(tick) <= high]
    return render(
        "picture.svg.j2",
        title=TITLE,
        width=WIDTH,
        height=y + 22,
        left=LEFT,
        top=TOP,
        thickness=THICKNESS,
        interpreters=[_short(name) for name in interpreters],
        colours=COLOURS[: len(interpreters)],
        lines=lines,
        ticks=ticks,
    )


def _short(interpreter: str) -> str:
    """Name an interpreter without its patch release and, for PyPy, the version of the language."""
    name, version = interpreter.split()[:2]
    return f"{name} {version}" if name == "PyPy" else f"{name} {'.'.join(version.split('.')[:2])}"


def _bar(lead: Lead, interpreter: str, number: int, y: int, place: Any) -> dict[str, Any]:
    start, end = sorted((place(1.0), place(lead.gain)))
    title = f"{interpreter}: {lead.text}"
    return {"colour": number % len(COLOURS), "x": start, "y": y, "width": round(max(end - start, 1), 1), "title": title}
