# SPDX-License-Identifier: Apache-2.0
"""
Errors: some numbers of libzstd's ZSTD_ErrorCode, their texts from ZSTD_getErrorName, and functions that create errors.

The pure codec gives most errors libzstd's code, so that handlers can distinguish them with every backend; truncated
data and limits of the output have no code. For wrong input, its messages add what was found, and where.
"""

from __future__ import annotations

from purepy.base.errors import ZstdError, ZstdLimitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Error = TypeVar("_Error", bound=ZstdError)

CANNOT_COMPRESS = "Unable to compress Zstandard data"
CANNOT_DECOMPRESS = "Unable to decompress Zstandard data"
WINDOW_ADVICE = (
    "if you trust the data, allow up to 2 GiB with options={DecompressionParameter.window_log_max: 31} "
    "(zstandard: max_window_size=2**31)"
)
_ENDED = "ended before the end-of-stream marker was reached"

GENERIC = 1
PREFIX_UNKNOWN = 10
VERSION_UNSUPPORTED = 12
FRAME_PARAMETER_UNSUPPORTED = 14
WINDOW_TOO_LARGE = 16
CORRUPTION_DETECTED = 20
CHECKSUM_WRONG = 22
LITERALS_HEADER_WRONG = 24
DICTIONARY_CORRUPTED = 30
DICTIONARY_WRONG = 32
DICTIONARY_CREATION_FAILED = 34
PARAMETER_UNSUPPORTED = 40
PARAMETER_OUT_OF_BOUND = 42
STAGE_WRONG = 60
DST_SIZE_TOO_SMALL = 70
SRC_SIZE_WRONG = 72

NAMES = {
    GENERIC: "Error (generic)",
    PREFIX_UNKNOWN: "Unknown frame descriptor",
    VERSION_UNSUPPORTED: "Version not supported",
    FRAME_PARAMETER_UNSUPPORTED: "Unsupported frame parameter",
    WINDOW_TOO_LARGE: "Frame requires too much memory for decoding",
    CORRUPTION_DETECTED: "Data corruption detected",
    CHECKSUM_WRONG: "Restored data doesn't match checksum",
    LITERALS_HEADER_WRONG: "Header of Literals' block doesn't respect format specification",
    DICTIONARY_CORRUPTED: "Dictionary is corrupted",
    DICTIONARY_WRONG: "Dictionary mismatch",
    DICTIONARY_CREATION_FAILED: "Cannot create Dictionary from provided samples",
    PARAMETER_UNSUPPORTED: "Unsupported parameter",
    PARAMETER_OUT_OF_BOUND: "Parameter is out of bound",
    STAGE_WRONG: "Operation not authorized at current processing stage",
    DST_SIZE_TOO_SMALL: "Destination buffer is too small",
    SRC_SIZE_WRONG: "Src size is incorrect",
}


def located(error: _Error, offset: int | None) -> _Error:
    """Set `error.offset` to a position in the input, in bytes (None: unknown), and return `error`."""
    error.offset = offset
    return error


def coded_error(code: int, message: str, offset: int | None = None) -> ZstdError:
    """Return a ZstdError with a code, the code's name and the offset; for WINDOW_TOO_LARGE, it is a ZstdLimitError."""
    error = (ZstdLimitError if code == WINDOW_TOO_LARGE else ZstdError)(message)
    error.code = code
    error.name = NAMES[code]
    return located(error, offset)


def decoding_error(code: int, offset: int, detail: str, advice: str | None = None) -> ZstdError:
    """
    Return the ZstdError for input that cannot be decoded; `detail` describes what is wrong at byte `offset`.

    With the code WINDOW_TOO_LARGE it is a ZstdLimitError, whose text ends with `advice` on how to raise the limit.
    Other errors ignore `advice`.
    """
    detail = f"{detail} (at byte {offset})"
    error = coded_error(code, f"{CANNOT_DECOMPRESS}: {NAMES[code]}: {detail}", offset)
    error.detail = detail
    if isinstance(error, ZstdLimitError):
        error.advice = advice
    return error


def corruption(offset: int, detail: str) -> ZstdError:
    """Return the ZstdError for damaged data; `detail` describes what is wrong at byte `offset`."""
    return decoding_error(CORRUPTION_DETECTED, offset, detail)


def moved(error: ZstdError, by: int) -> None:
    """Add `by` bytes to the `offset` of an error, also in its text and `detail`; do nothing if it has no offset."""
    old = error.offset
    if old is None:
        return
    error.offset = old + by

    def corrected(text: object) -> Any:
        return text.replace(f"(at byte {old})", f"(at byte {old + by})") if isinstance(text, str) else text

    error.args = tuple(map(corrected, error.args))
    error.detail = corrected(error.detail)


def limit_error(what: str, offset: int | None) -> ZstdLimitError:
    """Return the ZstdLimitError for content larger than `what`, such as "the buffer"; an unknown `offset` is None."""
    return located(ZstdLimitError(f"decompressed data is larger than {what}"), offset)


def output_limit_error(limit: int, offset: int | None) -> ZstdLimitError:
    """Return the ZstdLimitError for more than `limit` bytes of content, the caller's `max_output_size`."""
    return limit_error(f"max_output_size ({limit} bytes)", offset)


def native_only(what: str) -> ZstdError:
    """Return the ZstdError for a feature of libzstd, named by `what`, that the pure codec does not have."""
    return ZstdError(
        f"the pure backend does not support {what}: use the native, dlopen or stdlib backend; "
        "`cpkg backends` prints which of them load here and what the others need"
    )


def pledge_error(difference: int, is_more: bool) -> ZstdError:
    """Return the ZstdError for `difference` bytes of content more than pledged if `is_more`, otherwise less."""
    what = "more" if is_more else "less"
    text = f"{CANNOT_COMPRESS}: {NAMES[SRC_SIZE_WRONG]}: {difference} bytes {what} than pledged"
    return coded_error(SRC_SIZE_WRONG, text)


def truncated_error(offset: int | None = None) -> ZstdError:
    """Return the ZstdError for data that ends, at byte `offset` (None: unknown), inside or before a frame."""
    return located(ZstdError(f"Compressed data {_ENDED}"), offset)


def truncated_file_error(size: int = 0) -> EOFError:
    """Return the EOFError for a file that ends inside or before a frame; `size` is ignored."""
    return EOFError(f"Compressed file {_ENDED}")
