# SPDX-License-Identifier: Apache-2.0
"""Extended attributes and access control lists, on request."""

from __future__ import annotations

import io
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from archives import header_of, member
from processes import needs

from cpkg import archive, zstd
from purepy.base.system import is_root
from purepy.tar.acl import to_binary, to_text
from purepy.tar.encode import pax_record

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
LIST = b"user::rw-,user:1234:r--,group::r--,mask::r--,other::---"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with lists of both kinds."""
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


def test_lists_are_text_in_archives() -> None:
    assert to_text(to_binary(LIST)) == LIST
    assert to_binary(b"u::rw-,u:name:r--:1234,g::r--,m::r--,o::---") == to_binary(LIST)
    assert to_binary(b"user::rw-\nuser:1234:r--\ngroup::r--\nmask::r--\t#effective\nother::---\n") == to_binary(LIST)
    assert to_binary(b"u::rw-,u:root:r--,g::r--,g:root:r--,m::r--,o::---") == to_binary(
        b"u::rw-,u:0:r--,g::r--,g:0:r--,m::r--,o::---"
    )  # as GNU tar writes them
    for wrong in (b"user", b"user:nobody knows:r--", b"what::r--", b"mask:5:r--", b"user:4294967295:r--"):
        with pytest.raises(ValueError):
            to_binary(wrong)
    for binary in (b"", b"\x01\0\0\0", to_binary(LIST)[:-1], struct.pack("<IHHI", 2, 0x40, 7, 0)):
        with pytest.raises(ValueError):
            to_text(binary)


@pytest.mark.parametrize(
    ("option", "wanted"),
    [("acls", {"./f": [ACCESS], "./d": [DEFAULT]}), ("xattrs", {"./f": ["user.note", "user.with=sign"]})],
)
def test_attributes_on_request(
    engine: str, option: str, wanted: dict[str, list[str]], tree: Path, tmp_path: Path
) -> None:
    os.setxattr(tree / "f", "user.note", b"\0binary\xff")
    os.setxattr(tree / "f", "user.with=sign", b"v")
    made = tmp_path / "a.tar.zst"
    archive.create(made, base=tree)
    assert not any(entry.xattrs for entry in archive.entries(made))
    archive.create(made, base=tree, **{option: True})
    found = {entry.name: sorted(entry.xattrs) for entry in archive.entries(made) if entry.xattrs}
    assert found == wanted
    archive.extract(made, tmp_path / "without")
    assert os.listxattr(tmp_path / "without" / "f") == []
    archive.extract(made, tmp_path / "out", **{option: True})
    for name in ("f", "d", "plain"):
        values = {key: os.getxattr(tmp_path / "out" / name, key) for key in os.listxattr(tmp_path / "out" / name)}
        assert values == {key: os.getxattr(tree / name, key) for key in wanted.get(f"./{name}", ())}


@needs("tar", "zstd")
def test_lists_of_gnu_tar(engine: str, tree: Path, tmp_path: Path) -> None:
    """GNU tar reads our access control lists and attributes, and we read those of GNU tar."""
    os.setxattr(tree / "f", "user.note", b"text")
    archive.create(tmp_path / "a.tar.zst", base=tree, acls=True, xattrs=True)
    (tmp_path / "theirs").mkdir()
    command = ["tar", "--zstd", "--acls", "--xattrs"]
    extract = [*command, "-xf", tmp_path / "a.tar.zst", "-C", tmp_path / "theirs"]
    done = subprocess.run(extract, capture_output=True, text=True, check=False)
    if "not support" in done.stderr:
        pytest.skip("this tar was built without them")
    subprocess.run([*command, "-cf", tmp_path / "b.tar.zst", "-C", tree, "."], check=True)
    archive.extract(tmp_path / "b.tar.zst", tmp_path / "ours", acls=True, xattrs=True)
    for out in (tmp_path / "theirs", tmp_path / "ours"):
        for name in ("f", "d", "plain"):
            assert sorted(os.listxattr(out / name)) == sorted(os.listxattr(tree / name))
            for key in os.listxattr(tree / name):
                assert os.getxattr(out / name, key) == os.getxattr(tree / name, key)


def with_records(*records: tuple[str, bytes]) -> io.BytesIO:
    """Return an archive of a file with these records in its pax header, followed by another file."""
    pax = b"".join(pax_record(key.encode(), value) for key, value in records)
    parts = header_of(member("x", b"x"), pax), header_of("f", b"f"), header_of("g", b"g")
    return io.BytesIO(zstd.compress(b"".join(parts) + bytes(1024)))


@pytest.mark.parametrize(
    ("options", "names"),
    [({}, []), ({"acls": True}, [ACCESS]), ({"xattrs": True}, ["user.broken"]),
     ({"acls": True, "xattrs": True, "filter": "tar"}, [ACCESS, "user.broken"])],
)  # fmt: skip
def test_an_attribute_that_cannot_be_read_is_a_problem_of_its_entry(
    engine: str, options: dict[str, Any], names: list[str], tmp_path: Path
) -> None:
    source = with_records(
        ("SCHILY.acl.access", b"user::rw-,user:nobody knows:rw-,group::r--,mask::rw-,other::---"),
        ("LIBARCHIVE.xattr.user.broken", b"?"),
    )
    problems: list[archive.Problem] = []
    assert archive.extract(source, tmp_path, on_problem=problems.append, **options).entries == 2
    assert [(problem.name, problem.message.split()[2]) for problem in problems] == [("f", name) for name in names]
    assert sorted(os.listdir(tmp_path)) == ["f", "g"]
    entry = next(archive.entries(io.BytesIO(source.getvalue())))
    assert sorted(entry.unreadable or ()) == [ACCESS, "user.broken"]


def test_names_of_attributes_as_gnu_tar_writes_them() -> None:
    source = with_records(("SCHILY.xattr.user.a%3Db%253D", b"v"))
    assert next(archive.entries(source)).xattrs == {"user.a=b%3D": b"v"}


@pytest.mark.skipif(not is_root(), reason="needs root to set capabilities")
@pytest.mark.parametrize("filter", ["data", "tar", "fully_trusted"])
def test_capabilities_are_set_if_all_is_trusted(engine: str, filter: str, tmp_path: Path) -> None:
    value = b"\x01\0\0\x02" + (1 << 21).to_bytes(4, "little") + bytes(12)
    source = with_records(("SCHILY.xattr.security.capability", value), ("SCHILY.xattr.user.note", b"n"))
    try:
        archive.extract(source, tmp_path, xattrs=True, filter=filter)
    except OSError:
        pytest.skip("this file system has no extended attributes")
    found = {"user.note"} | ({"security.capability"} if filter == "fully_trusted" else set())
    assert set(os.listxattr(tmp_path / "f")) == found
