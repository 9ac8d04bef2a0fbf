# SPDX-License-Identifier: Apache-2.0
"""
Fuzzer that compares whole Zstandard backends: every way to decompress, on randomly assembled input.

An input is a sequence of frames: compressed by one of the backends, built by hand with headers of every form, or
skippable; sometimes truncated or followed by other data; with any kind of dictionary, limits, and cuts of the stream.
The rule: all backends and all ways give the same outcome: the same content, the same limit, or an error.
docs/zstd.md lists the exceptions, which are counted. Dictionaries with errors are tried as well. And for any mutated
frame, the pure decoder raises ZstdError or returns the same as libzstd, in one piece and in many.

`python tests/fuzz/fuzz_zstd_backends.py --seconds 600` sets the duration; a failing case is printed with the
seed that reproduces it.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(here / "support"), str(here), str(here.parent)]

from zstd_contents import KINDS as CONTENTS
from zstd_contents import structured
from zstd_data import SAMPLES
from zstd_data import trained as trained_by
from zstd_frames import MAGIC, block

from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.xxh64 import xxh64
from purepy.zstd.format.zdict import ZstdDict

SKIPPABLE = b"\x2a\x4d\x18"
MAGICLESS = {1000: 1}
MAX_OUTPUT = 1 << 20
TEXT = b"".join(SAMPLES[:40])
RAW = ZstdDict(TEXT[:3000], is_raw=True)
SIZES = (0, 1, 2, 255, 256, 257, 1000, 65_791, 65_792, 70_000, 131_072, 131_073, 140_000)
DECLARED = (0, 1, 255, 256, 65_535, 65_536, 1 << 27, (1 << 27) + 1, (1 << 31) - 1, 1 << 32, 1 << 62, (1 << 63) - 1)
DECLARED += (1 << 63, (1 << 64) - 3, (1 << 64) - 2, (1 << 64) - 1)

STRICTER = (
    r"window of \d+ bytes exceeds the limit|offset \d+ of sequence \d+ lies beyond|compressed block of [01] bytes|"
    r"content of \d+ bytes is shorter|literals stream \d .*(end exactly|end mark)|"
    r"reserved bits of the compression modes|bitstream of (sequences|Huffman weights) does not end exactly|"
    r"bitstream of literals does not end exactly: (\d|1[0-2]) bits are (missing|left over)|"
    r"block of \d+ bytes exceeds the frame's maximum"
)
"""Texts of the errors that only the pure backend raises."""


class Disagreement(AssertionError):
    """Two ways of decompressing gave two results."""


class Case(NamedTuple):
    """One input with its circumstances; `cuts` are sizes of pieces, `limits` are the output limits of calls."""

    data: bytes
    dictionary: str
    options: dict[int, int] | None
    max_output_size: int | None
    cuts: list[int]
    limits: list[int]


def dictionary(kind: str, trained: ZstdDict) -> Any:
    if kind == "none":
        return None
    found = trained if kind.startswith("trained") else RAW
    return getattr(found, f"as_{kind.split()[1]}")


KINDS = ("digested_dict", "undigested_dict", "prefix")
DICTIONARIES = ("none", "none", "none", *(f"{what} {kind}" for what in ("raw", "trained") for kind in KINDS))


def handmade(rng: random.Random, ids: list[int]) -> bytes:
    """Return a frame of raw and RLE blocks with a header of any shape, right or wrong."""
    blocks, content = bytearray(), bytearray()
    count = rng.choice((0, 1, 1, 2, 3))
    for number in range(count):
        kind = rng.choice((0, 0, 1, 1, 2, 3) if rng.random() < 0.1 else (0, 1))
        size = rng.choice((0, 1, 3, 100, 1023, 1024, 1025, 131_071, 131_072, 131_073))
        if kind == 0:
            size = min(size, 2000)
        elif not size:
            size = 1  # libzstd refuses an empty run when it streams an empty frame
        last = number == count - 1 if rng.random() < 0.97 else rng.random() < 0.5
        piece = TEXT[:size] if kind == 0 else b"q"
        blocks += block(piece, kind, size, last=last)
        content += piece if kind == 0 else piece * size
    single = rng.random() < 0.4
    flag = rng.randrange(4)
    id_flag = rng.choice((0, 0, 0, 1, 2, 3))
    checksum = rng.random() < 0.3
    descriptor = flag << 6 | single << 5 | checksum << 2 | id_flag
    if rng.random() < 0.03:
        descriptor |= rng.choice((0x08, 0x10, 0x18))
    header = bytearray(MAGIC)
    if rng.random() < 0.02:
        header[rng.randrange(4)] ^= 1 << rng.randrange(8)
    header.append(descriptor)
    if not single:
        header.append(rng.choice((0, 1, 7, 8, 0x50, 0x58, 0x87, 0x88, 0x89, 0xA8, 0xA9, 0xF8, rng.randrange(256))))
    header += rng.choice((0, 1, *ids)).to_bytes(4, "little")[: (0, 1, 2, 4)[id_flag]]
    width = (single * 1, 2, 4, 8)[flag]
    declared = len(content) if rng.random() < 0.8 else rng.choice((len(content) + 1, abs(len(content) - 1), *DECLARED))
    if width == 2:
        declared = max(0, declared - 256)
    if width:
        header += (declared & (1 << 8 * width) - 1).to_bytes(width, "little")
    tail = b""
    if checksum:
        tail = (xxh64(bytes(content)) & 0xFFFFFFFF).to_bytes(4, "little")
        if rng.random() < 0.1:
            tail = bytes(4)
    return bytes(header) + bytes(blocks) + tail


def skippable(rng: random.Random) -> bytes:
    size = rng.choice((0, 0, 1, 5, 200, 70_000))
    head = bytes((0x50 + rng.randrange(16),)) + SKIPPABLE
    return head + size.to_bytes(4, "little") + bytes(size)


def compressed(rng: random.Random, backend: ModuleType, zstd_dict: Any) -> bytes:
    """Return a frame that a backend compressed with random parameters and pieces."""
    parameter = backend.CompressionParameter
    options = {
        parameter.compression_level: rng.choice((-7, -3, 1, 2, 3, 5, 9, 12, 16, 19)),
        parameter.checksum_flag: int(rng.random() < 0.1),  # a checksum hides mutations
        parameter.content_size_flag: int(rng.random() < 0.7),
        parameter.dict_id_flag: int(rng.random() < 0.7),
    }
    if rng.random() < 0.2:
        options[parameter.window_log] = rng.randrange(10, 20)
    size = rng.choice(SIZES)
    if rng.random() < 0.5:
        start = rng.randrange(3000)
        content = (TEXT * 20)[start : start + size]
    else:
        content = structured(rng, size, [rng.choice(CONTENTS)])
    if rng.random() < 0.5:
        return bytes(backend.compress(content, options=options, zstd_dict=zstd_dict))
    compressor = backend.ZstdCompressor(options=options, zstd_dict=zstd_dict)
    out = b""
    for at in range(0, len(content), 30_000):
        out += compressor.compress(content[at : at + 30_000], rng.choice((0, 0, 1)))
    return out + compressor.flush()


def make(rng: random.Random, backends: list[ModuleType], trained: ZstdDict) -> Case:
    kind = rng.choice(DICTIONARIES)
    options = rng.choice((None, None, None, {100: 0}, {100: 10}, {100: 17}, {100: 27}, {100: 28}, MAGICLESS))
    frames = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        pick = rng.random()
        if pick < 0.2:
            frames.append(skippable(rng))
        elif pick < 0.55:
            frames.append(handmade(rng, [trained.dict_id]))
        else:
            other = kind if rng.random() < 0.9 else rng.choice(DICTIONARIES)
            frames.append(compressed(rng, rng.choice(backends), dictionary(other, trained)))
    if options is MAGICLESS:
        # Skippable frames cannot be recognized then, but libzstd 1.5.4 still recognizes one.
        frames = [frame[4:] for frame in frames if frame[1:4] != SKIPPABLE]
    data = b"".join(frames)
    pick = rng.random()
    if pick < 0.08:
        data = data[: rng.randrange(len(data) + 1)]
    elif pick < 0.12:
        data += rng.choice((b"\0", b"garbage", MAGIC, MAGIC[:2], b"\x50" + SKIPPABLE + b"\x09\0\0\0abc", b"\xff" * 20))
    elif pick < 0.16 and data:
        changed = bytearray(data)
        changed[rng.randrange(min(len(data), 30))] ^= 1 << rng.randrange(8)
        data = bytes(changed)
    limit = rng.choice((None, None, 0, 1, 1000, 131_072, 262_144, 1 << 40))
    cuts = [rng.choice((1, 2, 7, 100, 5000, 70_000)) for _ in range(rng.randrange(1, 4))]
    if len(data) > 20_000:
        cuts = [max(cut, 500) for cut in cuts]
    limits = [rng.choice((-1, -1, 1, 100, 131_072, 1 << 20)) for _ in range(rng.randrange(1, 4))]
    return Case(data, kind, options, limit, cuts, [max(limit, 3000) if limit > 0 else limit for limit in limits])


def stream(backend: ModuleType, case: Case, zstd_dict: Any, multi_frame: bool) -> Any:
    """Decompress piece by piece; return the content, and the data after the first frame."""
    decompressor = backend.ZstdDecompressor(zstd_dict, case.options, multi_frame=multi_frame)
    out = []
    at = turn = 0
    while multi_frame or not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            if at >= len(case.data):
                break
            piece = case.data[at : at + case.cuts[turn % len(case.cuts)]]
            at += len(piece)
        out.append(decompressor.decompress(piece, case.limits[turn % len(case.limits)]))
        turn += 1
    if not decompressor.eof:
        raise ZstdError("cut")
    return b"".join(out), b"" if multi_frame else decompressor.unused_data + case.data[at:]


def file(backend: ModuleType, case: Case, zstd_dict: Any, read: Any) -> bytes:
    with backend.ZstdFile(io.BytesIO(case.data), options=case.options, zstd_dict=zstd_dict) as opened:
        return bytes(read(opened))


def chunks(case: Case) -> list[bytes]:
    out, at, turn = [], 0, 0
    while at < len(case.data):
        out.append(case.data[at : at + case.cuts[turn % len(case.cuts)]])
        at += len(out[-1])
        turn += 1
    return out


def room_of(case: Case) -> bytearray:
    return bytearray(min(case.max_output_size or 0, 1 << 20))


def into(backend: ModuleType, case: Case, zstd_dict: Any) -> bytes:
    room = room_of(case)
    size = backend.decompress_into(case.data, room, zstd_dict, case.options)
    return bytes(room[:size])


def tried(call: Any) -> Any:
    """Return the result of a call, or its exception if bad input may raise it."""
    try:
        return call()
    except (ZstdError, EOFError) as exc:
        return exc


def ways(backend: ModuleType, case: Case, trained: ZstdDict) -> dict[str, Any]:
    """Return the result of each way to decompress, in groups whose results must be the same."""
    found = dictionary(case.dictionary, trained)
    data, options, limit = case.data, case.options, case.max_output_size
    return {
        "whole: decompress": tried(lambda: backend.decompress(data, found, options)),
        "whole: stream": tried(lambda: stream(backend, case, found, True)[0]) if data else EOFError(),
        "whole: iter": tried(lambda: b"".join(backend.decompress_iter(chunks(case), found, options)))
        if data
        else EOFError(),
        "whole: file": tried(lambda: file(backend, case, found, lambda opened: opened.read())),
        "whole: lines": tried(lambda: file(backend, case, found, b"".join)),
        "limited: decompress": tried(lambda: backend.decompress(data, found, options, max_output_size=limit)),
        "limited: hint": tried(lambda: backend.decompress(data, found, options, max_output_size=limit, size_hint=5000)),
        "into: decompress_into": tried(lambda: into(backend, case, found)),
        "first: stream": tried(lambda: stream(backend, case, found, False)),
        "info: get_frame_info": tried(lambda: backend.get_frame_info(data)),
        "size: get_frame_size": tried(lambda: backend.get_frame_size(data)),
    }


def shown(result: Any) -> str:
    return repr(result) if isinstance(result, (Exception, int)) or len(repr(result)) < 90 else f"{len(result)} bytes"


def alike(first: Any, second: Any) -> bool:
    """Return whether two results agree; with two errors in the input, each way may find a different one first."""
    if isinstance(first, Exception):
        return isinstance(second, Exception)
    return type(first) is type(second) and bool(first == second)


def check(backends: list[ModuleType], case: Case, trained: ZstdDict) -> str:
    """Apply the rule to one case; return the outcome. Raises Disagreement."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for backend in backends:
        for name, result in ways(backend, case, trained).items():
            groups.setdefault(name.split(":")[0], []).append((f"{backend.BACKEND} {name}", result))
    for results in groups.values():
        first_name, first = results[0]
        for name, result in results[1:]:
            if alike(first, result):
                continue
            for which, refusal in results:
                found = re.search(STRICTER, str(refusal)) if which.startswith("pure") else None
                if found and isinstance(refusal, Exception):
                    return "stricter: " + re.sub(r"\d+", "N", found.group())
            raise Disagreement(f"{first_name} gives {shown(first)}, {name} {shown(result)}")
    whole = groups["whole"][0][1]
    if isinstance(whole, bytes):
        for limit, group in ((case.max_output_size, "limited"), (len(room_of(case)), "into")):
            result = groups[group][0][1]
            if limit is not None and len(whole) > limit:
                if not isinstance(result, ZstdLimitError):
                    raise Disagreement(f"{len(whole)} bytes pass the limit of {limit} as {shown(result)}")
            elif result != whole:
                raise Disagreement(f"{group} gives {shown(result)} instead of {len(whole)} bytes")
    return type(whole).__name__


def changed_dictionary(rng: random.Random, content: bytes) -> ZstdDict:
    """Change a trained dictionary in one to three places, more often in its tables."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = 8 + rng.randrange(min(len(out) - 8, rng.choice((40, 150, 400))))
        kind = rng.randrange(4)
        if kind < 2:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at] = rng.choice((0, 1, 255, 128))
        else:
            del out[at : at + rng.randrange(1, 4)]
    if rng.random() < 0.1:
        del out[rng.randrange(8, 300) :]
    return ZstdDict(out)


def check_dictionary(rng: random.Random, backends: list[ModuleType], zstd_dict: ZstdDict) -> str:
    """
    Load a dictionary with each backend: all accept it or none, and each decompresses what the others compress with it.

    For compression, older versions of libzstd refuse some dictionaries whose tables lack a symbol.
    """
    found = rng.choice((zstd_dict.as_digested_dict, zstd_dict.as_undigested_dict))
    content = rng.choice(SAMPLES) * rng.randrange(1, 4)
    plain = backends[-1].compress(content)
    loaded = [
        (backend.BACKEND, tried(lambda backend=backend: backend.decompress(plain, found))) for backend in backends
    ]
    for name, result in loaded[1:]:
        if not alike(loaded[0][1], result):
            raise Disagreement(f"{loaded[0][0]} gives {shown(loaded[0][1])}, {name} {shown(result)}")
    for maker in backends:
        frame = tried(lambda maker=maker: maker.compress(content, rng.choice((1, 3, 5)), zstd_dict=found))
        if isinstance(frame, Exception):
            continue
        for reader in backends:
            result = tried(lambda reader=reader, frame=frame: reader.decompress(frame, found))
            if result != content:
                raise Disagreement(f"{reader.BACKEND} reads a frame of {maker.BACKEND} as {shown(result)}")
    return "dictionary taken" if loaded[0][1] == content else "dictionary refused"


def mutated(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change a frame in one to four places, more often near its start, where headers and tables are."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        if not out:
            break
        at = rng.randrange(min(len(out), rng.choice((8, 20, 60, 200, len(out)))))
        kind = rng.randrange(9)
        if kind <= 2:
            out[at] ^= 1 << rng.randrange(8)
        elif kind <= 4:
            out[at] = rng.choice((0, 1, 255, 128, rng.randrange(256)))
        elif kind == 5:
            del out[at : at + rng.randrange(1, 5)]
        elif kind == 6:
            out[at:at] = rng.randbytes(rng.randrange(1, 5))
        elif kind == 7:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            out[at : at + 8] = other[start : start + rng.randrange(1, 40)]
        else:
            out[-1 - rng.randrange(min(len(out), 8))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.05:
        del out[rng.randrange(len(out) + 1) :]
    return bytes(out) + (rng.choice(others) if rng.random() < 0.05 else b"")


def check_mutated(rng: random.Random, library: ModuleType, pure: ModuleType, data: bytes) -> str:
    """Compare the pure decoder with libzstd, which may accept more; errors that differ in numbers are one outcome."""
    whole = tried(lambda: pure.decompress(data, max_output_size=MAX_OUTPUT))
    if isinstance(whole, ZstdLimitError):
        return "limit"
    if isinstance(whole, ZstdError) and whole.offset is not None and not 0 <= whole.offset <= len(data):
        raise Disagreement(f"offset {whole.offset} of {whole!r} is outside the {len(data)} bytes")
    cuts, limits = rng.choices((1, 3, 20, 500, 5000), k=5), rng.choices((-1, -1, 1, 100, 70_000), k=5)
    streamed = tried(lambda: stream(pure, Case(data, "none", None, None, cuts, limits), None, True)[0])
    if data and not alike(whole, streamed):
        raise Disagreement(f"{shown(whole)} in one piece, {shown(streamed)} in many")
    expected = tried(lambda: library.decompress(data))
    if isinstance(whole, bytes):
        if whole != expected:
            raise Disagreement(f"{shown(whole)}, libzstd {shown(expected)}")
        return "decoded"
    if isinstance(expected, Exception):
        return "refused"
    return "stricter: " + re.sub(r"\d+", "N", str(whole).partition(": ")[2].rpartition(" (at")[0])


def run(backends: list[ModuleType], seed: int, *, rounds: int = 1 << 62, seconds: float = float("inf")) -> Counter[str]:
    """Fuzz for some rounds or seconds and count the results; raise Disagreement with the case in its text."""
    rng = random.Random(seed)
    trained = trained_by(backends[0], SAMPLES, 2000)
    frames = [compressed(rng, backends[0], None) for _ in range(20)]
    results: Counter[str] = Counter()
    end = time.monotonic() + seconds
    for _ in range(rounds):
        if time.monotonic() > end:
            break
        case = make(rng, backends, trained)
        changed = changed_dictionary(rng, trained.dict_content)
        frames[rng.randrange(20)] = compressed(rng, backends[0], None)
        data = b""
        try:
            results[check(backends, case, trained)] += 1
            results[check_dictionary(rng, backends, changed)] += 1
            for _ in range(12):
                data = mutated(rng, rng.choice(frames), frames)
                results[check_mutated(rng, backends[0], backends[-1], data)] += 1
        except Exception as exc:
            contents = trained.dict_content, changed.dict_content, data.hex()
            raise Disagreement(f"{exc!r} (seed {seed}): {case!r}, {contents!r}") from exc
    return results


def main() -> None:
    from backends import available

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one each time")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 32)
    backends = list(available("zstd").values())
    print(f"seed {seed}, {', '.join(backend.BACKEND for backend in backends)}")
    for result, count in run(backends, seed, seconds=arguments.seconds).most_common():
        print(f"{count:8} {result}")


if __name__ == "__main__":
    main()
