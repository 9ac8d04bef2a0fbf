# SPDX-License-Identifier: Apache-2.0
"""Decisions and files of the release builder, without compiling anything; the page on a package index."""

from __future__ import annotations

import io
import json
import re
import runpy
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from processes import needs

from cpkg import _backend
from cpkg._version import VERSION

# last, because the tests are for the installed package, and its source is also there
sys.path.append(str(Path(__file__).resolve().parents[2]))

from ffi_build import build_info, msgpack_build, probe
from ffi_build.index_page import address, index_page
from ffi_build.wheels import archives, compiling, interpreters, maven, sbom, sources
from ffi_build.wheels.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
INFO = "thing-1.0.dist-info"
PURE = {
    "thing/__init__.py": b"",
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\n",
    f"{INFO}/METADATA": b"Name: thing\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\n\nText",
}
CP311 = interpreters.Interpreter("3.11", Path("python3.11"), Path("/"), ".cpython-311-x86_64-linux-gnu.so")


@pytest.mark.parametrize(
    ("name", "suffix", "tags"),
    [
        ("3.9", ".cpython-39-x86_64-linux-gnu.so", ("cp39", "cp39")),
        ("3.14t", ".cpython-314t-x86_64-linux-gnu.so", ("cp314", "cp314t")),
        ("pypy3.9", ".pypy39-pp73-x86_64-linux-gnu.so", ("pp39", "pypy39_pp73")),
        ("pypy3.11", ".pypy311-pp80-x86_64-linux-gnu.so", ("pp311", "pypy311_pp80")),
    ],
)
def test_tags(name: str, suffix: str, tags: tuple[str, str]) -> None:
    assert interpreters.Interpreter(name, Path("python"), Path("/"), suffix).tags == tags


def test_names_and_arguments_of_the_targets() -> None:
    """Wheels have pip's names, modules gcc's; PyPy is built where it exists, and one target has another byte order."""
    pypy = interpreters.Interpreter("pypy3.11", Path("pypy3"), Path("/"), ".pypy311-pp80-x86_64-linux-gnu.so")
    assert all(CP311.serves(target) for target in TARGETS)
    found = [
        {
            "zig": target.zig,
            "module": CP311.suffix_for(target),
            "platform": target.platforms[0],
            "glibc": list(target.oldest_glibc) if target.libc == "glibc" else None,
            "big endian": "-DMSGPACK_ENDIAN_BIG_BYTE=1" in target.arguments,
            "PyPy": pypy.serves(target),
        }
        for target in TARGETS
    ]
    assert found == json.loads(Path(__file__).with_name("targets.json").read_text(encoding="utf-8"))


def test_clang_gets_no_alignments_of_loops(tmp_path: Path) -> None:
    """It refuses one of them, and fails with another for Windows on arm64."""
    asked: dict[str, tuple[str, ...]] = {}

    class Compiler:
        def __init__(self, target: Target) -> None:
            self.target = target

        def compile(self, _source: Path, _result: Path, *arguments: str) -> None:
            asked[self.target.zig] = arguments

        def link_module(self, *paths: Path) -> None:
            pass

    extension = SimpleNamespace(
        name="a.b", sources=["b.c"], define_macros=[], include_dirs=[], extra_compile_args=msgpack_build.FLAGS
    )
    for target in (TARGETS[0], *maven.SYSTEMS["windows"]):
        compiling.build_module(Compiler(target), CP311, tmp_path, compiling.Unit(extension), [], tmp_path)
    aligned = {zig for zig, arguments in asked.items() if any(each.startswith("-falign") for each in arguments)}
    assert aligned == {TARGETS[0].zig}
    assert all("-O3" in arguments and "-Werror" in arguments for arguments in asked.values())


def test_what_is_here_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    own = ("pypy" if sys.implementation.name == "pypy" else "") + "{}.{}".format(*sys.version_info)
    found, missing = interpreters.find([own, "3.99"])
    assert {*found, *missing} == {own, "3.99"}
    assert "3.99" in missing
    if own in found:
        assert (found[own].headers / "Python.h").exists()
        assert found[own].name == own


def test_an_interpreter_of_another_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its headers are below the folder of that system, and an included pyconfig.h is found there."""
    asked = []

    def ask(root: Path, program: Path) -> dict[str, str] | None:
        asked.append((root, program))
        return (
            {"name": "3.99", "suffix": CP311.suffix, "headers": "/usr/include/python3.99"} if root == tmp_path else None
        )

    monkeypatch.setattr(interpreters, "_ask", ask)
    headers, real = (tmp_path / "usr" / "include" / name for name in ("python3.99", "x86_64-linux-gnu/python3.99"))
    for folder, text in ((headers, "# include <x86_64-linux-gnu/python3.99/pyconfig.h>"), (real, "settings")):
        folder.mkdir(parents=True)
        (folder / "pyconfig.h").write_text(text)
    (headers / "Python.h").write_text("")
    found, missing = interpreters.find(["3.99"], [tmp_path])
    assert missing == {}
    assert found["3.99"].root == tmp_path
    assert found["3.99"].headers == headers
    assert asked[-1] == (tmp_path, tmp_path / "usr/local/bin/python3.99")
    assert (found["3.99"].copy_headers(tmp_path / "copy") / "pyconfig.h").read_text() == "settings"


def test_a_wheel_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    platforms = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
    one = archives.write_wheel(tmp_path / "a", PURE, "cp311", "cp311", platforms)
    other = archives.write_wheel(tmp_path / "b", dict(reversed(PURE.items())), "cp311", "cp311", platforms[::-1])
    assert one.name == other.name == "thing-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert archive.testzip() is None
        told = archive.read(f"{INFO}/WHEEL").decode()
        recorded = [line.split(b",")[0].decode() for line in archive.read(f"{INFO}/RECORD").splitlines()]
        assert sorted(recorded) == sorted(archive.namelist())
    assert told.count("Tag: cp311-cp311-") == 2
    assert "Root-Is-Purelib: false" in told
    assert set(archives.read_wheel(one)) == set(PURE)


def test_licences_are_in_the_wheel_and_its_metadata() -> None:
    files = dict(PURE)
    archives.add_licences(files, "Apache-2.0 AND BSD-3-Clause", {"LICENSE.zstd": "text"})
    assert files[f"{INFO}/licenses/LICENSE.zstd"] == b"text"
    head, _, body = files[f"{INFO}/METADATA"].decode().partition("\n\n")
    assert "License-Expression: Apache-2.0 AND BSD-3-Clause" in head.splitlines()
    assert [line for line in head.splitlines() if line.startswith("License-File")] == [
        "License-File: LICENSE",
        "License-File: LICENSE.zstd",
    ]
    assert body == "Text"


def test_an_sdist_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    def write(path: Path, order: list[str], mtime: int) -> bytes:
        with tarfile.open(path, "w:gz") as archive:
            for name in order:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.uname = 4, mtime, f"user{mtime}"
                archive.addfile(entry, io.BytesIO(b"text"))
        archives.normalise_sdist(path)
        return path.read_bytes()

    one = write(tmp_path / "a.tar.gz", ["a/x", "a/y"], 5)
    assert one == write(tmp_path / "b.tar.gz", ["a/y", "a/x"], 7)
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert archive.getnames() == ["a/x", "a/y"]
        assert archive.extractfile("a/y").read() == b"text"


def test_the_sbom_names_what_is_inside() -> None:
    document = json.loads(sbom.make("cpkg-codecs", "0.1.0", "label", sources.SOURCES))
    assert document == json.loads(sbom.make("cpkg-codecs", "0.1.0", "label", sources.SOURCES))
    inside = {component["name"]: component for component in document["components"]}
    assert inside["zstd"]["version"] == sources.ZSTD.version
    assert {component["licenses"][0]["license"]["id"] for component in inside.values()} == {"BSD-3-Clause", "BSL-1.0"}
    assert {"name": "cpkg:archive-sha256", "value": sources.ZSTD.sha256} in inside["zstd"]["properties"]
    patches = [patch["diff"]["text"]["content"] for patch in inside["zstd"]["pedigree"]["patches"]]
    assert patches == [path.read_text() for path in sources.ZSTD.patches]
    assert inside["msgpack-c"]["pedigree"]["patches"] == []
    assert all(text.startswith("Subject: ") and "\nProof: " in text for text in patches)
    upstream = (sources.PATCHES / "UPSTREAM.md").read_text().splitlines()  # what to send of each
    assert [line[3:] for line in upstream if line.startswith("## ")] == [path.stem for path in sources.ZSTD.patches]


@pytest.mark.once
@pytest.mark.parametrize("page", ["README.md", "docs/releasing.md"])
def test_pages_name_the_number_of_patches(page: str) -> None:
    numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    text = (ROOT / page).read_text(encoding="utf-8")
    said = re.findall(rf"\b(\d+|{'|'.join(numbers)})\s(?:small\s)?patch(?:es)?\b", text)
    assert said
    assert {numbers.index(word) if word in numbers else int(word) for word in said} == {len(sources.ZSTD.patches)}


def test_names_choose_what_is_built() -> None:
    pytest.importorskip("lief")
    from ffi_build.wheels import __main__ as wheels

    assert wheels.parse(["windows", "3.13", "macos"]) == wheels.Wanted(["3.13"], systems=["windows", "macos"])
    with pytest.raises(SystemExit, match="aarch64: expected no architecture or C library with windows"):
        wheels.parse(["windows", "aarch64"])
    assert [target.zig for target in wheels.parse(["s390x", "musllinux", "3.9"]).targets] == ["s390x-linux-musl"]


@pytest.mark.parametrize("fails", ["update", "download"])
def test_package_lists_are_removed_after_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str) -> None:
    def run(command: list[str], folder: Path) -> str:
        if command[-1] == fails:
            raise SystemExit(fails)
        return "https://deb.debian.org/debian"

    monkeypatch.setattr(sources, "run", run)
    monkeypatch.setattr(sources.shutil, "which", str)
    with pytest.raises(SystemExit, match=fails), sources.apt_for(tmp_path / "apt", "deb") as apt:
        sources.run([*apt, "download"], tmp_path)
    assert list(tmp_path.iterdir()) == []


PATCH = "Subject: words\n\n--- a/src/a.c\n+++ b/src/a.c\n@@ -1 +1 @@\n-{} text\n+new text\n"


@pytest.fixture
def source(tmp_path: Path) -> sources.Source:
    """Return a library whose archive is already there, with a patch."""
    archive, patch = tmp_path / "lib-1.tar.gz", tmp_path / "1.patch"
    with tarfile.open(archive, "w:gz") as opened:
        for name, data in (("lib-1/src/a.c", b"old text\n"), ("lib-1/src/deep/b.c", b"b"), ("lib-1/other", b"c")):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    patch.write_text(PATCH.format("old"))
    digest = sources.hashlib.sha256(archive.read_bytes()).hexdigest()
    parts = (("lib-1/src", "src"),)
    return sources.Source("lib", "1", "MIT", "", archive.name, digest, "lib==1", parts, "LICENSE", (patch,))


@needs("patch")
def test_a_source_is_taken_in_parts_and_patched(source: sources.Source, tmp_path: Path) -> None:
    folder = sources.provide(source, tmp_path, tmp_path / "out")
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == ["src/a.c", "src/deep/b.c"]
    assert (folder / "src/a.c").read_bytes() == b"new text\n"


@needs("patch")
def test_another_file_and_a_patch_that_does_not_fit_are_refused(source: sources.Source, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="expected a file with SHA-256 " + "0" * 64):
        sources.provide(replace(source, sha256="0" * 64), tmp_path, tmp_path / "out")
    source.patches[0].write_text(PATCH.format("other"))
    with pytest.raises(SystemExit, match="FAILED"):
        sources.provide(source, tmp_path, tmp_path / "out")


def test_build_info_is_a_module() -> None:
    names: dict[str, object] = {}
    codecs = {"zstd": build_info.record(True, "inside", "1.5.7", "none", bundled=True, patches=["1-a"])}
    exec(build_info.text("wheel", "zig", codecs), names)
    record = {"native": True, "reason": "inside", "library": "1.5.7", "bundled": True, "advice": "none"}
    assert names["CODECS"] == {"zstd": {**record, "patches": ["1-a"]}}


@pytest.mark.parametrize("builders", [[".other"], [".own"], [".other", ".own"], [""]], ids="+".join)
def test_the_record_of_a_source_folder_is_for_one_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, builders: list[str]
) -> None:
    """Each interpreter that installs a source folder adds its record; a wheel has one record, for all."""
    path = tmp_path / "_build_info.py"
    for suffix in builders:
        codecs = {"zstd": build_info.record(False, f"built by {suffix}", None, "none")}
        if suffix:
            monkeypatch.setattr(build_info, "EXTENSION_SUFFIXES", [suffix])
            codecs = build_info.with_others(path, codecs)
        path.write_text(build_info.text("auto", "a compiler", codecs), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "_imp", SimpleNamespace(extension_suffixes=lambda: [".own"]))
    monkeypatch.setitem(sys.modules, "cpkg._build_info", SimpleNamespace(**runpy.run_path(str(path))))
    record = _backend.record("zstd")
    found = record and record["reason"]
    assert found == (None if builders == [".other"] else f"built by {builders[-1]}")


def test_a_failed_trial_names_what_is_missing(tmp_path: Path) -> None:
    """The compiler, the interpreter's headers, or what the compiler says."""
    log = tmp_path / "log"
    log.write_text("probe.c:3:10: fatal error: zstd.h: No such file or directory\n")
    folders = [str(tmp_path / "one"), str(tmp_path)]
    assert "no C compiler found (no-such-cc is" in probe._complaint("compile", "no-such-cc", log, folders)
    headers = "pypy3-dev" if sys.implementation.name == "pypy" else "python3-dev"
    assert f"are missing ({headers} on Debian): no Python.h in " in probe._complaint("compile", "sh", log, folders)
    (tmp_path / "Python.h").touch()
    found = probe._complaint("compile", "sh", log, folders)
    assert found == "the trial program does not compile: zstd.h: No such file or directory"
    assert headers in probe.advice("zstd")


def test_a_library_that_pkg_config_finds_under_one_name_is_not_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """msgpack-c has two names, and each system has one of them."""
    monkeypatch.delenv(probe.ENVIRONMENT, raising=False)
    monkeypatch.setattr(probe, "_trial", lambda *_: (None, "no headers"))
    for flags, reason in ((["-lmsgpackc"], "no headers"), (None, "no msgpack-c; no headers; no msgpack")):
        answers = {"msgpack-c": (None, "no msgpack-c"), "msgpack": (flags, "" if flags else "no msgpack")}
        monkeypatch.setattr(probe, "_pkg_config", answers.get)
        assert probe.find.__wrapped__("msgpack").reason == f"not built: no usable msgpack-c 4.0 or newer: {reason}"


def test_an_editable_install_is_an_entry_of_the_search_path() -> None:
    """
    With this mapping setuptools writes a path. Otherwise it writes a finder, which Python asks after the search path: a
    program in the folder of a checkout named cpkg would get that checkout as a package without modules.
    """
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '\npackage-dir = { "" = "." }\n' in text


def test_a_build_that_needs_a_library_ends_with_the_reason():
    """Otherwise a module without its library would be built, and its import would fail."""
    probe.demand(probe.FoundLibrary("zstd", "built against zstd 1.5.5", usable=True))
    with pytest.raises(
        SystemExit, match=r"^needed, but not built: no setuptools\nTo fix this: install .*libzstd-dev, "
    ):
        probe.demand(probe.FoundLibrary("zstd", "not built: no setuptools"), "needed, but ")
    advice = probe.advice("zstd")
    assert advice.index("in a checkout run pip install -e .") < advice.index("once cpkg-codecs is on the package index")


README = "see [a\nb](docs/a.md#b), [c](#c), [d](https://d.example)\n![e](docs/e.svg)\n"


def test_links_lead_to_the_repository() -> None:
    assert index_page(README, "https://forge.example/x") == (
        "see [a\nb](https://forge.example/x/blob/HEAD/docs/a.md#b), [c](#c), [d](https://d.example)\n"
        "![e](https://forge.example/x/raw/HEAD/docs/e.svg)\n"
    )


def test_without_an_address_they_are_text() -> None:
    assert index_page(README, None) == "see a\nb, [c](#c), [d](https://d.example)\n\n"
    shown = index_page((ROOT / "README.md").read_text(encoding="utf-8"), None)
    assert [link for link in re.findall(r"\]\(([^)]+)\)", shown) if "://" not in link] == []


def test_the_address_is_that_of_the_project() -> None:
    urls = '[project]\nSource = "no"\n[project.urls]\nHomepage = "h"\nSource = "https://forge.example/x/"\n[tool.a]\n'
    assert address(urls) == "https://forge.example/x"
    assert address("[project]\n[tool.a]\nSource = 'no'\n") is None


def test_the_citation_has_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == VERSION  # type: ignore[index]
