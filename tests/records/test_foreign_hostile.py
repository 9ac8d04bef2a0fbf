# SPDX-License-Identifier: Apache-2.0
"""Records that contain record files, in damaged, truncated and joined files: no record is read from inside a record."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from extent import fewer
from plain_record_reader import JoinedFilesError
from record_files import flipped, forget_index, plainly, read_all, readable, spans, write_all
from seeds import SEED

from cpkg import _backend, records
from cpkg.records import format as fmt

TABLE_END = b"\xb1\xea\x92\x8f"
AS_THEY_ARE = {"level": -131072, "threads": 1}
"""At this level, bytes that do not repeat are not compressed."""


class Maker:
    """Creates record files with other files in their records; each record has a number that is unique in all files."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self._path = folder / "made.rec"
        self._made = 0

    def file(self, depth: int) -> tuple[bytes, list[tuple[int, int, list[Any]]]]:
        """Return a file, sometimes truncated, and for each frame of the whole file its begin, end and records."""
        chance = self.chance
        rows: list[list[Any]] = []
        blobs = [[self.blob(depth) if chance.random() < 0.5 else b"" for _ in range(2)] for _ in range(3)]
        with records.open(self._path, "wb", **AS_THEY_ARE) as writer:
            for _ in range(chance.randrange(1, 4)):
                rows.append([])
                for blob in blobs.pop()[: chance.randrange(1, 3)]:
                    self._made += 1
                    is_own = depth and chance.random() < 0.1
                    data = chance.randbytes(21) + (self._path.read_bytes() if is_own else blob) + chance.randbytes(10)
                    rows[-1].append([self._made, data])
                writer.extend(rows[-1])
                writer.flush()
        frames = [(span.start, span.end, found) for span, found in zip(spans(self._path), rows)]
        if chance.random() < 0.6:
            forget_index(self._path)
        data = self._path.read_bytes()
        if chance.random() < 0.15:
            data = data[: chance.randrange(len(data))]
        return data, frames

    def blob(self, depth: int) -> bytes:
        if not depth:
            return b""
        return b"".join(self.file(depth - 1)[0] for _ in range(self.chance.choice((1, 1, 2))))

    def damaged(self, data: bytearray, places: list[int]) -> None:
        """Change bytes, sometimes in a header, sometimes anywhere."""
        chance = self.chance
        at = chance.randrange(len(data))
        if places and chance.random() < 0.7:
            at = min(chance.choice(places) + chance.randrange(80), len(data) - 1)
        if chance.random() < 0.5:
            data[at] ^= 1 << chance.randrange(8)
        else:
            size = min(chance.choice((4, 16, 100, 600)), len(data) - at)
            data[at : at + size] = self.chance.randbytes(size) if chance.random() < 0.5 else bytes(size)


def ids(rows: Any) -> list[int]:
    return [row[0] for row in rows]


def in_order(found: list[int], own: list[int]) -> bool:
    """Return whether all found records are in the file, in the same order."""
    rest = iter(own)
    return all(number in rest for number in found)


def check_readers(path: Path, own: list[int]) -> list[int] | None:
    """Check that all ways of reading give only records of the file; return the numbers, None if it is refused."""
    try:
        with records.open(path, errors="skip", threads=1) as reader:
            found = ids(reader)
            by_number = [(number, row[0]) for number, row in readable(reader).items()]
            assert by_number == [(own.index(one), one) for one in found]
    except records.RecordsError as exc:
        if "joined files" not in str(exc) and "not a cpkg record file" not in str(exc):
            raise
        return None
    assert in_order(found, own)
    for count in (1, 3):
        splits = records.splits(path, count)
        assert ids(row for split in splits for row in split.read(errors="skip")) == found
    return found


def check_plainly(path: Path, own: list[int], found: list[int] | None) -> None:
    try:
        plain = plainly(path)
    except JoinedFilesError:
        assert found is None
    else:
        numbers = {number: row[0] for number, row in plain.items()}
        assert numbers.items() <= dict(enumerate(own)).items()
        # the plain reader also accepts a frame whose header lost the content size
        assert numbers.items() >= {own.index(one): one for one in found or ()}.items()


def check_repair(path: Path, own: list[int]) -> list[int] | None:
    """Repair a file, unless it is refused; then it has only records of its own, in order."""
    before = path.read_bytes()
    try:
        records.repair(path, threads=1)
    except records.RecordsError:
        assert path.read_bytes() == before
        return None
    found = ids(read_all(path, threads=1))
    assert in_order(found, own), (found, own)
    assert records.verify(path, threads=1).ok
    return found


def run(folder: Path, seed: int) -> None:
    """Check readers and `repair` with a randomly damaged, truncated and joined file."""
    maker = Maker(folder, seed)
    chance = maker.chance
    path = folder / f"{seed}.rec"
    data, frames = maker.file(2)
    own = [number for frame in frames for number in ids(frame[2])]
    changed = bytearray(data)
    damages = chance.choice((0, 0, 1, 1, 2, 3)) if data else 0
    for _ in range(damages):
        maker.damaged(changed, [frame[0] for frame in frames])
    if chance.random() < 0.5 and len(changed) > 200:
        inner = [at for at in range(len(changed)) if changed.startswith((b"RecF", b"RecI"), at)]
        near = chance.choice([*inner, len(changed)]) + chance.randrange(-30, 200)
        del changed[max(chance.choice((near, chance.randrange(len(changed)))), 60) :]
    end = len(changed)
    if end < fmt.FILE_HEADER_SIZE:
        return  # too short to be a record file: another file appended to it would be the first file
    other = maker.file(1)[0] if chance.random() < 0.4 else b""
    changed += other
    if other and chance.random() < 0.2:
        damages += 1
        maker.damaged(changed, [end])
    path.write_bytes(changed)
    found = check_readers(path, own)
    check_plainly(path, own, found)
    whole = [frame for frame in frames if frame[1] <= end]
    left = [number for frame in whole for number in ids(frame[2])]
    last = max((frame[1] for frame in whole), default=fmt.FILE_HEADER_SIZE)
    repaired = check_repair(path, own)
    if damages:
        return
    is_joined = len(other) >= fmt.FILE_HEADER_SIZE
    is_closed = changed.endswith(TABLE_END)  # such a file is refused because of the table at its end
    cut = next((frame[1] for frame in frames if frame[1] > end), None)  # where the truncated frame would have ended
    if is_joined and (is_closed or end == last or (cut is None and bytes(changed[:end]).endswith(TABLE_END))):
        assert (found, repaired) == (None, None)
    else:
        # joined files look the same if a file in a record ends where the file was cut, or if another one begins at
        # the end of the truncated frame or of the index
        index = fmt.parse_skippable(bytes(changed[last:]))
        after = cut or last + (index[0] if index else len(changed))
        is_doubtful = (is_closed and end > last) or fmt.parse_file_header(bytes(changed[after:])) is not None
        if found is not None and repaired is None:  # the torn frame contains a header: `repair` refuses the file
            assert records.inspect(path).torn
            repaired = found
        assert (found, repaired) == (left, left) or (is_doubtful and (found, repaired) == (None, None))


@pytest.mark.parametrize(("seed", "every"), [(1, 151), pytest.param(SEED, 1, marks=pytest.mark.nightly)])
def test_damage_at_any_byte(path: Path, seed: int, every: int) -> None:
    """Flip bits of a file whose last frame contains another file; also truncate it and join it to another file."""
    maker = Maker(path.parent, seed)
    chance = random.Random(seed)
    with records.open(path, "wb", **AS_THEY_ARE) as writer:
        writer.append([-1, b""])
        writer.flush()
        inner = b"".join(maker.file(1)[0] for _ in range(2))
        writer.append([-2, maker.chance.randbytes(6) + inner + maker.chance.randbytes(6)])
    end, closed, other = spans(path)[-1].end, path.read_bytes(), path.with_name("other.rec")
    if _backend.zstd().BACKEND == "pure" and inner not in closed:
        pytest.skip("the pure encoder compresses it")
    write_all(other, [[-3, b""]], **AS_THEY_ARE)
    ends = {closed.index(inner) + len(inner), *(end - more for more in (0, 3, 4, 9, 300)), len(closed)}
    for at in range(chance.randrange(every), len(closed), every):
        damaged = flipped(closed, at, 1 << chance.randrange(8))
        for cut in ends:
            for behind in (b"", other.read_bytes()):
                path.write_bytes(damaged[:cut] + behind)
                found = check_readers(path, [-1, -2])
                check_plainly(path, [-1, -2], found)
                repaired = check_repair(path, [-1, -2])
                if behind or cut >= end:
                    assert repaired == found
                    assert (found is None) == bool(behind)


@pytest.mark.parametrize("rounds", [fewer(20), pytest.param(20_000, marks=pytest.mark.nightly)])
def test_random_files(tmp_path: Path, rounds: int) -> None:
    found_by_nightly = (20243175, 20254127, 20259788)
    for seed in (*found_by_nightly, *range(SEED, SEED + rounds)):
        try:
            run(tmp_path, seed)
            (tmp_path / f"{seed}.rec").unlink(missing_ok=True)
        except Exception as exc:
            raise AssertionError(f"seed {seed}") from exc
