# SPDX-License-Identifier: Apache-2.0
"""How many processors a process may use, and the values of the argument `threads`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from archives import make_files

import cpkg
from cpkg import archive, records, zstd
from purepy.base import cores

pytestmark = pytest.mark.once

GROUPS = json.loads(Path(__file__).with_name("control_groups.json").read_text(encoding="utf-8"))
"""The text of /proc/self/cgroup, files of the mounted groups, and the number of cores they allow (0: all)."""


@pytest.mark.parametrize(("membership", "files", "expected"), GROUPS.values(), ids=GROUPS)
def test_a_control_groups_quota(tmp_path: Path, membership: str, files: dict[str, str], expected: int) -> None:
    root = tmp_path / "mounted"
    make_files(root, {name: text.encode() for name, text in files.items()})
    (tmp_path / "cgroup").write_text(membership)
    assert cores.quota_cores(str(tmp_path / "cgroup"), str(root)) == expected
    assert cores.quota_cores(str(tmp_path / "absent"), str(root)) == 0


@pytest.mark.parametrize(
    ("processors", "affinity", "quota", "expected"),
    [(8, 3, 0, 3), (8, 8, 2, 2), (8, 1, 5, 1), (None, None, 0, 1), (4, None, 0, 4)],
)
def test_usable_cores(
    monkeypatch: pytest.MonkeyPatch, processors: Any, affinity: Any, quota: int, expected: int
) -> None:
    system = SimpleNamespace(cpu_count=lambda: processors)
    if affinity is not None:
        system.sched_getaffinity = lambda pid: set(range(affinity))
    monkeypatch.setattr(cores, "os", system)
    monkeypatch.setattr(cores, "_quota", quota)
    assert cores.usable_cores() == expected
    assert [cores.thread_count(count) for count in (0, 1, 256)] == [expected, 1, 256]
    assert cores.checked_threads(0) == 0


def test_every_use_has_the_same_limits(tmp_path: Path) -> None:
    calls = [
        cores.thread_count,
        lambda threads: zstd.compress(b"", threads=threads),
        lambda threads: records.open(io.BytesIO(), "wb", threads=threads),
        lambda threads: archive.create(tmp_path, tmp_path / "new.tar.zst", threads=threads),
    ]
    for call in calls:
        for value in (-1, 257):
            pytest.raises(ValueError, call, value).match(f"threads must be 0 to 256, not {value}")
        pytest.raises(TypeError, call, "2")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda path: cpkg.dumps(1, level="high"), "level"),
        (lambda path: archive.create(path, ".", level=None), "level"),
        (lambda path: archive.create(path, ".", frame_size="1M"), "frame_size"),
        (lambda path: archive.create(path, ".", threads="all"), "threads"),
        (lambda path: records.open(path, "wb", level="high"), "level"),
        (lambda path: records.open(path, "wb", frame_size="1M"), "frame_size"),
        (lambda path: zstd.compress(b"a", threads=2, frame_size="1M"), "frame_size"),
    ],
)
def test_an_argument_that_is_no_int_is_named(tmp_path: Path, call: Callable[[Path], object], name: str) -> None:
    pytest.raises(TypeError, call, tmp_path / "file").match(rf"^{name} must be an int, not (str|NoneType)$")
    assert not list(tmp_path.iterdir())
