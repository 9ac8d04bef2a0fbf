# SPDX-License-Identifier: Apache-2.0
"""
`dump` and `load`: what `dumps` and `loads` do, with files.

Their options are spelled out again, because type checkers and help() show them so, and because handing them on as a
dict makes `load` of a short message more than twice as slow; a test holds them to those of `dumps` and `loads`.
"""

from __future__ import annotations

import errno
import io
import os

from cpkg._job import LEVEL, MAX_DEPTH, MIN_SIZE, TIMESTAMP, Compress, chosen_codecs
from purepy._lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _is_path(path_or_file: Any) -> bool:
    return isinstance(path_or_file, (str, bytes, os.PathLike))


def dump(
    obj: Any,
    path_or_file: Any,
    *,
    compress: Compress = "auto",
    level: int = LEVEL,
    min_size: int = MIN_SIZE,
    checksum: bool = True,
    default: Callable[[Any], Any] | None = None,
    sort_keys: bool = False,
    max_depth: int = MAX_DEPTH,
) -> None:
    """
    Write `obj` to a path or to a file object opened for bytes, in the form of `dumps`, whose arguments it takes.

    A file named by a path appears whole or not at all: it is written under another name beside it, brought to the
    disk, and renamed. Its permissions are those that `open` would give; one that is replaced keeps its mode, and its
    owner, group and extended attributes as far as this process may set them, but other hard links to it keep the old
    content. To a file object nothing is written if packing fails.

    Raises OSError if the file cannot be written, BlockingIOError if it would block, and TypeError for a file opened
    for text, else what `dumps` raises.
    """
    if not _is_path(path_or_file):
        if isinstance(path_or_file, io.TextIOBase):
            raise TypeError("dump writes bytes: open the file in mode 'wb'")
        if not hasattr(path_or_file, "write"):
            raise TypeError(f"dump takes a path or an object with write(), not {type(path_or_file).__name__!r}")
    data = chosen_codecs().dumps(
        obj,
        compress=compress,
        level=level,
        min_size=min_size,
        checksum=checksum,
        default=default,
        sort_keys=sort_keys,
        max_depth=max_depth,
    )
    if _is_path(path_or_file):
        with imported("cpkg._files").replacing(path_or_file) as file:
            file.write(data)
    else:
        imported("purepy._writing").write_all(path_or_file, data)


def load(
    path_or_file: Any,
    *,
    max_output_size: int | None = None,
    max_memory: int | None = None,
    max_total_items: int | None = None,
    max_depth: int = MAX_DEPTH,
    ext_hook: Callable[[int, bytes], Any] | None = None,
    object_hook: Callable[[dict[Any, Any]], Any] | None = None,
    use_list: bool = True,
    strict_map_key: bool = False,
    timestamp: int = TIMESTAMP,
) -> Any:
    """
    Read one object from a path or from a file object opened for bytes, to its end; takes the arguments of `loads`.

    Raises OSError if the file cannot be read and TypeError for a file opened for text, else what `loads` raises.
    """
    if _is_path(path_or_file):
        with open(path_or_file, "rb") as file:
            data = file.read()
    else:
        if not hasattr(path_or_file, "read"):
            raise TypeError(f"load takes a path or an object with read(), not {type(path_or_file).__name__!r}")
        data = path_or_file.read()
        if data is None:
            raise BlockingIOError(errno.EAGAIN, "the file has no data at the moment")
        if isinstance(data, str):
            raise TypeError("load reads bytes: open the file in mode 'rb'")
    return chosen_codecs().loads(
        data,
        max_output_size=max_output_size,
        max_memory=max_memory,
        max_total_items=max_total_items,
        max_depth=max_depth,
        ext_hook=ext_hook,
        object_hook=object_hook,
        use_list=use_list,
        strict_map_key=strict_map_key,
        timestamp=timestamp,
    )
