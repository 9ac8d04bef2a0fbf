# SPDX-License-Identifier: Apache-2.0
"""
Make dictionaries: `train_on` chooses content with the fast cover algorithm, `finalize` adds the tables.

Fast cover (as in libzstd's `ZDICT_optimizeTrainFromBuffer_fastCover`, after "Effective construction of relative
Lempel-Ziv dictionaries", Liao and others, 2016) counts in how many places each group of 8 bytes occurs, then takes
the segments that cover the most occurrences that no segment taken before covers.
"""

from __future__ import annotations

from array import array
from struct import unpack_from

from purepy.base.errors import ZstdError
from purepy.zstd.encoder import fse, huffman
from purepy.zstd.encoder.compressor import ZstdCompressor
from purepy.zstd.encoder.levels import parameters_for
from purepy.zstd.encoder.literals import histogram
from purepy.zstd.encoder.matchfinders import make_match_finder
from purepy.zstd.encoder.matchfinders.base import LOW32, PRIME
from purepy.zstd.encoder.sequences import INITIAL_REPEATS, offset_values, sequence_codes
from purepy.zstd.format.error_codes import DST_SIZE_TOO_SMALL, NAMES, SRC_SIZE_WRONG, coded_error
from purepy.zstd.format.fse_tables import LITERALS_LENGTH, MATCH_LENGTH, OFFSET
from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT
from purepy.zstd.format.rules import BLOCK_SIZE_MAX, DICTIONARY_MAGIC, LEVEL_MAX, LEVEL_MIN
from purepy.zstd.format.xxh64 import xxh64
from purepy.zstd.format.zdict import MIN_DICT_SIZE, ZstdDict, can_train, check_positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The three repeat offsets of a dictionary lie inside its content, and the largest is 8.
MIN_CONTENT_SIZE = max(INITIAL_REPEATS)

# Bytes whose occurrences are counted, read as one word.
GROUP = 8
# A hash of at most so many bits distinguishes groups.
MAX_FREQUENCY_LOG = 20
# Lengths of the segments that a dictionary is made of. Which is best depends on the samples: each is tried.
SEGMENT_SIZES = (48, 200, 800)
# How often the samples are walked through, at least: segments come from everywhere, the best first.
PASSES = 4
# So much of the samples is compressed to compare dictionaries, or to learn tables from.
TRIAL_BYTES = 256 << 10
TABLE_BYTES = 4 << 20

_CANNOT_TRAIN = "Unable to train the Zstandard dictionary"


def train_on(pieces: list[bytes], dict_size: int) -> bytes:
    """Return a dictionary of at most `dict_size` bytes, trained on samples; ZstdError for too little to learn from."""
    _check_trainable(pieces, dict_size)
    content, _ = _best_content(pieces, dict_size, SEGMENT_SIZES, COMPRESSION_LEVEL_DEFAULT)
    return _finalize(content, pieces, dict_size, COMPRESSION_LEVEL_DEFAULT)


def train(
    samples: Sequence[bytes], dict_size: int, *, k: int, d: int, dict_id: int, level: int
) -> tuple[bytes, int, int]:
    """
    Return a dictionary of at most `dict_size` bytes, and the `k` and `d` that it was made with.

    `k` is the length of the segments that it is made of (0: the best of some), `d` that of the groups that are
    counted, 8 here; `dict_id` its number (0: derived from the content), `level` what it is meant for. Raises ZstdError
    as `train_on` does, and for another `d`.
    """
    if d not in (0, GROUP):
        raise ZstdError(f"{_CANNOT_TRAIN}: the pure backend counts groups of d={GROUP} bytes, not {d}")
    check_positive(dict_size)
    _check_trainable(samples, dict_size)
    level = level or COMPRESSION_LEVEL_DEFAULT
    pieces = list(samples)
    content, k = _best_content(pieces, dict_size, (k,) if k else SEGMENT_SIZES, level)
    made = _finalize(content, pieces, dict_size, level)
    return (made[:4] + dict_id.to_bytes(4, "little") + made[8:] if dict_id else made), k, GROUP


def _best_content(pieces: list[bytes], dict_size: int, segment_sizes: Sequence[int], level: int) -> tuple[bytes, int]:
    """Return the content that compresses samples best, and the length of its segments."""
    groups = _Groups(pieces)
    best: tuple[int, bytes, int] | None = None
    trial = _spread_selection(pieces, TRIAL_BYTES)
    for segment_size in segment_sizes:
        if best is not None and segment_size > dict_size:
            break
        content = groups.cover(dict_size, segment_size)
        made = _finalize(content, trial, dict_size, level)
        compressor = ZstdCompressor(zstd_dict=ZstdDict(made))
        size = len(made) + sum(len(compressor.compress(sample, ZstdCompressor.FLUSH_FRAME)) for sample in trial)
        if best is None or size < best[0]:
            best = size, content, segment_size
    assert best is not None
    return best[1], best[2]


def finalize(content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
    """Return a dictionary of the given content, with tables for samples."""
    if not -(2**31) <= level < 2**31:
        raise OverflowError("Python int too large to convert to C int")
    _check_size(dict_size, "Unable to finalize the Zstandard dictionary")
    level = max(LEVEL_MIN, min(level or COMPRESSION_LEVEL_DEFAULT, LEVEL_MAX))
    return _finalize(content, pieces, dict_size, level)


def _check_trainable(pieces: Sequence[bytes], dict_size: int) -> None:
    _check_size(dict_size, _CANNOT_TRAIN)
    if not can_train(list(map(len, pieces))):
        raise coded_error(SRC_SIZE_WRONG, f"{_CANNOT_TRAIN}: {NAMES[SRC_SIZE_WRONG]}")


def _check_size(dict_size: int, what: str) -> None:
    if dict_size >= 2**63:
        raise OverflowError("Python int too large to convert to C ssize_t")
    if dict_size < MIN_DICT_SIZE:
        raise coded_error(
            DST_SIZE_TOO_SMALL,
            f"{what}: {NAMES[DST_SIZE_TOO_SMALL]}: a dictionary takes {MIN_DICT_SIZE} bytes or more, not {dict_size}",
        )


def _spread_selection(pieces: list[bytes], limit: int) -> list[bytes]:
    """Return samples of about `limit` bytes, taken at equal distances."""
    step = max(1, sum(map(len, pieces)) // limit)
    return pieces[::step]


class _Groups:
    """The samples' groups of 8 bytes, each as a slot of a table that counts them."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._data = data = b"".join(pieces)
        count = len(data) - GROUP + 1
        log = max(8, min(MAX_FREQUENCY_LOG, count.bit_length() + 1))
        shift = 32 - log
        self._slots = slots = array("i", [0]) * count
        for at in range(count):
            word = unpack_from("<q", data, at)[0]
            slots[at] = ((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> shift
        self._frequencies = frequencies = array("i", [0]) * (1 << log)
        start = 0
        for piece in pieces:
            # A group that reaches into the next sample was never seen as such.
            for slot in slots[start : max(start, start + len(piece) - GROUP + 1)]:
                frequencies[slot] += 1
            start += len(piece)

    def cover(self, dict_size: int, segment_size: int) -> bytes:
        """
        Return content of at most `dict_size` bytes, the most useful segments last: offsets to them are the shortest.

        The samples are walked through in epochs, of which each gives the best of its segments, until the dictionary
        is full or ten epochs in a row have nothing left to give.
        """
        slots, data = self._slots, self._data
        count = len(slots)
        segment_size = max(GROUP, min(segment_size, dict_size, len(data)))
        epochs = max(1, dict_size // segment_size // PASSES)
        epoch_size = max(min(10 * segment_size, count), count // epochs)
        epochs = max(1, count // epoch_size)
        frequencies = self._frequencies[:]
        active = array("i", [0]) * len(frequencies)
        taken: list[bytes] = []
        left = dict_size
        fruitless = 0
        epoch = 0
        while left and fruitless < max(10, epochs >> 3):
            start = epoch * epoch_size
            end = count if epoch == epochs - 1 else start + epoch_size
            first, last, score = _best_segment(slots, frequencies, active, start, end, segment_size - GROUP + 1)
            epoch = (epoch + 1) % epochs
            if not score:
                fruitless += 1
                continue
            fruitless = 0
            for at in range(first, last):
                frequencies[slots[at]] = 0
            segment = data[first : last + GROUP - 1][:left]
            if left < GROUP:
                break
            taken.append(segment)
            left -= len(segment)
        taken.reverse()
        return b"".join(taken)


def _best_segment(
    slots: array[int], frequencies: array[int], active: array[int], start: int, end: int, width: int
) -> tuple[int, int, int]:
    """
    Return the first and the end position, and the score, of the best run of at most `width` groups in slots[start:end].

    The score is the sum of the frequencies of different groups. Groups without a frequency are trimmed off the ends.
    """
    best_first, best_end, best_score = start, start, 0
    score = 0
    first = start
    for at in range(start, end):
        slot = slots[at]
        if not active[slot]:
            score += frequencies[slot]
        active[slot] += 1
        if at - first == width:
            slot = slots[first]
            active[slot] -= 1
            if not active[slot]:
                score -= frequencies[slot]
            first += 1
        if score > best_score:
            best_first, best_end, best_score = first, at + 1, score
    for at in range(first, end):
        active[slots[at]] = 0
    while best_first < best_end and not frequencies[slots[best_first]]:
        best_first += 1
    while best_end > best_first and not frequencies[slots[best_end - 1]]:
        best_end -= 1
    return best_first, best_end, best_score


def _finalize(content: bytes, samples: Sequence[bytes], dict_size: int, level: int) -> bytes:
    """Put the header of RFC 8878, section 5, before the content: magic number, id, tables, repeat offsets."""
    # The id is libzstd's for this content, out of the range that is free for private use.
    dict_id = xxh64(content) % ((1 << 31) - (1 << 15)) + (1 << 15)
    tables = _tables(content, samples, level)
    header = b"".join(
        (
            DICTIONARY_MAGIC,
            dict_id.to_bytes(4, "little"),
            tables,
            *(repeat.to_bytes(4, "little") for repeat in INITIAL_REPEATS),
        )
    )
    # The end of the content is what is closest to the data.
    room = dict_size - len(header)
    content = content[max(0, len(content) - room) :]
    return header + content.rjust(MIN_CONTENT_SIZE, b"\0")


def _tables(content: bytes, samples: Sequence[bytes], level: int) -> bytes:
    """
    Describe the four tables that compressing the samples after the content asks for.

    Every code is counted once to begin with, so that the tables can code whatever other data bring.
    """
    literals = [1] * 256
    # Offsets reach from the end of a block back to the content's start.
    offset_codes = [1] * ((len(content) + BLOCK_SIZE_MAX).bit_length())
    match_codes = [1] * len(MATCH_LENGTH.bases)
    literal_length_codes = [1] * len(LITERALS_LENGTH.bases)
    selection = _spread_selection(list(samples), TABLE_BYTES)
    typical = sum(map(len, selection)) // len(selection)
    parameters = parameters_for(level, typical, len(content))
    indexed = make_match_finder(parameters)
    indexed.index(bytearray(content), 0, len(content))
    for sample in selection:
        sample = sample[:BLOCK_SIZE_MAX]
        window = bytearray(content)
        window += sample
        sequences = indexed.copy().find(window, len(content), len(window), len(window), INITIAL_REPEATS)
        for byte, count in enumerate(histogram(sequences.literals)):
            literals[byte] += count
        values, _ = offset_values(sequences, INITIAL_REPEATS)
        counted = zip((literal_length_codes, offset_codes, match_codes), sequence_codes(sequences, values))
        for counts, codes in counted:
            for code in codes:
                counts[code] += 1
    described = [_describe_literals(literals)]
    for counts, field in (
        (offset_codes, OFFSET),
        (match_codes, MATCH_LENGTH),
        (literal_length_codes, LITERALS_LENGTH),
    ):
        table_log = fse.table_log_for(sum(counts), len(counts), field.max_log)
        described.append(fse.describe(fse.normalise(counts, table_log), table_log))
    return b"".join(described)


def _describe_literals(counts: list[int]) -> bytes:
    description = huffman.describe(huffman.code_lengths(counts))
    if description is None:
        # All codes have the same length, which the format has no words for: prefer one byte a little.
        counts = [1] * 256
        counts[0] = 4
        description = huffman.describe(huffman.code_lengths(counts))
    assert description is not None
    return description
