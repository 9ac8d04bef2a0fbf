# SPDX-License-Identifier: Apache-2.0
"""
Build all files of a release: `python -m ffi_build.wheels [NAME...]`.

NAMEs choose interpreters (3.11, 3.14t, pypy3.9), architectures (x86_64, aarch64), C libraries (manylinux, musllinux),
and the files `pure` (the pure wheel) and `sdist`. Without NAMEs, everything for Linux is built. With NAMEs, `pure` and
`sdist` are built only if they are named. If only they are named, no wheels with native modules are built. Otherwise, if
no interpreter is named, wheels are built for all interpreters; architectures and C libraries likewise. An interpreter
that is not installed is skipped with a message, or is an error if it was named. `windows`, `macos` or both build the
wheels for these systems instead, for all their architectures, and for the named versions of CPython or, if none is
named, for all that maven.py lists (needs mvn). `--pristine` builds libzstd without patches.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from ffi_build.wheels import archives, checks, interpreters, maven, release, sources
from ffi_build.wheels.targets import TARGETS, Target, gcc_for

ROOT = Path(__file__).resolve().parents[2]
LIBCS = {"manylinux": "glibc", "musllinux": "musl"}
ARCHITECTURES = tuple(dict.fromkeys(target.architecture for target in TARGETS))


@dataclass
class Wanted:
    """The interpreters, systems and other files to build, according to the command line."""

    interpreters: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)
    named: bool = False
    """Whether interpreters were named; then a missing one is an error."""
    systems: list[str] = field(default_factory=list)
    """`windows` and `macos`, whose interpreters come from Maven; empty for Linux."""


def parse(names: Sequence[str]) -> Wanted:
    """
    Return what to build for these names.

    Raises SystemExit for an unknown name, and for an architecture or C library together with `windows` or `macos`.
    """
    known = {*interpreters.NAMES, *ARCHITECTURES, *LIBCS, "pure", "sdist", *maven.SYSTEMS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; expected any of {', '.join(sorted(known))}")
    chosen = [name for name in names if name in interpreters.NAMES]
    extras = [name for name in names if name in ("pure", "sdist")]
    systems = [name for name in maven.SYSTEMS if name in names]
    architectures = [name for name in names if name in ARCHITECTURES]
    libcs = [name for name in names if name in LIBCS]
    if systems:
        if architectures or libcs:
            found = ", ".join(architectures + libcs)
            raise SystemExit(f"{found}: expected no architecture or C library with {systems[0]}: leave it out")
        return Wanted(interpreters=chosen, extras=extras, systems=systems)
    architectures = architectures or list(ARCHITECTURES)
    chosen_libcs = [LIBCS[name] for name in libcs or LIBCS]
    others = len(extras) < len(names)
    return Wanted(
        interpreters=chosen or (list(interpreters.NAMES) if others or not names else []),
        targets=[target for target in TARGETS if target.architecture in architectures and target.libc in chosen_libcs],
        extras=extras or ([] if names else ["pure", "sdist"]),
        named=bool(chosen),
    )


def setuptools_build(tree: Path, kind: str, folder: Path) -> Path:
    """Build the "sdist" or the pure "wheel" of a tree with setuptools, and return its path in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    code = f"import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"
    result = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=tree,
        env={**os.environ, "CPKG_BUILD_NATIVE": "never", "SOURCE_DATE_EPOCH": str(archives.EPOCH)},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"setuptools cannot build the {kind}:\n{result.stdout}{result.stderr}")
    return folder / result.stdout.split()[-1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Build and check the files of a release, and list them."""
    parser = argparse.ArgumentParser(prog="python -m ffi_build.wheels", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="3.11, pypy3.9, aarch64, musllinux, pure, sdist, ...")
    parser.add_argument(
        "--pristine",
        action="store_true",
        help="build libzstd as it was released, without the patches in ffi_build/wheels/patches",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder for the results (default: dist)")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "wheels", help="folder for intermediate files")
    parser.add_argument(
        "--root",
        type=Path,
        action="append",
        default=[],
        help="root folder of another system, whose interpreters are used as well",
    )
    options = parser.parse_args(arguments)
    wanted = parse(options.names)
    roots = [root.resolve() for root in options.root]
    found, missing = interpreters.find([] if wanted.systems else wanted.interpreters, roots)
    if wanted.named and missing:
        raise SystemExit("; ".join(missing.values()))
    for name, reason in missing.items():
        print(f"{name:9} skipped: {reason}")

    pairs = [(one, target) for one in found.values() for target in wanted.targets if one.serves(target)]
    for target in {target for _, target in pairs}:
        gcc_for(target)  # raises for a missing compiler before anything is built
    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:5.0f} s  {what}", flush=True)

    say(f"{len(pairs)} wheels for {len(found)} interpreters; first the sdist and the pure wheel")
    work, output = options.work.resolve(), options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    # everything is built from the sdist, which proves that the sdist is complete
    sdist = setuptools_build(ROOT, "sdist", work / "sdist")
    archives.normalise_sdist(sdist)
    shutil.rmtree(work / "tree", ignore_errors=True)
    sources.unpack(sdist, work / "tree")
    tree = next((work / "tree").iterdir())
    pure = archives.read_wheel(setuptools_build(tree, "wheel", work / "pure"))

    results = []
    if "sdist" in wanted.extras:
        results.append(Path(shutil.copy(sdist, output)))
    if "pure" in wanted.extras:
        results.append(archives.write_wheel(output, pure, "py3", "none", ("any",)))
    for system in wanted.systems:
        pairs += maven.interpreters(system, wanted.interpreters, work / "downloads", work / "sources")
    if pairs:
        say("libzstd and msgpack-c: fetched, and compiled for each target")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            inside = {"msgpack": sources.MSGPACK, "zstd": sources.ZSTD}
            if options.pristine:
                inside = {codec: replace(source, patches=()) for codec, source in inside.items()}
            factory = release.Factory(pure, tree, work, pool, {target for _, target in pairs}, inside)
            make = lambda pair: factory.make_wheel(pair[0], pair[1], output)  # noqa: E731
            for number, path in enumerate(pool.map(make, pairs), 1):
                results.append(path)
                say(f"{number} of {len(pairs)}: {path.name}")
    say(f"checking {len(results)} files")
    checks.check(results, [(path, *pair) for path, pair in zip(results[-len(pairs) :], pairs)])

    print(f"{'bytes':>9}  {'SHA-256':16}  file")
    for path in results:
        print(f"{path.stat().st_size:9}  {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}  {path.name}")
    print(f"{len(results)} files in {output}, built and checked in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
