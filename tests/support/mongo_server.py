# SPDX-License-Identifier: Apache-2.0
"""A minimal MongoDB server for a client with wire compression: it negotiates zstd and echoes commands."""

from __future__ import annotations

import itertools
import socketserver
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bson
from web import running

from cpkg import zstd

_HEADER = struct.Struct("<iiii")  # length, request, response to, operation
_COMPRESSION = struct.Struct("<iiB")  # operation, size, compressor
_MESSAGE = 2013
_COMPRESSED = 2012
_ZSTD = 3
_numbers = itertools.count(1)

_HELLO = {
    "helloOk": True,
    "isWritablePrimary": True,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "maxBsonObjectSize": 16 << 20,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "compression": ["zstd"],
}

# name of a command -> damage to the frame in the answer
_HARMS = {
    "cut": lambda frame: frame[:-1],
    "more": lambda frame: frame + b"more",
    "large": lambda frame: zstd.compress(bytes(100_000_000)),
}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while header := self.rfile.read(_HEADER.size):
            length, number, _, operation = _HEADER.unpack(header)
            body = self.rfile.read(length - _HEADER.size)
            is_compressed = operation == _COMPRESSED
            if is_compressed:
                operation, size, compressor = _COMPRESSION.unpack_from(body)
                assert compressor == _ZSTD
                body = zstd.decompress(body[_COMPRESSION.size :])
                assert len(body) == size
                self.server.compressed += 1  # type: ignore[attr-defined]
            assert operation == _MESSAGE
            command = bson.decode(body[5:])  # the flags and the kind of the section come first
            answer = {"ok": 1.0, **(_HELLO if "hello" in command else {"echo": command.get("echo")})}
            self._answer(b"\0\0\0\0\0" + bson.encode(answer), number, is_compressed, str(command.get("echo")))

    def _answer(self, body: bytes, number: int, is_compressed: bool, echo: str) -> None:
        operation = _MESSAGE
        if is_compressed:
            frame = _HARMS.get(echo, bytes)(zstd.compress(body))
            body = _COMPRESSION.pack(_MESSAGE, len(body), _ZSTD) + frame
            operation = _COMPRESSED
        self.wfile.write(_HEADER.pack(_HEADER.size + len(body), next(_numbers), number, operation) + body)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    compressed = 0

    @property
    def port(self) -> int:
        return int(self.server_address[1])


@contextmanager
def serving_mongo() -> Iterator[Any]:
    """Serve on a free local port; yield the server, which counts the `compressed` messages that it received."""
    with _Server(("127.0.0.1", 0), _Handler) as server, running(server):
        yield server
