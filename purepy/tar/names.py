# SPDX-License-Identifier: Apache-2.0
"""
Decide whether an entry is extracted, and with which name and attributes.

The filters are the same as in tarfile (PEP 706), with these rules. A name with a component `..` is refused. With the
filter `data`, the text of a symbolic link is normalized, so that `..` occurs only at its beginning. Followed from the
link's directory, the text must not lead outside the directory of the extraction. The extraction never follows links on
the way to an entry, so these rules hold for any combination of links.
"""

from __future__ import annotations

from typing import Final

from purepy.base.errors import UnsafeEntryError
from purepy.tar.entry import DIRECTORY, FILE, HARDLINK, SYMLINK, Entry

DATA: Final = "data"
TAR: Final = "tar"
TRUSTED: Final = "fully_trusted"
FILTERS: Final = (DATA, TAR, TRUSTED)

_ORDINARY: Final = (FILE, HARDLINK, SYMLINK, DIRECTORY)


def refused(entry: Entry, why: str) -> UnsafeEntryError:
    """Return the error for an entry that must not be extracted."""
    error = UnsafeEntryError(f"{entry.name!r} {why}")
    error.entry = entry.name
    error.offset = entry.position
    return error


def target_path(entry: Entry, strip: int = 0) -> list[str] | None:
    """
    Return the path components at which an entry is extracted, without `.` and leading slashes.

    Returns None if removing the first `strip` components (`.` counts) leaves no component, and [] for the directory of
    the extraction itself. Raises UnsafeEntryError for a name with `..`.
    """
    parts = entry.name.split("/")
    if "" in parts:
        parts = [part for part in parts if part]
    if ".." in parts:
        raise refused(entry, "has '..' in its name and would be written outside the directory")
    if strip and len(parts) <= strip:
        return None
    if strip:
        del parts[:strip]
    return [part for part in parts if part != "."] if "." in parts else parts


def link_target(entry: Entry, strip: int = 0) -> list[str]:
    """
    Return the path components of the file that a hard link names, without the first `strip`.

    Raises UnsafeEntryError if the path contains `..`, or if no component is left.
    """
    parts = [part for part in entry.linkname.split("/") if part]
    target = [part for part in parts[strip:] if part != "."]
    if ".." in parts or not target:
        raise refused(entry, f"is a link to {entry.linkname!r}, which is outside the directory")
    return target


def symlink_text(entry: Entry, parts: list[str], filter_name: str) -> str:
    """
    Return the text of a symbolic link at the path `parts`; the filter `data` normalizes it if necessary.

    With this filter, raises UnsafeEntryError if the text is absolute or leads outside the directory.
    """
    text = entry.linkname
    if filter_name != DATA:
        return text
    if text.startswith("/"):
        raise refused(entry, f"is a link to the absolute path {text!r}")
    ups = 0
    rest: list[str] = []
    is_normal = True
    for part in text.split("/"):
        if part == "..":
            if rest:
                rest.pop()
                is_normal = False
            else:
                ups += 1
        elif part not in ("", "."):
            rest.append(part)
    if ups > len(parts) - 1:
        raise refused(entry, f"is a link to {text!r}, which is outside the directory")
    return text if is_normal else "/".join([".."] * ups + rest) or "."


def check_type(entry: Entry, filter_name: str) -> None:
    """Raise UnsafeEntryError for a device or fifo with the filter `data`."""
    if filter_name == DATA and entry.type not in _ORDINARY:
        raise refused(
            entry, f"is a {entry.type}{'' if entry.type == 'fifo' else ' device'}, which the filter 'data' refuses"
        )


def target_mode(mode: int, kind: str, filter_name: str) -> int:
    """Return the permissions for an entry of the type `kind`: `mode`, changed as in PEP 706 unless `fully_trusted`."""
    if filter_name == TRUSTED:
        return mode
    mode &= 0o755
    if filter_name == TAR:
        return mode
    if kind == DIRECTORY:
        return mode | 0o700
    if not mode & 0o100:
        mode &= ~0o111
    return mode | 0o600


def keeps_attribute(name: str, filter_name: str) -> bool:
    """Return whether a filter keeps an attribute: `data` keeps user.*, `tar` all but capabilities, the third all."""
    if filter_name == DATA:
        return name.startswith("user.")
    return filter_name == TRUSTED or name != "security.capability"
