# SPDX-License-Identifier: Apache-2.0
"""The help and version texts of `cpkg zstd`."""

from __future__ import annotations

import sys

from cpkg.cli.zstd.console import Console

_SHORT = """\
usage: cpkg zstd [OPTIONS] [FILE | -]... [-o OUT]

Compress or decompress files with Zstandard, like the zstd tool.
Without FILE, read standard input.

  -1 ... -19         level; higher is smaller and slower (3)
  -d, --decompress   decompress
  -o OUT             write to OUT; several files are concatenated
  -c, --stdout       write to standard output
  -f, --force        replace files, follow links, read and write terminals;
                     with -dc copy data that is not a frame
  -k, --keep         keep input files (the default); --rm removes them
  -D DICT            compress or decompress with a dictionary
  -t, --test         check compressed files, without writing anything
  -l, --list         show the size and frames of compressed files
  -q, -v             print less, print more
  -h, -H, -V         this text, all options, the version
"""
_LONG = """
  -r                 process all files in directories
  --filelist LIST    read the names of files from LIST, one per line
  --output-dir-flat DIR, --output-dir-mirror DIR
                     write to DIR, without or with the directories of FILE
  --no-check         write no checksum (default: --check)
  --[no-]progress    show progress (default: on a terminal)
  --[no-]sparse      leave holes for zeros (default: in files)
  --[no-]pass-through
                     copy data that is not a frame unchanged

compressing
  --ultra            allow levels up to 22
  --max              smallest output: much slower, much more memory
  --fast[=N]         faster and larger than level 1
  --long[=N]         look for matches within 2**N bytes (27)
  -TN, --threads=N   N threads; 0: one per core (1)
  --single-thread    use no other thread
  -BN                bytes per job of several threads
  --zstd=KEY=N,...   parameters: wlog, clog, hlog, slog, mml, tlen, strat,
                     ovlog, lhlog, lmml, lblog, lhrlog
  --stream-size=N    the size of standard input, for the frame's header
  --no-content-size, --no-dictID
                     leave these out of the frame's header
  --patch-from=REF   compress the difference to REF, decompress with it

decompressing
  -MN, --memory=N    allow windows of N bytes (128 MiB)

dictionaries
  --train FILE...    train a dictionary, one sample per file; -o OUT,
                     -BN (samples are blocks of N bytes)
  --maxdict=N, --dictID=N
                     the dictionary's size (112640 bytes) and id

Numbers may end in K, KB, KiB, M, MB or MiB.
ZSTD_CLEVEL and ZSTD_NBTHREADS set the level and the threads.
--adapt and --rsyncable have no effect here.
"""


ALL = _SHORT + _LONG


def welcome() -> str:
    """Return the line with the versions of libzstd and cpkg."""
    from cpkg import zstd
    from cpkg._backend import choose
    from cpkg._version import VERSION

    bits = 64 if sys.maxsize > 1 << 32 else 32
    backend = choose("zstd").module.BACKEND
    return f"*** Zstandard CLI ({bits}-bit) v{zstd.zstd_version}, by cpkg {VERSION} ({backend}) ***\n"


def show(kind: str, console: Console) -> int:
    """Print the text for -h, -H, -V or a wrong option, and return the exit status."""
    if kind == "wrong":
        console.say(2, _SHORT)
        return 1
    if kind == "version":
        from cpkg import zstd

        text = welcome() if console.level >= 2 else f"{zstd.zstd_version}\n"
    else:
        text = ALL if kind == "long" else _SHORT
    print(text, end="", flush=True)
    return 0
