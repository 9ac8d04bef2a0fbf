# SPDX-License-Identifier: Apache-2.0
"""The arguments of `cpkg zstd`, read as the `zstd` tool reads them."""

from __future__ import annotations

import os

from cpkg.cli.zstd.console import Console, Fatal
from purepy.zstd.format.rules import LEVEL_MIN

DEFAULT_LEVEL = 3
LAST_ORDINARY_LEVEL = 19
DEFAULT_WINDOW_LOG = 27
"""The largest window that is decompressed without being asked for, and that of `--long`."""
DICTIONARY_NAME = "dictionary"
DICTIONARY_SIZE = 112640
STDIN = "/*stdin*\\"
STDOUT = "/*stdout*\\"

COMPRESS, DECOMPRESS, TEST, LIST, TRAIN, BENCHMARK = range(6)

# flags that take no value: name -> attribute of Options, value
_FLAGS: dict[str, tuple[str, object]] = {
    "--list": ("mode", LIST),
    "--compress": ("mode", COMPRESS),
    "--decompress": ("mode", DECOMPRESS),
    "--uncompress": ("mode", DECOMPRESS),
    "--test": ("mode", TEST),
    "--ultra": ("ultra", True),
    "--check": ("checksum", True),
    "--no-check": ("checksum", False),
    "--sparse": ("sparse", True),
    "--no-sparse": ("sparse", False),
    "--pass-through": ("pass_through", True),
    "--no-pass-through": ("pass_through", False),
    "--no-dictID": ("write_dictionary_id", False),
    "--keep": ("remove_source", False),
    "--rm": ("remove_source", True),
    "--content-size": ("write_content_size", True),
    "--no-content-size": ("write_content_size", False),
    "--no-progress": ("progress", False),
    "--progress": ("progress", True),
    "--exclude-compressed": ("exclude_compressed", True),
    "--single-thread": ("single_thread", True),
    "--show-default-cparams": ("shows_parameters", True),
}
# what makes no difference here; those with a note change the output in the zstd tool
_IGNORED = {
    "--adapt": "the level stays as it is",
    "--rsyncable": "the output is an ordinary frame",
    "--compress-literals": "literals are compressed where that is of use",
    "--no-compress-literals": "literals are compressed where that is of use",
    "--row-match-finder": "",
    "--no-row-match-finder": "",
    "--asyncio": "",
    "--no-asyncio": "",
    "--mmap-dict": "",
    "--no-mmap-dict": "",
    "--priority=rt": "",
    "--format=zstd": "",
}
_ADVANCED = {
    name: member
    for member, names in {
        "window_log": ("windowLog", "wlog"),
        "chain_log": ("chainLog", "clog"),
        "hash_log": ("hashLog", "hlog"),
        "search_log": ("searchLog", "slog"),
        "min_match": ("minMatch", "mml"),
        "target_length": ("targetLength", "tlen"),
        "strategy": ("strategy", "strat"),
        "overlap_log": ("overlapLog", "ovlog"),
        "ldm_hash_log": ("ldmHashLog", "lhlog"),
        "ldm_min_match": ("ldmMinMatch", "lmml"),
        "ldm_bucket_size_log": ("ldmBucketSizeLog", "lblog"),
        "ldm_hash_rate_log": ("ldmHashRateLog", "lhrlog"),
    }.items()
    for name in names
}
"""Keys of `--zstd=`: name -> member of CompressionParameter."""


class UsageError(Exception):
    """An argument that does not exist, or has no such form."""


class Options:
    """The options and files that the arguments name."""

    def __init__(self) -> None:
        self.mode = COMPRESS
        self.files: list[str] = []
        self.lists_of_files: list[str] = []
        self.output: str | None = None
        self.flat_directory: str | None = None
        self.mirror_directory: str | None = None
        self.level = DEFAULT_LEVEL
        self.ultra = False
        self.threads = 1
        self.single_thread = False
        self.long_distance = False
        self.advanced: dict[str, int] = {}
        self.job_size = 0
        self.memory_limit = 0
        self.dictionary: str | None = None
        self.patch_from: str | None = None
        self.checksum = True
        self.write_content_size = True
        self.write_dictionary_id = True
        self.stream_size = 0
        self.overwrite = False
        self.force_stdin = False
        self.force_stdout = False
        self.follow_links = False
        self.remove_source = False
        self.recursive = False
        self.sparse: bool | None = None
        self.pass_through: bool | None = None
        self.progress: bool | None = None
        self.exclude_compressed = False
        self.shows_parameters = False
        self.dictionary_size = DICTIONARY_SIZE
        self.dictionary_id = 0
        self.last_level = LEVEL_MIN - 1
        self.seconds = 3
        self.separately = False
        self.help: str | None = None  # "short", "long" or "version"


def read_number(text: str, at: int = 0, bits: int = 32) -> tuple[int, int]:
    """
    Return the number at a position of an argument, 0 if there is none, and the position behind it.

    K, KB, KiB, M, MB and MiB multiply it. Raises Fatal if it has more than `bits` bits.
    """
    start = at
    while text[at : at + 1].isdigit() and text[at].isascii():
        at += 1
    number = int(text[start:at] or "0") if at - start < 30 else 1 << 99
    if text[at : at + 1] in ("K", "M"):
        number <<= 10 if text[at] == "K" else 20
        at += 1
        if text[at : at + 1] == "i":
            at += 1
        if text[at : at + 1] == "B":
            at += 1
    if number >> bits:
        kind = "32-bit unsigned int" if bits == 32 else "size_t"
        raise Fatal(1, f"error: numeric value overflows {kind} ", plain=True)
    return number, at


class Parser:
    """Reads arguments into Options; makes the console as talkative as they say."""

    def __init__(self, arguments: list[str], console: Console) -> None:
        self._arguments = arguments
        self._at = 0
        self._console = console
        self.options = Options()

    def parse(self) -> Options:
        """Return the options; raises UsageError, or Fatal for a value that is none."""
        options = self.options
        self._environment()
        only_files = False
        while self._at < len(self._arguments) and options.help is None:
            argument = self._arguments[self._at]
            self._at += 1
            if only_files:
                options.files.append(argument)
            elif argument == "-":
                options.files.append(STDIN)
            elif argument == "--":
                only_files = True
            elif argument.startswith("--"):
                self._long(argument)
            elif argument.startswith("-"):
                self._short(argument)
            else:
                options.files.append(argument)
        return options

    def _environment(self) -> None:
        level = os.environ.get("ZSTD_CLEVEL")
        if level is not None:
            digits = level[1:] if level[:1] in ("-", "+") else level
            if digits.isascii() and digits.isdigit() and int(digits) < 1 << 31:
                self.options.level = int(level)
            else:
                self._console.say(
                    2, f"Ignore environment variable setting ZSTD_CLEVEL={level}: not a valid integer value \n"
                )
        threads = os.environ.get("ZSTD_NBTHREADS")
        if threads is not None:
            is_number = threads.isascii() and threads.isdigit()
            if is_number and int(threads) < 1 << 32:
                self.options.threads = int(threads)
            else:
                why = "numeric value too large" if is_number else "not a valid unsigned value"
                self._console.say(2, f"Ignore environment variable setting ZSTD_NBTHREADS={threads}: {why} \n")

    def _value(self, argument: str, at: int) -> str:
        """Return the value of an option: what follows "=" in the argument, or the next argument."""
        if argument[at : at + 1] == "=":
            return argument[at + 1 :]
        if self._at >= len(self._arguments):
            raise Fatal(1, "error: missing command argument ", plain=True)
        value = self._arguments[self._at]
        self._at += 1
        if value.startswith("-"):
            raise Fatal(1, "error: command cannot be separated from its argument by another command ", plain=True)
        return value

    def _number(self, argument: str, at: int, bits: int = 32) -> int:
        value = self._value(argument, at)
        number, end = read_number(value, bits=bits)
        if end != len(value):
            raise Fatal(
                1, "error: only numeric values with optional suffixes K, KB, KiB, M, MB, MiB are allowed ", plain=True
            )
        return number

    def _force(self) -> None:
        options = self.options
        options.overwrite = options.force_stdin = options.force_stdout = options.follow_links = True

    def _long(self, argument: str) -> None:
        options = self.options
        if argument in _FLAGS:
            name, value = _FLAGS[argument]
            setattr(options, name, value)
        elif argument in _IGNORED or argument.startswith("--adapt="):
            self._ignore(argument)
        elif argument == "--force":
            self._force()
        elif argument == "--stdout":
            options.force_stdout, options.output = True, STDOUT
        elif argument == "--verbose":
            self._console.level += 1
        elif argument == "--quiet":
            self._console.level -= 1
        elif argument in ("--help", "--version"):
            options.help = "long" if argument == "--help" else "version"
        else:
            self._long_with_value(argument)

    def _ignore(self, argument: str) -> None:
        note = _IGNORED.get(argument.partition("=")[0], "") if argument not in _IGNORED else _IGNORED[argument]
        if note:
            self._console.say(2, f"Warning : {argument} is ignored: {note} \n")

    def _long_with_value(self, argument: str) -> None:
        options = self.options
        for name in (*_TAKES_NUMBER, *_TAKES_TEXT):  # a longer name comes before its prefix
            if argument.startswith(name):
                if name in _TAKES_NUMBER:
                    attribute, bits = _TAKES_NUMBER[name]
                    number = self._number(argument, len(name), bits)
                    if attribute:
                        setattr(options, attribute, number)
                else:
                    self._text(name, argument)
                return
        if argument.startswith("--train"):
            self._train(argument)
        elif argument.startswith("--zstd="):
            self._advanced(argument)
        elif argument == "--long" or argument.startswith("--long="):
            window_log = read_number(argument, len("--long="))[0] if "=" in argument else DEFAULT_WINDOW_LOG
            options.long_distance = True
            options.advanced.setdefault("window_log", window_log)
        elif argument == "--fast":
            options.level = -1
        elif argument.startswith("--fast="):
            number = min(read_number(argument, len("--fast="))[0], -LEVEL_MIN)
            if not number:
                raise UsageError(argument)
            options.level = -number
        else:
            raise UsageError(argument)

    def _text(self, name: str, argument: str) -> None:
        value = self._value(argument, len(name))
        attribute = _TAKES_TEXT[name]
        if attribute == "lists_of_files":
            self.options.lists_of_files.append(value)
            return
        if attribute.endswith("_directory") and not value:
            raise Fatal(1, "error: output dir cannot be empty string (did you mean to pass '.' instead?)", plain=True)
        if attribute:
            setattr(self.options, attribute, value)

    def _train(self, argument: str) -> None:
        name, _, settings = argument.partition("=")
        if name not in ("--train", "--train-cover", "--train-fastcover", "--train-legacy") or (
            name == "--train" and settings
        ):
            raise UsageError(argument)
        if settings:
            self._console.say(2, f"Warning : {argument}: the parameters of training are chosen here \n")
        self.options.mode = TRAIN
        if self.options.output is None:
            self.options.output = DICTIONARY_NAME

    def _advanced(self, argument: str) -> None:
        for setting in argument[len("--zstd=") :].split(","):
            name, equals, value = setting.partition("=")
            key = _ADVANCED.get(name)
            if key is None or not equals:
                raise UsageError(argument)
            number, end = read_number(value)
            if end != len(value):
                raise UsageError(argument)
            self.options.advanced[key] = number

    def _short(self, argument: str) -> None:
        options = self.options
        at = 1
        while at < len(argument) and options.help is None:
            letter = argument[at]
            if letter.isascii() and letter.isdigit():
                options.level, at = read_number(argument, at)
                continue
            at += 1
            if letter in _LETTERS:
                name, value = _LETTERS[letter]
                setattr(options, name, value)
            elif letter in _LETTERS_WITH_NUMBER:
                number, at = read_number(argument, at)
                if _LETTERS_WITH_NUMBER[letter]:
                    setattr(options, _LETTERS_WITH_NUMBER[letter], number)
            elif letter in "oD":
                setattr(options, "output" if letter == "o" else "dictionary", self._value(argument, at))
                return
            elif letter == "d":
                if options.mode != BENCHMARK:
                    options.mode = DECOMPRESS
            elif letter == "c":
                options.force_stdout, options.output = True, STDOUT
            elif letter == "f":
                self._force()
            elif letter in "vq":
                self._console.level += 1 if letter == "v" else -1
            elif letter not in "np":  # which do nothing here
                raise UsageError(f"-{letter}")


# options with a value: name -> attribute of Options ("" for ignored options); a longer name comes before its prefix
_TAKES_NUMBER = {
    "--threads": ("threads", 32),
    "--memlimit-decompress": ("memory_limit", 32),
    "--memlimit": ("memory_limit", 32),
    "--memory": ("memory_limit", 32),
    "--block-size": ("job_size", 64),
    "--maxdict": ("dictionary_size", 32),
    "--dictID": ("dictionary_id", 32),
    "--stream-size": ("stream_size", 64),
    "--target-compressed-block-size": ("", 64),
    "--size-hint": ("", 64),
}
_TAKES_TEXT = {
    "--output-dir-flat": "flat_directory",
    "--output-dir-mirror": "mirror_directory",
    "--auto-threads": "",
    "--patch-from": "patch_from",
    "--filelist": "lists_of_files",
}
_LETTERS: dict[str, tuple[str, object]] = {
    "V": ("help", "version"),
    "H": ("help", "long"),
    "h": ("help", "short"),
    "z": ("mode", COMPRESS),
    "k": ("remove_source", False),
    "C": ("checksum", True),
    "t": ("mode", TEST),
    "l": ("mode", LIST),
    "r": ("recursive", True),
    "b": ("mode", BENCHMARK),
    "S": ("separately", True),
}
_LETTERS_WITH_NUMBER = {
    "M": "memory_limit",
    "e": "last_level",
    "i": "seconds",
    "B": "job_size",
    "T": "threads",
    "s": "",
    "P": "",
}
