# SPDX-License-Identifier: Apache-2.0
"""
`dump` and `load`: what `dumps` and `loads` do, with files.

Their options are spelled out again, because type checkers and help() show them so, and because handing them on as a
dict makes `load` of a short message more than twice as slow; a test holds them to those of `dumps` and `loads`.
"""

from __future__ import annotations

from cpkg.objects.dumps_loads import LEVEL, MAX_DEPTH, MIN_SIZE, TIMESTAMP, Compress, chosen_codecs
from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def dump(
    obj: object,
    path_or_file: object,
    *,
    compress: Compress = "auto",
    level: int = LEVEL,
    min_size: int = MIN_SIZE,
    checksum: bool = True,
    default: Callable[[Any], object] | None = None,
    sort_keys: bool = False,
    max_depth: int = MAX_DEPTH,
) -> None:
    """
    Write `obj` to a path, a URL (through fsspec), a binary file or a descriptor, in the form of `dumps`.

    `path_or_file` is where to; `compress`, `level`, `min_size`, `checksum`, `default`, `sort_keys` and `max_depth` are
    those of `dumps`.

    A file named by a path appears whole or not at all: it is written under another name beside it, brought to the
    disk, and renamed. Its permissions are those that `open` would give; one that is replaced keeps its mode, and its
    owner, group and extended attributes as far as this process may set them, but other hard links to it keep the old
    content. To a file object or descriptor, which stay open, nothing is written if packing fails.

    Raises OSError if the file cannot be written, BlockingIOError if it would block, ImportError for a URL without
    fsspec, TypeError for a file opened for text, and what `dumps` raises.
    """
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
    with imported("cpkg._places").writing(path_or_file) as file:
        imported("purepy.base.writing").write_all(file, data)


def load(
    path_or_file: object,
    *,
    max_output_size: int | None = None,
    max_memory: int | None = None,
    max_total_items: int | None = None,
    max_depth: int = MAX_DEPTH,
    ext_hook: Callable[[int, bytes], object] | None = None,
    object_hook: Callable[[dict[Any, Any]], object] | None = None,
    use_list: bool = True,
    strict_map_key: bool = False,
    timestamp: int = TIMESTAMP,
    type: Any = None,
) -> Any:
    """
    Read the one object that a path, a URL, a binary file object or a descriptor holds to its end.

    `path_or_file` is where from; `max_output_size`, `max_memory`, `max_total_items`, `max_depth`, `ext_hook`,
    `object_hook`, `use_list`, `strict_map_key`, `timestamp` and `type` are those of `loads`.

    Raises OSError if the file cannot be read, BlockingIOError if it has no data now, ImportError for a URL without
    fsspec, TypeError for a file opened for text, and what `loads` raises.
    """
    with imported("cpkg._places").reading(path_or_file) as file:
        data = file.read()
    if data is None:
        raise imported("purepy.base.reading").no_data()
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
        type=type,
    )
