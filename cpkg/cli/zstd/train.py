# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd --train`: train a dictionary from samples."""

from __future__ import annotations

import os

from cpkg import zstd
from cpkg.cli.zstd.console import Console
from cpkg.cli.zstd.options import DICTIONARY_NAME, Options
from purepy.base.new_files import replacing

_FEWEST_SAMPLES = 5
_SMALLEST_DICTIONARY = 256
_LARGEST_SAMPLE = 128 << 10
_TOO_FEW = 14
_LARGEST_TOTAL = 2 << 30


def train(options: Options, console: Console) -> int:
    """Train on the files of a call and write the dictionary; return the exit status."""
    samples = _samples(options)
    if len(samples) < _FEWEST_SAMPLES:
        console.say(2, "!  Warning : nb of samples too low for proper processing ! \n")
        console.say(2, "!  Please provide _one file per sample_. \n")
        console.say(2, "!  Alternatively, split files into fixed-size blocks representative of samples, with -B# \n")
        return console.fail(f"Error {_TOO_FEW} : nb of samples too low\n", _TOO_FEW)
    size = options.dictionary_size
    if sum(map(len, samples)) < size * 8:
        console.say(2, "!  Warning : data size of samples too small for target dictionary size \n")
        console.say(2, "!  Samples should be about 100x larger than target dictionary size \n")
    if size < _SMALLEST_DICTIONARY:
        console.say(1, f"dictBufferCapacity must be at least {_SMALLEST_DICTIONARY}\n")
        return console.fail("dictionary training failed : Destination buffer is too small \n")
    try:
        content = zstd.train_dict(samples, size).dict_content
    except (zstd.ZstdError, ValueError) as exc:
        return console.fail(f"dictionary training failed : {getattr(exc, 'name', None) or exc} \n")
    if options.dictionary_id:
        content = content[:4] + options.dictionary_id.to_bytes(4, "little") + content[8:]
    name = options.output or DICTIONARY_NAME
    console.say(2, f"Save dictionary of size {len(content)} into file {name} \n")
    try:
        with replacing(name) as file:
            file.write(content)
    except OSError as exc:
        return console.fail(f"zstd: {name}: {exc.strerror}\n")
    return 0


def _samples(options: Options) -> list[bytes]:
    """
    Return the samples: the first 128 KiB of each file; with -BN, each block of N bytes in the files.

    Reads at most as many bytes as -M allows, by default 2 GiB. Skips names that are not readable files.
    """
    samples: list[bytes] = []
    room = options.memory_limit or _LARGEST_TOTAL
    for name in options.files:
        if not os.path.isfile(name):
            continue
        try:
            with open(name, "rb") as file:
                while room > 0:
                    sample = file.read(min(options.job_size or _LARGEST_SAMPLE, room))
                    if sample:
                        samples.append(sample)
                    room -= len(sample)
                    if not sample or not options.job_size:
                        break
        except OSError:
            continue
    return samples
