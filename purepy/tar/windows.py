# SPDX-License-Identifier: Apache-2.0
"""
Refuse names that Windows would interpret differently or confuse with another name.

Windows does not distinguish `A` and `a`, removes dots and spaces at the end, treats `NUL.txt` as a device, `C:x` as a
path on a drive, `a:b` as a stream of the file `a`, and a backslash as a slash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from purepy.tar import names
from purepy.tar.entry import HARDLINK, SYMLINK, Entry

_NOT_IN_NAMES: Final = re.compile('[\x00-\x1f<>:"|?*\\\\\ud800-\udfff]')
_DEVICES: Final = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³])\s*(\.|$)")


def fault(part: str) -> str | None:
    """Return why a component of a path is refused, or None if Windows can use exactly this name."""
    found = _NOT_IN_NAMES.search(part)
    if found is not None:
        return f"has {found.group()!r} in its name, which Windows does not allow"
    if part[-1:] in (".", " "):
        return f"has {part[-1]!r} at the end of {part!r}, which Windows removes"
    if _DEVICES.match(part):
        return f"has {part!r} in its name, which is a device on Windows"
    return None


def folded(name: str) -> str:
    """Return a name as Windows compares it: in upper case, where each character remains one character."""
    upper = name.upper()
    return upper if len(upper) == len(name) else "".join(big if len(big := c.upper()) == 1 else c for c in name)


class Spellings:
    """Records the names of extracted entries, to refuse a name that differs from another only in case."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def check(self, entry: Entry, parts: list[str], filter_name: str, strip: int = 0) -> None:
        """
        Record the path `parts` of an entry; raise UnsafeEntryError unless Windows can create exactly this path.

        Also raises it for a path that differs only in case from a recorded path. The target of a hard link must also be
        a path that Windows can create; with the filter `data`, so must the target of a symbolic link.
        """
        self._check_parts(entry, parts)
        if entry.type == HARDLINK:
            self._check_parts(entry, names.link_target(entry, strip))
        elif entry.type == SYMLINK and filter_name == names.DATA:
            self._check_parts(entry, (part for part in entry.linkname.split("/") if part not in ("", ".", "..")))
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            known = self._known.setdefault(folded(path), path)
            if known != path:
                raise names.refused(entry, f"differs from {known!r} only in upper and lower case")

    def _check_parts(self, entry: Entry, parts: Iterable[str]) -> None:
        for part in parts:
            why = fault(part)
            if why is not None:
                raise names.refused(entry, why)
