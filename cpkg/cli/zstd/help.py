# SPDX-License-Identifier: Apache-2.0
"""The help and version texts of `cpkg zstd`."""

from __future__ import annotations

import sys

from cpkg.cli.fitting import fitted
from cpkg.cli.zstd.console import Console

_SHORT = """\
usage: cpkg zstd [OPTIONS] [FILE | -]... [-o OUT]

Compresses or decompresses files with Zstandard, as the zstd tool does. Without FILE, standard input.

  -1 ... -19         level; higher is smaller and slower (3)
  -d, --decompress   decompress
  -o OUT             write to OUT; several files one after the other
  -c, --stdout       write to standard output
  -f, --force        replace files, follow links, read and write terminals; with -dc pass on what is no frame
  -k, --keep         keep the files that are read (the default); --rm removes them
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
  --show-default-cparams
                     print what the level stands for
  --exclude-compressed
                     leave out files whose names say that they are compressed

compressing
  --ultra            allow levels up to 22
  --fast[=N]         faster and larger than level 1
  --long[=N]         look for matches within 2**N bytes (27)
  -TN, --threads=N   N threads; 0: one per core (1)
  --single-thread    none beside this one
  -BN                bytes per job of several threads
  --zstd=KEY=N,...   parameters: wlog, clog, hlog, slog, mml, tlen, strat, ovlog, lhlog, lmml, lblog, lhrlog
  --stream-size=N    the size of standard input, for the frame's header
  --no-content-size, --no-dictID
                     leave these out of the frame's header
  --patch-from=REF   compress the difference to REF, decompress with it

decompressing
  -MN, --memory=N    allow windows of N bytes (128 MiB)

dictionaries
  --train FILE...    make one of samples, each a file; -o OUT, -BN (samples are blocks of N bytes)
  --maxdict=N, --dictID=N
                     its size (112640 bytes) and id

measuring
  -bN, -eN, -iN, -S  from level N, to level N, for N seconds each, each file for itself

Numbers may end in K, KB, KiB, M, MB or MiB. ZSTD_CLEVEL and ZSTD_NBTHREADS set the level and the threads.
--adapt and --rsyncable have no effect here, nor have options that choose between ways to the same result.
"""


ALL = _SHORT + _LONG


def short() -> str:
    """Return the short help."""
    return fitted(_SHORT)


def welcome() -> str:
    """Return the line with the versions."""
    from cpkg import zstd
    from cpkg._backend import choose
    from cpkg._version import VERSION

    bits = 64 if sys.maxsize > 1 << 32 else 32
    backend = choose("zstd").module.BACKEND
    return f"*** Zstandard CLI ({bits}-bit) v{zstd.zstd_version}, by cpkg {VERSION} ({backend}) ***\n"


def show(kind: str, console: Console) -> int:
    """Print what -h, -H or -V asks for, and return the exit status."""
    if kind == "version":
        if console.level < 2:
            from cpkg import zstd

            print(zstd.zstd_version)
        else:
            print(welcome(), end="")
    else:
        print(fitted(ALL if kind == "long" else _SHORT), end="")
    sys.stdout.flush()
    return 0
