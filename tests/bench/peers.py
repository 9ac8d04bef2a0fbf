# SPDX-License-Identifier: Apache-2.0
"""The measured libraries (peers): how to install and call them, and on what they are built.

All groups use one table. If a peer cannot be installed or imported, the results have its error; the table does not
decide in advance where a peer should work. Groups call each peer's one-shot functions with the same options (zstd:
level, content size written, no checksum, one thread; MessagePack: its defaults), without a Python wrapper of ours if
the library allows this. Calls are source text, because a child process imports nothing before its clock runs.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from bench.cells import OURS, PEP784, Function, NotHere, Pair, read_data, reason

DEFAULT_LEVEL = 3
"""Zstandard's default in each library. Calls at this level do not pass it, as most callers do not."""


@dataclass
class Library:
    """A peer that was imported.

    build: the code that does the work (extension module, C library and its version), as the peer reports it.
    forth, back: the one-shot functions. compressor: for Zstandard peers, a function from a level to the function that
    compresses. backend: the backend of cpkg.
    """

    module: ModuleType
    version: str
    build: str
    forth: Function
    back: Function
    compressor: Callable[[int], Function]
    backend: str | None


@dataclass(frozen=True)
class Peer:
    """One entry of data/peers.json.

    name: as in the report. codec: the groups in which the peer takes part. module: imported as `m`; the report shows
    its ImportError. forth, back: expressions of functions. requirement: the argument for pip, or None for cpkg and
    modules of the interpreter. format: the format of its bytes, which shows the checks which other peers can read them.
    leveled: like `forth`, at a `level` other than the default. note: for readers of the table.
    """

    name: str
    codec: str
    module: str
    forth: str
    back: str
    requirement: str | None = None
    format: str = ""
    leveled: str = "partial(m.compress, level=level)"
    note: str = ""

    @property
    def imports(self) -> str:
        """The statement with which a child process imports the peer."""
        return f"import {self.module} as m"


def _version(distribution: str) -> str | None:
    """Return the version of an installed distribution, also before Python 3.10, which does not normalize names."""
    for name in (distribution, distribution.replace(".", "_")):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


def _build(module: ModuleType, back: Function) -> str:
    """Return the module in which a function is defined, whether it is compiled, and the version of its libzstd."""
    worker = getattr(module, "ZstdCompressor", back)
    where = getattr(worker, "__module__", None) or "?"
    found = [where, "Python" if isinstance(worker, FunctionType) else "compiled"]
    libzstd = getattr(module, "zstd_version", None) or getattr(module, "ZSTD_version", str)()
    libzstd = libzstd or ".".join(map(str, getattr(module, "ZSTD_VERSION", ())))
    return ", ".join([*found, f"libzstd {libzstd}"] if libzstd else found)


def _import(peer: Peer) -> Library:
    module = importlib.import_module(peer.module)
    names = {"m": module, "partial": partial}
    forth, back = eval(peer.forth, names), eval(peer.back, names)
    distribution = "cpkg-codecs" if peer.name == OURS else peer.requirement
    builtin = str(getattr(module, "ZLIB_RUNTIME_VERSION", ".".join(map(str, sys.version_info[:3]))))
    version = builtin if distribution is None else _version(distribution) or "source tree"
    if peer.name == OURS:
        chosen = importlib.import_module("cpkg._backend").choose(peer.codec).module
        backend, build = chosen.BACKEND, ", ".join(filter(None, [chosen.BACKEND, chosen.LIBRARY_VERSION]))
    else:
        backend, build = None, _build(module, back)
        if peer.name == "msgpack" and "fallback" in module.Packer.__module__:
            raise ImportError(f"msgpack {version} has no C extension here (it runs as 'msgpack fallback')")

    def compressor(level: int) -> Function:
        return forth if level == DEFAULT_LEVEL else eval(peer.leveled, {**names, "level": level})

    return Library(module, version, build, forth, back, compressor, backend)


_TABLE = read_data("peers")
PEERS = [Peer(**entry) for entry in _TABLE["peers"]]
# "extras" are modules that other groups need, in tables there. Of "data only" just the data are needed, not the pandas
# that it requires, which takes an hour to build on PyPy.
REQUIREMENTS = sorted({*filter(None, (peer.requirement for peer in PEERS)), *_TABLE["extras"], *_TABLE["data only"]})


def of(codec: str) -> list[Peer]:
    """List the peers that take part in the groups of `codec`, cpkg's first."""
    return [peer for peer in PEERS if peer.codec == codec]


def in_children(codec: str) -> list[Peer]:
    """List the peers of a codec that are called in separate processes."""
    names = ("cpkg", "msgpack", "ormsgpack", "msgspec", "json", PEP784, "zstandard", "zstd")
    return [peer for peer in of(codec) if peer.name in names]


def independent(codec: str) -> Iterator[tuple[Peer, Library]]:
    """Yield the installed peers of the codec's own format, with cpkg last."""
    for peer in sorted(of(codec), key=lambda peer: peer.name == OURS):
        library = load(peer)
        if not isinstance(library, str) and peer.format == codec:
            yield peer, library


@cache
def load(peer: Peer) -> Library | str:
    """Import `peer` once; return the library, or any error as text, which the report then shows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _import(peer)
    except Exception as error:
        installing = install_errors().get(peer.requirement or "")
        return f"cannot be installed: {installing}" if installing else reason(error)


def loaded(codec: str, names: Container[str] | None = None) -> tuple[dict[str, Library], dict[str, str]]:
    """Return the libraries of a codec by name, all or those in `names`, and the errors of peers that cannot load."""
    found = {peer.name: load(peer) for peer in of(codec) if names is None or peer.name in names}
    missing = {name: each for name, each in found.items() if isinstance(each, str)}
    assert OURS not in missing, missing[OURS]
    return {name: each for name, each in found.items() if name not in missing}, missing


def hide() -> None:
    """Hide other peers from this process, because installed peers affect a cell's payload and the data it reads."""
    hidden = [peer.module for peer in PEERS if peer.requirement or peer.name == PEP784]
    sys.modules.update(dict.fromkeys([*hidden, "botocore"], None))


def not_too_slow(ours: Library, operation: str, size: int, patience: float) -> None:
    """Raise NotHere if `operation` of `size` bytes takes the pure Zstandard backend more than `patience` seconds."""
    slowest = {"compress": 0.1e6, "decompress": 1e6}[operation]  # measured, bytes per second
    seconds = size / (slowest * (20 if sys.implementation.name == "pypy" else 1))
    if ours.backend == "pure" and seconds > patience:
        raise NotHere(f"would take about {seconds:.0f} s a call on this backend")


def _msgspec(kind: Any, value: Any) -> Pair:
    from msgspec import msgpack

    encode = msgpack.Encoder(enc_hook=lambda obj: obj.cents).encode
    try:
        return encode, msgpack.Decoder(kind, dec_hook=lambda cls, value: cls(value)).decode
    except TypeError as error:  # msgspec supports unions of Structs, not of dataclasses
        return encode, str(error)


def _ormsgpack(kind: Any, value: Any) -> Pair:
    import ormsgpack

    def default(obj: Any) -> Any:
        if hasattr(obj, "code"):
            return ormsgpack.Ext(obj.code, obj.data)
        return obj.cents if hasattr(obj, "cents") else str(obj)

    return partial(ormsgpack.packb, default=default), "decodes to dicts only"


def _mashumaro(kind: Any, value: Any) -> Pair:
    from mashumaro.codecs.msgpack import MessagePackDecoder, MessagePackEncoder

    return MessagePackEncoder(kind).encode, MessagePackDecoder(kind).decode


def _cattrs(kind: Any, value: Any) -> Pair:
    from cattrs.preconf.msgpack import make_converter

    converter = make_converter(detailed_validation=False)
    return (lambda value: converter.dumps(value, kind)), (lambda data: converter.loads(data, kind))


def _pydantic(kind: Any, value: Any) -> Pair:
    import msgpack
    import pydantic

    adapter = pydantic.TypeAdapter(kind)
    try:
        msgpack.packb(adapter.dump_python(value))
        mode = "python"
    except TypeError:  # msgpack does not support times and UUIDs: write them as text
        mode = "json"
    dump = partial(adapter.dump_python, mode=mode)
    return (lambda obj: msgpack.packb(dump(obj))), (lambda data: adapter.validate_python(msgpack.unpackb(data)))


def _apischema(kind: Any, value: Any) -> Pair:
    import apischema
    import msgpack

    structure, plain = apischema.deserialization_method(kind), apischema.serialization_method(kind)
    return (lambda value: msgpack.packb(plain(value))), (lambda data: structure(msgpack.unpackb(data)))


TYPED: dict[str, Callable[[Any, Any], Pair]] = {
    "msgspec": _msgspec,
    "ormsgpack": _ormsgpack,
    "mashumaro": _mashumaro,
    "cattrs": _cattrs,
    "pydantic": _pydantic,
    "apischema": _apischema,
    "pickle": lambda kind, value: (partial(pickle.dumps, protocol=5), pickle.loads),
}
"""Typed messages: for each library, a function of a type and a value that returns the encode and decode functions."""


INSTALL_LOG = Path(sys.prefix) / "bench-peers.json"


def install_errors() -> dict[str, str]:
    """Return the requirements that `install` could not install into this environment, each with its error line."""
    return json.loads(INSTALL_LOG.read_text()) if INSTALL_LOG.exists() else {}


def _why(output: str) -> str:
    """Return the line of pip's output that names the cause: the first error that does not only report another error."""
    generic = ("subprocess-exited", "failed-wheel-build", "command ", "failed to run custom build command")
    found = re.findall(r"(?:^|\n)\s*((?:\S+:\d+:\d+: )?)(?:error|ERROR|Error): (.+)", output)
    telling = [place + text.strip() for place, text in found if not text.startswith(generic)]
    preferred = [line for line in telling if not line.startswith(("Failed", "Ignored", "No matching"))]
    lines = output.strip().splitlines() or ["pip failed without a word"]
    return (preferred or telling or lines[-1:])[0][:200]


def install(timeout: float = 300) -> dict[str, str]:
    """Try to install every peer into the running environment, each separately; return and store the errors.

    An error is not raised but stored in the environment's folder, because it is a result that the report shows. Peers
    that are installed, or failed before, are not tried again, so that the next run measures the same libraries.
    """
    errors = {requirement: error for requirement, error in install_errors().items() if not _version(requirement)}
    for requirement in REQUIREMENTS:
        if requirement in errors or _version(requirement):
            continue
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--prefer-binary", requirement]
        if requirement in _TABLE["data only"]:
            command.append("--no-deps")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            errors[requirement] = f"not built within {timeout:.0f} s"
            continue
        if done.returncode:
            errors[requirement] = _why(done.stdout + done.stderr)
    INSTALL_LOG.write_text(json.dumps(errors, indent=1))
    return errors
