# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd -d FILE`: decompress or test one file, and print the result."""

from __future__ import annotations

from itertools import chain

from cpkg import zstd
from cpkg.cli.zstd.compress import dictionary_of
from cpkg.cli.zstd.console import Console, Fatal
from cpkg.cli.zstd.files import InputFile, OutputFile
from cpkg.cli.zstd.options import DEFAULT_WINDOW_LOG, STDOUT, Options
from purepy.base.cores import usable_cores
from purepy.base.reading import read_full
from purepy.zstd.format.error_codes import PREFIX_UNKNOWN, WINDOW_TOO_LARGE, truncated_file_error
from purepy.zstd.format.rules import is_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable

    from purepy.base.types import Bytes
    from purepy.zstd.threads.arguments import DecompressionPlan

_MAGIC_SIZE = 4
_READ_SIZE = 1 << 18
_WRITE_SIZE = 1 << 20
_PIPE_SIZE = 1 << 15
"""A pipe that gives so much at once has more to come, probably."""
_THREADS_MAX = 4


class Decompressing:
    """The settings that all files of a call are decompressed with."""

    passed = False
    """Whether a part of the last file was no frame and was copied as it is: nothing is said of it."""

    def __init__(self, options: Options, dictionary: bytes, console: Console) -> None:
        self._options = options
        self._console = console
        # one to decompress, and this one to read and write: more are of use for several frames
        self._threads = options.threads if options.threads > 1 else min(max(usable_cores(), 2), _THREADS_MAX)
        self._zstd_dict = dictionary_of(dictionary, prefix=options.patch_from is not None)
        window_log = options.advanced.get("window_log", DEFAULT_WINDOW_LOG)
        self._limit = options.memory_limit or 1 << (window_log & 31)
        if options.patch_from is not None:
            self._limit = 1 << 31
        if self._limit < 1 << 10:
            raise Fatal(11, "Parameter is out of bound")
        self._parameters: dict[int, int] = {
            zstd.DecompressionParameter.window_log_max: min(self._limit.bit_length() - 1, 31)
        }

    def run(self, source: InputFile, destination: OutputFile, prefix: str) -> bool:
        """Decompress all frames of a file; return whether that succeeded, and print why if not."""
        # a pipe may have no more for now, and its reader wait for what there is
        first = read_full(source, _READ_SIZE, _MAGIC_SIZE if source.size is None else None)
        name = source.name
        if not first:
            return self._fail(f"zstd: {name}: unexpected end of file \n")
        if not is_frame(first):
            return self._pass_through(source, destination, first)
        start = source.position - len(first)
        passes = self._passes_through(destination)
        try:
            self._frames(source, destination, first, prefix, by_frames=passes and source.size is None)
        except zstd.ZstdError as exc:
            if exc.code == PREFIX_UNKNOWN:
                if passes and exc.offset is not None:
                    source.go_on_at(start + exc.offset)
                    return self._pass_through(source, destination, source.read(_READ_SIZE))
                short = source.size is not None and exc.offset is not None and source.size - exc.offset < _MAGIC_SIZE
                return self._fail(f"zstd: {name}: {'unknown header' if short else 'unsupported format'} \n")
            self._fail(f"{name} : Decoding error (36) : {exc.name or exc} \n")
            if exc.code == WINDOW_TOO_LARGE:
                self._help_with_window(name, first)
            return False
        except EOFError:
            return self._fail(f"{name} : Read error (39) : premature end \n")
        return True

    def _fail(self, text: str) -> bool:
        self._console.say(1, text)
        return False

    def _frames(
        self, source: InputFile, destination: OutputFile, first: bytes, prefix: str, *, by_frames: bool
    ) -> None:
        before = destination.written

        def progress() -> None:
            if self._console.shows_progress:
                written = self._console.wide(destination.written - before)
                self._console.progress(f"{prefix}{source.name:<20.20} : {written}...")

        is_small = len(first) < (_READ_SIZE if source.size is not None else _PIPE_SIZE)
        plan = None if is_small or self._options.single_thread else self._plan_of_threads()
        if by_frames:
            contents: Iterator[Bytes] = self._frame_by_frame(first, source)
        else:
            contents = self._contents(plan, source, destination, first, progress)
        for content in contents:
            destination.write(content)
            progress()

    def _plan_of_threads(self) -> DecompressionPlan | None:
        """Return what several threads decompress with, None if they are of no use."""
        from cpkg._backend import choose
        from purepy.zstd.threads.arguments import plan_decompression

        module = choose("zstd").module
        return plan_decompression(module, self._threads, self._zstd_dict, self._parameters, truncated_file_error)

    def _contents(
        self,
        plan: DecompressionPlan | None,
        source: InputFile,
        destination: OutputFile,
        first: bytes,
        progress: Callable[[], None],
    ) -> Iterator[Bytes]:
        """Yield the content of frames; what several threads can write to its place is not among it."""
        chunks = iter(lambda: source.read(_READ_SIZE), b"")
        if plan is None:
            from purepy.zstd.format.chunks import decompressed

            decompressor = zstd.ZstdDecompressor(self._zstd_dict, self._parameters, multi_frame=True)
            return decompressed(decompressor, chain((first,), chunks), _WRITE_SIZE, truncated=truncated_file_error)
        from purepy.zstd.threads.copy_files import rest_of

        read = self._copied(plan, source, source.position - len(first), destination, progress)
        return rest_of(plan, chunks if read else chain((first,), chunks), None, read, 0)

    def _copied(
        self,
        plan: DecompressionPlan,
        source: InputFile,
        start: int,
        destination: OutputFile,
        progress: Callable[[], None],
    ) -> int:
        """Decompress frames of a file to their places in another, as far as that goes; return the bytes read."""
        from purepy.base import descriptors
        from purepy.zstd.threads import copy_files

        position = destination.place() if source.size is not None and descriptors.IS_POSSIBLE else None
        if position is None:
            return 0
        copy = copy_files.FrameCopy(
            plan, source.file.fileno(), start, destination.descriptor, position, destination.write_at
        )
        before = destination.written

        def done(read: int, written: int) -> None:
            destination.written = before + written
            progress()

        try:
            copy.run(None, done)
        finally:
            destination.written = before
            destination.go_on_at(position, copy.written)
        if copy.read:
            source.go_on_at(start + copy.read)
        return copy.read

    def _frame_by_frame(self, data: bytes, source: InputFile) -> Iterator[bytes]:
        """Yield the content of frames, and as it is what follows them and is none."""
        while True:
            data += read_full(source, _MAGIC_SIZE - len(data)) if len(data) < _MAGIC_SIZE else b""
            if not is_frame(data):
                self.passed = bool(data)
                while data:
                    yield data
                    data = source.read(_READ_SIZE)
                return
            decompressor = zstd.ZstdDecompressor(self._zstd_dict, self._parameters)
            while not decompressor.eof:
                yield decompressor.decompress(data, max_length=_WRITE_SIZE)
                data = source.read(_READ_SIZE) if decompressor.needs_input else b""
                if decompressor.needs_input and not data:
                    raise truncated_file_error()
            data = decompressor.unused_data

    def _passes_through(self, destination: OutputFile) -> bool:
        """Return whether data that is not a frame is copied unchanged."""
        wanted = self._options.pass_through
        return wanted if wanted is not None else self._options.overwrite and destination.name == STDOUT

    def _pass_through(self, source: InputFile, destination: OutputFile, data: bytes) -> bool:
        """Copy data that is not a frame, where that is wanted."""
        if not self._passes_through(destination):
            short = len(data) < _MAGIC_SIZE
            return self._fail(f"zstd: {source.name}: {'unknown header' if short else 'unsupported format'} \n")
        self.passed = True
        while data:
            destination.write(data)
            data = source.read(_READ_SIZE)
        return True

    def _help_with_window(self, name: str, first: bytes) -> None:
        """Print which option allows the window of the first frame, if that window is too large."""
        from purepy.zstd.format.header import read_header

        header = read_header(first, 0, len(first), 0)
        window = 0 if isinstance(header, int) else header.window_size
        if window <= self._limit:
            return
        self._console.say(1, f"{name} : Window size larger than maximum : {window} > {self._limit} \n")
        log = (window - 1).bit_length()
        if log <= 31:
            megabytes = -(-window >> 20)
            self._console.say(1, f"{name} : Use --long={log} or --memory={megabytes}MB \n")

    def print_result(self, source: str, read: int, written: int, target: str) -> None:
        """Print how large a file was."""
        self._console.say(2, f"{source:<20}: {written} bytes \n")

    def print_results(self, count: int, read: int, written: int) -> None:
        """Print how large several files were."""
        self._console.say(2, f"{count} files decompressed : {written:6} bytes total \n")
