# SPDX-License-Identifier: Apache-2.0
"""Data of other formats that is passed as a message: errors name the format, and what reads it."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from functools import partial

import pytest
from any_codecs import decode
from archives import created
from record_files import file_of

import cpkg
from cpkg import typed
from cpkg.objects import dumps_loads
from purepy.base.errors import CodecError

MISTAKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "JSON": (lambda: b' {"id": 1}\n', "JSON text: read it with json.loads"),
    "gzip": (lambda: gzip.compress(b"text"), "compressed with gzip"),
    "xz": (lambda: b"\xfd7zXZ\x00", "compressed with xz"),
    "bzip2": (lambda: b"BZh9", "compressed with bzip2"),
    "zip": (lambda: b"PK\x03\x04", "a ZIP archive: read it with zipfile.ZipFile"),
    "pickle": (lambda: pickle.dumps({"id": 1}), "a pickle: read it with pickle.loads"),
    "frame": (lambda: cpkg.zstd.compress(b"\x01"), "a Zstandard frame: read a compressed message with cpkg.loads"),
    "records": (lambda: file_of((b"\x01\x02", 2)), "a record file: read it with cpkg.records.open"),
    "archive": (
        lambda: created(__file__),
        "a tar archive: read it with tarfile, or its .tar.zst file with cpkg.archive",
    ),
}
"""Data of other formats, and what errors name."""


@pytest.mark.parametrize("kind", MISTAKEN)
def test_errors_recognize_other_formats(codecs: dumps_loads.Codecs, kind: str) -> None:
    make, text = MISTAKEN[kind]
    data = make()
    of_messages = (codecs.unpackb, partial(typed.decode, type=dict[str, int]), typed.decode)
    of_frames = (partial(decode, codecs), partial(cpkg.loads, type=dict[str, int]))
    for call in (*of_messages, *(() if kind == "frame" else of_frames)):
        caught = pytest.raises(CodecError, call, data)
        # only after decompression it is known what a frame holds
        known = "a Zstandard frame" if kind == "archive" and call in of_messages else text
        assert str(caught.value).endswith(caught.value.advice or "")
        assert f"; the data is {known}" in str(caught.value)


@pytest.mark.parametrize("data", [b"\x01\x02", b"\x91\x01{}", b"[\x01", b"\x80\x04", b"\xcc{}", b"[\x05]"], ids=repr)
def test_other_errors_give_no_advice(codecs: dumps_loads.Codecs, data: bytes) -> None:
    caught = pytest.raises(CodecError, decode, codecs, data)
    assert "the data is" not in str(caught.value)
