# SPDX-License-Identifier: Apache-2.0
"""Functions for the workers of a cluster, in a module that they can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from distributed import secede

from cpkg import records


def pids(part: Any) -> list[int]:
    """Return a list with the id of the process that works on a partition."""
    list(part)
    return [os.getpid()]


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {"number": 2 * row["number"]}


def kill_once(marker: str) -> None:
    """Kill this process and create the file `marker`; do nothing if this file exists."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Fatal:
    """A value that kills the first process that packs it, and that other processes pack as a number."""

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
    """Return the record, but an object that cannot be packed if `number` is the record or its "number"."""
    return object() if number in (row, isinstance(row, dict) and row["number"]) else row


def late_or_failing(row: dict[str, Any], number: int, started: str, go: str) -> dict[str, Any]:
    """Fail at the record `number` while another worker packs record 150, which takes until the file `go` exists."""
    if row["number"] == number:
        secede()  # lets this worker run the other task meanwhile, if the scheduler has given both tasks to it
        wait_for(started)
        raise ValueError("no more")
    return {**row, "number": Waiting(started, go)} if row["number"] == 150 else row


class Waiting:
    """A value whose packing creates the file `started`, and then waits for the file `go`."""

    def __init__(self, started: str, go: str) -> None:
        self.started = started
        self.go = go


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
    """Write a part into the folder, as another program could do at the same time; return the row."""
    with records.open(f"{url}/part-00000.rec", "wb") as writer:
        writer.append("other")
    return row
