# SPDX-License-Identifier: Apache-2.0
"""
Fetch the libraries for wheels from package registries. Versions and hashes are fixed; the files are never in Git.

libzstd comes from the sdist of backports.zstd, which contains its released sources. The headers of msgpack-c come from
a Debian package, and CPython for Windows and macOS from Maven Central. The clients of those registries (pip, apt, mvn)
do the fetching, so that their settings apply (mirrors, proxies). If the folder of downloads already has a file, nothing
is requested for that file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Source:
    """A library that building the wheels needs, and the archive that contains it."""

    name: str
    version: str
    licence: str
    """SPDX identifier."""
    purl: str
    """Package URL of the library itself, for the SBOM."""
    archive: str
    """File name of the archive."""
    sha256: str
    package: str
    """The package, in the notation of its registry's client."""
    parts: tuple[tuple[str, str], ...]
    """Pairs of a folder or file in the archive and its destination in the library's folder."""
    licence_file: str
    patches: tuple[Path, ...] = ()
    """Patches to its files. Each is a unified diff, preceded by its reason and proof."""


PATCHES = Path(__file__).resolve().parent / "patches"

ZSTD = Source(
    name="zstd",
    version="1.5.7",
    licence="BSD-3-Clause",
    purl="pkg:github/facebook/zstd@v1.5.7",
    archive="backports_zstd-1.8.0.tar.gz",
    sha256="9dae4f4c481716e3db473d667457b4f508ff7459c0931b567a5c9677fb3db316",
    package="backports.zstd==1.8.0",
    parts=(("backports_zstd-1.8.0/src/c/zstd/lib", "lib"), ("backports_zstd-1.8.0/src/c/zstd/LICENSE", "LICENSE")),
    licence_file="LICENSE",
    patches=tuple(sorted(PATCHES.glob("*.patch"))),
)

# From Debian's stable release, which keeps a version for years. The two headers that the codec includes are the same as
# in msgpack-c 7.0.2, except for the version number.
MSGPACK = Source(
    name="msgpack-c",
    version="6.0.1",
    licence="BSL-1.0",
    purl="pkg:github/msgpack/msgpack-c@c-6.0.1",
    archive="libmsgpack-c-dev_6.0.1-3+b1_amd64.deb",
    sha256="0729d94a1581eb0b08a5661b9a2da617ed42a9a7164248eb9b435a57d8269a40",
    package="libmsgpack-c-dev=6.0.1-3+b1",
    parts=(("usr/include", "include"), ("usr/share/doc/libmsgpack-c-dev/copyright", "LICENSE")),
    licence_file="LICENSE",
)
DEBIAN_SUITE = "trixie"

SOURCES = (ZSTD, MSGPACK)


def provide(source: Source, downloads: Path, folder: Path) -> Path:
    """
    Unpack a library below `folder`, apply its patches, and return its folder, which replaces an earlier one.

    If the archive is not in `downloads`, it is fetched first. Raises SystemExit with advice if the archive is not
    available or has another hash. Also raises SystemExit if a patch does not fit.
    """
    archive = downloads / source.archive
    if not archive.exists():
        downloads.mkdir(parents=True, exist_ok=True)
        try:
            _fetch(source, downloads)
        except SystemExit as error:
            put = f"Put {source.archive} into {downloads} manually."
            raise SystemExit(f"cannot fetch {source.package}: {error}\n{put}") from None
    found = hashlib.sha256(archive.read_bytes()).hexdigest() if archive.exists() else "nothing"
    if found != source.sha256:
        raise SystemExit(
            f"{archive}: expected a file with SHA-256 {source.sha256}, found {found}; put it there manually"
        )
    target = folder / f"{source.name}-{source.version}"
    shutil.rmtree(target, ignore_errors=True)
    if archive.suffix == ".jar":
        with zipfile.ZipFile(archive) as jar:
            files = [name for name in jar.namelist() if not name.endswith("/")]
            _write(((name, partial(jar.read, name)) for name in files), source, target)
    else:
        with _open(archive) as opened:
            _write(
                ((member.name, partial(_content, opened, member)) for member in opened if member.isfile()),
                source,
                target,
            )
    for patch in source.patches:
        # a patch must fit exactly; otherwise its proof may no longer be valid
        run(["patch", "--strip=1", "--fuzz=0", "--silent", "--no-backup-if-mismatch", f"--input={patch}"], target)
    return target


def _fetch(source: Source, downloads: Path) -> None:
    """Fetch an archive into `downloads` with the client of its registry."""
    if source.archive.endswith(".deb"):  # the package may be from another Debian release than this machine
        with apt_for(downloads / "apt", "deb") as apt:
            run([*apt, "download", source.package], downloads)
    elif source.archive.endswith(".jar"):
        if shutil.which("mvn") is None:
            raise SystemExit("mvn not found (apt-get install maven)")
        copy = ["dependency:copy", f"-Dartifact={source.package}", f"-DoutputDirectory={downloads}"]
        run(["mvn", "-q", "-B", *copy], downloads)
    else:
        # pip checks the hash before it runs the build backend of an sdist to get its metadata
        wanted = downloads / "requirements.txt"
        wanted.write_text(f"{source.package} --hash=sha256:{source.sha256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes"]
        run([*pip, "-r", str(wanted), "-d", str(downloads)], downloads)


@contextlib.contextmanager
def apt_for(folder: Path, kind: str, suite: str = DEBIAN_SUITE) -> Iterator[list[str]]:
    """
    Yield an apt-get command with its own package lists in `folder`, which is removed afterwards.

    The lists are from the Debian release `suite`, from the mirror that this machine uses; `kind` is deb or deb-src.

    Raises SystemExit with the reason if apt-get or a mirror is missing.
    """
    if shutil.which("apt-get") is None:
        raise SystemExit("apt-get not found")
    folder = folder.resolve()
    listed = run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], folder.parent)
    sites = [site for site in listed.split() if site.rstrip("/").endswith("/debian")]
    if not sites:
        raise SystemExit("apt has no Debian mirror configured")
    entries = folder / "sources.list"
    settings = {
        "Dir::Etc::sourcelist": entries,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::State::status": "/dev/null",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    try:
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        entries.write_text(f"{kind} [arch=amd64] {sites[0]} {suite} main\n", encoding="utf-8")
        run([*apt, "update"], folder)
        yield apt
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a command in a folder and return its standard output; raises SystemExit with its last output if it fails."""
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{result.stdout[-2000:]}{result.stderr[-2000:].strip()}")
    return result.stdout


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive into a folder, with `data_filter` if the interpreter has it."""
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)


def _open(archive: Path) -> tarfile.TarFile:
    """Open an sdist, or the tar archive with the files of a Debian package, which is an ar archive."""
    if archive.suffix != ".deb":
        return tarfile.open(archive)
    content = archive.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        raise SystemExit(f"{archive} is not a Debian package")
    position = 8
    while position < len(content):
        header = content[position : position + 60]
        size = int(header[48:58])
        position += 60
        if header.startswith(b"data.tar"):
            return tarfile.open(fileobj=io.BytesIO(content[position : position + size]))
        position += size + size % 2  # members start at even positions
    raise SystemExit(f"{archive}: found no data.tar in this Debian package")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()


def _write(files: Iterable[tuple[str, Callable[[], bytes]]], source: Source, target: Path) -> None:
    """
    Write the parts of an archive that `source` wants below `target`.

    `files` yields the name of each regular file, with a function that returns its content.
    """
    for name, content in files:
        path = PurePosixPath(re.sub(r"^\./", "", name))
        for part, place in source.parts:
            if path == PurePosixPath(part) or PurePosixPath(part) in path.parents:
                written = target / place / path.relative_to(part)
                if ".." in written.parts:
                    raise SystemExit(f"{source.archive}: {name} points outside the archive")
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_bytes(content())
