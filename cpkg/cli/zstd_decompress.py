# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd -d FILE`: decompress or test one file, and tell the result."""

from __future__ import annotations

from itertools import chain

from cpkg import zstd
from cpkg.cli.zstd_compress import dictionary_of
from cpkg.cli.zstd_console import Console, Fatal
from cpkg.cli.zstd_files import Destination, Source
from cpkg.cli.zstd_options import DEFAULT_WINDOW_LOG, STDOUT, Options
from purepy._cores import usable_cores
from purepy._reading import read_full
from purepy.zstd_format import is_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable

_MAGIC_SIZE = 4
_READ_SIZE = 1 << 18
_WRITE_SIZE = 1 << 20
_PIPE_SIZE = 1 << 15
"""A pipe that gives so much at once has more to come, probably."""
_THREADS_MAX = 4
_UNKNOWN_FRAME = 10  # codes of libzstd's errors
_WINDOW_TOO_LARGE = 16


class Decompressing:
    """The settings that all files of a call are decompressed with."""

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

    def run(self, source: Source, destination: Destination, told: str) -> bool:
        """Decompress all frames of a file; return whether that succeeded, and tell why if not."""
        # a pipe may have no more for now, and its reader wait for what there is
        first = read_full(source, _READ_SIZE, _MAGIC_SIZE if source.size is None else None)
        name = source.name
        if not first:
            return self._fail(f"zstd: {name}: unexpected end of file \n")
        if not is_frame(first):
            return self._pass_through(source, destination, first)
        try:
            self._frames(source, destination, first, told)
        except zstd.ZstdError as exc:
            if exc.code == _UNKNOWN_FRAME:
                short = source.size is not None and exc.offset is not None and source.size - exc.offset < _MAGIC_SIZE
                return self._fail(f"zstd: {name}: {'unknown header' if short else 'unsupported format'} \n")
            self._fail(f"{name} : Decoding error (36) : {exc.name or exc} \n")
            if exc.code == _WINDOW_TOO_LARGE:
                self._help_with_window(name, first)
            return False
        except EOFError:
            return self._fail(f"{name} : Read error (39) : premature end \n")
        return True

    def _fail(self, text: str) -> bool:
        self._console.tell(1, text)
        return False

    def _frames(self, source: Source, destination: Destination, first: bytes, told: str) -> None:
        before = destination.written

        def progress() -> None:
            if self._console.shows_progress:
                written = self._console.wide(destination.written - before)
                self._console.progress(f"{told}{source.name:<20.20} : {written}...")

        is_small = len(first) < (_READ_SIZE if source.size is not None else _PIPE_SIZE)
        parameters = None if is_small or self._options.single_thread else self._parameters_of_threads()
        for content in self._contents(parameters, source, destination, first, progress):
            destination.write(content)
            progress()

    def _parameters_of_threads(self) -> Any:
        """Return what several threads decompress with, None if they are of no use."""
        from cpkg._backend import choose
        from purepy.zstd.common import parallel

        module = choose("zstd").module
        return parallel.decompressing(module, self._threads, self._zstd_dict, self._parameters, _end_of_file)

    def _contents(
        self,
        parameters: Any,
        source: Source,
        destination: Destination,
        first: bytes,
        progress: Callable[[], None],
    ) -> Iterator[Any]:
        """Yield the content of frames; what several threads can write to its place is not among it."""
        chunks = iter(lambda: source.read(_READ_SIZE), b"")
        if parameters is None:
            from purepy.zstd.common.stream_functions import decompressed

            decompressor: Any = zstd.ZstdDecompressor(self._zstd_dict, self._parameters, multi_frame=True)
            return decompressed(decompressor, chain((first,), chunks), _WRITE_SIZE, truncated=_end_of_file)
        from purepy.zstd.common.parallel_copy import rest_of

        read = self._copied(parameters, source, source.position - len(first), destination, progress)
        return rest_of(parameters, chunks if read else chain((first,), chunks), None, read, 0)

    def _copied(
        self,
        parameters: Any,
        source: Source,
        start: int,
        destination: Destination,
        progress: Callable[[], None],
    ) -> int:
        """Decompress frames of a file to their places in another, as far as that goes; return the bytes read."""
        from purepy.zstd.common import file_places, parallel_copy

        position = destination.place() if source.size is not None and file_places.IS_POSSIBLE else None
        if position is None:
            return 0
        copy = parallel_copy.FrameCopy(parameters, source.file.fileno(), start, destination.write_at, position)
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

    def _pass_through(self, source: Source, destination: Destination, data: bytes) -> bool:
        """Copy what is no frame, where that is wanted."""
        wanted = self._options.pass_through
        if wanted is None:
            wanted = self._options.overwrite and destination.name == STDOUT
        if not wanted:
            short = len(data) < _MAGIC_SIZE
            return self._fail(f"zstd: {source.name}: {'unknown header' if short else 'unsupported format'} \n")
        while data:
            destination.write(data)
            data = source.read(_READ_SIZE)
        return True

    def _help_with_window(self, name: str, first: bytes) -> None:
        """Tell which option allows the window of the first frame, if it is that which is too large."""
        from purepy.zstd.decoder.frame import read_header

        header: Any = read_header(first, 0, len(first), 0)
        window = 0 if isinstance(header, int) else header.window_size or 0
        if window <= self._limit:
            return
        self._console.tell(1, f"{name} : Window size larger than maximum : {window} > {self._limit} \n")
        log = (window - 1).bit_length()
        if log <= 31:
            megabytes = -(-window >> 20)
            self._console.tell(1, f"{name} : Use --long={log} or --memory={megabytes}MB \n")


def _end_of_file(given: int) -> EOFError:
    return EOFError()


def tell_result(console: Console, source: str, written: int) -> None:
    """Tell how large a file was."""
    console.tell(2, f"{source:<20}: {written} bytes \n")


def tell_results(console: Console, count: int, written: int) -> None:
    """Tell how large several files were."""
    console.tell(2, f"{count} files decompressed : {written:6} bytes total \n")
