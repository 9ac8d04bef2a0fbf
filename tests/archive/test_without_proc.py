# SPDX-License-Identifier: Apache-2.0
"""Archives on a system without /proc, as in a bare chroot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from archives import contents
from processes import needs
from seeds import noise

from cpkg import archive

WORK = """
import os, sys
from cpkg import archive
source, out = sys.argv[1:]
assert not os.path.exists("/proc/self"), "there is /proc"
for _ in range(2):  # the second time over the first
    archive.extract(source, out, filter="fully_trusted")
"""


@needs("unshare", "mount")
def test_links_and_special_files(engine: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "a").write_text("a")
    os.link(tree / "a", tree / "d" / "b")
    os.symlink("a", tree / "link")
    subprocess.run(["ln", "-P", tree / "link", tree / "twin"], check=True)
    os.mkfifo(tree / "fifo", 0o640)
    (tree / "large").write_bytes(noise(300_000))
    # owned by the user who extracts it, because a user namespace may have no other users
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=64 << 10, owner=(0, 0), numeric_owner=True)
    script = 'mount -t tmpfs none /proc && exec "$@"'
    command = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, "sh", sys.executable, "-c", WORK]
    done = subprocess.run(
        [*command, tmp_path / "a.tar.zst", tmp_path / "out"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    if done.stderr.startswith(("unshare:", "mount:")):
        pytest.skip(f"cannot hide /proc: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(tree)
