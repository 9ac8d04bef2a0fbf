# SPDX-License-Identifier: Apache-2.0
"""The goals of the project as a table: each figure that was promised, per row, beside what was wanted of it.

How far cpkg is from a limit (libzstd's own figure, unpacking in one piece, a file decompressed whole) stands here, and
so do the comparisons with a chosen peer that the overview, which takes the fastest, does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable

from bench import model
from bench.results import Cell, Comparison, Key, Row, geometric_mean

MSGPACK, STREAMING = "MessagePack", "MessagePack streaming"
ZSTD, FILES = "Zstandard one-shot", "File input and output"
READY, JOB = "Ready at once", "Ready at once: dumps and loads"
LIMIT, SPLIT = "libzstd itself", "decompress, then split"
PEP784 = ("compression.zstd", "backports.zstd")
# They make a context per call; zstandard's context that is kept does not, and neither does zstd.
CONTEXT_PER_CALL = (*PEP784, "pyzstd", "zstandard")
NATIVE = ("native", "wheel")
"""Rows of the backend `native`: built from the source here, and the wheel."""
MIB = 1 << 20


@dataclass
class Measured:
    """The content of one cell. ratios: one per case, of two figures each. noisy: how many of those are unconfirmed."""

    ratios: list[float]
    noisy: int


Find = Callable[[Row, "list[Row]"], "list[tuple[Cell, Cell]]"]


@dataclass(frozen=True)
class Goal:
    """One line. find: pairs of figures, the first divided by the second. worst: judge the worst case, not the mean.

    least: more is better, as in "times faster"; otherwise `wanted` is the most that the ratio may be.
    limit: the second figures are a limit, so that a ratio well below 1 says that these are of something else.
    """

    label: str
    wanted: float
    find: Find
    least: bool = True
    worst: bool = False
    limit: bool = False

    def measured(self, row: Row, rows: list[Row]) -> Measured:
        """Take the ratios of one row."""
        pairs = self.find(row, rows)
        ratios = [a.value / b.value for a, b in pairs if b.value]
        return Measured(ratios, sum(a.noisy or b.noisy for a, b in pairs))

    def shown(self, row: Row, rows: list[Row]) -> model.Shown:
        """Show one row's figure, coloured by whether it is what was wanted."""
        found = self.measured(row, rows)
        if not found.ratios:
            return model.Shown("")
        worst = min(found.ratios) if self.least else max(found.ratios)
        value = worst if self.worst else geometric_mean(found.ratios)
        assert value is not None
        met = value >= self.wanted if self.least else value <= self.wanted
        near = model.EVEN if abs(value / self.wanted - 1) <= model.LEVEL else model.BAD
        tone = model.GOOD if met else near
        text = f"{value:.2f}"
        if self.limit and value < 1 - model.LEVEL:
            tone, text = model.EVEN, f"{text}, below the limit"
        note = f"{len(found.ratios)} cases, the worst {worst:.2f}, {found.noisy} noisy"
        return model.Shown(text, tone, noisy=2 * found.noisy > len(found.ratios), note=note)


def _cpython(row: Row) -> bool:
    return not row.name.startswith("pypy")


def _ahead(
    group: str,
    operations: tuple[str, ...],
    libraries: tuple[str, ...] | None,
    applies: Callable[[Row], bool],
    case: Callable[[Comparison], bool] = lambda comparison: True,
) -> Find:
    """Pair the fastest of `libraries` (None: of the same format) with ours: how many times faster ours is."""

    def find(row: Row, rows: list[Row]) -> list[tuple[Cell, Cell]]:
        del rows
        pairs = []
        for comparison in row.comparisons(group) if applies(row) else ():
            ours = comparison.ours
            others = [c for c in comparison.alternatives if libraries is None or c.key.library in libraries]
            wanted = comparison.operation in operations and not comparison.copy and case(comparison)
            if ours is not None and others and wanted:
                pairs.append((min(others, key=lambda cell: cell.value), ours))
        return pairs

    return find


def _same_row(pairs: Callable[[Row], Iterator[tuple[Key, Key]]]) -> Find:
    """Pair figures of one row by their keys, where both are there."""

    def find(row: Row, rows: list[Row]) -> list[tuple[Cell, Cell]]:
        del rows
        return [(row.cells[a], row.cells[b]) for a, b in pairs(row) if a in row.cells and b in row.cells]

    return find


def _extension_elsewhere(operation: str) -> Find:
    """Pair msgpack's C extension on CPython 3.11 with ours on PyPy, of the same results."""

    def find(row: Row, rows: list[Row]) -> list[tuple[Cell, Cell]]:
        key = Key(MSGPACK, "generated", operation, "cpkg")
        theirs = key._replace(library="msgpack")
        there = [r.cells[theirs] for r in rows if r.name.startswith("3.11-") and _native(r) and theirs in r.cells]
        return [(other, row.cells[key]) for other in there[:1] if not _cpython(row) and key in row.cells]

    return find


def _streaming(row: Row) -> Iterator[tuple[Key, Key]]:
    for key in row.cells:
        wanted = (key.group, key.case, key.library) == (STREAMING, "40 MB object", "cpkg")
        if wanted and key.operation.startswith("feed"):
            yield key, key._replace(operation="unpack whole")


def _limit(operation: str) -> Callable[[Row], Iterator[tuple[Key, Key]]]:
    def pairs(row: Row) -> Iterator[tuple[Key, Key]]:
        for key, cell in row.cells.items():
            wanted = (key.group, key.operation, key.library) == (ZSTD, operation, "cpkg")
            if wanted and not cell.copy and cell.info.get("size", 0) >= MIB and row.backend != "pure":
                yield key, key._replace(library=LIMIT)

    return pairs


def _split(row: Row) -> Iterator[tuple[Key, Key]]:
    for key in row.cells:
        if key.group == FILES and key.library == "cpkg.zstd":
            yield key, key._replace(library=SPLIT)


def _binary_lines(row: Row) -> Iterator[tuple[Key, Key]]:
    for key in row.cells:
        if key.group == FILES and key.library == "cpkg.zstd" and key.case.startswith("write_byLines_binaryMode"):
            yield key, key._replace(case=key.case.replace("binary", "text"))


def _against(group: str, operations: tuple[str, ...], library: str, applies: Callable[[Row], bool]) -> Find:
    """Pair ours with one library's, in each case: ours as a multiple of it."""

    def find(row: Row, rows: list[Row]) -> list[tuple[Cell, Cell]]:
        del rows
        keys = [key for key in row.cells if applies(row) and key.group == group and key.library == "cpkg"]
        pairs = [(key, key._replace(library=library)) for key in keys if key.operation in operations]
        return [(row.cells[ours], row.cells[theirs]) for ours, theirs in pairs if theirs in row.cells]

    return find


def _calls(*words: str) -> tuple[str, ...]:
    """Return the first calls in these directions that users wait for."""
    return tuple(f"{word}, {call} call" for word in words for call in ("first", "second", "10th"))


def _every(row: Row) -> bool:
    return row.backend != "pure"


_PEERS = ("msgpack", "ormsgpack", "msgspec")
_FALLBACK = ("msgpack fallback",)
_BOTH = ("pack", "unpack")
_ZSTD_BOTH = ("compress", "decompress")


def _native(row: Row) -> bool:
    return _cpython(row) and row.backend in NATIVE


def _pure(row: Row) -> bool:
    return _cpython(row) and row.backend == "pure"


def _pypy(row: Row) -> bool:
    return not _cpython(row)


def _pypy_c(row: Row) -> bool:
    return _pypy(row) and row.backend != "pure"


def _small(comparison: Comparison) -> bool:
    return comparison.case == "1KiB level 3"


def _text_lines(comparison: Comparison) -> bool:
    return comparison.case.startswith("read_byLines_textMode")


GOALS = [
    Goal("MessagePack on CPython, against the fastest of msgpack, ormsgpack and msgspec, mean", 1.25,
         _ahead(MSGPACK, _BOTH, _PEERS, _native)),
    Goal("the same, in the worst case", 1.0, _ahead(MSGPACK, _BOTH, _PEERS, _native), worst=True),
    Goal("the same, unpack 30 MB with the garbage collector on", 2.5,
         _ahead(MSGPACK, ("unpack",), _PEERS, _native, lambda c: c.case == "generated")),
    Goal("MessagePack on PyPy, pack against msgpack's fallback, mean", 3.0,
         _ahead(MSGPACK, ("pack",), _FALLBACK, _pypy)),
    Goal("MessagePack on PyPy, unpack against msgpack's fallback, mean", 3.0,
         _ahead(MSGPACK, ("unpack",), _FALLBACK, _pypy)),
    Goal("MessagePack on PyPy, pack 30 MB against msgpack's C extension on CPython 3.11", 1.0,
         _extension_elsewhere("pack")),
    Goal("MessagePack on PyPy, unpack 30 MB against msgpack's C extension on CPython 3.11", 1.0,
         _extension_elsewhere("unpack")),
    Goal("MessagePack on CPython, pure, against msgpack's fallback, mean", 1.5,
         _ahead(MSGPACK, _BOTH, _FALLBACK, _pure)),
    Goal("MessagePack, 40 MB fed in 4 KiB, as a multiple of unpacking it whole", 1.5, _same_row(_streaming),
         least=False),
    Goal("Zstandard, compress 1 KiB against the fastest that makes a context per call", 2.0,
         _ahead(ZSTD, ("compress",), CONTEXT_PER_CALL, _every, _small)),
    Goal("Zstandard, decompress 1 KiB against the same", 4.0,
         _ahead(ZSTD, ("decompress",), CONTEXT_PER_CALL, _every, _small)),
    Goal("Zstandard, 1 KiB against zstd, the worst of both", 1.0,
         _ahead(ZSTD, _ZSTD_BOTH, ("zstd",), _every, _small), worst=True),
    Goal("Zstandard, compress 1 MiB and up, as a multiple of libzstd's own time, mean", 1.05,
         _same_row(_limit("compress")), least=False, limit=True),
    Goal("Zstandard, decompress 1 MiB and up, as a multiple of libzstd's own time, mean", 1.05,
         _same_row(_limit("decompress")), least=False, limit=True),
    Goal("Zstandard on PyPy, against the fastest peer, in the worst case", 1.0,
         _ahead(ZSTD, _ZSTD_BOTH, None, _pypy_c, lambda c: c.ours is not None), worst=True),
    Goal("Files, lines of text against compression.zstd or backports.zstd, mean", 2.0,
         _ahead(FILES, ("read",), PEP784, _every, _text_lines)),
    Goal("Files, lines of text as a multiple of decompressing whole and splitting, mean", 1.3, _same_row(_split),
         least=False),
    Goal("Files, writing binary lines as a multiple of text lines", 1.0, _same_row(_binary_lines), least=False),
    Goal("Ready at once, import and first packb as a multiple of msgpack's, the worst", 1.2,
         _against(READY, ("pack, import and first call",), "msgpack", _every), least=False, worst=True),
    Goal("Ready at once, import and first compress as a multiple of backports.zstd's, the worst", 1.5,
         _against(READY, ("compress, import and first call",), "backports.zstd", _native), least=False, worst=True),
    Goal("the same on PyPy", 1.0,
         _against(READY, ("compress, import and first call",), "backports.zstd", _pypy_c), least=False, worst=True),
    Goal("Ready at once on PyPy, first, second and tenth packb as a multiple of json's, the worst", 1.0,
         _against(READY, _calls("pack"), "json", _pypy_c), least=False, worst=True),
    Goal("Ready at once on PyPy, first, second and tenth unpackb as a multiple of json's, the worst", 1.0,
         _against(READY, _calls("unpack"), "json", _pypy_c), least=False, worst=True),
    Goal("Ready at once on PyPy, first 100 calls against msgpack's fallback, mean", 3.0,
         _ahead(READY, ("pack, first 100 calls", "unpack, first 100 calls"), ("msgpack",), _pypy_c)),
    Goal("dumps and loads as a multiple of packb and unpackb, the worst", 1.3,
         _against(JOB, ("dumps", "loads"), "its codecs", _every), least=False, worst=True),
    Goal("dumps and loads, compressed, as a multiple of their codecs, the worst", 1.1,
         _against(JOB, ("dumps, compressed", "loads, compressed"), "its codecs", _every), least=False, worst=True),
    Goal("Files, every access pattern against compression.zstd or backports.zstd, the worst", 1 / 1.1,
         _ahead(FILES, ("read", "write"), PEP784, _every), worst=True),
]  # fmt: skip


def table(rows: list[Row]) -> model.Table:
    """Make the table: a line per goal that any row has figures for."""
    found = model.Table(
        "How far from the goals and the limits",
        ["goal", "wanted", *(row.name for row in rows)],
        caption="Times faster than the library named, or as a multiple of a limit: then 1.00 is the limit itself. "
        "Green is what was wanted, neutral within 5 % of it. Rows for which a goal was not set have no figure.",
    )
    for goal in GOALS:
        shown = [goal.shown(row, rows) for row in rows]
        if any(cell.text for cell in shown):
            wanted = f"at {'least' if goal.least else 'most'} {goal.wanted:.3g}"
            found.lines.append([model.Shown(goal.label), model.Shown(wanted), *shown])
    return found
