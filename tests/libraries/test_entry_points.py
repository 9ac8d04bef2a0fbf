# SPDX-License-Identifier: Apache-2.0
"""The installed package's entry points: they exist, load, and are found by the libraries that use them."""

from __future__ import annotations

from importlib.metadata import distribution

import pytest

NAMES = {
    ("fsspec.specs", "zstd"),
    ("kombu.serializers", "cpkg"),
}
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


def test_fsspec_finds_its_entry_points() -> None:
    import fsspec

    from cpkg.integrations.fsspec import ZstdFileSystem

    assert fsspec.get_filesystem_class("zstd") is ZstdFileSystem


def test_kombu_finds_its_entry_points() -> None:
    from kombu import serialization

    assert serialization.registry._decoders["application/x-cpkg-msgpack"] is not None
