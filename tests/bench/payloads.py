# SPDX-License-Identifier: Apache-2.0
"""The payloads of the benchmarks: objects from seeded generators, and bytes of the running installation.

Payloads are neither fetched nor committed. Generators are seeded, so every interpreter packs the same objects. The byte
corpus comes from the running installation (Python sources, then machine code), so its content differs between
interpreters. Therefore each result records the digest of its bytes, and ratios are computed only within a run.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import importlib.util
import json
import os
import random
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

SEED = 20240229
KIB = 1024
MIB = 1024 * KIB

SIZES = {"1KiB": KIB, "16KiB": 16 * KIB, "1MiB": MIB, "32MiB": 32 * MIB, "1GiB": 1024 * MIB}


def small() -> object:
    """The signer comparison's small object: 13 bytes as MessagePack, 22 as JSON."""
    return {"user": {"id": 1234}}


def regular() -> dict[str, object]:
    """The signer comparison's regular object: 136 bytes as MessagePack, 178 as JSON."""
    user = {"id": 70000, "name": "Ada Lovelace Byron", "username": "ada.lovelace1", "email": "ada@example.com"}
    return {"user": user, "_meta": {"iss": "id.example", "nbf": "2024-02-29T12:00:00+00:00"}}


def large() -> object:
    """A hundred equal regular objects: 13,612 bytes as MessagePack. Very repetitive, as in the comparison."""
    return {"payload": [regular() for _ in range(100)]}


def ints() -> object:
    """27,000 integers of every width in the format."""
    rng, widths = random.Random(SEED), (7, 8, 16, 32, 63)
    return [rng.getrandbits(rng.choice(widths)) * rng.choice((1, 1, -1)) for _ in range(27_000)]


def floats() -> object:
    """20,000 doubles."""
    rng = random.Random(SEED)
    return [rng.uniform(-1e6, 1e6) for _ in range(20_000)]


def unicode() -> object:
    """5,000 strings of two- to four-byte UTF-8 characters."""
    rng, letters = random.Random(SEED), "äöüßéèñçжшщюяабвгδλπωאבגד日本語漢字かな한글🎈🚀🧪 "
    return ["".join(rng.choice(letters) for _ in range(rng.randrange(4, 60))) for _ in range(5_000)]


def records(count: int) -> list[object]:
    """Return `count` records of integers, floats, strings, lists, maps and bins: about 300 bytes each."""
    rng = random.Random(SEED)
    words = [f"{rng.getrandbits(40):x}" for _ in range(4096)]
    return [
        {
            "id": number,
            "uid": rng.getrandbits(63),
            "name": rng.choice(words) + " " + rng.choice(words),
            "city": rng.choice(("München", "Zürich", "東京", "São Paulo", "Oslo")),
            "score": rng.random() * 1000,
            "active": rng.random() < 0.5,
            "parent": None if number % 7 else number // 7,
            "position": [rng.uniform(-90, 90), rng.uniform(-180, 180)],
            "counts": [rng.getrandbits(16) for _ in range(12)],
            "tags": [rng.choice(words) for _ in range(4)],
            "attributes": {rng.choice(words[:64]): rng.getrandbits(20) for _ in range(4)},
            "digest": rng.getrandbits(256).to_bytes(32, "little"),
        }
        for number in range(count)
    ]


def _package_folder(name: str) -> Path:
    """Return the folder of a package. Raises ImportError if it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"the package {name} is not installed")
    return Path(spec.origin).parent


def botocore() -> object:
    """The service model of EC2 from botocore: a deep document of many short strings."""
    found = sorted((_package_folder("botocore") / "data" / "ec2").glob("*/service-2.json*"))[-1]
    raw = found.read_bytes()
    return json.loads(gzip.decompress(raw) if found.suffix == ".gz" else raw)


def vega_cars() -> object:
    """The cars data set of vega_datasets: a flat table as a list of maps with the same keys."""
    return json.loads((_package_folder("vega_datasets") / "_data" / "cars.json").read_bytes())


OBJECTS: dict[str, Callable[[], Any]] = {
    **{make.__name__: make for make in (small, regular, large, ints, floats, unicode)},
    "bin": lambda: random_bytes(8 * MIB),
    "generated": lambda: records(30_000),
    "botocore": botocore,
    "vega-cars": vega_cars,
}


# keep only one object: a million living objects would slow down every garbage collection of another case
@functools.lru_cache(maxsize=1)
def load_object(name: str) -> Any:
    """Return the object called `name`. Raise ImportError if it comes from a package that is not installed."""
    return OBJECTS[name]()


def _sources() -> Iterator[Path]:
    for folder, folders, files in os.walk(sysconfig.get_paths()["stdlib"]):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "dist-packages", "__pycache__", "test"))
        yield from (Path(folder) / name for name in sorted(files) if name.endswith(".py"))


def _machine_code() -> Iterator[Path]:
    # the interpreter, its shared library and its own extension modules, which do not depend on other imports
    found = {Path(sys.executable).resolve()}
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            mapped = {line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line}
    except OSError:
        mapped = set()
    found.update(Path(name) for name in mapped if Path(name).name.startswith(("libpython", "libpypy")))
    for folder in {sysconfig.get_config_var("DESTSHARED"), sysconfig.get_paths()["platstdlib"]} - {None}:
        found.update(Path(folder).glob("*.so"))
    yield from sorted((path for path in found if path.is_file()), key=lambda path: (path.name, str(path)))


def _read(paths: Iterator[Path], limit: int = 16 * MIB) -> bytes:
    out = bytearray()
    for path in paths:
        with contextlib.suppress(OSError):
            out += path.read_bytes()
        if len(out) >= limit:
            break
    return bytes(out[:limit])


@functools.lru_cache(maxsize=1)
def _halves() -> tuple[bytes, bytes]:
    return _read(_sources()), _read(_machine_code())


@functools.lru_cache(maxsize=8)
def corpus(size: int) -> bytes:
    """Return `size` bytes: half Python sources, then half machine code, from the running installation."""
    sources, machine = _halves()
    half = size // 2
    return _extend(sources, half) + _extend(machine, size - half)


def _extend(seed: bytes, size: int) -> bytes:
    """Return `size` bytes from the middle of the seed, or a longer seed made of copies, each xored with a new number.

    Because of the numbers no copy equals another one, so the compression ratio remains that of a single seed.
    """
    if size <= len(seed):
        # skip the beginning: the first source file is mostly a docstring
        start = (len(seed) - size) // 2
        return seed[start : start + size]
    turns = range(size // len(seed) + 1)
    return b"".join(seed.translate(bytes(byte ^ (turn & 0xFF) for byte in range(256))) for turn in turns)[:size]


@functools.lru_cache(maxsize=4)
def json_text(size: int) -> bytes:
    """Return `size` bytes of JSON: botocore's model if it is installed, or lines of seeded records."""
    try:
        text = json.dumps(botocore(), indent=1)
    except ImportError:
        rows = ({key: value for key, value in row.items() if key != "digest"} for row in records(4000))
        text = "\n".join(map(json.dumps, rows))
    return _extend(text.encode(), size)


@functools.lru_cache(maxsize=4)
def random_bytes(size: int) -> bytes:
    """Return `size` bytes that do not compress."""
    return random.Random(SEED).getrandbits(8 * size).to_bytes(size, "little")


@functools.lru_cache(maxsize=4)
def repetitive(size: int) -> bytes:
    """Return `size` bytes of one repeated line, the best case for any compressor."""
    line = b"The quick brown fox jumps over the lazy dog.\n"
    return (line * (size // len(line) + 1))[:size]


BYTES = {"corpus": corpus, "json": json_text, "random": random_bytes, "repetitive": repetitive}


def digest(data: bytes) -> str:
    """Return a hash of the bytes, so that results of different bytes are not compared by mistake."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def pieces(data: Any, size: int) -> list[Any]:
    """Return bytes or text in pieces of a size; the last may be shorter."""
    return [data[at : at + size] for at in range(0, len(data), size)]
