# SPDX-License-Identifier: Apache-2.0
"""cpkg.install(): other packages' names resolve to ours where those are absent, and only there."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Callable

import pytest
from processes import run_python

import cpkg
import purepy

HAS_COMPRESSION = sys.version_info >= (3, 14)
PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function that runs code in an interpreter which has cpkg and, beside the standard library, nothing else."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for package in (cpkg, purepy):
        folder = Path(package.__file__).parent
        (packages / folder.name).symlink_to(folder, target_is_directory=True)

    def run_code(code: str, *arguments: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(packages)}
        done = run_python("-S", "-c", code, *arguments, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_code


def test_absent_names_resolve(run: Run) -> None:
    run("""
import sys, importlib.util, cpkg
done = cpkg.install()
length = len(sys.meta_path)
assert cpkg.install() == done and len(sys.meta_path) == length, "calling it again changes nothing"
theirs = {"compression.zstd"} if sys.version_info >= (3, 14) else set()
assert {name for name, ours in done.items() if not ours} == theirs
assert "msgpack" not in sys.modules and "cpkg.msgpack" not in sys.modules, "nothing is loaded before it is used"
assert all(importlib.util.find_spec(name) for name in done)

import msgpack, msgpack.fallback
from msgpack.exceptions import ExtraData
from msgpack.ext import Timestamp
from msgpack import *
import cpkg.msgpack
assert msgpack.unpackb(packb([1, Timestamp(1, 2)])) == [1, Timestamp(1, 2)]
assert msgpack.__file__ == cpkg.msgpack.__file__, "where the code is that serves"
assert msgpack.version >= (1, 2) and msgpack.__version__ and "packb" in dir(msgpack)
assert ExtraData is cpkg.msgpack.ExtraData is msgpack.exceptions.ExtraData
assert msgpack.fallback.Packer is msgpack.Packer is cpkg.msgpack.Packer
msgpack.Packer = None
assert cpkg.msgpack.Packer is not None, "who patches the one does not patch the other"

from backports import zstd
import backports.zstd
from backports.zstd import ZstdFile, compress
assert backports.zstd is zstd and zstd.decompress(compress(b"abc")) == b"abc"
assert zstd.ZstdError is cpkg.ZstdError and zstd.__name__ == "backports.zstd"

import zstandard
from zstandard.backend_cffi import ZstdDecompressor
import cpkg.zstandard
assert ZstdDecompressor is cpkg.zstandard.ZstdDecompressor
assert ZstdDecompressor().decompress(zstandard.ZstdCompressor().compress(b"abc")) == b"abc"
assert zstandard.__version__ == cpkg.zstandard.__version__

from compression.zstd import decompress
assert decompress(compress(b"abc")) == b"abc"
""")


@pytest.mark.parametrize(
    "name", ["msgpack._cmsgpack", "backports.tarfile", "backports.zstd._zstd", "compression.nothing"]
)
def test_other_names_stay_absent(run: Run, name: str) -> None:
    run(f"""
import cpkg
cpkg.install()
try:
    import {name}
except ModuleNotFoundError as exc:
    assert exc.name == {name!r}, exc.name
else:
    raise AssertionError
""")


def test_absent_attributes(run: Run) -> None:
    run("""
import cpkg
cpkg.install()
import msgpack
try:
    msgpack.nothing
except AttributeError as exc:
    assert str(exc) == "module 'msgpack' (cpkg.msgpack) has no attribute 'nothing'"
else:
    raise AssertionError
""")


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_example(run: Run) -> None:
    section = PAGE.read_text().partition("## cpkg.install")[2].partition("\n## ")[0]
    for example in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        run(example)


def test_chosen_names(run: Run) -> None:
    run("""
import cpkg
assert cpkg.install("msgpack") == {"msgpack": True}
import msgpack
try:
    import backports.zstd
except ModuleNotFoundError:
    pass
else:
    raise AssertionError
assert cpkg.install("backports.zstd") == {"backports.zstd": True}
import backports.zstd, msgpack
""")


def test_an_unknown_name() -> None:
    length = len(sys.meta_path)
    with pytest.raises(ValueError, match=r"cannot install 'numpy': expected some of backports\.zstd, "):
        cpkg.install("msgpack", "numpy")
    assert len(sys.meta_path) == length


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_installed_stays(run: Run, tmp_path: Path, when: str) -> None:
    """Also what becomes importable after the call, and before the first import."""
    for folder in ("msgpack", "backports/zstd", "backports/other"):
        (tmp_path / "theirs" / folder).mkdir(parents=True)
        (tmp_path / "theirs" / folder / "__init__.py").write_text("theirs = True\n")
    run(f"""
import sys, cpkg
if {when!r} == "after":
    cpkg.install()
sys.path.append("theirs")
assert cpkg.install("msgpack", "backports.zstd") == {{"msgpack": False, "backports.zstd": False}}
import msgpack, backports.zstd, backports.other
assert msgpack.theirs and backports.zstd.theirs and backports.other.theirs
assert cpkg.install("msgpack", "backports.zstd") == {{"msgpack": False, "backports.zstd": False}}
try:
    import msgpack.fallback
except ModuleNotFoundError:
    pass
else:
    raise AssertionError("a submodule of ours below a package of theirs")
""")


def test_force_takes_the_place_of_what_is_installed(run: Run, tmp_path: Path) -> None:
    for folder in ("msgpack", "backports/zstd", "backports/other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("theirs = True\n")
    run("""
import sys, warnings, cpkg
sys.path.append("")
import msgpack
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert cpkg.install("msgpack") == {"msgpack": False}
    assert "left alone: msgpack (force=True" in str(caught[0].message) and caught[0].filename == "<string>"
    assert cpkg.install("msgpack", "backports.zstd", force=True) == {"msgpack": True, "backports.zstd": True}
    assert len(caught) == 1
import backports.other, backports.zstd
assert backports.other.theirs and backports.zstd.compress is cpkg.zstd.compress
assert msgpack.theirs
import msgpack, msgpack.ext
assert msgpack.packb is cpkg.msgpack.packb
""")


def test_beside_other_parts_of_a_namespace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "theirs/backports/other").mkdir(parents=True)
    run("""
import sys, cpkg
cpkg.install()
import backports.zstd
sys.path.append("theirs")
import backports.other
""")


@pytest.mark.skipif(HAS_COMPRESSION, reason="there is a package of that name")
def test_a_module_in_the_place_of_a_package(run: Run, tmp_path: Path) -> None:
    (tmp_path / "compression.py").write_text("theirs = True\n")
    run("""
import cpkg
assert cpkg.install("compression.zstd") == {"compression.zstd": False}
import compression
assert compression.theirs and not hasattr(compression, "zstd")
""")


def test_a_name_that_must_not_be_imported(run: Run) -> None:
    """None in sys.modules forbids an import, as tests of libraries do."""
    run("""
import sys, cpkg
sys.modules["msgpack"] = None
assert cpkg.install("msgpack") == {"msgpack": False}
assert sys.modules["msgpack"] is None
""")


def test_a_name_that_was_put_there_by_hand(run: Run) -> None:
    run("""
import sys, cpkg.zstd
sys.modules["backports.zstd"] = cpkg.zstd
assert cpkg.install("backports.zstd") == {"backports.zstd": True}
assert sys.modules["backports.zstd"] is cpkg.zstd
""")


@pytest.mark.skipif(not HAS_COMPRESSION, reason="the standard library has no compression.zstd")
def test_a_python_without_libzstd(run: Run) -> None:
    run("""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "_zstd":
            raise ModuleNotFoundError("No module named '_zstd'", name=name)
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "_zstd" else find_spec(name, package)
sys.meta_path.insert(0, Hidden())
import cpkg
assert cpkg.install() ["compression.zstd"] is True
from compression import zstd, gzip
assert zstd.decompress(zstd.compress(b"abc")) == b"abc"
import cpkg.zstd
assert zstd.compress is cpkg.zstd.compress
""")
