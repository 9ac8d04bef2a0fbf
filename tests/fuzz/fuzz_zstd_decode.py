# SPDX-License-Identifier: Apache-2.0
"""
Mutation fuzzer of the pure Zstandard decoder.

The rule: for any input, the decoder raises ZstdError or returns the same as libzstd, in one piece and in many.
It may refuse input that libzstd accepts: libzstd accepts some frames that break RFC 8878 (see docs/zstd.md); these are
counted. `python tests/fuzz/fuzz_zstd_decode.py --seconds 600` sets the duration; a failing input is
printed in hexadecimal with the seed that reproduces it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "tests" / "support"), str(root)]

from zstd_contents import KINDS, structured

from purepy.base.errors import ZstdError

MAX_OUTPUT = 1 << 20


class Violation(AssertionError):
    """The rule was broken."""


def frames(rng: random.Random, library: ModuleType, count: int) -> list[bytes]:
    """Return frames that libzstd compressed with random parameters; few have a checksum, which would hide mutations."""
    made = []
    for _ in range(count):
        parameter = library.CompressionParameter
        options = {
            parameter.compression_level: rng.choice((-7, -1, 1, 2, 3, 5, 8, 12, 16, 19, 22)),
            parameter.checksum_flag: int(rng.random() < 0.1),
            parameter.content_size_flag: int(rng.random() < 0.7),
        }
        if rng.random() < 0.3:
            options[parameter.window_log] = rng.randrange(10, 18)
        if rng.random() < 0.2:
            options[parameter.enable_long_distance_matching] = 1
        size = rng.choice((0, 1, 7, 60, 300, 1000, 4000, 20000, 60000, 140000))
        content = structured(rng, size, [rng.choice(KINDS)])
        compressor = library.ZstdCompressor(options=options)
        frame = b""
        if rng.random() < 0.5:
            at = 0
            while at < len(content):
                step = rng.randrange(1, 3000)
                frame += compressor.compress(content[at : at + step], rng.choice((0, 0, 0, 1)))
                at += step
            frame += compressor.flush()
        else:
            frame = compressor.compress(content, 2)
        made.append(frame)
    made.append(b"\x50\x2a\x4d\x18\x03\0\0\0abc")
    return made


def mutate(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
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
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5)))
        elif kind == 7:
            other = rng.choice(others)
            if other:
                start = rng.randrange(len(other))
                out[at : at + 8] = other[start : start + rng.randrange(1, 40)]
        else:
            out[-1 - rng.randrange(min(len(out), 8))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.05:
        del out[rng.randrange(len(out) + 1) :]
    if rng.random() < 0.05:
        out += rng.choice(others)
    return bytes(out)


def in_pieces(rng: random.Random, codec: ModuleType, data: bytes) -> bytes:
    """Decompress with a stream object, input and output in random pieces."""
    decompressor = codec.ZstdDecompressor(multi_frame=True)
    output = []
    size = at = 0
    while True:
        piece = b""
        if decompressor.needs_input:
            if at >= len(data):
                break
            step = rng.choice((1, 3, 20, 500, 5000))
            piece = data[at : at + step]
            at += step
        output.append(decompressor.decompress(piece, rng.choice((-1, -1, 1, 100, 70000))))
        size += len(output[-1])
        if size > MAX_OUTPUT:
            raise codec.ZstdLimitError("too much")
    if not decompressor.eof:
        raise ZstdError("cut")
    return b"".join(output)


def expected_from(library: ModuleType, data: bytes) -> bytes | None:
    """Return libzstd's result for the input, None for an error."""
    try:
        return bytes(library.decompress(data))
    except library.ZstdError:
        return None


def check(rng: random.Random, codec: ModuleType, library: ModuleType, data: bytes) -> str:
    """Apply the rule to one input; return the outcome."""
    error = None
    content = None
    try:
        content = codec.decompress(data, max_output_size=MAX_OUTPUT)
    except ZstdError as exc:
        error = exc
        if exc.offset is not None and not 0 <= exc.offset <= len(data):
            raise Violation(f"offset {exc.offset} of {exc!r} is outside the {len(data)} bytes") from exc
    except Exception as exc:
        raise Violation(f"{exc!r} instead of a ZstdError") from exc
    if isinstance(error, codec.ZstdLimitError):
        return "limit"
    try:
        streamed = in_pieces(rng, codec, data)
    except ZstdError:
        streamed = None
    except Exception as exc:
        raise Violation(f"{exc!r} instead of a ZstdError, in pieces") from exc
    if streamed != content and data:
        raise Violation("the result in pieces differs from the result in one piece")
    expected = expected_from(library, data)
    if error is None:
        if expected != content:
            raise Violation(
                f"returned {len(content or b'')} bytes, libzstd {'other bytes' if expected else 'an error'}"
            )
        return "decoded"
    if expected is None:
        return "refused"
    # The same error with other numbers is one kind of frame.
    return "stricter: " + re.sub(r"\d+", "N", str(error).partition(": ")[2].rpartition(" (at")[0])


def run(
    codec: ModuleType,
    library: ModuleType,
    seed: int,
    *,
    frame_count: int = 60,
    rounds: int = 1 << 62,
    seconds: float = float("inf"),
) -> Counter[str]:
    """Fuzz for some rounds or seconds and count the results; raise Violation with the input in its text."""
    rng = random.Random(seed)
    corpus = frames(rng, library, frame_count)
    results: Counter[str] = Counter()
    end = time.monotonic() + seconds
    for frame in corpus:
        assert check(rng, codec, library, frame) in ("decoded", "limit")
    for _ in range(rounds):
        if time.monotonic() > end:
            break
        frame = rng.choice(corpus)
        data = mutate(rng, frame, corpus)
        try:
            results[check(rng, codec, library, data)] += 1
        except Violation as exc:
            raise Violation(f"{exc} (seed {seed}): {data.hex()}") from exc
    return results


def main() -> None:
    from zstd_oracle import find_libzstd

    import purepy.zstd

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one each time")
    arguments = parser.parse_args()
    library = find_libzstd()
    if library is None:
        parser.error("no libzstd to compare with")
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}, libzstd {library.zstd_version}")
    for result, count in run(purepy.zstd, library, seed, seconds=arguments.seconds).most_common():
        print(f"{count:8} {result}")


if __name__ == "__main__":
    main()
