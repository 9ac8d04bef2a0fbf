# SPDX-License-Identifier: Apache-2.0
"""A ZstdDict keeps the forms that backends create of it: one per level, a few of each kind, for its whole life."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone, sections
from threads import run_threads
from zstd_data import DICTIONARY, SAMPLES, TEXT, check_trains, trained

from purepy import zstd as pure
from purepy.zstd.encoder.dictionary import EncodingDictionary
from purepy.zstd.format import zdict
from purepy.zstd.format.zdict import KEPT_DIGESTS, Digests

LARGEST = (128 << 10) - 1
"""The largest content, in bytes, for which the tables of a level can be used."""
CONTENT = (TEXT * 2)[: LARGEST + 2]
DATA = SAMPLES[290]


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """Count how often each form of a dictionary is created, by its key, or by its key and part."""
    counts: Counter[Any] = Counter()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Digests, *key: Any) -> Any:
            *named, make = key
            return method(self, *named, lambda: (counts.update([tuple(named)]), make())[1])

        return call

    for name in ("single", "one_of"):
        monkeypatch.setattr(Digests, name, counted(getattr(Digests, name)))
    return counts


def variants(zstd: ModuleType) -> dict[str, dict[str, Any]]:
    parameter = zstd.CompressionParameter
    level = {parameter.compression_level: 5}
    return {
        "default": {},
        "level 0": {"level": 0},
        "level 1": {"level": 1},
        "level -3": {"level": -3},
        "level 12": {"level": 12},
        "checksum": {"options": {**level, parameter.checksum_flag: 1}},
        "no size": {"options": {**level, parameter.content_size_flag: 0}},
        "no id": {"options": {parameter.dict_id_flag: 0}},
        "window": {"options": {**level, parameter.window_log: 12}},
        "strategy": {"options": {parameter.strategy: 4, parameter.min_match: 5}},
    }


def anew(zstd: ModuleType, data: bytes, how: str, **arguments: Any) -> bytes:
    dictionary = zstd.ZstdDict(DICTIONARY)
    compressor = zstd.ZstdCompressor(zstd_dict=getattr(dictionary, how), **arguments)
    frame: bytes = compressor.compress(data, compressor.FLUSH_FRAME)
    return frame


def kept_by_part(dictionary: Any) -> list[Any]:
    """Return the forms of which a dictionary keeps a few, such as tables by level, as a tuple for each kind."""
    return [kept for kept in dictionary._digests.values() if type(kept) is tuple and type(kept[0]) is tuple]


@pytest.mark.parametrize("how", ["as_undigested_dict", "as_digested_dict"])
def test_kept_forms_change_no_byte(zstd: ModuleType, how: str) -> None:
    """For content larger than LARGEST, the tables of a level would give another frame."""
    dictionary = zstd.ZstdDict(DICTIONARY)
    sizes = (0, 100, 3000) if zstd.BACKEND == "pure" else (0, 100, 3000, LARGEST, LARGEST + 1)
    for name, arguments in variants(zstd).items():
        for size in sizes:
            data = CONTENT[:size]
            expected = anew(zstd, data, how, **arguments)
            for _ in range(2):
                frame = zstd.compress(data, zstd_dict=getattr(dictionary, how), **arguments)
                assert frame == expected, (name, size)
            if how == "as_undigested_dict":
                assert zstd.compress(data, zstd_dict=dictionary, **arguments) == expected, (name, size)
                room = bytearray(len(expected))
                assert zstd.compress_into(data, room, zstd_dict=dictionary, **arguments) == len(expected)
                assert room == expected
            assert zstd.decompress(expected, dictionary) == data


def test_the_level_of_a_digested_dictionary_is_named(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default level, also, which CPython 3.14 takes from memory that it did not set."""
    if zstd.BACKEND != "stdlib":
        pytest.skip("only the interpreter's own module can forget it")
    given: list[dict[int, int]] = []
    monkeypatch.setattr(zstd._std, "ZstdCompressor", lambda level, options, pair: given.append(options))
    dictionary = zstd.ZstdDict(DICTIONARY).as_digested_dict
    zstd.ZstdCompressor(zstd_dict=dictionary)
    zstd.ZstdCompressor(zstd_dict=dictionary, options={zstd.CompressionParameter.dict_id_flag: 0})
    zstd.ZstdCompressor(7, zstd_dict=dictionary)
    assert [options[zstd.CompressionParameter.compression_level] for options in given] == [0, 0, 7]


def test_each_form_is_created_once(zstd: ModuleType, created: Counter[Any]) -> None:
    dictionary = zstd.ZstdDict(DICTIONARY)
    for _ in range(3):
        for level in (None, 0, 3, 7):
            frame = zstd.compress(DATA, level, zstd_dict=dictionary)
            zstd.compress_into(DATA, bytearray(1000), level, zstd_dict=dictionary)
            assert zstd.decompress(frame, dictionary) == DATA
            assert zstd.decompress(frame * 2, dictionary, max_output_size=2 * len(DATA)) == DATA * 2
            assert zstd.decompress_into(frame, bytearray(len(DATA)), dictionary) == len(DATA)
    assert set(created.values()) == {1}
    if zstd.IS_WRAPPED:
        name = zstd.BACKEND
        assert set(created) == {(f"{name} compress", 3), (f"{name} compress", 7), (f"{name} decompress",)}


def test_contexts_are_kept_for_other_parameters(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("no context of libzstd's is at hand")
    library = type(zstd.codec.library)
    loads: list[object] = []
    load = library.load_for_compression
    monkeypatch.setattr(library, "load_for_compression", lambda *given: loads.append(given[2]) or load(*given))
    dictionary = zstd.ZstdDict(DICTIONARY)
    options = variants(zstd)["window"]["options"]
    frames = {zstd.compress(DATA, options=options, zstd_dict=dictionary) for _ in range(3)}
    assert len(frames) == len(loads) == 1


def test_a_dictionary_keeps_a_few(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(DICTIONARY)
    parameter = zstd.CompressionParameter
    for level in range(1, KEPT_DIGESTS + 4):
        for _ in range(2):
            zstd.compress(DATA, level, zstd_dict=dictionary)
            zstd.compress(DATA, options={parameter.window_log: 10 + level}, zstd_dict=dictionary)
    kinds = kept_by_part(dictionary)
    if zstd.BACKEND != "pure":
        assert kinds
    assert all(len(kept) <= KEPT_DIGESTS for kept in kinds)
    if zstd.IS_WRAPPED:
        assert [level for level, _ in dictionary._digests[f"{zstd.BACKEND} compress"]] == [7, 6, 5, 4]


def test_nothing_with_threads_is_kept(zstd: ModuleType) -> None:
    """A forked child would wait for threads that do not exist there."""
    workers = zstd.CompressionParameter.nb_workers
    if not zstd.parameter_bounds(workers, True)[1]:
        pytest.skip("this libzstd has no threads")
    dictionary = zstd.ZstdDict(DICTIONARY)
    zstd.compress(DATA, options={workers: 1}, zstd_dict=dictionary)
    assert kept_by_part(dictionary) == []


def test_the_pure_codec_keeps_a_few_indexes() -> None:
    dictionary = pure.ZstdDict(DICTIONARY)
    for level in range(1, 10):
        pure.compress(DATA, level, zstd_dict=dictionary)
    indexes = EncodingDictionary.of(dictionary)._indexes
    assert indexes is not None
    assert len(indexes["finders"]) == KEPT_DIGESTS


def test_large_dictionaries_are_not_kept(zstd: ModuleType) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("the tables are not libzstd's")
    dictionary = zstd.ZstdDict(bytes(zdict.SHARED_CONTENT_MAX + 1), is_raw=True)
    frame = zstd.compress(DATA, zstd_dict=dictionary)
    assert not dictionary._digests
    assert zstd.decompress(frame, dictionary) == DATA
    zstd.compress(DATA, zstd_dict=dictionary.as_digested_dict)
    assert f"{zstd.BACKEND} compress" in dictionary._digests


def test_threads_share_a_form(zstd: ModuleType, created: Counter[Any]) -> None:
    dictionary = zstd.ZstdDict(DICTIONARY)
    expected = anew(zstd, DATA, "as_undigested_dict")
    created.clear()
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(20):
            assert zstd.compress(DATA, zstd_dict=dictionary) == expected
            assert zstd.decompress(expected, dictionary) == DATA

    assert run_threads(*[work] * 4) == []
    assert set(created.values()) == {1}


def test_prepared_forms_replaced_by_other_threads(zstd: ModuleType) -> None:
    levels = range(1, KEPT_DIGESTS + 3)
    dictionary = zstd.ZstdDict(DICTIONARY)
    data = DATA * 10  # long enough for other threads to run meanwhile
    frames = {level: anew(zstd, data, "as_undigested_dict", level=level) for level in levels}
    count = 2 if zstd.BACKEND == "pure" else 30

    def work() -> None:
        for _ in range(count):
            for level in levels:
                assert zstd.compress(data, level, zstd_dict=dictionary) == frames[level]

    assert run_threads(*[work] * 3) == []


def test_a_stream_holds_the_tables_that_it_uses(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(DICTIONARY)
    digested = dictionary.as_digested_dict
    stream = zstd.ZstdCompressor(1, zstd_dict=digested)
    begun = stream.compress(DATA)
    for level in range(2, KEPT_DIGESTS + 4):
        zstd.compress(DATA, level, zstd_dict=digested)
    gc.collect()
    assert zstd.decompress(begun + stream.compress(DATA) + stream.flush(), dictionary) == DATA * 2
    again = stream.compress(DATA, stream.FLUSH_FRAME)
    assert again == anew(zstd, DATA, "as_digested_dict", level=1)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy frees when its collector comes by")
def test_prepared_forms_are_freed_with_the_dictionary(zstd: ModuleType) -> None:
    """They are freed at once: nothing that is kept refers to the dictionary."""
    dictionary = zstd.ZstdDict(DICTIONARY)
    gc.disable()
    try:
        for arguments in variants(zstd).values():
            frame = zstd.compress(DATA, zstd_dict=dictionary, **arguments)
            assert zstd.decompress(frame, dictionary) == DATA
        gone = [weakref.ref(dictionary)]
        if zstd.IS_WRAPPED:
            kept = dictionary._digests
            gone += [weakref.ref(tables[0]) for _, tables in kept[f"{zstd.BACKEND} compress"]]
            gone += [weakref.ref(kept[f"{zstd.BACKEND} decompress"][0])]
            places = [place for _, place in kept[zstd.BACKEND, "contexts"]]
            gone += [weakref.ref(context) for place in places for context in place._contexts]
            assert len(gone) == 1 + 4 + 1 + 2
            del kept, places
        del dictionary
        assert [reference() for reference in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_no_memory_for_the_tables(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("the tables are not libzstd's")
    dictionary = zstd.ZstdDict(DICTIONARY)
    frame = anew(zstd, DATA, "as_undigested_dict")

    def fail(*given: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(zstd.codec.library), "_digested", fail)
        for call in (lambda: zstd.compress(DATA, zstd_dict=dictionary), lambda: zstd.decompress(frame, dictionary)):
            pytest.raises(MemoryError, call)
        assert not dictionary._digests
    assert run_threads(lambda: zstd.compress(DATA, zstd_dict=dictionary)) == []  # the lock was released
    assert zstd.compress(DATA, zstd_dict=dictionary) == frame


# --- the documentation of compression.zstd ----------------------------------------------------------------------------


def test_prefix_is_for_the_first_frame(zstd: ModuleType) -> None:
    prefix = zstd.ZstdDict(TEXT, is_raw=True).as_prefix
    compressor = zstd.ZstdCompressor(zstd_dict=prefix)
    first = compressor.compress(TEXT, compressor.FLUSH_FRAME)
    second = compressor.compress(TEXT, compressor.FLUSH_FRAME)
    assert len(first) < len(second) // 10
    assert zstd.get_frame_info(first).dictionary_id == 0
    assert zstd.decompress(first, prefix) == zstd.decompress(second) == TEXT
    assert zstd.decompress(first + first, prefix) == TEXT * 2
    target = bytearray(len(TEXT) * 2)
    assert zstd.decompress_into(first + first, target, prefix) == len(target)
    assert target == TEXT * 2
    multi = zstd.ZstdDecompressor(prefix, multi_frame=True)
    assert multi.decompress(first + first) == TEXT * 2
    assert multi.eof


def test_too_little_to_train_on(zstd: ModuleType) -> None:
    """libzstd crashes in several ways if the first three quarters of the samples have less than 8 bytes."""
    check_trains(zstd)
    done = run_alone(zstd, "zstd", sections(__file__, "programs.txt")["too little to train on"])
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_finalize(zstd: ModuleType) -> None:
    check_trains(zstd)
    other = trained(zstd, SAMPLES, 3000)
    basis = zstd.ZstdDict(b"".join(SAMPLES[:10]), is_raw=True)
    final = zstd.finalize_dict(basis, samples=SAMPLES, dict_size=4000, level=5)
    assert final.dict_id not in (0, other.dict_id)
    assert len(final) <= 4000
    assert zstd.decompress(zstd.compress(SAMPLES[3], 5, zstd_dict=final), final) == SAMPLES[3]
    pytest.raises(zstd.ZstdError, zstd.decompress, zstd.compress(SAMPLES[3], zstd_dict=other), final)


def test_pure_refuses_what_takes_libzstd() -> None:
    """The error names the other backends; the arguments are checked first."""
    content = pure.ZstdDict(DICTIONARY)
    long = {pure.CompressionParameter.enable_long_distance_matching: 1}
    for call in (
        lambda: pure.train_dict(SAMPLES, 1000),
        lambda: pure.finalize_dict(content, SAMPLES, 1000, 3),
        lambda: pure.compress(b"data", options=long),
        lambda: pure.ZstdCompressor(options=long),
        lambda: pure.open(io.BytesIO(), "wb", options=long),
    ):
        pytest.raises(pure.ZstdError, call).match(r"pure backend does not support .*`cpkg backends`")
    pytest.raises(ValueError, pure.train_dict, [], 1000).match("no data")
    for off in (0, 2):
        assert pure.compress(TEXT, options=dict.fromkeys(long, off)) == pure.compress(TEXT)
