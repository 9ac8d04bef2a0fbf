# SPDX-License-Identifier: Apache-2.0
"""The libraries that are measured: how to get each, how it is called, what it is built on.

One table for every group. A peer that cannot be installed or imported stays in the results with its error; nothing
decides beforehand where a peer should work. Each is called through its one-shot functions with the same options
(zstd: level, content size written, no checksum, one thread; MessagePack: its defaults), and without a wrapper of ours
where the library takes them that way.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

Function = Callable[[Any], Any]


DEFAULT_LEVEL = 3
"""Zstandard's, in each library."""


@dataclass
class Library:
    """A peer that was imported.

    build: what does the work (extension module, C library and its version), as the peer itself tells.
    pack, unpack: one-shot functions of the serializers. compressor: level -> compress. decompress: the inverse.
    """

    version: str
    build: str
    pack: Function | None = None
    unpack: Function | None = None
    compressor: Callable[[int], Function] | None = None
    decompress: Function | None = None
    backend: str | None = None
    shown_level: Callable[[int], int] | None = None


@dataclass(frozen=True)
class Peer:
    """One row of the table.

    name: as in the report. codecs: the groups that it takes part in. requirement: what pip installs, None for what
    comes with the interpreter or is ours. load: imports it; its ImportError is shown in the report.
    format: what its bytes are, so that the checks know who else can read them.
    """

    name: str
    codecs: tuple[str, ...]
    requirement: str | None
    load: Callable[[], Library]
    format: str
    ours: bool = False
    quick: bool = True


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        # before Python 3.10 the name is not normalized
        return importlib.metadata.version(distribution.replace(".", "_"))


def _origin(module: ModuleType) -> str:
    name = Path(getattr(module, "__file__", None) or "built in").name
    return f"{module.__name__} ({name})"


def _defined_in(function: Any) -> str:
    """Say which module a function really comes from, and whether it is compiled."""
    name = getattr(function, "__module__", None) or "?"
    compiled = "Python" if hasattr(function, "__code__") else "compiled"
    return f"{name}, {compiled}"


# --- ours --------------------------------------------------------------------------------------------------------


def _cpkg_version() -> str:
    try:
        return _version("cpkg-codecs")
    except importlib.metadata.PackageNotFoundError:
        return "source tree"


def _chosen(codec: str) -> tuple[str, str]:
    """Say which backend serves `codec` here, and with which library."""
    module = importlib.import_module("cpkg._backend").choose(codec).module
    return module.BACKEND, ", ".join(filter(None, [module.BACKEND, module.LIBRARY_VERSION]))


def _cpkg_msgpack() -> Library:
    module = importlib.import_module("cpkg.msgpack")
    backend, build = _chosen("msgpack")
    return Library(_cpkg_version(), build, module.packb, module.unpackb, backend=backend)


def _at_level(compress: Function, option: str = "level") -> Callable[[int], Function]:
    """Call `compress` with a level; at the default one without it, as most callers do, and without what that costs."""
    return lambda level: compress if level == DEFAULT_LEVEL else functools.partial(compress, **{option: level})


def _cpkg_zstd() -> Library:
    module = importlib.import_module("cpkg.zstd")
    backend, build = _chosen("zstd")
    return Library(
        _cpkg_version(),
        build,
        compressor=_at_level(module.compress),
        decompress=module.decompress,
        backend=backend,
    )


# --- MessagePack and what people use instead ---------------------------------------------------------------------


def _msgpack() -> Library:
    module = importlib.import_module("msgpack")
    if module.Packer.__module__ == "msgpack.fallback":
        raise ImportError(f"msgpack {_version('msgpack')} has no C extension here (it runs as 'msgpack fallback')")
    return Library(_version("msgpack"), f"{module.Packer.__module__}, compiled", module.packb, module.unpackb)


def _msgpack_fallback() -> Library:
    module = importlib.import_module("msgpack.fallback")

    # msgpack.packb itself is this one line; unpackb is the fallback's Unpacker in the same wrapper
    def packb(o: Any) -> Any:
        return module.Packer().pack(o)

    if importlib.import_module("msgpack").Packer is module.Packer:
        msgpack = importlib.import_module("msgpack")
        return Library(_version("msgpack"), "msgpack.fallback, Python", msgpack.packb, msgpack.unpackb)
    return Library(_version("msgpack"), "msgpack.fallback, Python", packb, module.unpackb)


def _ormsgpack() -> Library:
    module = importlib.import_module("ormsgpack")
    return Library(_version("ormsgpack"), _defined_in(module.packb), module.packb, module.unpackb)


def _msgspec() -> Library:
    module = importlib.import_module("msgspec.msgpack")
    return Library(_version("msgspec"), _defined_in(module.encode), module.encode, module.decode)


def _json() -> Library:
    module = importlib.import_module("json")
    accelerated = getattr(module.encoder, "c_make_encoder", None) is not None
    build = f"standard library, {'_json accelerator' if accelerated else 'without the C accelerator'}"
    return Library(".".join(map(str, sys.version_info[:3])), build, module.dumps, module.loads)


def _orjson() -> Library:
    module = importlib.import_module("orjson")
    return Library(_version("orjson"), _defined_in(module.dumps), module.dumps, module.loads)


def _cbor2() -> Library:
    module = importlib.import_module("cbor2")
    return Library(_version("cbor2"), _defined_in(module.loads), module.dumps, module.loads)


# --- Zstandard ---------------------------------------------------------------------------------------------------


def _pep784(name: str, version: Callable[[], str]) -> Library:
    module = importlib.import_module(name)
    return Library(
        version(),
        f"libzstd {module.zstd_version}, {_defined_in(module.ZstdCompressor)}",
        compressor=_at_level(module.compress),
        decompress=module.decompress,
    )


def _stdlib_zstd() -> Library:
    return _pep784("compression.zstd", lambda: ".".join(map(str, sys.version_info[:3])))


def _backports_zstd() -> Library:
    return _pep784("backports.zstd", lambda: _version("backports.zstd"))


def _pyzstd() -> Library:
    module = importlib.import_module("pyzstd")
    return Library(
        _version("pyzstd"),
        f"libzstd {module.zstd_version}, {_defined_in(module.compress)}",
        compressor=_at_level(module.compress, "level_or_option"),
        decompress=module.decompress,
    )


def _zstandard_build(module: ModuleType) -> str:
    return f"libzstd {'.'.join(map(str, module.ZSTD_VERSION))}, {module.backend}"


def _zstandard() -> Library:
    module = importlib.import_module("zstandard")
    return Library(
        module.__version__,
        _zstandard_build(module),
        compressor=_at_level(module.compress),
        decompress=module.decompress,
    )


def _zstandard_kept() -> Library:
    module = importlib.import_module("zstandard")
    return Library(
        module.__version__,
        _zstandard_build(module),
        compressor=lambda level: module.ZstdCompressor(level=level).compress,
        decompress=module.ZstdDecompressor().decompress,
    )


def _python_zstd() -> Library:
    module = importlib.import_module("zstd")

    # 0 threads, its default, means one per core: one thread is what every other library uses
    def compressor(level: int) -> Function:
        return lambda data: module.compress(data, level, 1)

    return Library(
        module.version(), f"libzstd {module.ZSTD_version()}, extension", None, None, compressor, module.decompress
    )


def _zlib_level(level: int) -> int:
    return {3: 6, 10: 9, 17: 9}.get(level, min(level, 9))


def _zlib() -> Library:
    module = importlib.import_module("zlib")
    return Library(
        module.ZLIB_RUNTIME_VERSION,
        f"zlib {module.ZLIB_RUNTIME_VERSION}, standard library",
        compressor=lambda level: functools.partial(module.compress, level=_zlib_level(level)),
        decompress=module.decompress,
        shown_level=_zlib_level,
    )


PEERS = [
    Peer("cpkg", ("msgpack",), None, _cpkg_msgpack, "msgpack", ours=True),
    Peer("msgpack", ("msgpack",), "msgpack", _msgpack, "msgpack"),
    Peer("msgpack fallback", ("msgpack",), "msgpack", _msgpack_fallback, "msgpack", quick=False),
    Peer("ormsgpack", ("msgpack",), "ormsgpack", _ormsgpack, "msgpack"),
    Peer("msgspec", ("msgpack",), "msgspec", _msgspec, "msgpack"),
    Peer("json", ("msgpack",), None, _json, "json"),
    Peer("orjson", ("msgpack",), "orjson", _orjson, "json"),
    Peer("cbor2", ("msgpack",), "cbor2", _cbor2, "cbor", quick=False),
    Peer("cpkg", ("zstd",), None, _cpkg_zstd, "zstd", ours=True),
    Peer("compression.zstd", ("zstd",), None, _stdlib_zstd, "zstd"),
    Peer("backports.zstd", ("zstd",), "backports.zstd", _backports_zstd, "zstd"),
    Peer("pyzstd", ("zstd",), "pyzstd", _pyzstd, "zstd", quick=False),
    Peer("zstandard", ("zstd",), "zstandard", _zstandard, "zstd"),
    Peer("zstandard, context kept", ("zstd",), "zstandard", _zstandard_kept, "zstd"),
    Peer("zstd", ("zstd",), "zstd", _python_zstd, "zstd"),
    Peer("zlib", ("zstd",), None, _zlib, "zlib", quick=False),
]

# The modules that the other groups need beside the peers: measured there through their own tables.
EXTRAS = ["blake2signer", "lz4", "botocore", "cattrs", "mashumaro", "pydantic", "apischema"]
# Wanted for the data in it; the pandas that it asks for is not needed to read that, and takes an hour to build on PyPy.
DATA_ONLY = ["vega_datasets"]


def of(codec: str) -> list[Peer]:
    """List the peers that take part in the groups of `codec`, ours first."""
    return [peer for peer in PEERS if codec in peer.codecs]


@dataclass
class Loaded:
    """A peer after the attempt to import it: `library`, or the `error` that is shown in its place."""

    peer: Peer
    library: Library | None = None
    error: str | None = None


def _last_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]


@functools.cache
def load(peer: Peer) -> Loaded:
    """Import `peer` once. Whatever an import can raise is the answer: it is shown in the peer's place."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Loaded(peer, library=peer.load())
    except Exception as error:
        installing = install_errors().get(peer.requirement or "")
        return Loaded(peer, error=f"cannot be installed: {installing}" if installing else _last_line(error))


# --- installing --------------------------------------------------------------------------------------------------


def _install_log() -> Path:
    return Path(sys.prefix) / "bench-peers.json"


@functools.lru_cache(maxsize=1)
def install_errors() -> dict[str, str]:
    """Give what `install` could not install into this environment: requirement -> the last line of the error."""
    try:
        errors: dict[str, str] = json.loads(_install_log().read_text())
    except OSError:
        return {}
    return errors


_GENERIC = ("subprocess-exited", "failed-wheel-build", "command ", "failed to run custom build command")


def _why(output: str) -> str:
    """Find the line of pip's output that tells the cause: the first error that is not about another one."""
    found = re.findall(r"(?:^|\n)\s*((?:\S+:\d+:\d+: )?)(?:error|ERROR|Error): (.+)", output)
    telling = [place + text.strip() for place, text in found if not text.startswith(_GENERIC)]
    preferred = [line for line in telling if not line.startswith(("Failed", "Ignored", "No matching"))]
    lines = output.strip().splitlines() or ["pip failed without a word"]
    return (preferred or telling or lines[-1:])[0][:200]


def _installed(requirement: str) -> bool:
    try:
        _version(requirement)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def install(timeout: float = 300) -> dict[str, str]:
    """Try to install every peer into the running environment, each on its own, and keep the errors.

    An error is kept beside the environment, not raised: a peer that a given interpreter cannot have is a result. What
    the environment has, or could not have, is not tried again, so that its next run measures the same libraries.
    """
    errors = dict(install_errors())
    wanted = sorted({peer.requirement for peer in PEERS if peer.requirement} | {*EXTRAS, *DATA_ONLY})
    for requirement in wanted:
        if requirement in errors or _installed(requirement):
            continue
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--prefer-binary", requirement]
        if requirement in DATA_ONLY:
            command.append("--no-deps")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            errors[requirement] = f"not built within {timeout:.0f} s"
            continue
        if done.returncode:
            errors[requirement] = _why(done.stdout + done.stderr)
    _install_log().write_text(json.dumps(errors, indent=1))
    install_errors.cache_clear()
    return errors
