# SPDX-License-Identifier: Apache-2.0
"""Numbers of users and groups by their names; what was looked up is kept."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)
def owner_number(name: str, is_user: bool) -> int | None:
    """Return the number that a user's or group's name has here, None if it has none."""
    try:
        if is_user:
            import pwd

            return pwd.getpwnam(name).pw_uid
        import grp

        return grp.getgrnam(name).gr_gid
    except (ImportError, KeyError, ValueError):  # a name with a NUL, or one that cannot be encoded
        return None
