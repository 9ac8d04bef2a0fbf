# SPDX-License-Identifier: Apache-2.0
"""Work for the workers of a cluster: it stands in a module that they can import."""

from __future__ import annotations

import os
import signal
from typing import Any


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
