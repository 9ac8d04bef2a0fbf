# SPDX-License-Identifier: Apache-2.0
"""The help and version texts of `cpkg zstd`."""

from __future__ import annotations

import sys

from cpkg.cli.zstd.console import Console

_SHORT = """\
usage: cpkg zstd [OPTIONS] [FILE | -]... [-o OUT]

Compresses or decompresses files with Zstandard, as the zstd tool does.
Without FILE, standard input.

  -1 ... -19         level; higher is smaller and slower (3)
  -d, --decompress   decompress
  -o OUT             write to OUT; several files one after the other
  -c, --stdout       write to standard output
  -f, --force        replace files, follow links, read and write terminals;
                     with -dc pass on what is no frame
  -k, --keep         keep files that are read (the default); --rm removes them
  -D DICT            compress or decompress with a dictionary
  -t, --test         test
  -l, --list         show what is in compressed files
  -q, -v             say less, say more
  -h, -H, -V         this text, all options, the version
"""
_LONG = """
  -r                 the files in directories
  --filelist LIST    the files that LIST names, one a line
  --output-dir-flat DIR, --output-dir-mirror DIR
                     write into DIR, without or with the directories of FILE
  --no-check         no checksum; --check: with one (the default)
  --[no-]progress    show how far it has come (default: on a terminal)
  --[no-]sparse      leave holes for zeros (default: in files)
  --[no-]pass-through
                     copy what is no frame as it is

compressing
  --ultra            allow levels up to 22
  --max              as small as the format can be: much slower, much memory
  --fast[=N]         faster and larger than level 1
  --long[=N]         look for matches within 2**N bytes (27)
  -TN, --threads=N   N threads; 0: one per core (1)
  --single-thread    none beside this one
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
  --train FILE...    make one of samples, each a file; -o OUT,
                     -BN (samples are blocks of N bytes)
  --maxdict=N, --dictID=N
                     its size (112640 bytes) and id

Numbers may end in K, KB, KiB, M, MB or MiB.
ZSTD_CLEVEL and ZSTD_NBTHREADS set the level and the threads.
--adapt and --rsyncable have no effect here.
"""


ALL = _SHORT + _LONG


def welcome() -> str:
    """Return the line with the versions."""
    from cpkg import zstd
    from cpkg._backend import choose
    from cpkg._version import VERSION

    bits = 64 if sys.maxsize > 1 << 32 else 32
    backend = choose("zstd").module.BACKEND
    return f"*** Zstandard CLI ({bits}-bit) v{zstd.zstd_version}, by cpkg {VERSION} ({backend}) ***\n"


def show(kind: str, console: Console) -> int:
    """Print the text that -h, -H, -V or a wrong option asks for, and return the exit status."""
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
