# SPDX-License-Identifier: Apache-2.0
"""The installed package's entry points, and the examples for libraries that have their own codec registries."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import pytest
from documents import blocks, section

NAMES = {("fsspec.specs", "zstd"), ("kombu.serializers", "cpkg")}
POINTS = {
    (point.group, point.name): point
    for point in distribution("cpkg-codecs").entry_points
    if point.group != "console_scripts"
}


def test_the_package_declares_them() -> None:
    assert set(POINTS) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES), ids="-".join)
def test_each_loads_alone(name: tuple[str, str]) -> None:
    assert POINTS[name].load() is not None


def test_libraries_find_them() -> None:
    import fsspec
    from kombu import serialization

    from cpkg.integrations.fsspec import ZstdFileSystem

    assert fsspec.get_filesystem_class("zstd") is ZstdFileSystem
    assert serialization.registry._decoders["application/x-cpkg-msgpack"] is not None


@pytest.mark.parametrize(("library", "heading"), [("joblib", "joblib"), ("numcodecs", "numcodecs and Zarr")])
def test_an_example(library: str, heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library, reason="not on PyPy", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(section("integrations.md", heading), "python")
    exec(example, {})
