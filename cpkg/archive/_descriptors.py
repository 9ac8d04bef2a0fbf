# SPDX-License-Identifier: Apache-2.0
"""How many files and directories an extraction keeps open: its part of those that the process may still open."""

from __future__ import annotations

from typing import Final, NamedTuple

from cpkg.archive._threads import spare_descriptors

_PER_BATCH: Final = 64
_DEPTH: Final = 256


class Descriptors(NamedTuple):
    """
    The descriptors that the parts of an extraction may have.

    `tree_max` directories, one below the other, for Python and `depth_max` for C; `batches_max` batches that wait to be
    written or are, each with the files that it writes, and in each `held_max` directories.
    """

    tree_max: int
    depth_max: int
    batches_max: int
    held_max: int


def divided(batches: int) -> Descriptors:
    """Divide the free descriptors among the parts of an extraction, each of which wants so many batches."""
    part = max(spare_descriptors() // 8, 2)
    batches_max = min(batches, part)  # each has a file to write, and perhaps one that goes on in the next
    return Descriptors(
        tree_max=min(max(part // 2, 2), _DEPTH),
        depth_max=min(part, _DEPTH),
        batches_max=batches_max,
        held_max=min(max(3 * part // (batches_max + 1), 1), _PER_BATCH),
    )
