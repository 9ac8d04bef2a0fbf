# SPDX-License-Identifier: Apache-2.0
"""
`dump` and `load`: `dumps` and `loads` for files.

The options are repeated here, because type checkers and help() show them, and because passing them on as a dict makes
`load` of a short message more than twice as slow. A test compares them with the options of `dumps` and `loads`.
"""

from __future__ import annotations

from cpkg.objects.dumps_loads import LEVEL, MAX_DEPTH, MIN_SIZE, Compress, chosen_codecs
from cpkg.objects.types_written import TIMESTAMP
from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from typing_extensions import Unpack

    from cpkg.objects.dumps_loads import Kind, LimitOptions, LoadOptions
    from purepy.base.types import TypedDecoder


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

    `path_or_file` is the destination; `compress`, `level`, `min_size`, `checksum`, `default`, `sort_keys` and
    `max_depth` are the options of `dumps`.

    A file at a path appears whole or not at all: `dump` writes a temporary file in the same directory, flushes it to
    the disk, and renames it. A new file has the permissions that `open` would give. A replaced file keeps its mode, and
    its owner, group and extended attributes as far as this process may set them; other hard links to it keep the old
    content. A file object or descriptor stays open, and nothing is written to it if packing fails.

    Raises OSError if the file cannot be written, BlockingIOError if writing would block, ImportError for a URL without
    fsspec, TypeError for a file opened in text mode, and the exceptions of `dumps`.
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


if TYPE_CHECKING:

    @overload
    def load(
        path_or_file: object, *, type: type[Kind] | TypedDecoder[Kind], **options: Unpack[LimitOptions]
    ) -> Kind: ...
    @overload
    def load(path_or_file: object, *, type: object = None, **options: Unpack[LoadOptions]) -> Any: ...


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
    all_errors: bool = False,
) -> Any:
    """
    Read a path, a URL (through fsspec), a binary file or a descriptor to its end, and return the one object in it.

    `path_or_file` is the source; `max_output_size`, `max_memory`, `max_total_items`, `max_depth`, `ext_hook`,
    `object_hook`, `use_list`, `strict_map_key`, `timestamp`, `type` and `all_errors` are the options of `loads`.

    Raises OSError if the file cannot be read, BlockingIOError if it has no data now, ImportError for a URL without
    fsspec, TypeError for a file opened in text mode, and the exceptions of `loads`.
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
        all_errors=all_errors,
    )
