# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd FILE`: compress one file, and print the result."""

from __future__ import annotations

from cpkg import _backend, zstd
from cpkg.cli.zstd.console import Console, Fatal
from cpkg.cli.zstd.files import InputFile, OutputFile, cannot_read
from cpkg.cli.zstd.options import LAST_ORDINARY_LEVEL, Options
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.zstd.format.zdict import DictArgument

_READ_SIZE = 1 << 20
_LARGE = 64 << 20
"""From this size in bytes, several threads compress a file into several frames."""
_LARGEST_WINDOW_LOG = 31


def level_of(options: Options, console: Console) -> int:
    """Return the level in the options, limited to LEVEL_MIN to 22 (19 without --ultra); warn if it was higher."""
    highest = LEVEL_MAX if options.ultra else LAST_ORDINARY_LEVEL
    if options.level > highest:
        console.say(2, f"Warning : compression level higher than max, reduced to {highest} \n")
        return highest
    return max(options.level, LEVEL_MIN)


def dictionary_of(content: bytes, *, prefix: bool = False) -> DictArgument:
    """
    Return the content of a file as a dictionary, or None if it has fewer than 8 bytes.

    Content without a dictionary's magic number is a raw dictionary. With `prefix`, all content is raw, and is used as
    the reference of --patch-from. Raises Fatal for a damaged dictionary.
    """
    if len(content) < 8:  # libzstd ignores shorter dictionaries
        return None
    if prefix:
        return zstd.ZstdDict(content, is_raw=True).as_prefix
    try:
        return zstd.ZstdDict(content, is_raw=content[:4] != b"\x37\xa4\x30\xec")
    except (ValueError, zstd.ZstdError):
        raise Fatal(11, "Dictionary is corrupted") from None


class Compressing:
    """Compresses the files of one call, all with the same options."""

    passed = False

    def __init__(self, options: Options, level: int, dictionary: bytes, console: Console) -> None:
        self._options = options
        self._console = console
        self._dictionary = dictionary
        self._zstd_dict = dictionary_of(dictionary, prefix=options.patch_from is not None)
        key = zstd.CompressionParameter
        self.parameters: dict[int, int] = {
            key.compression_level: level,
            key.checksum_flag: options.check,
            key.content_size_flag: options.content_size,
            key.dict_id_flag: options.write_dictionary_id,
        }
        for name, value in options.advanced.items():
            self.parameters[key[name]] = value
        if options.long_distance:
            self.parameters[key.enable_long_distance_matching] = 1
        if not options.single_thread and _has_workers():
            self.parameters[key.nb_workers] = max(options.threads, 1)
            if options.job_size:
                self.parameters[key.job_size] = options.job_size
        else:
            self.parameters.pop(key.overlap_log, None)
        # a job size, long matches and a reference file apply only within one frame
        in_one = options.job_size or options.long_distance or options.patch_from or not options.content_size
        self._threads = None if in_one or options.single_thread or options.threads < 2 else options.threads
        try:  # detect wrong parameters before any file is opened
            zstd.ZstdCompressor(options=self._parameters_for(None), zstd_dict=self._zstd_dict)
        except ValueError:
            raise Fatal(11, "Parameter is out of bound") from None
        except zstd.ZstdError as exc:  # the backend `pure` may not support long matches
            raise Fatal(11, str(exc)) from None

    def _parameters_for(self, size: int | None) -> dict[int, int]:
        """Return the parameters for a frame with `size` bytes of content; `size` is None if it is unknown."""
        key = zstd.CompressionParameter
        if self._options.max and size is not None:  # a table for long matches need not be larger than the content
            return {**self.parameters, key.ldm_hash_log: min(max((size - 1).bit_length(), 6), 30)}
        if self._options.patch_from is None:
            return self.parameters
        # the window must reach back over the whole reference
        reach = max(len(self._dictionary), size or 0).bit_length() + 1
        log = min(max(reach, 10), _LARGEST_WINDOW_LOG)
        has_long_matches = _backend.zstd().HAS_LONG_MATCHES
        return {key.window_log: log, key.enable_long_distance_matching: has_long_matches, **self.parameters}

    def run(self, source: InputFile, destination: OutputFile, prefix: str) -> bool:
        """Compress a file and return True; raises Fatal or BrokenPipeError. Progress lines begin with `prefix`."""
        size = source.size if source.size is not None else self._options.stream_size or None
        before = destination.written
        # several threads write several frames, which several threads can also decompress
        threads = self._threads if size is not None and size >= _LARGE else None
        parameters = dict(self._parameters_for(size))
        if threads:
            for name in (zstd.CompressionParameter.nb_workers, zstd.CompressionParameter.job_size):
                parameters.pop(name, None)

        def progress(read: int, written: int) -> None:
            source.position = read
            if self._console.shows_progress and read:
                self._progress(source, destination.written - before, prefix)

        try:
            source.position, _ = zstd.copy_stream(
                source.file,
                destination,
                options=parameters,
                zstd_dict=self._zstd_dict,
                size=size if self._options.content_size and not threads else None,
                read_size=_READ_SIZE,
                threads=threads,
                progress=progress,
            )
        except BrokenPipeError:
            raise
        except OSError as exc:
            raise cannot_read(exc) from None
        except zstd.ZstdError as exc:
            raise Fatal(11, exc.name or "Src size is incorrect") from None
        return True

    def _progress(self, source: InputFile, written: int, prefix: str) -> None:
        console = self._console
        total = f" / {console.wide(source.size)}" if source.size is not None else ""
        ratio = 100 * written / source.position
        console.progress(f"{prefix}Read: {console.wide(source.position)}{total} ==> {ratio:2.0f}%")

    def print_result(self, source: str, read: int, written: int, target: str) -> None:
        """Print the size of a file before and after compression, and their ratio."""
        console = self._console
        sizes = f"({console.wide(read, unit_width=0)} => {console.wide(written, unit_width=0)}, {target}) \n"
        ratio = f"{100 * written / read:6.2f}% " if read else ""
        console.say(2, f"{source:<20} :{ratio}  {sizes}")

    def print_results(self, count: int, read: int, written: int) -> None:
        """Print the number of files, their total size before and after compression, and the ratio."""
        sizes = f"({self._console.wide(read)} => {self._console.wide(written)})"
        ratio = f"{100 * written / read:.2f}% {sizes}" if read else f"{sizes} "
        self._console.say(2, f"{count:3} files compressed : {ratio}\n")


def _has_workers() -> bool:
    """Return whether the library can compress in its own threads."""
    try:
        return zstd.CompressionParameter.nb_workers.bounds()[1] > 0
    except ValueError:
        return False
