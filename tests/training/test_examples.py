# SPDX-License-Identifier: Apache-2.0
"""Record files as training data: shuffled by number, by worker processes, and from a given step."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from documents import blocks, section

from cpkg import records

COUNT = 1000


@pytest.fixture(params=["file", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return one file with the samples, or a folder of three."""
    shards = 1 if request.param == "file" else 3
    for shard in range(shards):
        with records.open(tmp_path / f"{shard}.rec", "wb", frame_size=2000) as writer:
            writer.extend([{"number": number} for number in range(COUNT) if number * shards // COUNT == shard])
    return tmp_path / "0.rec" if shards == 1 else tmp_path


def example(library: str, place: Path) -> dict[str, Any]:
    """Run the document's example that imports a library; return its names."""
    (code,) = (code for code in blocks(section("records.md", "For training"), "python") if library in code)
    names: dict[str, Any] = {}
    exec(code.replace('"samples.rec"', repr(str(place))), names)
    return names


def numbers(batches: Any) -> list[int]:
    return [sample["number"] for batch in batches for sample in batch]


@pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes:UserWarning")  # on one core
def test_torch(place: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    names = example("torch", place)
    with names["samples"]:
        rest = numbers(names["loader"])
    order = random.Random(1).sample(range(COUNT), COUNT)
    assert rest == order[320:]
    with records.open(place) as samples:
        for context in ("fork", "spawn"):
            loader = data.DataLoader(
                samples, batch_size=32, sampler=order, num_workers=2, collate_fn=list, multiprocessing_context=context
            )
            assert numbers(loader) == order


def test_grain(place: Path) -> None:
    grain = pytest.importorskip("grain")
    names = example("grain", place)
    with names["samples"]:
        rest = numbers(names["batches"])
    assert sorted(rest) == list(range(COUNT))
    assert rest != sorted(rest)
    with records.open(place) as samples:
        batches = iter(grain.MapDataset.source(samples).seed(1).shuffle().to_iter_dataset().batch(32, batch_fn=list))
        begun = numbers(next(batches) for _ in range(10))
        again = iter(grain.MapDataset.source(samples).seed(1).shuffle().to_iter_dataset().batch(32, batch_fn=list))
        again.set_state(batches.get_state())
        assert [*begun, *numbers(again)] == rest
