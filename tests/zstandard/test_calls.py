# SPDX-License-Identifier: Apache-2.0
"""Calls of cpkg.zstandard whose result depends only on their arguments: values, errors, and the texts of errors."""

from __future__ import annotations

import inspect
import io
import json
import pickle
import struct
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from backends import available
from call_tables import calls, check_call
from documents import check_examples
from zstd_data import DICTIONARY, SAMPLES, check_trains

from cpkg.zstandard import ZstdError
from cpkg.zstandard.backend_names import names_over
from purepy.base.errors import ZstdLimitError

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(200))
FIELDS = ["window_log", "chain_log", "hash_log", "search_log", "min_match", "target_length", "strategy", "threads"]


def left(file: Any) -> tuple[bool, Any]:
    """Return whether a `with` block gets the file itself, and how the file handles an exception of the block."""
    return file.__enter__() is file, file.__exit__(ValueError, ValueError("x"), None)


@pytest.fixture
def names(zstandard: SimpleNamespace, tmp_path: Path) -> dict[str, Any]:
    """Return the names that rows use; one of the paths is an existing file."""
    (tmp_path / "there").write_bytes(CONTENT)
    return {
        **vars(zstandard),
        "left": left,
        "attrgetter": attrgetter,
        "pack": struct.pack,
        "pickle": pickle,
        "pytest": pytest,
        "BytesIO": io.BytesIO,
        "there": tmp_path / "there",
        "absent": tmp_path / "absent",
        "content": CONTENT,
        "SAMPLES": SAMPLES,
        "compressor": zstandard.ZstdCompressor(),
        "decompressor": zstandard.ZstdDecompressor(),
        "ZstdLimitError": ZstdLimitError,
        "FIELDS": FIELDS,
        "frame": zstandard.compress(CONTENT),
        "unsized": zstandard.ZstdCompressor(write_content_size=False).compress(CONTENT),
    }


@calls(Path(__file__).with_name("calls.txt"), every=4)
def test_call(names: dict[str, Any], tmp_path: Path, call: str, outcome: list[str]) -> None:
    check_call(call, outcome, names)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"there": CONTENT}


# --- names, arguments, defaults, values -------------------------------------------------------------------------------

# the functions and methods in the original's stub, with their parameters and defaults in its order
SIGNATURES = json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(zstandard: SimpleNamespace, name: str) -> None:
    thing: Any = zstandard
    for part in name.split("."):
        thing = getattr(thing, part)
    parameters = [each for each in inspect.signature(thing).parameters.values() if each.name not in ("self", "cls")]
    found = [each.name if each.default is each.empty else f"{each.name}={each.default!r}" for each in parameters]
    assert ", ".join(found) == SIGNATURES[name]


def test_examples(zstandard: SimpleNamespace) -> None:
    # the pure backend does not train
    at_least, but = (10, "Dictionaries") if zstandard.codec.BACKEND == "pure" else (15, "")
    without = "import cpkg.zstandard as zstandard"
    check_examples("zstandard.md", at_least, {"zstandard": zstandard}, without=without, but=but)


# --- dictionaries: kinds, preparation, training, chains ---------------------------------------------------------------

RECORD = b"colour=3 size=5 animal=dog n=77777\n"


@pytest.mark.parametrize("prepared", ["not", "level", "parameters"])
@pytest.mark.parametrize("kind", ["trained", "raw", "trained as raw"])
def test_round_trips(zstandard: SimpleNamespace, kind: str, prepared: str) -> None:
    """Frames with any kind of dictionary are smaller, and every backend decompresses them with the same one."""
    trained = zstandard.ZstdCompressionDict(DICTIONARY)
    data = b"".join(SAMPLES[:20]) if kind == "raw" else trained.as_bytes()
    dict_type = zstandard.DICT_TYPE_RAWCONTENT if kind == "trained as raw" else zstandard.DICT_TYPE_AUTO
    dictionary = zstandard.ZstdCompressionDict(data, dict_type)
    assert dictionary.dict_id() == (0 if kind == "raw" else trained.dict_id())
    if prepared == "level":
        dictionary.precompute_compress(level=6)
    elif prepared == "parameters":
        dictionary.precompute_compress(compression_params=zstandard.ZstdCompressionParameters.from_level(6))
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, write_checksum=True)
    packer = compressor.compressobj()
    frames = [compressor.compress(RECORD), compressor.compress(RECORD), packer.compress(RECORD) + packer.flush()]
    assert len(frames[0]) < len(zstandard.compress(RECORD)) * 0.8
    assert frames[0] == frames[1]
    for codec in available("zstd").values():
        names = SimpleNamespace(**names_over(codec))
        decompressor = names.ZstdDecompressor(dict_data=dictionary)
        for frame in frames:
            assert decompressor.decompress(frame, 1000) == RECORD
            assert decompressor.decompressobj().decompress(frame) == RECORD
            assert b"".join(decompressor.read_to_iter(frame)) == RECORD
        pytest.raises(zstandard.ZstdError, names.ZstdDecompressor().decompress, frames[0])


def test_ids(zstandard: SimpleNamespace) -> None:
    check_trains(zstandard.codec)
    dictionary = zstandard.train_dictionary(1024, SAMPLES, dict_id=4711)
    assert dictionary.dict_id() == 4711
    named = zstandard.ZstdCompressor(dict_data=dictionary).compress(RECORD)
    assert zstandard.get_frame_parameters(named).dict_id == 4711
    assert zstandard.ZstdDecompressor(dict_data=dictionary).decompress(named) == RECORD
    unnamed = zstandard.ZstdCompressor(dict_data=dictionary, write_dict_id=False).compress(RECORD)
    assert zstandard.get_frame_parameters(unnamed).dict_id == 0
    pytest.raises(zstandard.ZstdError, zstandard.decompress, named).match("Dictionary mismatch")


def test_pure_does_not_train() -> None:
    with pytest.raises(ZstdError, match=r"cannot train dict: .*pure backend does not support"):
        names_over(available("zstd")["pure"])["train_dictionary"](1024, SAMPLES)


def test_pickling(zstandard: SimpleNamespace) -> None:
    check_trains(zstandard.codec)
    dictionary = zstandard.train_dictionary(1024, SAMPLES, k=200, d=8)
    again = pickle.loads(pickle.dumps(dictionary))
    assert (again.as_bytes(), again.k, again.d, len(again)) == (dictionary.as_bytes(), 200, 8, len(dictionary))


def test_chain(zstandard: SimpleNamespace) -> None:
    """Each content is the dictionary of the next frame."""
    contents = [b"first " * 50, b"first second " * 50, b"second third " * 50, b"tiny", b"after a tiny one " * 5]
    frames = [zstandard.compress(contents[0])]
    for before, content in zip(contents, contents[1:]):
        compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(before))
        frames.append(compressor.compress(content))
    decompressor = zstandard.ZstdDecompressor()
    for length, content in enumerate(contents, 1):
        assert decompressor.decompress_content_dict_chain(frames[:length]) == content
    with pytest.raises(zstandard.ZstdError, match="chunk 1 did not decompress full frame"):
        decompressor.decompress_content_dict_chain([frames[0], frames[1][:-1]])


def test_the_stdlib_backend_digests_once(zstandard: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = zstandard.ZstdCompressor._codec
    if codec.BACKEND != "stdlib":
        pytest.skip("other backends keep tables, which tests/zstd/test_digests.py counts")
    created: list[object] = []
    new = codec.ZstdCompressor._new
    monkeypatch.setattr(codec.ZstdCompressor, "_new", lambda self: created.append(self) or new(self))
    compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(b"content of a dictionary" * 10))
    frames = {compressor.compress(b"the content of a frame" * 10) for _ in range(3)}
    assert len(frames) == len(created) == 1
