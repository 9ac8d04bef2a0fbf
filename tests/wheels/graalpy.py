# SPDX-License-Identifier: Apache-2.0
"""
Run tests in GraalPy, on a JDK, with the pure wheel of dist/: `python tests/wheels/graalpy.py [PYTEST'S ARGUMENTS...]`.

Needs java (17 or newer) and mvn, which fetches GraalPy. On a JDK, GraalPy only interprets, because its compiler needs
GraalVM. Without arguments, this runs the conformance tests of both codecs, except for tests that would take minutes,
such as training.
"""

from __future__ import annotations

import os
import subprocess
import sys

from rows import PYTEST, ROOT, copy_tests, make_site, needed, wheel, without

VERSION = "25.0.2"
WORK = ROOT / "build" / "graalpy"
PACKAGES = ("org.graalvm.polyglot:python-community:pom", "org.graalvm.python:python-launcher:jar")
MAIN = "com.oracle.graal.python.shell.GraalPythonMain"
FILES = (
    *(f"tests/msgpack/test_{name}.py" for name in ("api", "calls", "pack", "stream", "unpack")),
    "tests/zstd/test_streams.py",
)


def fetched() -> str:
    """Return the class path; mvn fetches missing jars."""
    mvn = needed("mvn", "apt-get install maven")
    jars = WORK / f"jars-{VERSION}"
    if not jars.exists():
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{VERSION}</version><type>{kind}</type></dependency>"
            for group, name, kind in (package.split(":") for package in PACKAGES)
        )
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>cpkg</groupId>'
            f"<artifactId>row</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>",
            encoding="utf-8",
        )
        partial = jars.with_suffix(".part")
        command = [mvn, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        subprocess.run(command, cwd=WORK, check=True)
        partial.rename(jars)
    return f"{jars}/*"


def main(arguments: list[str]) -> int:
    """Run the tests and return the exit status of pytest."""
    java = needed("java", "apt-get install openjdk-17-jdk-headless")
    ours = wheel("py3-none-any", "pure")
    path = fetched()
    target = ("--platform=any", "--python-version=3.12", "--implementation=py", "--abi=none")
    site, tests = make_site(WORK, ours, target), copy_tests(WORK)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), str(tests / "tests" / "support")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        java,
        "-cp",
        path,
        MAIN,
        "-m",
        "pytest",
        *PYTEST,
        "-p",
        "lacking",
        *(arguments or [*FILES, *without("graalpy")]),
    ]
    return subprocess.run(command, cwd=tests, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
