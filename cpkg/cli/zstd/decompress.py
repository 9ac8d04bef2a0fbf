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
from purepy.zstd.format.error_codes import PREFIX_UNKNOWN, WINDOW_TOO_LARGE, truncated_error
from purepy.zstd.format.rules import is_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC_SIZE = 4
_READ_SIZE = 1 << 18
_WRITE_SIZE = 1 << 20
_PIPE_SIZE = 1 << 15
"""A pipe that delivers this many bytes at once probably has more to come."""
_THREADS_MAX = 4
_EMPTY_FRAME = b"\x28\xb5\x2f\xfd\x20\0\1\0\0"


class Decompressing:
    """Decompresses the files of one command line, all with the same settings."""

    passed = False
    """Whether a part of the last file was not a frame and was copied unchanged; no result is printed then."""

    def __init__(self, options: Options, dictionary: bytes, console: Console) -> None:
        self._options = options
        self._console = console
        # one thread decompresses while this one reads and writes; more threads help only with several frames
        self._threads = options.threads if options.threads > 1 else min(max(usable_cores(), 2), _THREADS_MAX)
        self._zstd_dict = dictionary_of(dictionary, prefix=options.patch_from is not None)
        if options.dictionary is not None:  # detect damage before any file is opened
            try:
                zstd.decompress(_EMPTY_FRAME, self._zstd_dict)
            except (zstd.ZstdError, ValueError):
                raise Fatal(11, "Dictionary is corrupted") from None
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
        """
        Decompress all frames of a file; return whether that succeeded, and print the reason if not.

        Copies data that is not a frame if the options allow that. Raises Fatal if reading or writing fails. Progress
        lines begin with `prefix`.
        """
        # a pipe may deliver more data only much later: do not wait for more than the first four bytes
        first = read_full(source, _READ_SIZE, _MAGIC_SIZE if source.size is None else None)
        name = source.name
        if not first:
            return self._fail(f"zstd: {name}: unexpected end of file \n")
        if not is_frame(first):
            return self._pass_through(source, destination, first)
        start = source.position - len(first)
        passes = self._passes_through(destination)
        try:
            if passes and source.size is None:
                for content in self._frame_by_frame(first, source):
                    destination.write(content)
            else:
                self._frames(source, destination, first, prefix)
        except zstd.ZstdError as exc:
            if str(exc) == str(truncated_error()):
                return self._fail(f"{name} : Read error (39) : premature end \n")
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
        return True

    def _fail(self, text: str) -> bool:
        self._console.say(1, text)
        return False

    def _frames(self, source: InputFile, destination: OutputFile, first: bytes, prefix: str) -> None:
        before = destination.written

        def progress(read: int, written: int) -> None:
            if self._console.shows_progress:
                size = self._console.wide(destination.written - before)
                self._console.progress(f"{prefix}{source.name:<20.20} : {size}...")

        is_small = len(first) < (_READ_SIZE if source.size is not None else _PIPE_SIZE)
        zstd.copy_stream(
            chain((first,), iter(lambda: source.read(_READ_SIZE), b"")),
            destination,
            mode="decompress",
            options=self._parameters,
            zstd_dict=self._zstd_dict,
            write_size=_WRITE_SIZE,
            threads=None if is_small or self._options.single_thread else self._threads,
            progress=progress,
        )

    def _frame_by_frame(self, data: bytes, source: InputFile) -> Iterator[bytes]:
        """Yield the content of frames, then any data after them unchanged; `data` is the beginning of the file."""
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
                    raise truncated_error()
            data = decompressor.unused_data

    def _passes_through(self, destination: OutputFile) -> bool:
        """Return whether data that is not a frame is copied unchanged."""
        wanted = self._options.pass_through
        return wanted if wanted is not None else self._options.overwrite and destination.name == STDOUT

    def _pass_through(self, source: InputFile, destination: OutputFile, data: bytes) -> bool:
        """
        Copy `data`, which is not a frame, and the rest of the file, and return True.

        If the options do not allow that, prints an error and returns False.
        """
        if not self._passes_through(destination):
            short = len(data) < _MAGIC_SIZE
            return self._fail(f"zstd: {source.name}: {'unknown header' if short else 'unsupported format'} \n")
        self.passed = True
        while data:
            destination.write(data)
            data = source.read(_READ_SIZE)
        return True

    def _help_with_window(self, name: str, first: bytes) -> None:
        """Print which option allows the window of the frame that `first` begins with, if the window is too large."""
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
        """Print the decompressed size of a file."""
        self._console.say(2, f"{source:<20}: {written} bytes \n")

    def print_results(self, count: int, read: int, written: int) -> None:
        """Print the number of files and their total decompressed size."""
        self._console.say(2, f"{count} files decompressed : {written:6} bytes total \n")
