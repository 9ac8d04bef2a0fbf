# SPDX-License-Identifier: Apache-2.0
"""Help texts at the width of the terminal, and numbers of things."""

from __future__ import annotations

import re

_WIDEST = 100


def fitted(text: str, width: int | None = None) -> str:
    """Return a help text with its long lines broken, each going on below the start of its last column."""
    import shutil
    import textwrap

    width = min(width or shutil.get_terminal_size().columns, _WIDEST)
    lines = []
    for line in text.splitlines():
        column = re.match(r" *(\S+( \S+)* {2,})?", line)
        indent = " " * (column.end() if column is not None else 0)
        if len(line) > width > 2 * len(indent):
            # what stands in front of the last column keeps its spaces
            head, tail = line[: len(indent)], line[len(indent) :]
            wrapped = textwrap.wrap(tail, width - len(indent), break_long_words=False, break_on_hyphens=False)
            lines += [head + wrapped[0], *(indent + more for more in wrapped[1:])]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def counted(number: int, noun: str) -> str:
    """Return "1 record", "2 records"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def squeezed(content: int, stored: int) -> str:
    """Say how much smaller content is as it is stored, in bytes."""
    return f"compressed {content / stored:.2f} times" if content > stored else "not made smaller by compressing"


def following(size: int) -> str:
    """Say how much there is behind an object that should be the only one."""
    return f"{counted(size, 'byte')} {'follows' if size == 1 else 'follow'} the object"
