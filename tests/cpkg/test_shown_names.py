# SPDX-License-Identifier: Apache-2.0
"""What completion and reprs show: public names, of public modules."""

from __future__ import annotations

import importlib
import pickle

import pytest
from documents import ARCHIVES, MODULES

import cpkg
from cpkg import archive, msgpack, zstd


@pytest.mark.parametrize("name", MODULES)
def test_dir_shows_public_names_alone(name: str) -> None:
    module = importlib.import_module(name)
    public = {*getattr(module, "__all__", ()), *(cpkg._SUBMODULES if module is cpkg else ())}
    assert {found for found in dir(module) if not found.startswith("_")} == public - {"__version__"}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing


@pytest.mark.parametrize("name", ARCHIVES)
def test_dir_of_archives_shows_the_names_of_the_standard_library(name: str) -> None:
    module = importlib.import_module(name)
    standard = importlib.import_module(name.rpartition(".")[2])
    assert {found for found in dir(module) if not found.startswith("_")} <= {*dir(standard), *module.__all__}


def test_values_are_of_public_modules() -> None:
    values = [
        msgpack.ExtType(1, b""),
        msgpack.Timestamp(0),
        msgpack.Raw(b"\x01"),
        zstd.get_frame_info(zstd.compress(b"")),
        zstd.ZstdDict(bytes(8), is_raw=True),
        archive.Entry("name"),
    ]
    for value in values:
        assert getattr(importlib.import_module(type(value).__module__), type(value).__name__) is type(value)
        assert type(value).__module__ in MODULES
        assert "purepy" not in repr(value)
        assert type(pickle.loads(pickle.dumps(value))) is type(value)
    assert "purepy" not in repr(zstd.open)
    for function in (cpkg.dumps, cpkg.loads, cpkg.dump, cpkg.load):
        assert pickle.loads(pickle.dumps(function)) is function
