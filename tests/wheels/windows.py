# SPDX-License-Identifier: Apache-2.0
"""
Run tests on CPython for Windows under wine: `python tests/wheels/windows.py native|pure [PYTEST'S ARGUMENTS...]`.

`native` takes the wheel for Windows in dist/, `pure` the one for every system. Needs wine64 and mvn (Debian: wine64,
maven); without wine it says so and ends with 0. What wine cannot show: symbolic links, the shell, real file locking.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ffi_build.wheels.sources import provide  # noqa: E402
from ffi_build.wheels.windows import PYTHONS  # noqa: E402

WORK = ROOT / "build" / "windows"
NEEDED = ("pytest", "pytest-benchmark", "hypothesis", "click", "rich", "colorama", "cffi", "annotated-types", "attrs")
FOLDERS = ("tests/msgpack", "tests/zstd", "tests/zstandard", "tests/typed", "tests/records", "tests/archive")
# what they try is POSIX': signals by timer, forks, limits of processes, modes, owners, links, other programs
LEFT_OUT = (
    *("test_attributes", "test_broken_hostile", "test_create_hostile", "test_reading_hostile", "test_round_trip"),
    *("test_interrupts_hostile", "test_memory_hostile", "test_memory", "test_kill_hostile", "test_other_programs"),
)


def made_site(kind: str) -> Path:
    """Fill a folder with what the tests import, our wheel's files among them."""
    site = WORK / f"site-{kind}"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    wheels = WORK / "wheels"
    target = ("--platform=win_amd64", "--python-version=3.14", "--abi=cp314", "--abi=none", "--only-binary=:all:")
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *target, "-d", wheels, *NEEDED], check=True)
    tag = "cp314-cp314-win_amd64" if kind == "native" else "py3-none-any"
    ours = sorted((ROOT / "dist").glob(f"cpkg_codecs-*-{tag}.whl"))
    if not ours:
        raise SystemExit(
            f"no wheel for {tag} in dist/: tox run -e wheels -- {'windows' if kind == 'native' else 'pure'}"
        )
    for path in [*wheels.glob("*.whl"), ours[-1]]:
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(site)
    # wine lacks a function that this module calls; platform asks elsewhere then
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['_wmi'] = None\n", encoding="utf-8")
    return site


def main(kind: str, arguments: list[str]) -> int:
    """Run the tests and return pytest's exit status."""
    if shutil.which("wine") is None:
        print("skipped: there is no wine here (apt-get install wine64 wine)")
        return 0
    source = replace(PYTHONS[-1], name="python", parts=(("org/bytedeco/cpython/windows-x86_64", "."),))
    python = provide(source, ROOT / "build" / "wheels" / "downloads", WORK) / "python.exe"
    tests = WORK / "tests"  # away from the source, which would be imported in place of the wheel
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(ROOT / "tests", tests / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tests)
    environment = {
        **os.environ,
        "WINEARCH": "win64",
        # not in the tree: its drive Z is a link to /, which a build that looks for packages would follow
        "WINEPREFIX": str(Path(tempfile.gettempdir()) / "cpkg-wine"),
        "WINEDEBUG": "-all",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"Z:{made_site(kind)}".replace("/", "\\"),
        "CPKG_BACKEND": "pure" if kind == "pure" else "auto",
    }
    codec = ["--backend=pure"] if kind == "pure" else ["--backend=native", "--require=msgpack:native,zstd:native"]
    chosen = arguments or [*FOLDERS, "-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
    marks = "not slow and not browser and not fetch and not property"
    command = ["wine", str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks, *codec, *chosen]
    # wine's programs have no standard streams but pipes
    done = subprocess.run(
        command, cwd=tests, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    sys.stdout.write(done.stdout.decode(errors="replace"))
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
