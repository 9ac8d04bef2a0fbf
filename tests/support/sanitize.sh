#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the native modules with AddressSanitizer and UndefinedBehaviorSanitizer, in a copy of the tree, and run their
# tests under them: any report ends the run. Arguments go to pytest (default: all tests of both codecs).
#
# PYTHON names the interpreter (default: python3); it needs cffi, setuptools, pytest and hypothesis. gcc is needed.
set -eu

PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

for part in cpkg purepy ffi_build tests docs pyproject.toml; do
    cp -R "$here/$part" "$work/"
done
rm -f "$work"/cpkg/_native/*.so
cd "$work"

flags="-g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
for codec in msgpack zstd; do
    CC=gcc CFLAGS="$flags" LDFLAGS="$flags" "$PYTHON" ffi_build/${codec}_build.py >build.log 2>&1 || {
        cat build.log
        exit 1
    }
done

[ $# -gt 0 ] || set -- tests/msgpack tests/zstd tests/zstandard -m "not slow"
# The interpreter is not instrumented: the runtimes go first, and its own memory (never freed) is not a leak. With
# PYTHONMALLOC=malloc every object is an allocation of its own, whose ends are watched. Little freed memory is held
# back, since tests measure the memory of a process.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16:thread_local_quarantine_size_kb=64 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONMALLOC=malloc PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" -m pytest -q -p no:cacheprovider --require msgpack:native,zstd:native --backend native "$@"
