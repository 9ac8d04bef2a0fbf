# SPDX-License-Identifier: Apache-2.0
"""Draw the report's first screen: a panel per interpreter, a bar per group against the best peer, warm and cold."""

from __future__ import annotations

import math
from typing import Any

from bench import model
from bench.picture import render
from bench.readme_table import Lead, lead
from bench.results import Row, best_measured

NAME = "first_screen.svg"
TITLE = "Times as fast as the fastest other library of the same format"

_READY = "Ready at once"
# (label, group and operation once warm, operation of "Ready at once" or None)
SUBJECTS = [
    ("pack", model.Work("MessagePack", "pack"), "pack, import and first call"),
    ("unpack", model.Work("MessagePack", "unpack"), "unpack, import and first call"),
    ("unpack pieces", model.Work("MessagePack streaming", "feed in 4 KiB"), None),
    ("compress", model.Work("Zstandard one-shot", "compress"), "compress, import and first call"),
    ("decompress", model.Work("Zstandard one-shot", "decompress"), "decompress, import and first call"),
    ("read files", model.Work("File input and output", "read"), None),
    ("write files", model.Work("File input and output", "write"), None),
    ("decode to types", model.Work("Typed", "decode"), None),
    ("encode types", model.Work("Typed", "encode"), None),
    ("sign and verify", model.Work("Signer: instance", "dumps + loads"), None),
    ("peak memory", model.Work("Peak memory", "peak"), None),
]
# Bars end here, as factors; the figure beside them is complete
SHORTEST, LONGEST = 1 / 4, 4
COLUMNS = 2
WIDTH, LABEL, FIGURE, HEAD, BAR, LINE = 480, 110, 62, 40, 10, 26
TOP, LEGEND = 44, 620


def draw(rows: list[Row]) -> str:
    """Return the drawing as SVG; the same results draw the same bytes."""
    interpreters = list(dict.fromkeys(row.interpreter for row in rows))
    panels = [_panel(name, [row for row in rows if row.interpreter == name]) for name in interpreters]
    tall = HEAD + LINE * max((len(panel["lines"]) for panel in panels), default=0) + 14
    for number, panel in enumerate(panels):
        panel["x"], panel["y"] = number % COLUMNS * WIDTH, TOP + number // COLUMNS * tall
    ticks = [(_place(tick), f"{tick:g}×") for tick in (0.5, 1, 2)]
    return render(
        "first_screen.svg.j2",
        title=TITLE,
        width=max(WIDTH * min(COLUMNS, len(panels)), LEGEND),
        height=TOP + -(-len(panels) // COLUMNS) * tall,
        panels=panels,
        ticks=ticks,
        head=HEAD,
        tall=tall,
    )


def _place(gain: float) -> float:
    part = math.log(min(max(gain, SHORTEST), LONGEST) / SHORTEST) / math.log(LONGEST / SHORTEST)
    return round(LABEL + part * (WIDTH - LABEL - FIGURE), 1)


def _panel(interpreter: str, rows: list[Row]) -> dict[str, Any]:
    lines = []
    for label, warm, cold in SUBJECTS:
        leads = [_best(rows, warm)]
        if cold is not None:
            leads.append(_best(rows, model.Work(_READY, cold)))
        bars = [_bar(found, temperature) for found, temperature in zip(leads, ("warm", "cold")) if found is not None]
        if bars:
            lines.append({"label": label, "y": HEAD + LINE * len(lines), "bars": bars})
    noisy = sum(cell.noisy for row in rows for cell in row.cells.values())
    figures = sum(len(row.cells) for row in rows)
    quick = ", the quick tenth" if all(row.quick for row in rows) else ""
    return {"name": interpreter, "lines": lines, "summary": f"{noisy} of {figures} figures noisy{quick}"}


def _best(rows: list[Row], work: model.Work) -> Lead | None:
    found = (lead(row, work, None) for row in best_measured(rows))
    return max((one for one in found if one is not None), key=lambda one: one.gain, default=None)


def _bar(found: Lead, temperature: str) -> dict[str, Any]:
    start, end = sorted((_place(1), _place(found.gain)))
    return {
        "kind": f"{temperature} {model.tone(found.gain)}",
        "y": 0 if temperature == "warm" else BAR + 1,
        "x": start,
        "width": round(max(end - start, 1.5), 1),
        "height": BAR - 1,
        "at": WIDTH - FIGURE + 6,
        "text": f"{found.gain:.2f}{' ~' if found.noisy else ''}",
        "title": f"{temperature}: {found.text}",
    }
