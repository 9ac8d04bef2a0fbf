#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the native modules with sanitizers, in a copy of the tree, and run tests with them. A report ends the run at
# once, or makes it fail at its end. Arguments are passed to pytest.
#
# SANITIZER=address, the default, uses AddressSanitizer and UndefinedBehaviorSanitizer, and runs all tests of both
# codecs and of the C threads that serve record files. SANITIZER=thread uses ThreadSanitizer and runs the tests with
# threads. For this, PYTHON must be a CPython that was configured with --disable-gil --with-thread-sanitizer, because
# ThreadSanitizer does not see the locks of other builds.
#
# PYTHON names the interpreter (default: python3); it needs cffi, setuptools 77, pytest and hypothesis. gcc is needed.
set -eu

PYTHON=${PYTHON:-python3}
SANITIZER=${SANITIZER:-address}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
reports=$work/report # each process writes its reports to a file, because pytest would hide its output

for part in cpkg purepy ffi_build tests docs pyproject.toml; do
    cp -R "$here/$part" "$work/"
done
# setup.py, which provides the README, is not run here
sed -i 's/^dynamic = .*/dynamic = ["version"]/' "$work/pyproject.toml"
rm -f "$work"/cpkg/_native/*.so
cd "$work"

case $SANITIZER in
address)
    flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
    [ $# -gt 0 ] || set -- tests/msgpack tests/typed tests/cpkg/test_value_types_property.py tests/cpkg/test_arrays.py \
        tests/zstd tests/zstandard tests/records/test_ahead.py
    # The interpreter is not instrumented, so the sanitizers' runtimes are preloaded, and leaks are not reported,
    # because the interpreter never frees some memory. With PYTHONMALLOC=malloc every object is a separate allocation,
    # whose bounds are checked. Little freed memory is kept in quarantine, because tests measure the memory of a
    # process.
    run="env LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16:thread_local_quarantine_size_kb=64:log_path=$reports
        UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports PYTHONMALLOC=malloc"
    ;;
thread)
    flags="-fsanitize=thread"
    "$PYTHON" -c 'import sys, sysconfig; sys.exit("--with-thread-sanitizer" not in sysconfig.get_config_var("CONFIG_ARGS"))' || {
        echo "$PYTHON: expected a CPython that was configured with --with-thread-sanitizer" >&2
        exit 2
    }
    export TSAN_OPTIONS=report_bugs=0 # while the modules are built
    # Left out: tests that fork, because ThreadSanitizer starts no threads in the child; tests that limit memory, of
    # which it needs much; and a test that changes memory while other threads read it.
    [ $# -gt 0 ] || set -- -m "" tests/cpkg/test_hammered.py tests/cpkg/test_crew.py \
        tests/msgpack/test_pack_races_hostile.py::test_threads tests/zstd/test_runtime_hostile.py::test_threads_share_objects \
        tests/zstandard/test_sharing.py tests/zstd/test_threads.py tests/zstd/test_parallel_copy.py \
        tests/records/test_ahead.py -k "not fork and not buffer_that_changes and not without_memory"
    run="env TSAN_OPTIONS=exitcode=66:log_path=$reports:suppressions=$work/tests/support/thread_sanitizer.txt"
    ;;
*)
    echo "SANITIZER=$SANITIZER: expected address or thread" >&2
    exit 2
    ;;
esac

flags="-g -fno-omit-frame-pointer $flags"
for codec in msgpack zstd; do
    CC=gcc CFLAGS="$flags" LDFLAGS="$flags" "$PYTHON" ffi_build/${codec}_build.py >build.log 2>&1 || {
        cat build.log
        exit 1
    }
done

# shellcheck disable=SC2086 # the words of $run are arguments
$run PYTHONPATH="$work${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" -m pytest -q -p no:cacheprovider --require msgpack:native,zstd:native --backend native "$@" || status=$?
for report in "$reports".*; do
    [ ! -e "$report" ] || cat "$report"
done
exit "${status:-0}"
