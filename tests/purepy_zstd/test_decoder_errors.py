# SPDX-License-Identifier: Apache-2.0
"""Every error of the decoder, each hit by a frame made for it: its type, code, text and offset."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NamedTuple

import pytest
from zstd_frames import (
    MAGIC,
    RAW,
    RESERVED,
    RLE,
    bitstream,
    block,
    coded_literals,
    compressed,
    forward_bits,
    header,
    raw_literals,
    rle_sequences,
    single_segment,
    weights,
)
from zstd_oracle import libzstd, other_form

import purepy.zstd
from purepy.errors import ZstdError, ZstdLimitError

CORRUPT = 20
# Two symbols, 0 and 1, with codes of one bit: the tree of one weight.
TREE = weights(1)
NO_SEQUENCES = b"\0"
LITERALS = raw_literals(b"0123456789")
MAX = 1 << 17
AT_BLOCK = 9  # offset of the first block's content in `compressed()`
AT_SEQUENCES = AT_BLOCK + len(LITERALS)


class Case(NamedTuple):
    name: str
    frame: bytes
    code: int | None
    text: str
    offset: int


def sequences(section: bytes) -> bytes:
    """Return a frame of one block with ten raw literals and this sequences section."""
    return compressed(LITERALS + section)


def tree(description: bytes) -> bytes:
    """Return a frame of one block with compressed literals that begin with this tree description."""
    return compressed(coded_literals(8, description) + NO_SEQUENCES)


def stream(content: bytes, size: int = 8) -> bytes:
    """Return a frame of one block with one stream of literals, coded by TREE."""
    return compressed(coded_literals(size, TREE + content) + NO_SEQUENCES)


def four(content: bytes, size: int = 8) -> bytes:
    """Return a frame of one block with four streams of literals, coded by TREE."""
    return compressed(coded_literals(size, TREE + content, size_format=1) + NO_SEQUENCES)


AT_TREE = AT_BLOCK + 3
AT_STREAM = AT_TREE + len(TREE)
# 62 extra bits, more than one read takes.
WIDEST = rle_sequences(1, (35, 31, 51), (0x12345678, 31), (5, 15), (100, 16))
# A whole tree, but for its codes of up to 12 bits.
TOO_LONG = weights(11, *range(11, 0, -1), 11)
# In the order literals lengths, offsets, match lengths: section 3.1.1.3.2.1.
LL_FSE, OF_FSE, ML_FSE = 0x80, 0x20, 0x08
SKIPPED = b"\x50\x2a\x4d\x18\x01\0\0\0a"

CASES = [
    # Frames, section 3.1.1
    Case("magic", b"\x28\xb5\x2f\xfe" + bytes(9), 10, "no frame begins with the bytes 28 b5 2f fe", 0),
    Case("second magic", compressed(LITERALS + NO_SEQUENCES) + b"\0", 10, "no frame begins with the bytes 00", 23),
    Case("magic after skippable", SKIPPED + b"\x50\x2a\x4d\x19", 10, "no frame begins with", 9),
    Case("reserved bit", header(descriptor=0x08) + block(b"", RAW), 14, "reserved bit of the frame header", 4),
    Case("window log", header(32) + block(b"", RAW), 16, "window log 32 exceeds the maximum of 31", 5),
    Case("window", header(27, mantissa=1) + block(b"", RAW), 16, "window of 150994944 bytes exceeds the limit of", 0),
    Case("dictionary", header(descriptor=1, more=b"\7") + block(b"", RAW), 32, "id 7; no dictionary was given", 0),
    Case("no content", single_segment(3) + block(b"ab", RAW), CORRUPT, "content of 2 bytes is shorter than the 3", 11),
    Case("too much content", single_segment(1) + block(b"ab", RLE, 1, last=False) + block(b"c", RAW), CORRUPT, "", 10),
    Case("content", header(descriptor=0x40, more=b"\0\0") + block(b"a", RLE, 257), CORRUPT, "longer than the 256", 8),
    Case(
        "checksum",
        header(descriptor=0x04) + block(b"a", RAW) + b"\1\2\3\4",
        22,
        "content has the checksum 0xa98c6e5b, the frame says 0x04030201",
        10,
    ),
    # Blocks, section 3.1.1.2
    Case("block type", header() + block(b"", RESERVED), CORRUPT, "block has the reserved type", 6),
    Case("raw block size", header() + block(b"", RAW, MAX + 1), CORRUPT, "block of 131073 bytes exceeds", 6),
    Case("RLE block size", header(10) + block(b"a", RLE, 1025), CORRUPT, "block of 1025 bytes exceeds", 6),
    Case("small window", header(10) + block(bytes(1025)), CORRUPT, "exceeds the frame's maximum of 1024", 6),
    Case("empty block", compressed(b""), CORRUPT, "compressed block of 0 bytes, 2 are the least", AT_BLOCK),
    Case("tiny block", compressed(b"\0"), CORRUPT, "compressed block of 1 bytes, 2 are the least", AT_BLOCK),
    # Literals, section 3.1.1.3.1
    Case("literals size", compressed(raw_literals(bytes(1025)), 10), CORRUPT, "block of 1028 bytes", 6),
    Case(
        "literals", compressed(b"\x0d" + b"\xff" * 9), CORRUPT, "1048560 literals exceed the block's maximum", AT_BLOCK
    ),
    Case("cut raw", compressed(LITERALS[:-1]), CORRUPT, "raw literals section of 13 bytes exceeds its block", AT_BLOCK),
    Case("cut RLE", compressed(b"\x05\x40"), CORRUPT, "RLE literals section of 3 bytes exceeds its block", AT_BLOCK),
    Case("cut", compressed(coded_literals(8, b"", stored=3) + b"ab"), CORRUPT, "compressed literals section", AT_BLOCK),
    Case("treeless", compressed(coded_literals(8, b"\1", kind=3) + NO_SEQUENCES), 30, "treeless literals", AT_BLOCK),
    Case("few in four", four(bytes(10), 5), 24, "5 literals in four streams, which takes 6 or more", AT_STREAM),
    Case("four in little", four(b"\1\0\1\0\1\0\1\1\1"), CORRUPT, "four streams in 9 bytes", AT_STREAM),
    Case("jump 1", four(b"\5\0\1\0\1\0\1\1\1\1"), CORRUPT, "literals stream 1 exceeds its section", AT_STREAM),
    Case("jump 3", four(b"\1\0\1\0\3\0\4\4\4\4"), CORRUPT, "literals stream 3 exceeds its section", AT_STREAM + 4),
    Case("empty stream", stream(b""), CORRUPT, "bitstream of literals is empty", AT_STREAM),
    Case("empty stream 2", four(b"\1\0\0\0\1\0\7\7\7\7"), CORRUPT, "literals stream 2 is empty", AT_STREAM + 7),
    Case("end mark", stream(b"\1\0"), CORRUPT, "bitstream of literals has no end mark", AT_STREAM + 1),
    Case("missing bits", stream(b"\x7f"), CORRUPT, "literals does not end exactly: 1 bits are missing", AT_STREAM),
    Case("missing group", stream(b"\x1f"), CORRUPT, "literals does not end exactly: 1 bits are missing", AT_STREAM),
    Case("left bits", stream(b"\xff\3"), CORRUPT, "literals does not end exactly: 1 bits are left over", AT_STREAM),
    # Huffman trees, section 4.2.1
    Case("no tree", tree(b""), CORRUPT, "Huffman tree description is missing", AT_TREE),
    Case("cut weights", tree(b"\x85\x11"), CORRUPT, "Huffman tree description of 6 weights is cut", AT_TREE),
    Case("cut coded", tree(b"\x04\0\0\0"), CORRUPT, "Huffman tree description of 4 bytes is cut", AT_TREE),
    Case("weight", tree(weights(1, 12) + b"\1"), CORRUPT, "weight 12 of symbol 1 exceeds the maximum of 11", AT_TREE),
    Case(
        "length",
        compressed(coded_literals(2, TOO_LONG + b"\x1f") + NO_SEQUENCES),
        CORRUPT,
        "Huffman code length 12 exceeds the maximum of 11",
        AT_TREE,
    ),
    Case("no weights", tree(weights(0, 0) + b"\1"), CORRUPT, "Huffman tree has no weights", AT_TREE),
    Case("last weight", tree(weights(2, 1, 3, 3) + b"\1"), CORRUPT, "leave 5 for the last symbol", AT_TREE),
    Case("pairs", tree(weights(2) + b"\1"), CORRUPT, "Huffman tree has no pair of longest codes", AT_TREE),
    Case(
        "weights without end",
        tree(b"\x04" + forward_bits((0, 4), (63, 6)) + bitstream((0, 5), (0, 5))),
        CORRUPT,
        "Huffman tree has more than 255 weights",
        AT_TREE + 1,
    ),
    Case(
        "weights' states",
        tree(b"\x03" + forward_bits((0, 4), (17, 5), (31, 5)) + b"\x7f"),
        CORRUPT,
        "bitstream of Huffman weights does not end exactly: 4 bits are missing",
        AT_TREE + 3,
    ),
    Case(
        "weights' states of a whole tree",
        compressed(coded_literals(4, b"\x03" + forward_bits((0, 4), (17, 5), (31, 5)) + b"\x23\x1f") + NO_SEQUENCES),
        CORRUPT,
        "bitstream of Huffman weights does not end exactly: 5 bits are missing",
        AT_TREE + 3,
    ),
    # FSE tables, section 4.1.1
    Case("weights' log", tree(b"\x03\x02\0\0\1"), CORRUPT, "FSE accuracy log 7 exceeds the maximum of 6", AT_TREE + 1),
    Case("LL log", sequences(bytes((1, LL_FSE, 5)) + bytes(9)), CORRUPT, "accuracy log 10", AT_SEQUENCES + 2),
    Case("OF log", sequences(bytes((1, OF_FSE, 4)) + bytes(9)), CORRUPT, "accuracy log 9 exc", AT_SEQUENCES + 2),
    Case("ML log", sequences(bytes((1, ML_FSE, 5)) + bytes(9)), CORRUPT, "accuracy log 10", AT_SEQUENCES + 2),
    Case(
        "zeros above the maximum",
        sequences(bytes((1, LL_FSE)) + forward_bits((0, 4), (1, 5), *((3, 2),) * 12, (2, 2)) + bytes(9)),
        CORRUPT,
        "FSE distribution has symbols above the maximum of 35",
        AT_SEQUENCES + 2,
    ),
    Case(
        "symbols above the maximum",
        sequences(bytes((1, OF_FSE)) + forward_bits((2, 4), *((2, 7),) * 32) + bytes(60)),
        CORRUPT,
        "FSE distribution has symbols above the maximum of 31",
        AT_SEQUENCES + 2,
    ),
    Case("cut table", sequences(bytes((1, ML_FSE, 0xF3))), CORRUPT, "FSE table description is cut", AT_SEQUENCES + 3),
    Case("cut zeros", sequences(bytes((1, ML_FSE, 0x10, 0xFE))), CORRUPT, "description is cut", AT_SEQUENCES + 4),
    # Sequences, section 3.1.1.3.2
    Case("no sequences", compressed(LITERALS), 72, "block ends before its sequences section", AT_SEQUENCES),
    Case("count of 2", sequences(b"\x80"), 72, "number of sequences is cut", AT_SEQUENCES),
    Case("count of 3", sequences(b"\xff\0"), 72, "number of sequences is cut", AT_SEQUENCES),
    Case("more bytes", sequences(b"\0\0"), CORRUPT, "1 bytes follow in a block without sequences", AT_SEQUENCES + 1),
    Case("long zero", sequences(b"\x80\0\0\1"), CORRUPT, "2 bytes follow in a block", AT_SEQUENCES + 2),
    Case("no modes", sequences(b"\1"), 72, "block ends before its symbol compression modes", AT_SEQUENCES + 1),
    Case("reserved modes", sequences(b"\1\2\1"), CORRUPT, "reserved bits of the compression modes", AT_SEQUENCES + 1),
    Case("no RLE code", sequences(b"\1\x50\1"), 72, "RLE code of offsets is missing", AT_SEQUENCES + 3),
    Case("LL code", sequences(b"\1\x40\x24\1"), CORRUPT, "code 36 of literals lengths exceeds", AT_SEQUENCES + 2),
    Case("OF code", sequences(b"\1\x10\x20\1"), CORRUPT, "code 32 of offsets exceeds the maximum", AT_SEQUENCES + 2),
    Case("ML code", sequences(b"\1\x04\x35\1"), CORRUPT, "code 53 of match lengths exceeds", AT_SEQUENCES + 2),
    Case("LL repeat", sequences(b"\1\xc0\1"), CORRUPT, "no earlier table of literals lengths", AT_SEQUENCES + 1),
    Case("OF repeat", sequences(b"\1\x30\1"), CORRUPT, "no earlier table of offsets", AT_SEQUENCES + 1),
    Case("ML repeat", sequences(b"\1\x0c\1"), CORRUPT, "no earlier table of match lengths", AT_SEQUENCES + 1),
    Case("no bitstream", sequences(b"\1\0"), CORRUPT, "bitstream of sequences is empty", AT_SEQUENCES + 2),
    Case("mark", sequences(b"\1\0\1\0"), CORRUPT, "bitstream of sequences has no end mark", AT_SEQUENCES + 3),
    Case("states", sequences(b"\1\0\xff\1"), CORRUPT, "sequences does not end exactly: 3 bits", AT_SEQUENCES + 2),
    Case("extra bits", sequences(rle_sequences(1, (5, 3, 0))), CORRUPT, "exactly: 3 bits are m", AT_SEQUENCES + 5),
    Case(
        "next states",
        sequences(bytes((2, 0)) + bitstream((7, 6), (0, 5), (0, 6))),
        CORRUPT,
        "bits are missing",
        AT_SEQUENCES + 2,
    ),
    Case("more bits", sequences(rle_sequences(1, (5, 0, 0), (0, 2))), CORRUPT, "2 bits are left", AT_SEQUENCES + 5),
    # Execution, sections 3.1.1.4 and 3.1.1.5
    Case("offset 0", sequences(rle_sequences(1, (0, 1, 0), (1, 1))), CORRUPT, "sequence 0 is 0", AT_SEQUENCES + 5),
    Case(
        "offset 0 in what went before",
        header() + block(b"ab", RAW, last=False) + block(LITERALS + rle_sequences(1, (0, 1, 0), (1, 1))),
        CORRUPT,
        "offset of sequence 0 is 0",
        AT_SEQUENCES + 10,
    ),
    Case(
        "offset",
        sequences(rle_sequences(1, (3, 3, 0), (0, 3))),
        CORRUPT,
        "offset 5 of sequence 0 lies beyond the 3 bytes of history",
        AT_SEQUENCES + 5,
    ),
    Case(
        "window's offset",
        header(10) + block(b"a", RLE, 1024, last=False) + block(LITERALS + rle_sequences(1, (1, 10, 0), (4, 10))),
        CORRUPT,
        "offset 1025 of sequence 0 lies beyond the 1024 bytes of history",
        AT_SEQUENCES + 9,
    ),
    Case(
        "taken", sequences(rle_sequences(2, (9, 0, 0))), CORRUPT, "sequences take 18 literals of 10", AT_SEQUENCES + 5
    ),
    Case(
        "block size",
        compressed(LITERALS + rle_sequences(1, (1, 0, 46), (0, 10)), 10),
        CORRUPT,
        "block decodes to more than its maximum of 1024 bytes",
        AT_SEQUENCES + 5,
    ),
    Case(
        "block size with the rest",
        compressed(raw_literals(bytes(900)) + rle_sequences(1, (1, 0, 43), (0, 7)), 10),
        CORRUPT,
        "block decodes to more than its maximum of 1024 bytes",
        AT_BLOCK + 3 + 900 + 5,
    ),
]
IDS = [case.name for case in CASES]


def decoding_fails(codec: ModuleType, data: bytes) -> ZstdError:
    with pytest.raises(ZstdError) as caught:
        codec.decompress(data)
    return caught.value


def feed_bytes(decompressor: Any, data: bytes) -> None:
    for byte in data:
        decompressor.decompress(bytes((byte,)))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_error(codec: ModuleType, case: Case) -> None:
    """Each has the code that libzstd gives it, says what is wrong, and points to it."""
    error = decoding_fails(codec, case.frame)
    assert case.text in str(error)
    assert (error.code, error.offset) == (case.code, case.offset)
    assert str(error).startswith(f"Unable to decompress Zstandard data: {error.name}: ")
    assert error.args[0].endswith(f"(at byte {case.offset})")
    assert isinstance(error, ZstdLimitError) == (case.code == 16)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_error_in_pieces(codec: ModuleType, case: Case) -> None:
    """A stream raises the same for the same bytes one by one, and can be used again."""
    decompressor = codec.ZstdDecompressor(multi_frame=True)
    with pytest.raises(ZstdError) as caught:
        feed_bytes(decompressor, case.frame)
    assert (caught.value.code, caught.value.offset) == (case.code, case.offset) or case.code == 10
    assert decompressor.decompress(compressed(LITERALS + NO_SEQUENCES)) == b"0123456789"
    assert decompressor.eof


# docs/zstd.md has the whole list; the others are refused from libzstd 1.5.6 on.
LIBZSTD_LETS_PASS = {"empty block", "window's offset", "length"}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_libzstd_refuses_it_too(case: Case) -> None:
    """The frames are wrong by libzstd as well, but for those that it is known to let pass."""
    library = libzstd()
    if case.name in LIBZSTD_LETS_PASS:
        assert isinstance(library.decompress(case.frame), bytes)
        return
    if library.zstd_version_info < (1, 5, 6):
        pytest.skip("older versions let more pass")
    with pytest.raises(library.ZstdError):
        library.decompress(case.frame)


def raising_lines() -> dict[tuple[str, int], str]:
    """Return the line of each statement of the decoder that raises an error about the input."""
    found = {}
    package = Path(purepy.zstd.__file__).parent
    parts = ("bits", "block", "frame", "frame_decoder", "fse", "huffman", "literals", "sequence_tables", "sequences")
    for path in (package / "format" / "header.py", *(package / "decoder" / f"{name}.py" for name in parts)):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            text = ast.unparse(node.exc)
            if text.startswith(
                ("corruption", "decoding_error", "not_at_end", "_zero_offset", "_bad_offset", "_too_long")
            ):
                found[path.name, node.lineno] = text
    return found


def raised_at(traceback: TracebackType | None) -> tuple[str, int]:
    assert traceback is not None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return Path(traceback.tb_frame.f_code.co_filename).name, traceback.tb_lineno


def test_no_error_is_left_out() -> None:
    """Every statement that raises about the input is reached by one of the cases, in one form or the other."""
    known = raising_lines()
    assert len(known) > 40
    left = dict(known)
    for codec in (purepy.zstd, other_form()):
        for case in CASES:
            where = raised_at(decoding_fails(codec, case.frame).__traceback__)
            # A call over several lines is reported at one of them: take the statement that begins before it.
            begins = max((line for name, line in known if name == where[0] and line <= where[1]), default=0)
            left.pop((where[0], begins), None)
            if not begins:
                pytest.fail(f"{case.name} is raised at {where}")
    # What only get_frame_size and get_frame_info raise is in test_decoder_frame.py.
    left = {key: text for key, text in left.items() if key[0] != "frame.py"}
    assert left == {}


def test_cut_frames(codec: ModuleType) -> None:
    """A frame that ends too soon is told from a corrupt one, wherever it is cut."""
    frame = header(descriptor=0x04) + block(LITERALS + rle_sequences(1, (5, 3, 0), (0, 3))) + bytes(4)
    for size in range(len(frame)):
        with pytest.raises(ZstdError, match="Compressed data ended before the end-of-stream marker") as caught:
            codec.decompress(frame[:size])
        assert caught.value.offset == size
        decompressor = codec.ZstdDecompressor()
        decompressor.decompress(frame[:size])
        assert not decompressor.eof
        assert decompressor.needs_input


def test_magic_is_refused_at_once(codec: ModuleType) -> None:
    """A stream that is no Zstandard is refused as soon as its bytes show it."""
    for prefix in (b"\0", MAGIC[:1] + b"\0", MAGIC[:3] + b"\0", b"\x50\x2a\0", b"\x60\x2a\x4d\x18"):
        with pytest.raises(ZstdError, match="Unknown frame descriptor"):
            codec.ZstdDecompressor().decompress(prefix)
