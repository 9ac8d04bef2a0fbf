# SPDX-License-Identifier: Apache-2.0
"""
Run the command line in forks of one process that has imported it, because starting an interpreter takes longer.

A fork gets the command's arguments, folder, environment and standard streams, and ends as a new process would. Tests of
the start, of signals and of `cpkg run` need new processes. Systems without fork always start a new process, and other
systems do so if a variable that an interpreter or cpkg reads at its start differs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import select
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

COMMAND: Final = [sys.executable, "-I", "-m", "cpkg"]
_READ_ONCE: Final = ("CPKG_", "LANG", "LC_", "PYTHON")
"""Beginnings of the names of environment variables that an interpreter or cpkg reads only at its start."""
_CAN_FORK: Final = hasattr(os, "fork") and hasattr(socket, "send_fds")
_CLIENT: Final = Path(__file__).with_name("forked_client.txt").read_text(encoding="utf-8")


@contextlib.contextmanager
def command_program(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """
    Yield the path of a program in `folder` that runs the command line.

    `environment` has the variables of the process that is forked; callers of the program may add others.
    """
    program = folder / "cpkg"
    if not _CAN_FORK:
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -m cpkg "$@"\n')
        program.chmod(0o755)
        yield program
        return
    address = str(folder / "socket")
    read = {name: value for name, value in environment.items() if name.startswith(_READ_ONCE)}
    program.write_text(
        _CLIENT.format(python=sys.executable, prefixes=_READ_ONCE, read=read, command=COMMAND, address=address)
    )
    program.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-I", __file__, address], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert server.stdout.read(1), "the process of which commands are forks does not start"
        yield program
        server.communicate()  # closes its standard input, so it ends


def _serve(address: str) -> None:
    """Fork for each connection to `address` a process that becomes a command; return when standard input ends."""
    for module in ("archive", "commands", "records", "zstd.compress", "zstd.decompress", "zstd.list", "zstd.main"):
        importlib.import_module(f"cpkg.cli.{module}")
    gc.freeze()
    running: dict[int, tuple[int, socket.socket]] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(100)
        os.write(1, b"!")
        while True:
            for number in select.select([0, listener.fileno(), *running], [], [])[0]:
                if number == 0:
                    return
                if number in running:
                    os.close(number)
                    _report(*running.pop(number))
                    continue
                connection = listener.accept()[0]
                ended, held = os.pipe()  # `held` stays open in the command until it ends, then `ended` is readable
                command = os.fork()
                if not command:
                    _become_command(connection)
                os.close(held)
                running[ended] = command, connection


def _report(command: int, connection: socket.socket) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with connection, contextlib.suppress(BrokenPipeError):
        connection.sendall(status.to_bytes(4, "big", signed=True))


def _become_command(connection: socket.socket) -> NoReturn:
    """Run the command that the connection describes, and end this process."""
    size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    message = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    arguments, folder, environment, numbers = marshal.loads(message)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _set_streams(dict(zip(numbers, descriptors)))
    sys.argv[:] = ["cpkg", *arguments]
    status: Any = 1
    try:
        status = importlib.import_module("cpkg.__main__").main()
    except SystemExit as exc:
        status = exc.code
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        status = 120  # as of an interpreter that cannot flush; its regular end would take longer than most commands
    os._exit(status or 0)


def _set_streams(descriptors: dict[int, int]) -> None:
    """Replace the standard streams by descriptors, as an interpreter that starts with them does."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = None
        if number in descriptors:
            os.dup2(descriptors[number], number)
            os.close(descriptors[number])
            old = getattr(sys, name)
            mode, buffering = "w" if number else "r", 1 if name == "stderr" else -1
            stream = open(number, mode, buffering, old.encoding, old.errors, closefd=False)  # noqa: SIM115
        else:
            os.close(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    _serve(sys.argv[1])
