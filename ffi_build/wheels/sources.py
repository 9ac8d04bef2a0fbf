# SPDX-License-Identifier: Apache-2.0
"""
Fetch the libraries that go into wheels: pinned by version and hash, taken from package registries, never committed.

libzstd comes in the sdist of backports.zstd, which carries its sources as they were released; msgpack-c's headers come
in Debian's package of them. The clients of those registries do the fetching (pip, apt), so that their settings hold
(mirrors, proxies). A file that has the right hash is taken from the folder of downloads without asking anybody.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Patch:
    """A change to one file of a library: text that has to be there, once, and what takes its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Source:
    """A library whose code goes into the wheels, and the archive that it is taken from."""

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
    """The package that the archive is, as its registry's client takes it."""
    parts: tuple[tuple[str, str], ...]
    """Pairs of a folder or file in the archive and where it is put."""
    licence_file: str
    patches: tuple[Patch, ...] = ()


# Making a context asks the processor what it can do. On a virtual machine each such question is a trap to the host, and
# together they take longer than compressing a short message: the answer is kept.
_ASK_THE_PROCESSOR_ONCE = Patch(
    file="lib/common/zstd_internal.h",
    old="""\
    ZSTD_cpuid_t cpuid = ZSTD_cpuid();
    return ZSTD_cpuid_bmi1(cpuid) && ZSTD_cpuid_bmi2(cpuid);
""",
    new="""\
    static int known; /* 0, or 1 more than the answer; threads that ask at once write the same */
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (found == 0) {
        ZSTD_cpuid_t cpuid = ZSTD_cpuid();
        found = 1 + (ZSTD_cpuid_bmi1(cpuid) && ZSTD_cpuid_bmi2(cpuid));
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found - 1;
""",
)

# The loop that puts a block's sequences together asks in each round whether it is the last. gcc lays the rarer way out
# first, which takes 5 to 7 % of decompression; told which way is common, it does not.
_FEW_SEQUENCES_ARE_THE_LAST = Patch(
    file="lib/decompress/zstd_decompress_block.c",
    old="        if (!isLastSeq) {\n",
    new="        if (LIKELY(!isLastSeq)) {\n",
)

# Counting how long a match is: gcc takes matches of 8 to 15 bytes for the usual ones, and sends longer ones to and fro
# between two places for each 8 bytes. The short ones are told apart first, and the loop is for the long ones.
_COUNT_LONG_MATCHES_IN_ONE_PLACE = Patch(
    file="lib/compress/zstd_compress_internal.h",
    old="""\
        while (pIn < pInLoopLimit) {
            size_t const diff = MEM_readST(pMatch) ^ MEM_readST(pIn);
            if (!diff) { pIn+=sizeof(size_t); pMatch+=sizeof(size_t); continue; }
""",
    new="""\
        if (pIn < pInLoopLimit) {
            size_t const diff = MEM_readST(pMatch) ^ MEM_readST(pIn);
            if (diff) return sizeof(size_t) + ZSTD_NbCommonBytes(diff);
            pIn+=sizeof(size_t); pMatch+=sizeof(size_t);
        }
        while (pIn < pInLoopLimit) {
            size_t const diff = MEM_readST(pMatch) ^ MEM_readST(pIn);
            if (LIKELY(!diff)) { pIn+=sizeof(size_t); pMatch+=sizeof(size_t); continue; }
""",
)

# How different two parts of a block are, before it is split: at most 131072 events on one side and 8192 on the other,
# whose products fit into 32 bits, of which vectors take four at a time.
_COMPARE_PARTS_IN_32_BITS = Patch(
    file="lib/compress/zstd_preSplit.c",
    old="""\
    U64 distance = 0;
    size_t n;
    assert(hashLog <= HASHLOG_MAX);
    for (n = 0; n < ((size_t)1 << hashLog); n++) {
        distance +=
            abs64((S64)fp1->events[n] * (S64)fp2->nbEvents - (S64)fp2->events[n] * (S64)fp1->nbEvents);
    }
""",
    new="""\
    U32 const nb1 = (U32)fp1->nbEvents, nb2 = (U32)fp2->nbEvents;
    U32 distance = 0;
    size_t n;
    assert(hashLog <= HASHLOG_MAX);
    for (n = 0; n < ((size_t)1 << hashLog); n++) {
        S32 const difference = (S32)(fp1->events[n] * nb2 - fp2->events[n] * nb1);
        distance += (U32)(difference < 0 ? -difference : difference);
    }
""",
)

# A block without sequences whose literals get no smaller is written as it is. libzstd learns late that it is one: it
# copies the literals into the block before it compares sizes. Literals are all of a block if there are no sequences
# and they lie where the search for sequences puts them: a suspicion of 2 says so, and no literals written that the
# block is to be left as it is. (ZSTD_compressSequencesAndLiterals has literals alone, and keeps its way.)
_COPY_INCOMPRESSIBLE_BLOCKS_ONCE = (
    Patch(
        file="lib/compress/zstd_compress.c",
        old="suspectUncompressible = (numSequences == 0) || (",
        new="suspectUncompressible = (numSequences == 0) ? 1 + (literals == seqStorePtr->litStart) : (",
    ),
    Patch(
        file="lib/compress/zstd_compress_literals.c",
        old="""\
            ZSTD_memcpy(nextHuf, prevHuf, sizeof(*prevHuf));
            return ZSTD_noCompressLiterals(dst, dstCapacity, src, srcSize);
""",
        new="""\
            ZSTD_memcpy(nextHuf, prevHuf, sizeof(*prevHuf));
            if (suspectUncompressible == 2) return 0;
            return ZSTD_noCompressLiterals(dst, dstCapacity, src, srcSize);
""",
    ),
    Patch(
        file="lib/compress/zstd_compress.c",
        old="""\
        FORWARD_IF_ERROR(cSize, "ZSTD_compressLiterals failed");
""",
        new="""\
        FORWARD_IF_ERROR(cSize, "ZSTD_compressLiterals failed");
        if (cSize == 0) {
            ZSTD_memcpy(&nextEntropy->fse, &prevEntropy->fse, sizeof(prevEntropy->fse));
            return 0;
        }
""",
    ),
)

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
    patches=(
        _ASK_THE_PROCESSOR_ONCE,
        _FEW_SEQUENCES_ARE_THE_LAST,
        _COUNT_LONG_MATCHES_IN_ONE_PLACE,
        _COMPARE_PARTS_IN_32_BITS,
        *_COPY_INCOMPRESSIBLE_BLOCKS_ONCE,
    ),
)

# Of Debian's stable release, which keeps a version for years. The two headers that the codec includes are those of
# msgpack-c 7.0.2, but for the version number in them.
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
    Return a folder with a library's files, in `folder`; fetch the archive into `downloads` if it is not there.

    Raises SystemExit, with what to do, if the archive cannot be had or has another hash.
    """
    archive = downloads / source.archive
    if not archive.exists():
        downloads.mkdir(parents=True, exist_ok=True)
        if archive.suffix == ".deb":
            _fetch_from_debian(source, downloads)
        else:
            _fetch_from_pypi(source, downloads)
    found = hashlib.sha256(archive.read_bytes()).hexdigest() if archive.exists() else "nothing"
    if found != source.sha256:
        raise SystemExit(
            f"{archive}: expected a file with SHA-256 {source.sha256}, found {found}; put it there by hand"
        )
    target = folder / f"{source.name}-{source.version}"
    shutil.rmtree(target, ignore_errors=True)
    with _open(archive) as opened:
        _extract(opened, source, target)
    for patch in source.patches:
        text = (target / patch.file).read_text(encoding="utf-8")
        if text.count(patch.old) != 1:
            raise SystemExit(f"{target / patch.file}: the patch does not fit this version")
        (target / patch.file).write_text(text.replace(patch.old, patch.new), encoding="utf-8")
    return target


def _fetch_from_pypi(source: Source, downloads: Path) -> None:
    # pip checks the hash before it runs anything: it asks an sdist's build backend for metadata
    wanted = downloads / "requirements.txt"
    wanted.write_text(f"{source.package} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes"]
    try:
        run([*command, "-r", str(wanted), "-d", str(downloads)], downloads)
    except SystemExit as error:
        raise SystemExit(_refusal(source, downloads, str(error))) from None


def _fetch_from_debian(source: Source, downloads: Path) -> None:
    """Have apt download a package of another release than this machine's."""
    try:
        with apt_for(downloads / "apt", "deb") as apt:
            run([*apt, "download", source.package], downloads)
    except SystemExit as error:
        raise SystemExit(_refusal(source, downloads, str(error))) from None


@contextlib.contextmanager
def apt_for(folder: Path, kind: str, suite: str = DEBIAN_SUITE) -> Iterator[list[str]]:
    """
    Give apt-get's command with lists of its own, below a folder that is removed after use.

    They are those of a release of Debian, from the mirror that this machine uses for its own; `kind` is deb or deb-src.
    Raises SystemExit with the reason if that cannot be had.
    """
    if shutil.which("apt-get") is None:
        raise SystemExit("there is no apt-get here")
    folder = folder.resolve()
    listed = run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], folder.parent)
    sites = [site for site in listed.split() if site.rstrip("/").endswith("/debian")]
    if not sites:
        raise SystemExit("apt knows no mirror of Debian")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    entries = folder / "sources.list"
    entries.write_text(f"{kind} [arch=amd64] {sites[0]} {suite} main\n", encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": entries,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::State::status": "/dev/null",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    run([*apt, "update"], folder)
    yield apt
    shutil.rmtree(folder)


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a command in a folder and return its output; raises SystemExit with the end of what it printed."""
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{result.stdout[-2000:]}{result.stderr[-2000:].strip()}")
    return result.stdout


def _refusal(source: Source, downloads: Path, reason: str) -> str:
    return f"cannot fetch {source.package}: {reason}\nPut {source.archive} into {downloads} by hand."


def _open(archive: Path) -> tarfile.TarFile:
    """Open an sdist, or the files of a Debian package: an ar archive with a tar archive in it."""
    if archive.suffix != ".deb":
        return tarfile.open(archive)
    content = archive.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        raise SystemExit(f"{archive} is no Debian package")
    position = 8
    while position < len(content):
        header = content[position : position + 60]
        size = int(header[48:58])
        position += 60
        if header.startswith(b"data.tar"):
            return tarfile.open(fileobj=io.BytesIO(content[position : position + size]))
        position += size + size % 2  # members start at even positions
    raise SystemExit(f"{archive} holds no files")


def _extract(archive: tarfile.TarFile, source: Source, target: Path) -> None:
    """Write the wanted parts of an archive: regular files alone."""
    for member in archive:
        path = PurePosixPath(re.sub(r"^\./", "", member.name))
        for part, place in source.parts:
            if member.isfile() and (path == PurePosixPath(part) or PurePosixPath(part) in path.parents):
                file = archive.extractfile(member)
                assert file is not None
                written = target / place / path.relative_to(part)
                if ".." in written.parts:
                    raise SystemExit(f"{source.archive}: {member.name} leads out of the archive")
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_bytes(file.read())
