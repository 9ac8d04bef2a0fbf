# SPDX-License-Identifier: Apache-2.0
"""
ZstdDict: the content of a dictionary, shared by all backends.

A backend digests the content into its tables before use. It keeps the tables in the dictionary's Digests, so that one
ZstdDict serves every backend, level and thread, and tables that are still kept need not be created again.
"""

from __future__ import annotations

from purepy.base.buffers import as_bytes
from purepy.base.locks import process_lock
from purepy.zstd.format.error_codes import DST_SIZE_TOO_SMALL, SRC_SIZE_WRONG
from purepy.zstd.format.locks import refuse_second_init
from purepy.zstd.format.rules import DICTIONARY_MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any, Callable, NoReturn

    from typing_extensions import TypeAlias

    from purepy.base.errors import ZstdError
    from purepy.base.locks import RLock
    from purepy.base.types import Buffer

    DictArgument: TypeAlias = "ZstdDict | tuple[ZstdDict, int] | None"

MIN_DICT_SIZE = 256
MIN_SAMPLES = 7
MIN_TRAINED = 8

DIGESTED = 0
UNDIGESTED = 1
PREFIX = 2

KEPT_DIGESTS = 4
"""The most forms that `one_of` keeps under a key: a ZstdDict keeps, for example, the tables of four levels."""
SHARED_CONTENT_MAX = 256 << 10
"""The largest dictionary, in bytes, for which backends over libzstd keep forms for compression by default."""


class Digests(dict["Hashable", "Any"]):
    """
    The forms of a dictionary that backends have created, by keys that identify the backend or the kind of form.

    Callers hold a reference to a form while they use it, because another thread may replace it meanwhile. Existing
    forms are looked up without the lock that creating one takes, also by C (`ffi_build/zstd/digests.c`). No form refers
    to the ZstdDict, so forms that are not in use are freed with it.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[int, RLock] = {}

    def single(self, key: Hashable, make: Callable[[], object]) -> Any:
        """Return the form under `key`; if there is none, create it by `make()`, in one thread only, and keep it."""
        found = self.get(key)
        if found is None:
            with process_lock(self._locks):
                found = self.get(key)
                if found is None:
                    found = self[key] = make()
        return found

    def one_of(self, key: Hashable, part: Hashable, make: Callable[[], object]) -> Any:
        """
        Return the form under `key` for `part`, such as a level; if there is none, create it by `make()` and keep it.

        Each key keeps the KEPT_DIGESTS forms that were created last.
        """
        found = self._among(key, part)
        if found is None:
            with process_lock(self._locks):
                found = self._among(key, part)
                if found is None:
                    found = make()
                    self[key] = ((part, found), *self.get(key, ())[: KEPT_DIGESTS - 1])
        return found

    def _among(self, key: Hashable, part: Hashable) -> Any:
        for other, found in self.get(key, ()):
            if other == part:
                return found
        return None


class ZstdDict:
    """
    A Zstandard dictionary, which any number of compressors and decompressors may share.

    `dict_content` is a buffer of at least 8 bytes. With `is_raw=True` any such content is allowed; if it begins with
    the magic number of a dictionary, it is still read as a dictionary, except as a prefix. Without `is_raw`, it must be
    a dictionary from `train_dict`, `finalize_dict` or `zstd --train`. Raises ValueError for shorter content, or without
    `is_raw` if it does not begin with a dictionary's magic number and an id. Other damage raises ZstdError when the
    dictionary is used. Replaces `compression.zstd.ZstdDict`; unlike the original, it supports pickling.
    """

    __module__ = "cpkg.zstd"  # where callers find it
    __slots__ = ("__weakref__", "_content", "_digests", "_id")

    def __init__(self, dict_content: Buffer, /, *, is_raw: bool = False) -> None:
        refuse_second_init(self, "_digests")
        content = as_bytes(dict_content)
        if len(content) < 8:
            raise ValueError("Zstandard dictionary content too short (must have at least eight bytes)")
        dict_id = int.from_bytes(content[4:8], "little") if content[:4] == DICTIONARY_MAGIC else 0
        if not is_raw and dict_id == 0:
            raise ValueError("invalid Zstandard dictionary")
        self._content = content
        self._id = dict_id
        self._digests = Digests()

    @property
    def dict_content(self) -> bytes:
        """The content as bytes."""
        return self._content

    @property
    def dict_id(self) -> int:
        """The number by which frames refer to the dictionary; 0 for raw content."""
        return self._id

    @property
    def as_digested_dict(self) -> tuple[ZstdDict, int]:
        """
        Pass this as `zstd_dict` to compress with tables for the level, which override some other parameters.

        This object keeps the tables of the last four levels. The pure backend treats it like `as_undigested_dict`.
        """
        return self, DIGESTED

    @property
    def as_undigested_dict(self) -> tuple[ZstdDict, int]:
        """Pass this as `zstd_dict` to compress with tables that suit all of the compressor's parameters (default)."""
        return self, UNDIGESTED

    @property
    def as_prefix(self) -> tuple[ZstdDict, int]:
        """
        Pass this as `zstd_dict` to use the content as if it preceded the data of a compressor's first frame.

        Decompression needs the same prefix, and applies it to every frame.
        """
        return self, PREFIX

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"<ZstdDict dict_id={self._id} dict_size={len(self._content)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (self._content,)

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'ZstdDict' is not an acceptable base type")


def _unpickle(content: bytes) -> ZstdDict:
    return ZstdDict(content, is_raw=True)


def can_train(sizes: Sequence[int]) -> bool:
    """
    Return whether samples of these sizes, in bytes, suffice to train a dictionary.

    There must be at least 7 samples, and at least 8 bytes in the first three quarters of them: libzstd builds a
    dictionary from these samples and evaluates it on the rest. With fewer than 8 bytes it would crash.
    """
    return len(sizes) >= MIN_SAMPLES and sum(sizes[: len(sizes) * 3 // 4]) >= MIN_TRAINED


def with_advice(error: ZstdError, least: int = MIN_DICT_SIZE) -> ZstdError:
    """Return libzstd's error for a dictionary that it cannot build, with advice; `least` is the least `dict_size`."""
    if error.code == SRC_SIZE_WRONG:
        error.advice = "pass more or larger samples"
    elif error.code == DST_SIZE_TOO_SMALL:
        error.advice = f"dict_size must be at least {least}"
    return error


def check_positive(dict_size: int) -> None:
    """Raise ValueError if the size of a new dictionary is less than one byte."""
    if dict_size <= 0:
        raise ValueError("dict_size argument should be positive number.")


def parse_dict_argument(zstd_dict: DictArgument, default: int) -> tuple[ZstdDict, int]:
    """
    Return the dictionary of a `zstd_dict` argument, and how to load it: DIGESTED, UNDIGESTED or PREFIX.

    `default` is how to load a plain ZstdDict. Raises TypeError for anything but a ZstdDict or one of its `as_*` pairs,
    or OverflowError if the number in the pair exceeds a C int.
    """
    if isinstance(zstd_dict, ZstdDict):
        return zstd_dict, default
    if type(zstd_dict) is tuple and len(zstd_dict) == 2:
        found, how = zstd_dict
        if isinstance(found, ZstdDict) and isinstance(how, int):
            if not -(2**31) <= how < 2**31:
                raise OverflowError("Python int too large to convert to C int")
            if how in (DIGESTED, UNDIGESTED, PREFIX):
                return found, how
    raise TypeError("zstd_dict argument should be a ZstdDict object.")
