# SPDX-License-Identifier: Apache-2.0
"""Build the wheels with native modules: libraries, modules and metadata."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from pathlib import Path

from ffi_build import build_info, probe
from ffi_build.wheels import archives, compiling, maven, sbom
from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.sources import MSGPACK, ZSTD, Source, provide
from ffi_build.wheels.targets import Target


class Factory:
    """Builds wheels with shared settings; several threads may call `make_wheel`."""

    def __init__(
        self,
        pure: Mapping[str, bytes],
        tree: Path,
        work: Path,
        pool: Executor,
        targets: Collection[Target],
        sources: Mapping[str, Source],
    ) -> None:
        """Fetch the libraries `sources` (by codec) and compile libzstd for each target; `pure` is the pure wheel."""
        self._sources = sources
        self._pure = pure
        self._work = work
        folders = {source.name: provide(source, work / "downloads", work / "sources") for source in sources.values()}
        self._licences = {
            f"LICENSE.{source.name}": (folders[source.name] / source.licence_file).read_text(encoding="utf-8")
            for source in sources.values()
        }
        zstd = folders[ZSTD.name] / "lib"
        self._units = compiling.write_module_sources(
            work / "c", {"zstd": zstd, "msgpack": folders[MSGPACK.name] / "include"}
        )
        self._compilers = {target: compiling.Compiler(target, work, tree) for target in targets}
        self._libzstd = {
            target: compiling.build_libzstd(compiler, zstd, work / "libzstd" / target.zig, pool)
            for target, compiler in self._compilers.items()
        }
        self._headers: dict[Interpreter, Path] = {}
        self._lock = threading.Lock()

    def make_wheel(self, interpreter: Interpreter, target: Target, output: Path) -> Path:
        """Compile the modules for an interpreter and target, write their wheel to `output`, and return its path."""
        with self._lock:
            if interpreter not in self._headers:
                folder = self._work / "headers" / interpreter.suffix.strip(".")
                self._headers[interpreter] = interpreter.copy_headers(folder)
        files = dict(self._pure)
        folder = self._work / "modules" / target.zig / interpreter.name
        folder.mkdir(parents=True, exist_ok=True)
        libraries = maven.import_libraries(interpreter, target, folder)
        for codec in compiling.CODECS:
            module = compiling.build_module(
                self._compilers[target],
                interpreter,
                self._headers[interpreter],
                self._units[codec, interpreter.implementation if target.is_linux else "elsewhere"],
                [*([self._libzstd[target]] if codec == "zstd" else []), *libraries],
                folder,
            )
            files[f"cpkg/_native/{module.name}"] = module.read_bytes()
        files["cpkg/_build_info.py"] = self._build_info(target).encode()
        expression = " AND ".join(["Apache-2.0", *(source.licence for source in self._sources.values())])
        archives.add_licences(files, expression, self._licences)
        info = archives.info_folder(files)
        name, version = (self._metadata(info, key) for key in ("Name", "Version"))
        python, abi = interpreter.tags
        label = f"{name}-{version}-{python}-{abi}-{target.platforms[0]}"
        files[f"{info}/{sbom.FILE}"] = sbom.make(name, version, label, list(self._sources.values())).encode()
        return archives.write_wheel(output, files, python, abi, target.platforms)

    def _build_info(self, target: Target) -> str:
        codecs = {
            codec: build_info.record(
                native=True,
                reason=f"a wheel with {source.name} {source.version} inside",
                version=source.version,
                advice=probe.advice(codec),
                bundled=True,
                patches=[patch.stem for patch in source.patches],
            )
            for codec, source in self._sources.items()
        }
        return build_info.text("wheel", compiling.describe(target), codecs)

    def _metadata(self, info: str, key: str) -> str:
        found = re.search(rf"(?m)^{key}: (.*)$", self._pure[f"{info}/METADATA"].decode())
        assert found is not None
        return found.group(1)
