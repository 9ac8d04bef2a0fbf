# SPDX-License-Identifier: Apache-2.0
"""Look up users and groups by name or number, with a cache."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)
def owner_number(name: str, is_user: bool) -> int | None:
    """Return the number of a user or group on this system, None if the name is unknown."""
    try:
        if is_user:
            import pwd

            return pwd.getpwnam(name).pw_uid
        import grp

        return grp.getgrnam(name).gr_gid
    except (ImportError, KeyError, ValueError):  # a name with a NUL, or one that cannot be encoded
        return None


@lru_cache(maxsize=1024)
def owner_name(number: int, is_user: bool) -> str:
    """Return the name of the user or group with this number, "" if the number is unknown."""
    try:
        if is_user:
            import pwd

            return pwd.getpwuid(number).pw_name
        import grp

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError, OverflowError):
        return ""
