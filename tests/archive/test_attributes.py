# SPDX-License-Identifier: Apache-2.0
"""Extended attributes and access control lists, on request."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from cpkg import archive
from purepy.tar.acl import to_binary, to_text

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
LIST = b"user::rw-,user:1234:r--,group::r--,mask::r--,other::---"
needs_acl_tools = pytest.mark.skipif(shutil.which("setfacl") is None, reason="needs setfacl and getfacl")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a tree with lists of both kinds."""
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "f").write_text("x")
    (tree / "plain").write_text("x")
    try:
        os.setxattr(tree / "f", ACCESS, to_binary(LIST))
        os.setxattr(tree / "d", DEFAULT, to_binary(b"user::rwx,group::r-x,group:77:rwx,mask::rwx,other::r-x"))
    except OSError:
        pytest.skip("this file system has no access control lists")
    return tree


def test_extended_attributes_on_request(engine: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "f").write_text("x")
    try:
        os.setxattr(tree / "f", "user.note", b"\0binary\xff")
        os.setxattr(tree / "f", "user.with=sign", b"v")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    archive.create(tmp_path / "a.tar.zst", base=tree, xattrs=True)
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "without")
    assert os.listxattr(tmp_path / "without" / "f") == []
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out", xattrs=True)
    assert os.getxattr(tmp_path / "out" / "f", "user.note") == b"\0binary\xff"
    assert os.getxattr(tmp_path / "out" / "f", "user.with=sign") == b"v"


def test_lists_are_text_in_archives() -> None:
    assert to_text(to_binary(LIST)) == LIST
    assert to_binary(b"u::rw-,u:name:r--:1234,g::r--,m::r--,o::---") == to_binary(LIST)
    assert to_binary(b"user::rw-\nuser:1234:r--\ngroup::r--\nmask::r--\t#effective\nother::---\n") == to_binary(LIST)
    for wrong in (b"user", b"user:name:r--", b"what::r--", b"mask:5:r--"):
        with pytest.raises(ValueError):
            to_binary(wrong)
    for binary in (b"", b"\x01\0\0\0", to_binary(LIST)[:-1], struct.pack("<IHHI", 2, 0x40, 7, 0)):
        with pytest.raises(ValueError):
            to_text(binary)


def test_access_control_lists_on_request(engine: str, tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.tar.zst"
    archive.create(made, base=tree)
    assert not any(entry.xattrs for entry in archive.entries(made))
    archive.create(made, base=tree, acls=True)
    assert {entry.name: sorted(entry.xattrs) for entry in archive.entries(made) if entry.xattrs} == {
        "./f": [ACCESS],
        "./d": [DEFAULT],
    }
    archive.extract(made, tmp_path / "without")
    assert os.listxattr(tmp_path / "without" / "f") == []
    archive.extract(made, tmp_path / "out", acls=True)
    for name, key in (("f", ACCESS), ("d", DEFAULT)):
        assert os.getxattr(tmp_path / "out" / name, key) == os.getxattr(tree / name, key)
    assert os.listxattr(tmp_path / "out" / "plain") == []


@needs_acl_tools
def test_the_systems_tools_see_the_same(engine: str, tree: Path, tmp_path: Path) -> None:
    subprocess.run(["setfacl", "-m", "u:4321:rw,g:99:r", "plain"], cwd=tree, check=True)
    archive.create(tmp_path / "a.tar.zst", base=tree, acls=True)
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out", acls=True)

    def shown(folder: Path) -> str:
        return subprocess.run(
            ["getfacl", "-R", "-n", "."], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    assert "user:4321:rw-" in shown(tree)
    assert shown(tmp_path / "out") == shown(tree)


@needs_acl_tools
def test_lists_of_gnu_tar(engine: str, tree: Path, tmp_path: Path) -> None:
    """GNU tar and we hand each other access control lists and attributes."""
    os.setxattr(tree / "f", "user.note", b"text")
    archive.create(tmp_path / "a.tar.zst", base=tree, acls=True, xattrs=True)
    (tmp_path / "theirs").mkdir()
    command = ["tar", "--zstd", "--acls", "--xattrs"]
    done = subprocess.run(
        [*command, "-xf", tmp_path / "a.tar.zst", "-C", tmp_path / "theirs"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "not support" in done.stderr:
        pytest.skip("this tar was built without them")
    subprocess.run([*command, "-cf", tmp_path / "b.tar.zst", "-C", tree, "."], check=True)
    archive.extract(tmp_path / "b.tar.zst", tmp_path / "ours", acls=True, xattrs=True)
    for out in (tmp_path / "theirs", tmp_path / "ours"):
        for name in ("f", "d", "plain"):
            assert sorted(os.listxattr(out / name)) == sorted(os.listxattr(tree / name))
            for key in os.listxattr(tree / name):
                assert os.getxattr(out / name, key) == os.getxattr(tree / name, key)
