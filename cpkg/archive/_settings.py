# SPDX-License-Identifier: Apache-2.0
"""The options of `create` and `extract`, checked once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, Union, cast

from cpkg import _backend
from cpkg.archive._result import Problem, Problems
from purepy.base import system
from purepy.base.cores import checked_int, thread_count
from purepy.base.errors import CodecError
from purepy.base.lazy import imported
from purepy.tar import names, patterns
from purepy.tar.acl import ACL_KEYS
from purepy.tar.decode import NUMBER_MAX, SECONDS_MAX
from purepy.tar.encode import NANO, OCTAL_7_MAX, encoded
from purepy.tar.entry import Entry
from purepy.tar.windows import Spellings
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN

if TYPE_CHECKING:
    from purepy.base.types import Named

LEVEL: Final = 3
FRAME_SIZE: Final = 8 << 20
"""The default size of a frame's content in bytes. Frames are decompressed independently; a thread needs only a few."""
_FRAME_SIZE_MIN: Final = 64 << 10
_FRAME_SIZE_MAX: Final = 32 << 20
"""Larger frames would be read in pieces, by one thread."""
WINDOW_LOG_MAX: Final = 27
CONTENT_MIN: Final = 1 << 30
CONTENT_RATIO: Final = 250
"""By default, extract accepts 1 GiB of content, or 250 times the compressed bytes read so far if that is more."""

Patterns = Union[str, Iterable[str]]
Select = Callable[[Entry], "Entry | None"]
_Call = TypeVar("_Call", bound="Callable[..., Any] | None")


def threads_of(threads: int | None) -> int:
    """Return the number of threads for an argument `threads`; None and 0 mean one per core."""
    return thread_count(0 if threads is None else threads)


def frames_ahead(threads: int) -> int:
    """Return how many frames are compressed or decompressed in advance: `threads` + 1, but only 1 for one thread."""
    return threads + 1 if threads > 1 else 1


def native_frames() -> Named | None:
    """
    Return the module `_native_frames`; None if the backend has no C functions that load, so Python does the work.

    The backend is the one that zstd uses, unless `CPKG_ARCHIVE_BACKEND` or `CPKG_BACKEND` names one: `native` has the C
    functions, `dlopen`, `stdlib` and `pure` lack them. Raises ImportError if the named backend cannot load.
    """
    policy, source = _backend.policy("archive")
    backend = _backend.zstd() if policy == "auto" else _backend.load("zstd", policy)
    if not backend.HAS_ARCHIVES:
        return None
    try:
        return imported("cpkg.archive._native_frames")
    except ImportError as exc:
        if policy == "auto":
            return None
        raise ImportError(f"{source}={policy}: {exc}") from exc


def pattern_list(given: Patterns) -> list[str]:
    """Return one pattern or several as a list; raises ValueError for a pattern with NUL."""
    patterns = [given] if isinstance(given, str) else list(given)
    for pattern in patterns:
        if "\0" in pattern:
            raise ValueError(f"a pattern must not contain NUL: {pattern!r}")
    return patterns


def selected(select: Select, entry: Entry) -> Entry | None:
    """
    Return the entry that `select` returns for `entry`; None if it leaves the entry out.

    Raises TypeError for a result that is not an Entry, and ValueError or TypeError for an invalid change.
    """
    before = entry.replace()
    found = select(entry)
    if found is None:
        return None
    if not isinstance(found, Entry):
        raise TypeError(f"select must return an Entry or None, not {found!r}")
    if found != before:
        _check_change(found, before)
    return found


def _check_change(entry: Entry, before: Entry) -> None:
    """
    Raise ValueError or TypeError if `entry`, which `select` returned for `before`, is invalid.

    Its type, size, sparse map and position must be unchanged, and its other fields must be valid.
    """

    def refuse(name: str, expected: str, kind: type[Exception] = ValueError) -> None:
        found = getattr(entry, name)
        raise kind(f"select returned an invalid {name} for {before.name!r}: expected {expected}, found {found!r}")

    for name in ("type", "size", "sparse", "position"):
        if getattr(entry, name) != getattr(before, name):
            refuse(name, f"the unchanged {getattr(before, name)!r}")
    for name in ("name", "linkname", "uname", "gname"):
        text = getattr(entry, name)
        if not isinstance(text, str):
            refuse(name, "a str", TypeError)
        if "\0" in text or (name == "name" and (not text or text.endswith("/"))):
            refuse(name, "text that is not empty, without NUL and without a slash at the end")
        encoded(text)
    time_max = SECONDS_MAX * NANO
    limits = {"mode": (0, 0o7777), "uid": (0, NUMBER_MAX), "gid": (0, NUMBER_MAX), "mtime_ns": (-time_max, time_max)}
    for name, (low, high) in limits.items():
        if not isinstance(getattr(entry, name), int):
            refuse(name, "an int", TypeError)
        if not low <= getattr(entry, name) <= high:
            refuse(name, f"{low} to {high}")
    if entry.device != before.device and not all(0 <= number <= OCTAL_7_MAX for number in entry.device):
        refuse("device", f"two numbers from 0 to {OCTAL_7_MAX}")
    for key, value in (entry.xattrs or {}).items():
        if not (isinstance(key, str) and isinstance(value, bytes)):
            refuse("xattrs", "str keys and bytes values", TypeError)
        if not key or "\0" in key:
            refuse("xattrs", "keys that are not empty and have no NUL")


def _source_date() -> int:
    text = os.environ.get("SOURCE_DATE_EPOCH", "0")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, not {text!r}") from None


class CreateSettings(NamedTuple):
    """The arguments of `create` about the content of an archive, as given; `checked` returns them validated."""

    level: int
    frame_size: int
    exclude: Patterns
    include: Patterns
    recursive: bool
    sort: bool
    mtime: float | None
    owner: tuple[int, int] | None
    numeric_owner: bool
    reproducible: bool
    xattrs: bool
    acls: bool
    sparse: bool
    select: Select | None

    def checked(self) -> CreateSettings:
        """
        Return valid settings: patterns as lists, and sort, mtime, owner and numeric_owner as `reproducible` implies.

        Raises ValueError for an invalid value, TypeError for a level or frame size that is not an integer.
        """
        if not _FRAME_SIZE_MIN <= checked_int("frame_size", self.frame_size) <= _FRAME_SIZE_MAX:
            raise ValueError(
                f"frame_size must be {_FRAME_SIZE_MIN:,} to {_FRAME_SIZE_MAX:,} bytes, not {self.frame_size:,}"
            )
        if not LEVEL_MIN <= checked_int("level", self.level) <= LEVEL_MAX:
            raise ValueError(f"level must be {LEVEL_MIN} to {LEVEL_MAX}, not {self.level}")
        mtime = _source_date() if self.mtime is None and self.reproducible else self.mtime
        if mtime is not None and not -SECONDS_MAX <= mtime <= SECONDS_MAX:
            raise ValueError(f"mtime must be -2**55 to 2**55 seconds since 1970, not {mtime}")
        owner = (0, 0) if self.owner is None and self.reproducible else self.owner
        if owner is not None and not (len(owner) == 2 and all(0 <= number <= NUMBER_MAX for number in owner)):
            raise ValueError(f"owner must be the numbers of a user and a group, each 0 to {NUMBER_MAX}, not {owner}")
        return self._replace(
            exclude=pattern_list(self.exclude),
            include=pattern_list(self.include),
            sort=self.sort or self.reproducible,
            mtime=mtime,
            owner=owner,
            numeric_owner=self.numeric_owner or self.reproducible,
        )

    @property
    def mtime_ns(self) -> int | None:
        """The time of all entries in nanoseconds; None if each entry has the time of its file."""
        mtime = self.mtime
        return None if mtime is None else int(mtime * NANO) if isinstance(mtime, float) else mtime * NANO


class Wanted:
    """Decides by the patterns `include` and `exclude` which entries of an archive are wanted."""

    def __init__(self, include: Patterns, exclude: Patterns) -> None:
        # a slash at the end is ignored, as in GNU tar
        self.include = [pattern.rstrip("/") or pattern for pattern in pattern_list(include)]
        self.exclude = pattern_list(exclude)
        self._is_included = patterns.matcher(self.include, anchored=True)
        self._is_excluded = patterns.matcher(self.exclude, anchored=False)
        self._unmatched = {pattern: patterns.matcher([pattern], anchored=True) for pattern in self.include}

    def takes(self, name: str) -> bool:
        """
        Return whether the entry `name` is wanted: `include` is empty or matches it, and `exclude` does not match.

        Also notes which patterns of `include` matched.
        """
        if self._is_included is not None and not self._is_included(name):
            return False
        if self._unmatched:
            for pattern in [pattern for pattern, matches in self._unmatched.items() if matches and matches(name)]:
                self._unmatched.pop(pattern, None)
        return self._is_excluded is None or not self._is_excluded(name)

    def report_unmatched(self, problems: Problems) -> None:
        """Report each pattern of `include` that matched no name passed to `takes`, as tar does."""
        for pattern in self._unmatched:
            problems.add(Problem(pattern, "not found in the archive"))


@dataclass
class ExtractSettings:
    """The arguments of `extract` about its entries and callbacks, checked."""

    wanted: Wanted
    strip: int
    filter: str
    recover: bool
    xattrs: bool
    acls: bool
    numeric_owner: bool
    select: Select | None
    on_entry: Callable[[Entry], object] | None

    def __post_init__(self) -> None:
        self.raised: list[CodecError] = []
        """With `recover`, the CodecErrors that callbacks and the caller's file raised, which do not mean damage."""
        self.select = self.noting(self.select)
        self.on_entry = self.noting(self.on_entry)
        if self.strip < 0:
            raise ValueError(f"strip_components must be 0 or more, not {self.strip}")
        if self.filter not in names.FILTERS:
            raise ValueError(f"unknown filter {self.filter!r}: expected one of {', '.join(names.FILTERS)}")
        self.owns = self.filter != names.DATA and system.is_root()
        """Whether the owners of files are set."""
        self.spellings = Spellings() if system.IS_WINDOWS else None
        """On Windows, detects different names that are the same file there; None on other systems."""

    def noting(self, call: _Call) -> _Call:
        """
        Return a wrapper of a callback that adds a CodecError from it to `raised`, and raises the error again.

        Returns `call` itself if it is None, or if `recover` is false.
        """
        if call is None or not self.recover:
            return call

        def noted(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except CodecError as exc:
                self.raised.append(exc)
                raise

        return cast("_Call", noted)

    def sets_attribute(self, name: str) -> bool:
        """Return whether a stored extended attribute `name`, which may be an access control list, is set on files."""
        return self.acls if name in ACL_KEYS else self.xattrs and names.keeps_attribute(name, self.filter)


class ContentLimit:
    """
    The limits of an archive: at most `max_size` bytes of content, and windows of at most 2**`window_log_max` bytes.

    If `max_size` is -1, the content has no limit; if it is None, the limit depends on the compressed bytes read so far.
    """

    def __init__(self, max_size: int | None, window_log_max: int = WINDOW_LOG_MAX) -> None:
        if not 10 <= window_log_max <= 31:
            raise ValueError(f"window_log_max must be 10 to 31, not {window_log_max}")
        if max_size is not None and max_size < -1:
            raise ValueError(f"max_size must be a number of bytes, or -1 for no limit, not {max_size}")
        self._max_size = max_size
        self.window_log_max = window_log_max

    def allowed(self, consumed: int) -> int:
        """Return the most bytes of content allowed after `consumed` compressed bytes were read; 2**63 for no limit."""
        if self._max_size is None:
            return max(CONTENT_MIN, CONTENT_RATIO * consumed)
        return (1 << 63) if self._max_size == -1 else self._max_size
