# SPDX-License-Identifier: Apache-2.0
"""
`cpkg zstd`: the command line of the `zstd` tool, with most of its options, and its messages and exit statuses.

It works without click and imports only the modules that an operation needs, because scripts start it often.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # importing signal is slow, because it creates enums
import contextlib
import os
import sys

from cpkg.cli.standard_streams import SIGPIPE, discard, open_standard_streams, when_terminated
from cpkg.cli.zstd import options as modes
from cpkg.cli.zstd.console import Console, Fatal
from cpkg.cli.zstd.files import (
    SUFFIXES,
    InputFile,
    OutputFile,
    expand,
    open_destination,
    open_source,
    read_dictionary,
    target_of,
)
from cpkg.cli.zstd.options import STDIN, STDOUT, Options, Parser, UsageError
from purepy.base.cores import usable_cores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, TextIO

    from cpkg.cli.zstd.compress import Compressing
    from cpkg.cli.zstd.decompress import Decompressing

_INTERRUPTED = 2
_THREADS_MAX = 256  # as in libzstd


def main(arguments: Sequence[str]) -> int:
    """Run the command on its arguments and return the exit status."""

    def terminate(number: int, frame: object) -> NoReturn:
        raise _Terminated(number)

    when_terminated(terminate)
    open_standard_streams()
    console = Console()
    command = Command(console)
    try:
        return command.run([os.fspath(argument) for argument in arguments])
    except Fatal as exc:
        console.say(1, exc.message)
        return exc.code
    except MemoryError:
        return console.fail("zstd: error 1 : not enough memory \n")
    except ImportError as exc:
        return console.fail(f"zstd: {exc} \n")
    except KeyboardInterrupt:
        if command.abandon():
            console.say(1, "\n")
            return _INTERRUPTED
        _die(signal.SIGINT)
    except _Terminated as exc:
        command.abandon()
        _die(exc.number)
    except BrokenPipeError:
        command.abandon()
        discard(sys.stdout)
        _die(SIGPIPE)
    finally:
        command.abandon()
    return 1


class _Terminated(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number


def _die(number: int) -> None:
    """End this process by the signal `number`; on Windows, raise SystemExit with the status 128 + `number`."""
    if os.name == "nt":
        raise SystemExit(128 + number)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class Command:
    """One call of `cpkg zstd`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._options = Options()
        self._destination: OutputFile | None = None
        self._worker: Compressing | Decompressing  # set when the options are known
        self._total = [0, 0, 0]  # files done, bytes read, bytes written

    def abandon(self) -> bool:
        """Remove the output file if it is incomplete, and return whether that was so; only close a pipe or device."""
        destination, self._destination = self._destination, None
        return destination is not None and destination.abandon()

    def run(self, arguments: list[str]) -> int:
        """Run the command and return its exit status."""
        parser = Parser(arguments, self._console)
        self._options = options = parser.options
        try:
            parser.parse()
        except UsageError as exc:
            self._console.say(1, f"Incorrect parameter: {exc} \n")
            options.help = "wrong"
        if options.help is not None or self._console.level >= 3:
            from cpkg.cli.zstd import help as texts

            if options.help is not None:
                return texts.show(options.help, self._console)
            self._console.say(3, texts.welcome())
        if options.mode == modes.DECOMPRESS and not options.single_thread and options.threads > 1:
            self._console.say(3, "Note: independent frames are decompressed in several threads \n")
        if not options.threads and not options.single_thread:
            options.threads = usable_cores()
            self._console.say(3, f"Note: {options.threads} core(s) detected \n")
        options.threads = min(options.threads, _THREADS_MAX)
        named = self._collect()
        if named is None:
            return 1
        if options.mode == modes.LIST:
            from cpkg.cli.zstd.list import list_files

            return list_files(options.files, self._console)
        if options.mode == modes.TRAIN:
            from cpkg.cli.zstd.train import train

            return train(options, self._console)
        return self._process(named)

    def _collect(self) -> int | None:
        """
        Collect the names of all files in the options; return how many there were before directories were expanded.

        Symbolic links among the arguments are ignored, unless the options follow links. Returns None if all arguments
        are such links, or if a list of files cannot be read.
        """
        options, console = self._options, self._console
        if not options.follow_links:
            files = []
            for name in options.files:
                if name != STDIN and os.path.islink(name):
                    console.say(2, f"Warning : {name} is a symbolic link, ignoring \n")
                else:
                    files.append(name)
            if options.files and not files:
                return None
            options.files = files
        for name in options.lists_of_files:
            try:
                with open(name, "rb") as file:
                    lines = os.fsdecode(file.read()).split("\n")
            except OSError:
                console.say(1, f"zstd: error reading {name} \n")
                return None
            options.files += [line for line in lines if line]
        named = len(options.files)
        if options.recursive:
            options.files = expand(options.files, options, console)
        return named

    def _process(self, named: int) -> int:
        """
        Compress, decompress or test the files; return the exit status.

        `named` is the number of names before directories were expanded. If it is 0, standard input is the only file.
        """
        options, console = self._options, self._console
        if options.mode == modes.TEST:
            options.output, options.remove_source = None, False
        if not options.files:
            if named:
                console.say(1, "please provide correct input file(s) or non-empty directories -- ignored \n")
                return 0
            options.files = [STDIN]
        if options.files == [STDIN] and options.output is None and options.mode != modes.TEST:
            options.output = STDOUT
        if STDIN in options.files:
            if not options.force_stdin and _is_terminal(sys.stdin):
                return console.fail("stdin is a console, aborting\n")
            to_stdout = options.output in (None, STDOUT) and options.mode == modes.COMPRESS
            if to_stdout and not options.force_stdout and _is_terminal(sys.stdout):
                return console.fail("stdout is a console, aborting\n")
        if options.dictionary is not None and options.patch_from is not None:
            return console.fail("error : can't use -D and --patch-from=# at the same time \n")
        if options.patch_from is not None and len(options.files) > 1:
            return console.fail("error : can't use --patch-from=# on multiple files \n")
        self._prepare()
        joined = None
        if options.output is not None and len(options.files) > 1:
            joined = self._open(options.output, None) if self._may_join() else None
            if joined is None:
                return 1
        results = [self._one(name, joined) for name in options.files]
        if joined is not None:
            joined.finish(None)
            self._destination = None
        if len(options.files) > 1 and self._total[0]:
            self._worker.print_results(*self._total)
        return 0 if all(results) else 1

    def _prepare(self) -> None:
        """Complete the options, read the dictionary, and create the compressor or decompressor; raises Fatal."""
        options, console = self._options, self._console
        from cpkg.cli.zstd import compress as zstd_compress

        level = zstd_compress.level_of(options, console)
        to_stdout = options.output == STDOUT
        if to_stdout and console.level == 2:
            console.level = 1
        console.shows_progress = (
            options.progress
            if options.progress is not None
            else _is_terminal(sys.stderr) and console.level >= (2 if not to_stdout else 3)
        )
        if to_stdout and options.remove_source:
            console.say(3, "Note: src files are not removed when output is stdout \n")
            options.remove_source = False
        dictionary = read_dictionary(options.dictionary or options.patch_from)
        if options.mode == modes.COMPRESS:
            self._worker = zstd_compress.Compressing(options, level, dictionary, console)
        else:
            from cpkg.cli.zstd.decompress import Decompressing

            self._worker = Decompressing(options, dictionary, console)

    def _may_join(self) -> bool:
        """
        Return whether several inputs may be joined into one output, from which they can no longer be separated.

        Joining into standard output is always allowed. For a file, warns, and keeps the inputs despite --rm; then
        allows joining with -f, refuses it with -q, and otherwise asks the user.
        """
        options, console = self._options, self._console
        if options.output == STDOUT:
            return True
        console.say(
            2,
            "zstd: WARNING: all input files will be processed and concatenated into a single output file: "
            f"{options.output} \n"
            "The concatenated output CANNOT regenerate original file names nor directory structure. \n",
        )
        if options.remove_source:
            console.say(2, "Since it's a destructive operation, input files will not be removed. \n")
            options.remove_source = False
        if options.overwrite:
            return True
        if console.level <= 1:
            console.say(
                1,
                "Concatenating multiple processed inputs into a single output loses file metadata. Aborting. \n",
            )
            return False
        return console.ask("Proceed? (y/n): ", "Aborting...", stdin_is_input=STDIN in options.files)

    def _target(self, name: str) -> str | None:
        """
        Return the default output of a file, whose directory is created for --output-dir-mirror.

        Prints a message and returns None if the output does not follow from the name.
        """
        options = self._options
        if name == STDIN:
            return STDOUT
        target = target_of(name, compress=options.mode == modes.COMPRESS)
        if target is None:
            known = "/".join(SUFFIXES)
            self._console.say(
                1,
                f"zstd: {name}: unknown suffix ({known} expected). "
                "Can't derive the output file name. Specify it with -o dstFileName. Ignoring.\n",
            )
            return None
        if options.mirror_directory is not None:
            inside = os.path.normpath(target).lstrip(os.sep)
            if inside.split(os.sep)[0] == os.pardir:
                self._console.say(
                    1, f"zstd: {name}: path leads above the working directory and cannot be mirrored -- ignored \n"
                )
                return None
            target = os.path.join(options.mirror_directory, inside)
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(target), exist_ok=True)
        elif options.flat_directory is not None:
            target = os.path.join(options.flat_directory, os.path.basename(target))
        return target

    def _one(self, name: str, joined: OutputFile | None) -> bool:
        """Process a file into `joined` or, if that is None, into its own output; return whether that succeeded."""
        options = self._options
        target = options.output
        if target is None and options.mode != modes.TEST:
            target = self._target(name)
            if target is None:
                return False
        source = open_source(name, options, self._console)
        if source is None:
            return False
        with contextlib.closing(source):
            if joined is not None:
                return self._work(source, joined)
            destination = self._open(target, source)
            if destination is None:
                return False
            if not self._work(source, destination):
                self.abandon()
                return False
            destination.finish(source.status)
            self._destination = None
            if options.remove_source and source.name != STDIN:
                source.close()  # Windows does not remove open files
                try:
                    os.remove(source.name)
                except OSError as exc:
                    raise Fatal(1, f"zstd: {source.name}: {exc.strerror}") from None
        return True

    def _open(self, target: str | None, source: InputFile | None) -> OutputFile | None:
        self._destination = open_destination(
            target, source, self._options, self._console, stdin_is_input=STDIN in self._options.files
        )
        return self._destination

    def _work(self, source: InputFile, destination: OutputFile) -> bool:
        options, console = self._options, self._console
        count = len(options.files)
        prefix = "Compress: " if options.mode == modes.COMPRESS else "Decompress: "
        prefix += f"{self._total[0] + 1}/{count} files. Current: {source.name:>20.20} "
        before = destination.written
        self._worker.passed = False
        if not self._worker.run(source, destination, prefix if count > 1 else ""):
            return False
        written = destination.written - before
        if (count == 1 or console.level >= 3) and not self._worker.passed:
            self._worker.print_result(source.name, source.position, written, destination.name)
        for index, number in enumerate((1, source.position, written)):
            self._total[index] += number
        return True


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False
