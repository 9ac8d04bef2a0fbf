# SPDX-License-Identifier: Apache-2.0
"""Record files that were truncated, flipped, joined and thinned out: valid records are read, damage is reported."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from extent import IS_THOROUGH
from failing import each_raises
from record_files import (
    event,
    file_of,
    flip,
    flipped,
    forget_index,
    numbered,
    plainly,
    read_all,
    record,
    spans,
    trained,
    write_all,
    written,
)
from seeds import SEED, noise
from zstd_data import check_trains

from cpkg import records
from cpkg.records import Split
from cpkg.records import format as fmt
from purepy.base.errors import LimitError, StackError

EVERY = 1 if IS_THOROUGH else 7
"""Every so many bytes are damaged, from one that the seed chooses."""
NOISE = noise(300)


@pytest.fixture
def path(path: Path) -> Path:
    written(path, 24, per_frame=6)
    return path


def numbers_of(rows: Iterable[Any]) -> list[Any]:
    return [row["number"] if isinstance(row, dict) else row for row in rows]


def read(path: Path) -> list[Any]:
    return numbers_of(read_all(path, threads=1, errors="skip"))


def numbers(frames: list[Any]) -> list[int]:
    return [number for span in frames for number in range(span.first, span.stop)]


def test_cut_anywhere(path: Path) -> None:
    """Every complete frame is read, wherever the file was cut; appending continues after them."""
    data, frames = path.read_bytes(), spans(path)
    for size in range(SEED % (3 * EVERY), len(data), 3 * EVERY):
        path.write_bytes(data[:size])
        whole = numbers([span for span in frames if span.end <= size])
        assert read(path) == whole
        report = records.verify(path, threads=1)
        bounds = {0, fmt.FILE_HEADER_SIZE, *(span.end for span in frames)}
        if size <= frames[-1].end:
            assert (report.torn == 0) == (size in bounds), size
        assert report.records == len(whole)
        assert not report.damage
        with records.open(path) as reader:
            assert reader.torn == report.torn
        with records.open(path, "ab", threads=1) as writer:
            assert len(writer) == len(whole)
            writer.append("more")
        assert read(path) == [*whole, "more"]


@pytest.mark.parametrize("indexed", [True, False])
def test_flipped_anywhere_and_repaired(path: Path, indexed: bool) -> None:
    """A wrong bit loses at most the records of its frame; in a header, it loses none if there is an index."""
    if not indexed:
        forget_index(path)
    data = path.read_bytes()
    frames = spans(path)
    chance = random.Random(SEED)
    for at in range(SEED % EVERY, len(data), EVERY):
        path.write_bytes(flipped(data, at, 1 << chance.randrange(8)))
        sound = numbers([span for span in frames if not span.start <= at < span.end])
        found = read(path)
        assert found in (sound, list(range(24))), f"bit of byte {at}, seed {SEED}"
        header = any(span.start <= at < span.start + fmt.DATA_HEADER_SIZE for span in frames)
        if header or at < frames[0].start:
            assert found == (list(range(24)) if indexed or at < frames[0].start else sound)
        if at >= frames[-1].end:  # in the index or the seek table
            assert not records.verify(path, threads=1).ok, at
        if at // EVERY % 5 == 0:
            assert records.repair(path, threads=1).records == len(found)
            assert read(path) == found
            after = records.verify(path, threads=1)
            assert after.ok, (at, after)
            assert after.indexed
            forget_index(path)
            assert read(path) == found


def test_a_damaged_frame_is_reported_by_its_numbers(path: Path) -> None:
    second = spans(path)[1]
    flip(path, second.end - 10)
    with records.open(path) as reader:
        uses = (lambda: list(reader), lambda: reader[6], lambda: reader[11], lambda: reader.take([0, 7]))
        for error in each_raises(records.DamagedError, *uses, match=r'records 6 to 11.*; to read the rest, .*"skip"'):
            assert (error.first, error.count, error.offset) == (6, 6, second.start + fmt.DATA_HEADER_SIZE)
        assert list(reader.iter(12)) == numbered(12, 24)
        assert [reader[5], *reader.take([23])] == [record(5), record(23)]
    with records.open(path, errors="skip") as reader:
        assert list(reader) == [*numbered(6), *numbered(12, 24)]
        assert [(damage.first, damage.count) for damage in reader.damage] == [(6, 6)]
        assert "to read the rest" not in str(reader.damage[0])
    report = records.verify(path)
    assert not report.ok
    assert (report.records, report.total, report.lost) == (18, 24, 6)
    assert "records 6 to 11" in str(report.damage[0])
    forget_index(path)
    flip(path, second.start + 9)  # without the header, the numbers are those before the next header
    report = records.verify(path)
    assert (report.records, report.total, report.lost, len(report.damage)) == (18, 24, 6, 1)


def test_numbers_stay_when_records_are_lost(path: Path) -> None:
    for span in (spans(path)[1], spans(path)[3]):
        flip(path, span.end - 10)
    write_all(path, [record(24)], mode="ab")
    assert records.repair(path).lost == 12
    for _ in range(2):
        report = records.verify(path)
        assert report.ok
        assert (report.records, report.total, report.marked) == (13, 25, 12)
        left = [*numbered(6), *numbered(12, 18), record(24)]
        with records.open(path) as reader:
            assert list(reader) == [row for split in records.splits(path, 3) for row in split.read()] == left
            assert [reader[17], reader[24]] == [record(17), record(24)]
            with pytest.raises(records.DamagedError, match="before the file was repaired"):
                reader[7]
        forget_index(path)
    write_all(path, [record(25)], mode="ab")
    with records.open(path) as reader:
        assert reader[25] == record(25)


@pytest.mark.parametrize("is_first", [False, True])
def test_iterating_continues_after_damage_without_lost_records(path: Path, is_first: bool) -> None:
    """Bytes came in before record 6, whose frame is the second one, or the first one after marked records."""
    if is_first:
        flip(path, spans(path)[0].end - 10)
        records.repair(path)
    forget_index(path)
    data = path.read_bytes()
    at = spans(path)[0 if is_first else 1].start
    path.write_bytes(data[:at] + bytes(100) + data[at:])
    with records.open(path, threads=1) as reader:
        uses = (lambda: list(reader), lambda: reader[5:])
        for error in each_raises(records.DamagedError, *uses, match="no records before record 6 "):
            assert (error.first, error.count) == (6, 0)
        assert list(reader.iter(6)) == reader[6:] == numbered(6, 24)


def test_damage_in_a_file_without_records(path: Path) -> None:
    """The header of another file's frame follows the damage, so the file is not one whose writer was killed."""
    wrecked = path.with_name("wrecked.rec")
    wrecked.write_bytes(fmt.file_header(bytes(8)) + path.read_bytes()[fmt.FILE_HEADER_SIZE - 1 :])
    for place in (wrecked, [wrecked, path], [path, wrecked]):
        with records.open(place, threads=1) as reader:
            each_raises(records.DamagedError, lambda: list(reader), lambda: list(reader.batches()))
    with records.open(wrecked, threads=1) as reader:
        each_raises(records.DamagedError, lambda: reader[:], lambda: reader[::-2])
    (part,) = records.splits(wrecked, 4)
    each_raises(records.DamagedError, lambda: list(part.read()))


@pytest.mark.parametrize("damaged", [(0, 1, 2, 3), (1,), (3,)])
def test_the_mark_of_lost_records_is_damaged(path: Path, damaged: tuple[int, ...]) -> None:
    """Then only the index knows that records were lost, and the next writer removes it and may be killed."""
    for span in [spans(path)[number] for number in damaged]:
        flip(path, span.end - 10)
    assert records.repair(path).lost == 6 * len(damaged)
    at = path.read_bytes().index(fmt.LOST)
    for wrong in (at + 20, at + 5, at):
        flip(path, wrong)
        report = records.verify(path)
        assert (report.ok, report.lost, report.marked) == (False, 0, 6 * len(damaged))
        assert "as lost is damaged" in report.problems[0]
        assert records.repair(path) == report
        forget_index(path)
        assert read(path) == [n for n in range(24) if n // 6 not in damaged]
        records.repair(path)
        assert path.read_bytes().index(fmt.LOST) == at


@pytest.mark.parametrize("step", [1, 2, 5, -1, -3])
@pytest.mark.parametrize("errors", ["raise", "skip"])
def test_slices_skip_what_iterating_skips(path: Path, errors: Any, step: int) -> None:
    """With any step, of one file or several; records requested by number are never skipped."""

    whole = path.with_name("whole.rec")
    written(whole, 24, per_frame=6)
    frames = spans(path)
    flip(path, frames[1].end - 10)
    records.repair(path)  # marks records 6 to 11 as lost
    forget_index(path)
    flip(path, spans(path)[1].end - 10)  # records 12 to 17 are damaged
    last = spans(path)[2].start
    data = path.read_bytes()
    path.write_bytes(data[:last] + bytes(9) + data[last:])  # damage without lost records before record 18
    slices = [(0, 6), (0, 13), (3, 10), (8, 8), (8, 11), (11, 13), (13, 17), (15, 24), (17, 19), (18, 24), (0, 24)]
    for start, stop in slices:
        wanted = range(start, stop, step) if step > 0 else range(stop - 1, start - 1, step)
        piece = slice(wanted.start, wanted.stop if wanted.stop >= 0 else None, step)
        readable = [number for number in wanted if not 6 <= number < 18]
        is_damaged = any(12 <= number < 18 for number in wanted) or (wanted and min(wanted) < 18 <= max(wanted))
        for place in (path, [path, whole], [path]):
            with records.open(place, errors=errors, threads=1) as reader:
                if is_damaged and errors == "raise":
                    with pytest.raises(records.DamagedError):
                        reader[piece]
                    continue
                assert numbers_of(reader[piece]) == readable, (piece, place)
                assert bool(reader.damage) == bool(is_damaged)
    with records.open([whole, path], errors=errors) as shards:
        each_raises(records.DamagedError, lambda: shards[30], lambda: shards[36])
        each_raises(records.DamagedError, lambda: shards.take([30]), lambda: shards.take([36]))
        if errors == "skip":
            assert len(list(shards)) == 36
            assert [(error.first, error.count) for error in shards.damage] == [(12, 6), (18, 0)]
            assert all(error.reason.startswith(f"{path}: ") for error in shards.damage)


def test_bytes_lost_in_the_middle_or_put_there(path: Path) -> None:
    """Later records have moved, but are still found."""
    data, frames = path.read_bytes(), spans(path)
    chance = random.Random(SEED)
    starts = [chance.randrange(frames[0].start, frames[2].start) for _ in range(40)]
    cuts = [(start, chance.randrange(start + 1, frames[2].start + 1)) for start in starts]
    # cut so much that a frame is where it would be if only its header were damaged
    cuts += [(at, at + fmt.DATA_HEADER_SIZE) for at in (frames[0].end - 20, frames[1].start - 1, frames[1].start)]
    puts = [(at, at) for at in (frames[1].start, frames[1].start + 20, frames[1].end - 9)]
    for start, end in cuts + puts:
        path.write_bytes(data[:start] + (b"" if start < end else bytes(100)) + data[end:])
        sound = numbers([span for span in frames if span.end <= start or span.start >= end])
        assert read(path) == sound, (start, end)
        assert not records.verify(path).ok
        records.repair(path)
        assert records.verify(path).ok
        assert read(path) == sound


@pytest.mark.parametrize("kind", [b"RecQ", b"\xff\0\0\0", fmt.INDEX, fmt.DATA])
def test_a_skippable_frame_of_another_kind(path: Path, kind: bytes) -> None:
    """It is skipped if its CRC is right, because a later version of the format may define it; else it is damage."""
    data, at = file_of((b"\x01\x02", 2), (b"\x03", 1), close=False), len(file_of((b"\x01\x02", 2), close=False))
    other = fmt._frame(kind, b"for later versions" * 9000)
    header = fmt.parse_data_header(data, b"", at)
    assert header is not None
    moved = fmt.data_header(header._replace(offset=at + len(other))) + data[at + fmt.DATA_HEADER_SIZE :]
    for wrong in (0, 1):
        path.write_bytes(data[:at] + flipped(other, -1, wrong) + moved)
        assert records.verify(path).ok == (not wrong and kind != fmt.DATA)
        assert read_all(path, errors="skip") == [1, 2, 3] == list(plainly(path).values())


def test_a_tail_of_zeros_is_torn(path: Path) -> None:
    """After a power failure, a file may be longer than the data that was written."""
    forget_index(path)
    with open(path, "ab") as file:
        file.write(bytes(5000))
    assert read(path) == list(range(24))
    report = records.verify(path)
    assert report.torn == 5000
    assert not report.ok
    write_all(path, ["more"], mode="ab")
    assert read(path) == [*range(24), "more"]
    assert records.verify(path).ok


@pytest.mark.parametrize("wrong", [0, 5, 8, 20, 63])
@pytest.mark.parametrize("is_own", [False, True])
def test_a_record_file_within_a_record_after_a_damaged_header(tmp_path: Path, wrong: int, is_own: bool) -> None:
    """It is not treated as joined, and `repair` takes no record from it; a really joined file is still refused."""
    path, inner = tmp_path / "outer.rec", tmp_path / "inner.rec"
    written(inner, 5, per_frame=5)
    with records.open(path, "wb", threads=1, level=1) as writer:
        for number in range(3):  # bytes that do not compress are stored raw, including headers
            data = path.read_bytes() if is_own else inner.read_bytes()
            writer.append({"number": number, "data": NOISE + data + NOISE})
            writer.flush()
    for _ in range(2):
        forget_index(path)
        frames, data = spans(path), path.read_bytes()
        assert data.count(fmt.FILE) > 1
        path.write_bytes(flipped(data, frames[-1].start + wrong))
        found = list(range(len(frames) - 1))
        assert read(path) == found == sorted(plainly(path))
        report = records.verify(path)
        assert (report.records, report.torn) == (len(found), 0)
        assert [(damage.first, damage.records) for damage in report.damage] == [(len(found), 0)]
        assert "the header of another file" in report.damage[0].reason
        (tmp_path / "joined.rec").write_bytes(path.read_bytes() + inner.read_bytes())
        with pytest.raises(records.RecordsError, match="joined files"):
            read(tmp_path / "joined.rec")
        records.repair(path)
        assert read(path) == found


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(("before", "wrong"), [(0, 0), (0, 8), (0, 100), (24, 100)])
def test_a_damaged_dictionary(path: Path, before: int, wrong: int, indexed: bool) -> None:
    """Nothing is repaired, because a copy of the dictionary may exist; records before it can be read."""
    check_trains()
    rows = [event(number) for number in range(600)]
    write_all(path, rows, mode="ab" if before else "wb", frame_size=500, dictionary=trained(rows))
    with records.open(path) as reader:
        at = reader._layout.dictionary_at
    if not indexed:
        forget_index(path)
    data = flipped(path.read_bytes(), at + wrong)
    path.write_bytes(data)
    advice = f"copy its first {at} bytes" if before else "no record can be read without it"
    uses = (lambda: records.open(path), lambda: records.repair(path))
    each_raises(records.RecordsError, *uses, match=rf"dictionary at byte {at} is damaged; .*{advice}")
    assert path.read_bytes() == data
    report = records.verify(path)
    assert "dictionary" in report.problems[0]
    assert (report.records, report.lost, report.total) == (before, 600, before + 600)
    if not before:
        assert report.damage[-1][:3] == (at, 0, 600)
        return
    for threads in (1, 2):
        assert read_all(path, threads=threads, errors="skip") == numbered(24)
    with records.open(path, errors="skip") as reader:
        assert reader[23] == record(23)
        with pytest.raises(records.DamagedError, match=r"^records 24 to \d+ \(at byte"):
            reader[24]
    path.write_bytes(data[:at])
    assert len(read_all(path)) == 24


def test_what_a_header_claims_is_not_believed(path: Path) -> None:
    """Impossible sizes and counts are damage, and do not allocate memory."""
    written(path, 5)
    span = spans(path)[0]
    data = path.read_bytes()
    header = fmt.parse_data_header(data, b"", span.start)
    assert header is not None
    frame = data[span.start + fmt.DATA_HEADER_SIZE : span.end]
    sizes = (2**32 - 1, 1 << 30, header.decompressed - 1)
    for wrong in (*({"decompressed": size} for size in sizes), {"records": 4}, {"records": 6}):
        path.write_bytes(data[: span.start] + fmt.data_header(header._replace(**wrong)) + frame)
        with pytest.raises(records.DamagedError):
            read_all(path, threads=1)
    counts = ({"records": 0}, {"records": 2**32 - 1})
    for wrong in (*counts, {"decompressed": 0}, {"compressed": 2**32 - 1}, {"compressed": 9, "lost": True}):
        path.write_bytes(data[: span.start] + fmt.data_header(header._replace(**wrong)) + frame)
        assert records.verify(path).torn == span.end - span.start
        assert read(path) == []


@pytest.mark.parametrize("total", [24 + 2**32, 2**63, 2**64 - 1])
def test_an_index_with_too_many_lost_records(path: Path, total: int) -> None:
    """Such an index is damaged, and the headers are used."""
    with records.open(path) as reader:
        layout = reader._layout
    layout.go_on(layout.end, total)
    path.write_bytes(path.read_bytes()[: layout.end] + layout.tail())
    with records.open(path) as reader:
        assert (len(reader), list(reader)) == (24, numbered(24))
    assert "records as lost at the end" in records.verify(path).problems[0]
    assert records.join([path, path], path.with_suffix(".joined")) == 48
    records.repair(path)
    assert records.verify(path).ok


def with_lost(path: Path, *counts: int) -> None:
    """Append headers that mark these numbers of records as lost, without an index."""
    with records.open(path) as reader:
        layout = reader._layout
    data, end, total = bytearray(path.read_bytes()[: layout.end]), layout.end, layout.total
    for count in counts:
        data += fmt.data_header(fmt.DataHeader(count, 0, total, end, 0, 0, layout.token, 0, True))
        end, total = end + fmt.DATA_HEADER_SIZE, total + count
    path.write_bytes(data)


def test_places_for_lost_records_are_limited(path: Path) -> None:
    """A list of a reader would have an item for each lost record."""
    with_lost(path, fmt.LOST_MAX)
    with pytest.raises(LimitError, match=f"{fmt.LOST_MAX} lost ones.*raise max_memory"):
        records.open(path)
    with records.open(path, max_memory=-1) as reader:
        assert len(reader) == 24 + fmt.LOST_MAX
        assert sum(1 for _ in reader) == 24
    assert records.verify(path).ok
    assert sum(1 for _ in chain.from_iterable(split.read(max_memory=-1) for split in records.splits(path, 3))) == 24
    with records.open(path, "ab") as writer:
        writer.append(record(24))
    for _ in range(2):  # with the index, and without it
        with records.open(path, max_memory=-1) as reader:
            assert reader[24 + fmt.LOST_MAX] == record(24)
        forget_index(path)


def test_more_lost_records_than_a_file_can_mark(path: Path) -> None:
    with_lost(path, fmt.LOST_MAX, 1)
    assert [damage.lost for damage in records.verify(path).damage] == [True]  # the second header
    with pytest.raises(records.DamagedError):
        records.join([path], path.with_suffix(".joined"))
    records.repair(path)
    assert records.verify(path).ok
    with records.open(path, max_memory=-1) as reader:
        assert len(reader) == 24 + fmt.LOST_MAX
    begin = path.with_suffix(".begin")
    records.open(begin, "wb").close()
    with_lost(begin, 1)
    with pytest.raises(records.RecordsError, match="in a row are lost"):
        records.join([path, begin], path.with_suffix(".joined"))


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("count", [9, 11])
def test_a_count_that_is_not_the_frames(path: Path, count: int, indexed: bool) -> None:
    """It is damage by number, in order, in lists, in splits and in `verify`; no record gets a wrong number."""
    contents = [b"".join(bytes((0xCC, value)) for value in range(ten, ten + 10)) for ten in (0, 10, 20)]
    path.write_bytes(file_of(*zip(contents, (10, count, 10)), close=indexed))
    hidden = range(10, 10 + count)
    sound = dict(zip([*range(10), *range(hidden.stop, hidden.stop + 10)], [*range(10), *range(20, 30)]))
    for threads in (0, 2):
        with records.open(path, threads=threads) as reader:
            assert {number: reader[number] for number in reversed(range(len(reader))) if number not in hidden} == sound
            uses = [partial(reader.__getitem__, number) for number in (*reversed(hidden), slice(12, 14))]
            uses += [partial(reader.take, [12, 0]), partial(list, reader), partial(list, reader.batches())]
            for error in each_raises(records.DamagedError, *uses):
                assert (error.first, error.count) == (10, count)
                assert str(error).count("records 10 to") == 1
        first = [*range(10), *range(10, min(hidden.stop, 20)), *range(20, 30)]  # returned before the damage is found
        with records.open(path, threads=threads, errors="skip") as reader:
            assert list(reader) == first
            assert [damage.first for damage in reader.damage] == [10]
            assert [record for batch in reader.batches() for record in batch] == list(sound.values())
    parts = records.splits(path, 3)
    assert [record for part in parts for record in part.read(errors="skip")] == first
    for read_part in (Split.read, Split.batches):
        with pytest.raises(records.DamagedError):
            [*chain.from_iterable(map(read_part, parts))]
    report = records.verify(path)
    assert [(damage.first, damage.records, damage.lost) for damage in report.damage] == [(10, count, True)]


@pytest.mark.parametrize("begin", [b"", b"\x92\xdc\x05\xdc" + b"\xc0" * 1500])
@pytest.mark.parametrize("nested", [b"\x91" * 5000 + b"\xc0", b"\x81\xa1a" * 5000 + b"\xc0"])
@pytest.mark.parametrize("options", [{}, {"max_memory": 300_000}, {"max_memory": 300_000, "list_hook": list}])
def test_nested_too_deep(path: Path, begin: bytes, nested: bytes, options: dict[str, Any]) -> None:
    """All ways of reading raise the same error, also if the objects would exceed the memory limit."""
    path.write_bytes(file_of((b"\x01" + begin + nested + b"\x02", 3)))
    (part,) = records.splits(path, 1)
    with records.open(path, **options) as reader:
        uses = [partial(reader.__getitem__, wanted) for wanted in (1, slice(0, 3), slice(1, 3))]
        uses += [partial(reader.take, wanted) for wanted in ([1], [2, 1])]
        uses += [partial(list, rows) for rows in (reader, reader.batches())]
        uses += [partial(list, rows(**options)) for rows in (part.read, part.batches)]
        each_raises(StackError, *uses, match=r"max_depth\(1024\)")
        assert (reader[0], reader[2], reader.take([2, 0])) == (1, 2, [2, 1])


def test_garbage_is_searched_in_bounded_time(path: Path) -> None:
    """Bytes that look like headers, and headers with wrong offsets, do not make the search quadratic."""
    written(path, 5, close=False)
    data = path.read_bytes()
    header = fmt.parse_data_header(data, b"", fmt.FILE_HEADER_SIZE)
    assert header is not None
    liars = b"".join(
        fmt.data_header(header._replace(offset=number * 1000, compressed=5, first=number)) + b"x" * 13
        for number in range(5_000)
    )
    for garbage in (b"RecD" * 100_000, liars):
        path.write_bytes(data + garbage)
        with records.open(path, errors="skip", threads=1) as reader:
            assert list(reader.iter(0, 5)) == numbered(5)
