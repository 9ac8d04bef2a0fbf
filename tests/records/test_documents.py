# SPDX-License-Identifier: Apache-2.0
"""Documents about record files: run the examples, compare the test vectors byte by byte."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from documents import blocks, check_examples, section

from cpkg import records
from cpkg.records import format as fmt


def vectors() -> list[bytes]:
    """Return the files whose bytes are in the document of the format."""
    return [bytes.fromhex(block) for block in blocks(section("records_format.md", "Test vectors"), "")]


EXPECTED: list[tuple[list[Any], int, int]] = [
    # records, number of lost records, torn bytes
    ([], 0, 0),
    ([{"a": 1}, [True, None], "x" * 40], 0, 0),
    ([{"a": 1}, [True, None]], 0, 82),
    (["x" * 40], 2, 0),
]


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_vectors_are_read_as_it_is_said(number: int) -> None:
    assert len(vectors()) == len(EXPECTED)
    data, (values, marked, torn) = vectors()[number], EXPECTED[number]
    with records.open(io.BytesIO(data)) as reader:
        assert list(reader) == values
        assert len(reader) == len(values) + marked
    report = records.verify(io.BytesIO(data))
    assert (report.records, report.marked, report.torn) == (len(values), marked, torn)
    assert report.indexed == (not torn)
    assert not report.damage + report.problems


@pytest.mark.parametrize("number", [0, 1, 3])
def test_headers_and_index_are_written_as_it_is_said(path: Path, number: int) -> None:
    """Everything except the frames themselves, which depend on the version of Zstandard."""
    data = vectors()[number]
    path.write_bytes(data[: data.index(fmt.INDEX) - 8])
    records.repair(path)
    assert path.read_bytes() == data


def test_the_examples() -> None:
    check_examples("records.md", 15, but="Dask")
