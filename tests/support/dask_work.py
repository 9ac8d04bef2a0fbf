# SPDX-License-Identifier: Apache-2.0
"""Work for the workers of a cluster: it stands in a module that they can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import secede

from cpkg import records


def pids(part: Any) -> list[int]:
    """Return the process that works on a partition."""
    list(part)
    return [os.getpid()]


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {"number": 2 * row["number"]}


def kill_once(marker: str) -> None:
    """Kill this process, unless that was done before under the same name."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(row: dict[str, Any], marker: str) -> dict[str, Any]:
    """Die in the middle of a partition, the first time that it comes to one of these records."""
    if row["number"] in (150, 250):
        kill_once(f"{marker}-{row['number']}")
    return row


class Fatal:
    """A value that kills who packs it, once; afterwards it is a number."""

    def __init__(self, value: int, marker: str) -> None:
        self.value = value
        self.marker = marker


def with_fatal(row: dict[str, Any], marker: str) -> dict[str, Any]:
    number = row["number"]
    return {**row, "number": Fatal(number, f"{marker}-{number}")} if number in (150, 250) else row


def pack_fatal(value: Fatal) -> int:
    kill_once(value.marker)
    return value.value


def die(row: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refused(row: int, error: type[BaseException]) -> int:
    if row == 2:
        raise error("no more")
    return row


def refused_once(row: int, marker: str) -> int:
    if row == 2 and not os.path.exists(marker):
        Path(marker).touch()
        raise ValueError("no more")
    return row


def unpackable(row: Any, number: int) -> Any:
    """Return what cannot be packed in the place of one record, by its value or its number."""
    return object() if number in (row, isinstance(row, dict) and row["number"]) else row


def late_or_failing(row: dict[str, Any], number: int, started: str, go: str) -> dict[str, Any]:
    """Fail at one record as soon as another worker packs another one, which waits for `go` there."""
    if row["number"] == number:
        secede()  # so that this worker does what is waited for, if the scheduler gave it both
        wait_for(started)
        raise ValueError("no more")
    return {**row, "number": Waiting(started, go)} if row["number"] == 150 else row


@dataclass
class Waiting:
    """A value that says when it is packed, and waits then."""

    started: str
    go: str


def pack_waiting(value: Waiting) -> int:
    Path(value.started).touch()
    wait_for(value.go)
    return 150


def wait_for(path: str) -> None:
    for _ in range(6000):
        if os.path.exists(path):
            return
        time.sleep(0.01)
    raise TimeoutError(path)


def written_between(row: int, url: str) -> int:
    """Put a part into the folder, as another write does."""
    with records.open(f"{url}/part-00000.rec", "wb") as writer:
        writer.append("other")
    return row
