# SPDX-License-Identifier: Apache-2.0
"""
Random archives as other programs write them, extracted by both engines and GNU tar; random trees; mutated archives; and
false tables.

The rules: C, Python and GNU tar extract the same files, and C and Python report the same entries, problems and errors,
whatever is odd, excluded or in the way at any entry, and wherever frames end. Both create the same archive of a tree,
and all extract that tree from it. For any archive, extraction succeeds or raises one of cpkg's errors, and leaves
nothing outside its folder and no temporary file. Whatever the seek table and the member list contain, the extracted
members are the listed ones, and files are as a reader without these tables finds them, or there is an error.
`python tests/fuzz/fuzz_archives.py --seconds 600` sets the duration. A failing archive is kept, and the seed and the
number of its round are printed.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "tests" / "support"), str(root)]

from archives import ENGINES, contents, created, files_up_to, fixed, header_of, make_tree, member, uncompressed
from zstd_frames import MAGIC, RAW, block

from cpkg import archive
from purepy.base.errors import CodecError
from purepy.tar.members import Collector, Members
from purepy.zstd.seekable.table import SeekTable

MAX_SIZE = 4 << 20
NAMES = [b"../outside/x", b"/outside", b"link", b"link/x", b"a/" * 40, b"", b"sub", b"text", b"sub/deep", b"./sub/up"]
SIZES = (0, 1, 511, 512, 513, 3000, 70_000)
FORMATS = (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT)
FOLDERS = ("", "d/", "d/deep/", "e/", "a long name of a folder " * 5 + "/", "é\udcff/")
Prepare = Callable[[Path], object]


class Violation(AssertionError):
    """The rule was broken."""


def raw_frame(content: bytes) -> bytes:
    """Return a Zstandard frame whose blocks are stored, which every decoder reads fast (RFC 8878, 3.1.1)."""
    starts = range(0, max(len(content), 1), 128 << 10)
    blocks = [block(content[at : at + starts.step], RAW, last=at == starts[-1]) for at in starts]
    return MAGIC + b"\xa0" + len(content).to_bytes(4, "little") + b"".join(blocks)


def streams(tree: Path) -> list[bytes]:
    """Return a tree as several programs archive it, uncompressed."""

    found = [uncompressed(created(base=tree))]
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=form, errors="surrogateescape") as file:
            file.add(tree, ".")
        found.append(plain.getvalue())
    return found


def mutated(choose: random.Random, stream: bytes) -> bytes:
    """Return an archive in a frame: with blocks swapped, bytes changed and checksums repaired, or truncated."""

    blocks = [stream[at : at + 512] for at in range(0, len(stream), 512)]
    headers = [index for index, block in enumerate(blocks) if block[257:262] == b"ustar"]
    for _ in range(choose.randrange(1, 4)):
        index = choose.choice(headers)
        block = bytearray(blocks[index])
        what = choose.randrange(6)
        if what == 0:
            block[choose.randrange(512)] = choose.randrange(256)
        elif what == 1:
            block[156] = choose.choice(b"01234567xgLKSVMND\0")
        elif what == 2:
            at = choose.choice([0, 157])
            block[at : at + 100] = choose.choice(NAMES).ljust(100, b"\0")
        elif what == 3:  # the records of a pax header; a wrong size in any other
            if block[156:157] == b"x" and index + 1 < len(blocks):
                body = bytearray(blocks[index + 1])
                body[choose.randrange(60)] = choose.randrange(256)
                blocks[index + 1] = bytes(body)
            else:
                block[124:136] = b"%011o\0" % choose.choice([0, 1, 511, 513, 70_000, 1 << 20, 1 << 32])
        elif what == 4:
            other = choose.randrange(len(blocks))
            blocks[index], blocks[other] = blocks[other], bytes(block)
            continue
        else:
            blocks.insert(choose.choice(headers), bytes(block))
        blocks[index] = fixed(bytes(block)) if choose.random() < 0.9 else bytes(block)
    data = b"".join(blocks)
    if choose.random() < 0.1:
        data = data[: choose.randrange(len(data))]
    cut = choose.randrange(len(data) + 1)
    frame = raw_frame(data) if choose.random() < 0.5 else raw_frame(data[:cut]) + raw_frame(data[cut:])
    return frame[: choose.randrange(len(frame))] if choose.random() < 0.05 else frame


def extracted(
    engine: str, source: bytes | Path, out: Path, options: dict[str, Any], prepare: Prepare | None = None
) -> tuple[Any, ...]:
    """
    Extract an archive with one engine and return the outcome: error, entries, problems, numbers and tree.

    `prepare` is called with the destination directory.
    """
    os.environ["CPKG_ARCHIVE_BACKEND"] = engine
    shutil.rmtree(out, ignore_errors=True)
    if prepare is not None:
        prepare(out)
    entries: list[archive.Entry] = []
    problems: list[str] = []
    given = {"max_size": MAX_SIZE, "threads": 2, "on_entry": entries.append}
    given |= {"on_problem": lambda problem: problems.append(str(problem)), **options}
    error = numbers = None
    expected = CodecError if given["on_problem"] else (CodecError, OSError)
    try:
        numbers = archive.extract(io.BytesIO(source) if isinstance(source, bytes) else source, out, **given)[:3]
    except expected as exc:
        error = type(exc), str(exc)
    tree = without_times(contents(out)) if out.exists() else {}
    if any(name.endswith(".tmp") for name in tree):
        raise Violation("a temporary file is left")
    shown = [(repr(entry), entry.mtime_ns, entry.uid, entry.uname, entry.position) for entry in entries]
    return error, shown, problems, numbers, tree


def without_times(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree without the times of directories: a directory missing from the archive gets the current time."""
    return {
        name: (kind, mode, None if stat.S_ISDIR(kind) else time, value)
        for name, (kind, mode, time, value) in tree.items()
    }


def by_all(source: bytes | Path, out: Path, *arguments: Any) -> tuple[Any, ...]:
    """Extract an archive with each engine; return the outcome, which must be the same."""

    ends = [extracted(engine, source, out, *arguments) for engine in ENGINES]
    for part, first, last in zip(("error", "entries", "problems", "numbers", "tree"), ends[0], ends[-1]):
        if first != last:
            raise Violation(f"{part} of {ENGINES}:\n{beyond(first, last)}\n{beyond(last, first)}")
    return ends[0]


def beyond(one: Any, other: Any) -> Any:
    """Return the part of one outcome that is not in the other."""
    if isinstance(one, dict):
        return {key: value for key, value in one.items() if other.get(key) != value}
    return [item for item in one if item not in other] if isinstance(one, list) else one


class Model:
    """A random archive: its content, the offsets of headers, the excluded names, and the directories in the way."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.content = b""
        self.headers: list[int] = []
        self.names: list[str] = []
        self.is_plain = True
        """Whether GNU tar does the same: not with links before their files, nor with a repeated name."""
        files: list[str] = []
        for number in range(choose.randrange(1, 9)):
            self._add(number, files)
        self.content += bytes(choose.choice((1024, 1024, 10_240)))
        self.excluded = choose.sample(self.names, choose.choice((0, 0, 1, min(2, len(self.names)))))
        self.in_the_way = choose.sample(self.names, choose.choice((0, 0, 0, 1)))
        self.largest_file = choose.choice((None,) * 7 + (600, 5000))
        """The most that the system allows in one file."""
        self.options = {
            "filter": "fully_trusted",
            "exclude": [glob_of(name) for name in self.excluded],
            "threads": choose.choice((1, 2)),
        }
        if choose.random() < 0.1:
            self.options.update(filter=choose.choice(("data", "tar")), strip_components=choose.choice((0, 1)))
            self.is_plain = False
        self.is_plain = self.is_plain and self.largest_file is None
        if self.in_the_way or self.excluded:
            self.is_plain = self.is_plain and not any(
                name.startswith(other + "/") for name in self.names for other in (*self.in_the_way, *self.excluded)
            )

    def _add(self, number: int, files: list[str]) -> None:
        choose = self.choose
        name = choose.choice(FOLDERS) + f"n{number}"
        if files and choose.random() < 0.1:
            name, self.is_plain = choose.choice(self.names), False
        kind = choose.choice("0000052161")
        data = b""
        mtime, mode = choose.choice((1, 10**9, 10**9)), choose.choice((0o644, 0o755, 0o600))
        values: dict[str, Any] = {"mtime": mtime, "mode": mode}
        if kind == "0":
            size = choose.choice(SIZES)
            letter = bytes([65 + number])
            data = (letter * 512 if choose.random() < 0.5 else header_of(member("inside"))) * (size // 512 + 1)
            data = data[:size]
            files.append(name)
        elif kind == "5":
            values["mode"] = 0o755
        elif kind == "2":
            values["linkname"] = choose.choice(("n1", "d/x", "nowhere"))
        elif kind == "1":
            if not files or choose.random() < 0.1:
                values["linkname"], self.is_plain = f"n{number + 1}", False
            else:
                values["linkname"] = choose.choice(files)
        info = member(name, kind.encode(), **values)
        block = self._odd(info, len(data))
        self.headers.append(len(self.content))
        self.content += block + data + bytes(-len(data) % 512)
        self.names.append(name)

    def _odd(self, info: tarfile.TarInfo, size: int) -> bytes:
        """Return the header of a member in a random format, sometimes with something unusual."""

        choose = self.choose
        info.size = size
        odd = choose.randrange(8)
        format = choose.choice(FORMATS)
        if odd == 0:
            info.uid, format = 3_000_000, tarfile.GNU_FORMAT  # a number in base 256
        elif odd == 1:
            info.mtime, format = -5, tarfile.PAX_FORMAT
        elif odd == 2:
            info.mtime, format = 1.5, tarfile.PAX_FORMAT  # type: ignore[assignment]
        elif odd == 3:
            info.pax_headers, format = {"comment": "c" * choose.choice((1, 600)), "unknown": "u"}, tarfile.PAX_FORMAT
        try:
            made = info.tobuf(format, "utf-8", "surrogateescape")
        except ValueError:  # a name that is too long for ustar
            made = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        block = bytearray(made[-512:])
        if odd == 4 and len(made) == 512:  # V7: the link's name is the last field
            block[257:] = bytes(255)
        elif odd == 5 and len(made) == 512 and block[257:263] == b"ustar\0" and not block[345]:
            block[508:] = b"tar\0"  # as star writes it
        elif odd == 6 and size >= 512 and info.type == b"0" and block[257:265] == b"ustar  \0":
            self._make_sparse(block, size)
        return made[:-512] + fixed(bytes(block))

    def _make_sparse(self, block: bytearray, size: int) -> None:
        """Create a header in the old GNU form: the data follow a hole."""
        block[156:157] = b"S"
        block[386:410] = b"%011o\0%011o\0" % (4096, size)
        block[483:495] = b"%011o\0" % (4096 + size)

    def frames(self) -> bytes:
        """Return the content in frames that end anywhere, most of them in or beside a header."""
        choose, end = self.choose, len(self.content)
        cuts = {0, end}
        for _ in range(choose.choice((0, 1, 1, 2, 4))):
            near = choose.choice(self.headers) + choose.choice((0, 1, 256, 512, 700, 1024, 1536))
            cuts.add(min(choose.choice((near, choose.randrange(end))), end))
        borders = sorted(cuts)
        pieces = [self.content[start:stop] for start, stop in zip(borders, borders[1:])]
        return with_table(pieces) if choose.random() < 0.3 else b"".join(map(raw_frame, pieces))

    def prepare(self, out: Path) -> None:
        """Put a non-empty directory where some entries will be extracted."""
        for name in self.in_the_way:
            os.makedirs(out / name / "in the way", exist_ok=True)


def with_table(pieces: list[bytes], change: Any = None, listed: bytes = b"") -> bytes:
    """Return content as frames with a member list and a seek table, whose entries `change` may alter."""

    frames = [raw_frame(piece) for piece in pieces]
    entries = [(len(frame), len(piece)) for frame, piece in zip(frames, pieces)]
    table = SeekTable(checksums=False)
    for size, content in change(entries) if change else entries:
        table.append(size, content)
    if listed:
        table.append(len(listed), 0)
    return b"".join(frames) + listed + table.to_bytes()


def by_gnu_tar(content: bytes, out: Path, *options: str, prepare: Prepare | None = None) -> dict[str, Any]:
    """Extract an archive with GNU tar, which may fail only after `prepare`, and return the tree."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if prepare is not None:
        prepare(out)
    subprocess.run(["tar", "-xpf", "-", "-C", out, *options], input=content, capture_output=True, check=prepare is None)
    return contents(out)


def stored(model: Model, tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree without the directories that are not in the archive."""
    return {name: value for name, value in tree.items() if not stat.S_ISDIR(value[0]) or name in model.names}


def compare(model: Model, folder: Path) -> str:
    """Extract a model's archive with each program and compare; return the outcome."""

    data = model.frames()
    path = folder / "model.tar.zst"
    path.write_bytes(data)
    source = path if model.choose.random() < 0.5 else data
    with files_up_to(model.largest_file):
        error, _, problems, _, tree = by_all(source, folder / "out", model.options, model.prepare)
    if error is not None:
        raise Violation(f"a valid archive is refused: {error}")
    if model.is_plain and shutil.which("tar"):
        # without wildcards, so that each name excludes only itself
        excluded = ["--no-wildcards", *(f"--exclude={name}" for name in model.excluded)]
        found = by_gnu_tar(model.content, folder / "theirs", *excluded, prepare=model.prepare)
        ours, theirs = stored(model, tree), stored(model, without_times(found))
        if ours != theirs:
            raise Violation(f"the tree:\n{beyond(ours, theirs)}\nand GNU tar's:\n{beyond(theirs, ours)}")
        return "as GNU tar"
    return "with problems" if problems else "well"


def make_random_tree(choose: random.Random, root: Path) -> None:
    """Create a tree of some files, directories and links."""
    folders, files = [root], []
    root.mkdir()
    for number in range(choose.randrange(1, 12)):
        path = choose.choice(folders) / choose.choice((f"n{number}", f"{number}\udcff\n", f"long{number}" * 30))
        kind = choose.choice("ffffdlh")
        if kind == "d":
            path.mkdir(choose.choice((0o755, 0o700)))
            folders.append(path)
        elif kind == "l":
            path.symlink_to(choose.choice(("n0", "nowhere", "to far away" * 12)))
        elif kind == "h" and files:
            os.link(choose.choice(files), path)
        else:
            size = choose.choice((*SIZES, 200_000))
            path.write_bytes(choose.randbytes(min(size, 600)) + bytes(max(size - 600, 0)))
            path.chmod(choose.choice((0o644, 0o600, 0o4755)))
            files.append(path)
        if choose.random() < 0.5:
            when = choose.choice((0, 5, 10**18, 10**18 + 7, -1, 1 << 62))
            os.utime(path, ns=(0, when), follow_symlinks=False)


def list_of_members(data: bytes) -> bytes:
    """Return the frame that holds the member list of an archive."""
    at = data.rindex(b"cpkg.tar") - 8
    return data[at : at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")]


def compare_created(choose: random.Random, folder: Path) -> str:
    """Archive a random tree with both engines; compare the archives, and the trees that cpkg and GNU tar extract."""

    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    make_random_tree(choose, tree)
    options = {"frame_size": choose.choice((65_536, 65_536, 1 << 20)), "threads": choose.choice((1, 2))}
    what = choose.randrange(6)
    if what == 0:
        names = sorted(contents(tree))
        options["exclude"] = [glob_of(choose.choice(names))] if names else "*"
    elif what == 1:
        options["reproducible"] = True
    made = {}
    for engine in ENGINES:
        os.environ["CPKG_ARCHIVE_BACKEND"] = engine
        made[engine] = created(base=tree, **options)
    if len({(uncompressed(data), list_of_members(data)) for data in made.values()}) > 1:
        for engine, data in made.items():
            (folder / f"{engine}.tar.zst").write_bytes(data)
        raise Violation("the engines create different archives")
    ends = [extracted(engine, made[engine], folder / "out", {"filter": "fully_trusted"}) for engine in ENGINES]
    if (ends[0][:3], ends[0][-1]) != (ends[-1][:3], ends[-1][-1]) or ends[0][0] or ends[0][2]:
        raise Violation(f"the engines extract different trees: {[end[:3] for end in ends]}")
    if what > 1:
        wanted = without_times(contents(tree))
        if ends[0][-1] != wanted:
            raise Violation(f"not the archived tree:\n{beyond(ends[0][-1], wanted)}\n{beyond(wanted, ends[0][-1])}")
        if shutil.which("tar") and by_gnu_tar(uncompressed(made[ENGINES[0]]), folder / "theirs") != contents(tree):
            raise Violation("GNU tar extracts a different tree")
    return "created"


def glob_of(name: str) -> str:
    """Return a pattern that matches one name only."""
    return "".join(f"\\{letter}" if letter in "*?[\\" else letter for letter in name)


def lie(choose: random.Random, entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the entries of a seek table with a few changes, most of which keep the sums."""
    entries = entries[:]
    for _ in range(choose.choice((1, 1, 2))):
        index, other = choose.randrange(len(entries)), choose.randrange(len(entries))
        size, content = entries[index]
        what = choose.randrange(6)
        if what == 0:
            entries[index] = size, content ^ 1 << choose.randrange(18)
        elif what == 1 and index != other:
            step = choose.choice((1, 512, content))
            entries[index] = size, max(content - step, 0)
            entries[other] = entries[other][0], entries[other][1] + step
        elif what == 2 and index + 1 < len(entries):  # one entry for two frames
            follows = entries.pop(index + 1)
            entries[index] = size + follows[0], content + choose.choice((0, follows[1]))
        elif what == 3:
            entries[index], entries[other] = entries[other], entries[index]
        elif what == 4:
            entries[index] = size, 0
        else:
            step = min(choose.choice((1, 9, size)), size)
            entries[index] = size - step, content
            entries[other] = entries[other][0] + step, entries[other][1]
    return entries


def lie_about_members(choose: random.Random, frames: list[tuple[list[int], bool]]) -> bytes:
    """Return a member list with a few changes, or None."""

    for _ in range(choose.choice((0, 1, 1, 3))):
        index, other = choose.randrange(len(frames)), choose.randrange(len(frames))
        numbers, is_continued = frames[index]
        what = choose.randrange(5)
        if what == 0:
            frames[index] = numbers, not is_continued
        elif what == 1:
            frames[index] = [], is_continued
        elif what == 2:
            frames[index] = sorted({*numbers, *frames[other][0]}), is_continued
        elif what == 3:
            frames[index], frames[other] = frames[other], frames[index]
        else:
            frames.insert(index, frames.pop(other))
    listed = Members()
    for numbers, is_continued in frames:
        listed.append(array("H", numbers), is_continued)
    data = bytearray(listed.to_bytes())
    if choose.random() < 0.1:  # an invalid list, with a correct checksum
        data[choose.randrange(16, len(data) - 4)] ^= 1 << choose.randrange(8)
        data[-4:] = crc32(data[8:-4]).to_bytes(4, "little")
    return bytes(data)


def listed_by(source: Any, options: dict[str, Any]) -> list[str] | None:
    """Return the names in an archive's listing, or None if the archive is refused."""

    try:
        return [entry.name for entry in archive.entries(source, **options)]
    except CodecError:
        return None


def compare_listing(choose: random.Random, folder: Path) -> str:
    """List and extract an archive with a false seek table or member list, and compare with its actual content."""

    files = [(f"{choose.choice(('', 'd/', 'e/'))}f{number}", choose.choice((100, 9000, 40_000))) for number in range(4)]
    entries = [header_of(member(name), name[-1:].encode() * size) for name, size in files]
    content = b"".join(entries) + bytes(1024)
    begins = [sum(map(len, entries[:index])) for index in range(len(entries))]
    borders = set(range(0, len(content), choose.choice((4096, 16_384, 10_000))))
    starts = sorted(borders | {*begins, len(content) - 1024} if choose.random() < 0.5 else borders)
    pieces = [content[start:stop] for start, stop in zip(starts, [*starts[1:], len(content)])]
    members = [Collector() for _ in pieces]
    for begin, (name, _) in zip(begins, files):
        members[bisect_right(starts, begin) - 1].add(name)
    frames = [
        (list(found.numbers()), start < len(content) - 1024 and start not in begins)
        for start, found in zip(starts, members)
    ]
    kind = choose.randrange(3)
    is_by_name = kind > 0 and choose.random() < 0.7
    listed = lie_about_members(choose, frames) if kind else b""
    path = folder / "table.tar.zst"
    path.write_bytes(with_table(pieces, (lambda entries: lie(choose, entries)) if kind < 2 else None, listed))
    wanted = dict(files)
    names = [*wanted, "d", "e/*"] if is_by_name else [*wanted]
    options = {"include" if is_by_name else "exclude": choose.choice(names)}
    stream = b"".join(map(raw_frame, pieces))
    honest = listed_by(io.BytesIO(stream), options)
    ends = set()
    for engine in ENGINES:
        os.environ["CPKG_ARCHIVE_BACKEND"] = engine
        shown = listed_by(path, options)
        everything = listed_by(path, {})
        if everything is not None and everything != list(wanted):
            raise Violation(f"the listing differs from the content, which is {list(wanted)}: {everything}")
        error, _, problems, _, tree = extracted(engine, path, folder / "out", {"threads": 1, **options})
        names = sorted(name for name, value in tree.items() if value[3] is not None)
        if any(tree[name][3][0] != name[-1:].encode() * wanted[name] for name in names):
            raise Violation("a file is not as it is stored")
        if error is None and (names != sorted(honest or ()) or problems) and not is_by_name:
            raise Violation(f"the extraction differs from the content: {names}, {problems}")
        if is_by_name and (shown is None) != (error is not None):
            raise Violation(f"listed {shown}, extracted {names} with {error}")
        if shown is not None and error is None and (sorted(shown) != names or not set(names) <= set(honest or ())):
            raise Violation(f"listed {shown}, extracted {names}")
        ends.add("listing refused" if shown is None else "listed" if shown == honest else "listed less")
        ends.add("extraction refused" if error else "extracted")
    return ", ".join(sorted(ends))


def compare_mutated(choose: random.Random, folder: Path, found: list[bytes]) -> str:
    """Extract a mutated archive."""
    data = mutated(choose, choose.choice(found))
    (folder / "mutated.tar.zst").write_bytes(data)
    options: dict[str, Any] = {"filter": choose.choice(["data", "tar"]), "strip_components": choose.choice([0, 0, 1])}
    if choose.random() < 0.3:
        options["on_entry"] = None  # then directories do not wait for the files before them
    if choose.random() < 0.2:
        options["exclude"] = choose.choice(["[a-s]*", "sub", "*e*"])
    (folder / "outside").mkdir(exist_ok=True)
    error, _, problems, *_ = by_all(data, folder / "out", options)
    if os.listdir(folder / "outside"):
        raise Violation("a file is outside the destination")
    return "refused" if error else "extracted with problems" if problems else "extracted"


def run(seed: int, folder: Path, *, rounds: int = 1 << 62, seconds: float = float("inf")) -> Counter[str]:
    """Compare that many archives, or as many as time allows; return the outcomes."""

    results: Counter[str] = Counter()
    found = streams(make_tree(folder / "mutated"))
    end = time.monotonic() + seconds
    with mock.patch.dict(os.environ):
        for number in range(rounds):
            if time.monotonic() > end:
                break
            choose = random.Random(f"{seed} {number}")
            kind = number % 8
            try:
                if kind in (2, 6):
                    ended = compare_mutated(choose, folder, found)
                elif kind in (3, 5, 7):
                    ended = compare_listing(choose, folder)
                else:
                    ended = compare_created(choose, folder) if kind == 1 else compare(Model(choose), folder)
            except BaseException:
                print(f"round {number} with seed {seed}: {folder}", file=sys.stderr)
                raise
            results[ended] += 1
    return results


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = Path(tempfile.mkdtemp(prefix="cpkg-fuzz-archives-", dir=memory))
    print(f"seed {options.seed}: {dict(run(options.seed, folder, seconds=options.seconds))}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
