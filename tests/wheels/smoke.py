# SPDX-License-Identifier: Apache-2.0
"""
Check an installed wheel, using only the standard library: `python smoke.py LIBZSTD-VERSION MSGPACK-C-VERSION`.

Exits with an error unless both codecs are native, report the library inside the wheel, and work.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import cpkg
from cpkg import msgpack, zstd


def check_backends(libraries: dict[str, str]) -> None:
    for codec, info in cpkg.backend_info().items():
        assert info.backend == "native", info
        assert info.library.split(" with ")[0] == libraries[codec], info
        assert info.faster is None, info


def check_refused(call: Callable[[bytes], object], data: bytes, error: type[Exception]) -> None:
    try:
        call(data)
    except error:
        return
    raise AssertionError(f"{data[:99]!r} was accepted")


def check_msgpack() -> None:
    value = {"text": "Grüße", "bytes": b"\x00\xff", "ints": [0, -1, 2**40, 2**64 - 1], "float": 0.1, "none": None}
    data = msgpack.packb(value)
    assert msgpack.unpackb(data) == value
    unpacker = msgpack.Unpacker(io.BytesIO(data * 3))
    assert list(unpacker) == [value] * 3
    check_refused(msgpack.unpackb, data[:-1], msgpack.TruncatedError)


def check_zstd() -> None:
    text = b"".join(b"line %d of a text that repeats itself\n" % number for number in range(20_000))
    for level in (-5, 1, 3, 9, 19):
        frame = zstd.compress(text, level)
        assert len(frame) < len(text) // 4
        assert zstd.decompress(frame) == text
    workers = {zstd.CompressionParameter.nb_workers: 2, zstd.CompressionParameter.checksum_flag: 1}
    assert zstd.decompress(zstd.compress(text, options=workers)) == text
    samples = [b"record %d: name=%d; price=%d" % (number, number * 7, number % 90) for number in range(2000)]
    trained = zstd.train_dict(samples, 4096)
    frame = zstd.compress(samples[5], zstd_dict=trained)
    assert zstd.decompress(frame, zstd_dict=trained) == samples[5]
    memory = io.BytesIO()
    with zstd.open(memory, "wt", encoding="utf-8") as file:
        file.write(text.decode())
    memory.seek(0)
    with zstd.open(memory, "rt", encoding="utf-8") as file:
        assert sum(1 for _ in file) == 20_000
    check_refused(zstd.decompress, b"not a frame", zstd.ZstdError)


def main() -> None:
    check_backends({"zstd": f"bundled libzstd {sys.argv[1]}", "msgpack": f"bundled msgpack-c {sys.argv[2]}"})
    check_msgpack()
    check_zstd()
    value = [{"name": "Oslo", "population": 709_037}] * 100
    assert cpkg.loads(cpkg.dumps(value, compress=True)) == value
    print("smoke test passed:", *(info.library for info in cpkg.backend_info().values()), sep=" ")


if __name__ == "__main__":
    main()
