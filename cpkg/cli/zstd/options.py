# SPDX-License-Identifier: Apache-2.0
"""The arguments of `cpkg zstd`, with the same rules as in the `zstd` tool."""

from __future__ import annotations

import os
import sys

from cpkg.cli.zstd.console import Console, Fatal
from purepy.zstd.format.rules import LEVEL_MIN

DEFAULT_LEVEL = 3
LAST_ORDINARY_LEVEL = 19
DEFAULT_WINDOW_LOG = 27
"""The binary logarithm of the largest window decompressed by default, and the N of `--long` without a number."""
DICTIONARY_NAME = "dictionary"
DICTIONARY_SIZE = 112640
STDIN = "/*stdin*\\"
STDOUT = "/*stdout*\\"

COMPRESS, DECOMPRESS, TEST, LIST, TRAIN = range(5)

# options that take no value: name -> attribute of Options, value
_FLAGS: dict[str, tuple[str, object]] = {
    "--list": ("mode", LIST),
    "--compress": ("mode", COMPRESS),
    "--decompress": ("mode", DECOMPRESS),
    "--uncompress": ("mode", DECOMPRESS),
    "--test": ("mode", TEST),
    "--ultra": ("ultra", True),
    "--no-dictID": ("write_dictionary_id", False),
    "--keep": ("remove_source", False),
    "--rm": ("remove_source", True),
    "--single-thread": ("single_thread", True),
    "--help": ("help", "long"),
    "--version": ("help", "version"),
    "-V": ("help", "version"),
    "-H": ("help", "long"),
    "-h": ("help", "short"),
    "-z": ("mode", COMPRESS),
    "-d": ("mode", DECOMPRESS),
    "-t": ("mode", TEST),
    "-l": ("mode", LIST),
    "-k": ("remove_source", False),
    "-C": ("check", True),
    "-r": ("recursive", True),
}
for _name in ("check", "sparse", "pass-through", "content-size", "progress"):
    _FLAGS[f"--{_name}"] = _name.replace("-", "_"), True
    _FLAGS[f"--no-{_name}"] = _name.replace("-", "_"), False
# options that change the output of the zstd tool; here they only print a warning
_IGNORED = {"--adapt": "the level stays as it is", "--rsyncable": "the output is an ordinary frame"}
# options with a number: name -> attribute of Options; a longer name comes before its prefix
_NUMBERS = {
    "--threads": "threads",
    "--memlimit-decompress": "memory_limit",
    "--memlimit": "memory_limit",
    "--memory": "memory_limit",
    "--block-size": "job_size",
    "--maxdict": "dictionary_size",
    "--dictID": "dictionary_id",
    "--stream-size": "stream_size",
}
_LETTERS_WITH_NUMBER = {"M": "memory_limit", "B": "job_size", "T": "threads"}
_TEXTS = {
    "--output-dir-flat": "flat_directory",
    "--output-dir-mirror": "mirror_directory",
    "--patch-from": "patch_from",
    "--filelist": "lists_of_files",
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


# the parameters of --max: the largest values, and those values that find the most long matches
_MAX = {
    "window_log": 31,
    "chain_log": 30,
    "hash_log": 30,
    "search_log": 30,
    "min_match": 3,
    "target_length": 128 << 10,
    "strategy": 9,
    "overlap_log": 9,
    "ldm_hash_log": 30,
    "ldm_hash_rate_log": 0,
    "ldm_min_match": 16,
    "ldm_bucket_size_log": 8,
}


class UsageError(Exception):
    """The arguments have an option that does not exist or is malformed; the text is that option."""


class Options:
    """The options and files in the arguments."""

    def __init__(self) -> None:
        self.mode = COMPRESS
        self.files: list[str] = []
        self.lists_of_files: list[str] = []
        self.output: str | None = None
        self.flat_directory: str | None = None
        self.mirror_directory: str | None = None
        self.level = DEFAULT_LEVEL
        self.threads = 1
        self.advanced: dict[str, int] = {}
        self.dictionary: str | None = None
        self.patch_from: str | None = None
        self.ultra = self.max = self.long_distance = self.single_thread = False
        self.job_size = self.memory_limit = self.stream_size = 0
        self.check = self.content_size = self.write_dictionary_id = True
        self.overwrite = self.force_stdin = self.force_stdout = self.follow_links = False
        self.remove_source = self.recursive = False
        self.sparse: bool | None = None
        self.pass_through: bool | None = None
        self.progress: bool | None = None
        self.dictionary_size = DICTIONARY_SIZE
        self.dictionary_id = 0
        self.help: str | None = None  # "short", "long" or "version"


def read_number(text: str, at: int = 0, bits: int = 32) -> tuple[int, int]:
    """
    Return the number at a position of an argument (0 if there is none) and the position after it.

    The suffixes K, KB, KiB, M, MB and MiB multiply the number. Raises Fatal if the result has more than `bits` bits.
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
    """Reads arguments into Options, and sets the level of the console."""

    def __init__(self, arguments: list[str], console: Console) -> None:
        self._arguments = arguments
        self._at = 0
        self._console = console
        self.options = Options()

    def parse(self) -> Options:
        """Return the options; raises UsageError for an unknown option, Fatal for an invalid value."""
        options = self.options
        options.level = self._environment("ZSTD_CLEVEL", options.level, "not a valid integer value", 31, "-+")
        options.threads = self._environment("ZSTD_NBTHREADS", options.threads, "not a valid unsigned value", 32, "")
        only_files = False
        while self._at < len(self._arguments) and options.help is None:
            argument = self._arguments[self._at]
            self._at += 1
            if only_files or not argument.startswith("-"):
                options.files.append(argument)
            elif argument == "-":
                options.files.append(STDIN)
            elif argument == "--":
                only_files = True
            elif argument.startswith("--"):
                self._long(argument)
            else:
                self._short(argument)
        return options

    def _environment(self, name: str, default: int, what: str, bits: int, signs: str) -> int:
        text = os.environ.get(name)
        if text is None:
            return default
        digits = text[1:] if text and text[0] in signs else text
        is_number = digits.isascii() and digits.isdigit()
        if is_number and int(digits) < 1 << bits:
            return int(text)
        why = "numeric value too large" if is_number and not signs else what
        self._console.say(2, f"Ignore environment variable setting {name}={text}: {why} \n")
        return default

    def _value(self, argument: str, at: int) -> str:
        """
        Return the value of an option: the text after "=", if that is at position `at`, otherwise the next argument.

        Raises Fatal if there is no next argument, or if it begins with "-".
        """
        if argument[at : at + 1] == "=":
            return argument[at + 1 :]
        if self._at >= len(self._arguments):
            raise Fatal(1, "error: missing command argument ", plain=True)
        value = self._arguments[self._at]
        self._at += 1
        if value.startswith("-"):
            raise Fatal(1, "error: command cannot be separated from its argument by another command ", plain=True)
        return value

    def _force(self) -> None:
        options = self.options
        options.overwrite = options.force_stdin = options.force_stdout = options.follow_links = True

    def _to_stdout(self) -> None:
        self.options.force_stdout, self.options.output = True, STDOUT

    def _long(self, argument: str) -> None:
        options = self.options
        name, equals, value = argument.partition("=")
        if argument in _FLAGS:
            setattr(options, *_FLAGS[argument])
        elif argument in _IGNORED or name == "--adapt":
            self._console.say(2, f"Warning : {argument} is ignored: {_IGNORED[name]} \n")
        elif argument == "--force":
            self._force()
        elif argument == "--stdout":
            self._to_stdout()
        elif argument in ("--verbose", "--quiet"):
            self._console.level += 1 if argument == "--verbose" else -1
        elif argument == "--max" and sys.maxsize > 1 << 32:
            options.ultra = options.max = options.long_distance = True
            options.advanced.update(_MAX)
        elif argument == "--train":
            options.mode = TRAIN
            options.output = options.output or DICTIONARY_NAME
        elif name == "--zstd":
            self._advanced(argument, value)
        elif name == "--long":
            options.long_distance = True
            options.advanced.setdefault("window_log", read_number(value)[0] if equals else DEFAULT_WINDOW_LOG)
        elif name == "--fast":
            options.level = -min(read_number(value)[0] if equals else 1, -LEVEL_MIN)
            if not options.level:
                raise UsageError(argument)
        elif argument != "--format=zstd":
            self._long_with_value(argument)

    def _long_with_value(self, argument: str) -> None:
        name = next((name for name in (*_NUMBERS, *_TEXTS) if argument.startswith(name)), None)
        if name is None:
            raise UsageError(argument)
        value = self._value(argument, len(name))
        attribute = _NUMBERS.get(name) or _TEXTS[name]
        if name in _NUMBERS:
            number, end = read_number(value, bits=64 if attribute in ("job_size", "stream_size") else 32)
            if end != len(value):
                what = "only numeric values with optional suffixes K, KB, KiB, M, MB, MiB are allowed "
                raise Fatal(1, f"error: {what}", plain=True)
            setattr(self.options, attribute, number)
        elif attribute == "lists_of_files":
            self.options.lists_of_files.append(value)
        elif attribute.endswith("_directory") and not value:
            raise Fatal(1, "error: output dir cannot be empty string (did you mean to pass '.' instead?)", plain=True)
        else:
            setattr(self.options, attribute, value)

    def _advanced(self, argument: str, settings: str) -> None:
        for setting in settings.split(","):
            name, equals, value = setting.partition("=")
            number, end = read_number(value)
            if name not in _ADVANCED or not equals or end != len(value):
                raise UsageError(argument)
            self.options.advanced[_ADVANCED[name]] = number

    def _short(self, argument: str) -> None:
        options = self.options
        at = 1
        while at < len(argument) and options.help is None:
            letter = argument[at]
            if letter.isascii() and letter.isdigit():
                options.level, at = read_number(argument, at)
                continue
            at += 1
            if f"-{letter}" in _FLAGS:
                setattr(options, *_FLAGS[f"-{letter}"])
            elif letter in _LETTERS_WITH_NUMBER:
                number, at = read_number(argument, at)
                setattr(options, _LETTERS_WITH_NUMBER[letter], number)
            elif letter in "oD":
                setattr(options, "output" if letter == "o" else "dictionary", self._value(argument, at))
                return
            elif letter == "c":
                self._to_stdout()
            elif letter == "f":
                self._force()
            elif letter in "vq":
                self._console.level += 1 if letter == "v" else -1
            elif letter != "n":  # an option of gzip, which the zstd tool accepts and ignores
                raise UsageError(f"-{letter}")
