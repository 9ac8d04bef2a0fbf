# SPDX-License-Identifier: Apache-2.0
"""Draw the times of frequent operations on one interpreter as a small SVG, with a bar for cpkg and for each peer.

The picture is as wide as a phone's screen, so that phones do not scale its text. A wide screen shows two pictures side
by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from bench.cells import read_data
from bench.results import Cell, Row, seconds, with_interval

NOTE = "Shorter is faster. N×: N times cpkg's time"


@dataclass(frozen=True)
class Panel:
    """Two operations of a case. peers: names of libraries; `one|another` stands for the first that was measured."""

    title: str
    group: str
    case: str
    operations: tuple[str, str]
    peers: tuple[str, ...]


NAMED = read_data("named")
"""The cells and libraries of the pictures, and of the table in headline.py."""
PANELS = [Panel(**panel) for panel in NAMED["panels"]]

WIDTH, LABEL, TEXT = 360, 116, 64
COLUMN = (WIDTH - LABEL) // 2
LINE, HEAD, TOP, THICK = 20, 44, 46, 12
LONGEST = 5
"""The longest bar, as a multiple of cpkg's. An arrow at its end shows a longer time; the figure beside it is exact."""

STYLE = (
    "text{fill:#1f2328}.s{font-size:12px;fill:#57606a}.c{fill:#1f6feb}.o{fill:#afb8c1}.f{fill:#d1242f}"
    ".l{stroke:#d0d7de}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.c{fill:#4493f8}"
    ".o{fill:#656c76}.f{fill:#f85149}.l{stroke:#3d444d}}"
)
FONT = 'font-family="system-ui,-apple-system,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif" font-size="14"'


def draw(row: Row) -> str:
    """Return the picture of one row as SVG; the same results draw the same bytes."""
    parts, y = [_text(0, 16, row.label, 'font-weight="bold"'), _text(0, 34, NOTE, 'class="s"')], TOP
    if row.nursery:
        parts.append(_text(WIDTH, 16, row.nursery, 'class="s" text-anchor="end"'))
    for panel in PANELS:
        parts.append(f'<g transform="translate(0 {y})">{"".join(_panel(row, panel))}</g>')
        y += HEAD + LINE * (1 + len(panel.peers)) + 4
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT} role="img" aria-label="{escape(alternative(row))}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>\n"])


def alternative(row: Row) -> str:
    """Return the text for readers who cannot see the picture."""
    return f"{row.label}: time of a call of cpkg and of other libraries"


def _panel(row: Row, panel: Panel) -> list[str]:
    named = {cell.subject[1:]: cell for cell in row.some(panel.group)}
    cells = [named.get((panel.case, operation)) for operation in panel.operations]
    bottom = HEAD + LINE * (1 + len(panel.peers)) - 6
    parts = [_text(0, 16, panel.title, 'font-weight="bold"')]
    for number_, label in enumerate(("cpkg", *panel.peers)):
        shown = _measured(cells, label)
        stretched = f' textLength="{LABEL - 8}" lengthAdjust="spacingAndGlyphs"' if len(shown) > 14 else ""
        parts.append(_text(LABEL - 6, HEAD + LINE * number_ + 6, shown, f'text-anchor="end"{stretched}'))
    for place, (cell, operation) in enumerate(zip(cells, panel.operations)):
        left = LABEL + COLUMN * place
        parts.append(_text(left, 32, operation, 'class="s"'))
        parts.append(f'<path class="l" d="M{left}.5 {HEAD - 8}V{bottom}"/>')
        if cell is not None and cell.value is not None:
            parts += _column(cell, panel, left)
        else:  # leave the space empty, because pictures side by side need the same height
            parts.append(_text(left + 6, HEAD + 6, "not measured", 'class="s"'))
    return parts


def _measured(cells: list[Cell | None], label: str) -> str:
    """Return the last part of the name of the library that was measured, or else of the first library in `label`."""
    names = [cell.named(label) for cell in cells if cell is not None]
    # "zstandard, context kept" is below "zstandard" in the picture, so its last part is enough
    return short(next((name for name in names if name is not None), label.split("|")[0])).rpartition(", ")[2]


def short(library: str) -> str:
    """Return the name by which people know a library; for them, msgpack's fallback is msgpack."""
    return library.removesuffix(" fallback")


def _column(cell: Cell, panel: Panel, left: int) -> list[str]:
    names = [cell.named(peer) for peer in panel.peers]
    longest = min(max([1.0, *(cell.ratios[name].value for name in names if name is not None)]), LONGEST)
    unit = (COLUMN - TEXT) / longest
    parts = [_bar("c", left, 0, unit, seconds(cell.value), seconds(cell.value))]
    for line, name in enumerate(names, 1):
        if name is None:
            parts.append(_text(left + 6, HEAD + LINE * line + 6, "not here", 'class="s"'))
            continue
        ratio = cell.ratios[name]
        kind, length = "f" if ratio.high < 1 else "o", unit * min(ratio.value, LONGEST)
        note = f"{name}, {cell.figures.operation}: {with_interval(ratio)}"
        digits = 0 if ratio.value >= 9.95 else 1 if ratio.value >= 1.995 else 2
        parts.append(_bar(kind, left, line, length, f"{ratio.value:,.{digits}f}×", note, ratio.value > LONGEST))
    return parts


def _bar(kind: str, left: int, line: int, length: float, text: str, note: str, more: bool = False) -> str:
    y, end = HEAD + LINE * line - THICK // 2, round(left + 1 + length, 1)
    tip = f"L{end + 4} {y + THICK // 2}" if more else ""
    shape = f'<path class="{kind}" d="M{left + 1} {y}H{end}{tip}L{end} {y + THICK}H{left + 1}Z">'
    shown = _text(end + (7 if more else 4), HEAD + LINE * line + 6, text)
    return f"{shape}<title>{escape(note)}</title></path>{shown}"


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}"{" " if more else ""}{more}>{escape(text)}</text>'
