# SPDX-License-Identifier: Apache-2.0
"""
The seekable format in zstd's own source (contrib/seekable_format): its examples read cpkg's files, and cpkg theirs.

Building the examples needs a source tree of zstd, named by CPKG_ZSTD_SOURCE (`apt-get source libzstd`), a C compiler,
and libzstd with headers. Without these, only a file that one of the examples has written is tested.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

CONTENT = b"hello zstd, seek in me as you please"
# the output of `seekable_compression FILE 12` of zstd 1.5.4 for a file with that content
FROM_TOOL = bytes.fromhex(
    "28b52ffd005861000068656c6c6f207a7374642c2028b52ffd00586100007365656b20696e206d65206128b52ffd0058"
    "6100007320796f7520706c6561736528b52ffd20000100005e2a4d1839000000150000000c0000008d7ec60d15000000"
    "0c0000006fd600c4150000000c000000d2d2c8fd090000000000000099e9d8510400000080b1ea928f"
)
TEXT = b"".join(b"line %d of the file\n" % number for number in range(2000))
FRAME = 3000


def test_a_file_of_the_tool_is_read(zstd: ModuleType) -> None:
    with zstd.SeekableZstdFile(io.BytesIO(FROM_TOOL)) as file:
        assert file.seek_table_info[::2] == (4, len(CONTENT))  # the last frame is empty
        file.seek(20)
        assert file.read() == CONTENT[20:]
        file.seek(0)
        assert file.read() == CONTENT
    verified = zstd.verify(FROM_TOOL)
    assert verified.has_seek_table
    assert verified.decompressed_size == len(CONTENT)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the examples, compiled with the system's libzstd."""
    source, compiler = os.environ.get("CPKG_ZSTD_SOURCE"), shutil.which("cc")
    if source is None or compiler is None:
        pytest.skip("CPKG_ZSTD_SOURCE names no source of zstd, or there is no compiler")
    folder = tmp_path_factory.mktemp("seekable")
    library, seekable = Path(source, "lib"), Path(source, "contrib", "seekable_format")
    parts = [*(seekable / f"zstdseek_{part}.c" for part in ("compress", "decompress")), library / "common/xxhash.c"]
    for name in ("seekable_compression", "seekable_decompression"):
        includes = [f"-I{place}" for place in (seekable, library, library / "common")]
        files = [str(file) for file in (seekable / f"examples/{name}.c", *parts)]
        options = ["-O1", "-w", "-DXXH_NAMESPACE=ZSTD_", *includes, *files, "-lzstd", "-o", str(folder / name)]
        subprocess.run([compiler, *options], check=True)
    return folder


@pytest.mark.parametrize("checksums", [True, False])
def test_the_tool_reads_ours(zstd: ModuleType, tools: Path, tmp_path: Path, checksums: bool) -> None:
    ours = tmp_path / "ours.zst"
    with zstd.SeekableZstdFile(ours, "w", max_frame_content_size=FRAME, checksums=checksums) as file:
        file.write(TEXT)
    for start, end in (
        (0, len(TEXT)),
        (FRAME - 5, 2 * FRAME + 5),
        (len(TEXT) - 1, len(TEXT)),
        (10 * FRAME, 10 * FRAME + 1),
    ):
        command = [tools / "seekable_decompression", ours, str(start), str(end)]
        assert subprocess.run(command, capture_output=True, check=True).stdout == TEXT[start:end]


def test_ours_reads_what_the_tool_writes(zstd: ModuleType, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(TEXT)
    subprocess.run([tools / "seekable_compression", tmp_path / "text", str(FRAME)], check=True)
    theirs = tmp_path / "text.zst"
    with zstd.SeekableZstdFile(theirs) as file:
        assert file.seek_table_info[::2] == (-(-len(TEXT) // FRAME), len(TEXT))
        assert file.read() == TEXT
        for position in (len(TEXT) - 10, 5, 7 * FRAME - 3):
            file.seek(position)
            assert file.read(7) == TEXT[position : position + 7]
    verified = zstd.verify(theirs)
    assert verified.has_seek_table
    with zstd.SeekableZstdFile(theirs, "a", max_frame_content_size=FRAME) as file:  # append to the same file
        file.write(CONTENT)
    command = [tools / "seekable_decompression", theirs, str(len(TEXT) - 3), str(len(TEXT) + len(CONTENT))]
    assert subprocess.run(command, capture_output=True, check=True).stdout == TEXT[-3:] + CONTENT
