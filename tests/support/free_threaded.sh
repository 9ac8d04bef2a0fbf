#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compile CPython 3.14 without the GIL, which Debian 12 and Ubuntu 24.04 do not package, and run tox rows on it.
#
#   free_threaded.sh [ROW...]                       run tox rows, for instance 3.14t-native or sanitize-threads
#   free_threaded.sh --build 3.14t|3.14t-tsan|3.14  compile one build and print the folder of its interpreter
#
# apt fetches the sources from Ubuntu 26.04, and their SHA-256 is checked. The builds are kept for later calls in the
# folder CPKG_ROOTS (default /var/tmp/cpkg-roots). An interrupted build continues at the next call. The row
# `sanitize-threads` runs on `3.14t-tsan`, which is compiled for ThreadSanitizer. `3.14` has the GIL and is otherwise
# the same as `3.14t`, so that `python tests/bench builds` can compare both. No build is optimised by a profile.
#
# Needs Linux, gcc, make, apt-get, and debootstrap for the address of Ubuntu's archive (or CPKG_UBUNTU_ARCHIVE with
# another address), and the headers libssl-dev libffi-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev.
set -euo pipefail

version=3.14.4
suite=resolute
sha256=d923c51303e38e249136fc1bdf3568d56ecb03214efdef48516176d3d7faaef8
project=$(cd "$(dirname "$0")/../.." && pwd)
roots=${CPKG_ROOTS:-/var/tmp/cpkg-roots}
archive=${CPKG_UBUNTU_ARCHIVE:-}
tarball=$roots/downloads/python3.14_$version.orig.tar.xz

fail() { echo "free_threaded.sh: $*" >&2; exit 1; }

has_sources() { echo "$sha256  $tarball" | sha256sum --check --status 2>/dev/null; }

fetch() {
    if has_sources; then return; fi
    [ -n "$archive" ] ||
        archive=$(grep -ohE 'https?://archive[^ ]*/ubuntu$' /usr/share/debootstrap/scripts/gutsy 2>/dev/null | head -n 1) ||
        fail "expected the address of Ubuntu's archive: install debootstrap, or set CPKG_UBUNTU_ARCHIVE"
    # apt uses separate lists and caches here, so the system's remain unchanged. A hash replaces the check of a signature
    local apt=$roots/downloads/apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    echo "deb-src [trusted=yes] $archive $suite main" >"$apt/sources.list"
    local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
        -o "Dir::Cache=$apt" -o APT::Sandbox::User=root)
    rm -f "$tarball"
    { apt-get "${options[@]}" update && cd "$roots/downloads" &&
        apt-get "${options[@]}" source --download-only --tar-only "python3.14=$version-1"; } >"$apt/log" 2>&1 || true
    has_sources || { tail -n 20 "$apt/log" >&2; fail "expected the sources of CPython $version in $tarball, with SHA-256 $sha256"; }
}

build() {
    local name=$1 arguments
    case $name in
    3.14t) arguments=--disable-gil ;;
    3.14t-tsan) arguments="--disable-gil --with-thread-sanitizer" ;;
    3.14) arguments= ;;
    *) fail "$name: expected 3.14t, 3.14t-tsan or 3.14" ;;
    esac
    local folder=$roots/cpython-$name made="$sha256 $arguments"
    if [ "$(cat "$folder/made-by-cpkg" 2>/dev/null)" != "$made" ]; then
        fetch
        mkdir -p "$folder"
        # continue an interrupted build if it was configured in the same way
        if [ "$(cat "$folder/configured-by-cpkg" 2>/dev/null)" != "$made" ]; then
            rm -rf "$folder"
            mkdir -p "$folder/build"
            tar -xJf "$tarball" -C "$folder/build" --strip-components=1
            # shellcheck disable=SC2086 # the words are arguments
            (cd "$folder/build" && ./configure -q --prefix="$folder" --disable-test-modules $arguments) >"$folder/log" 2>&1 ||
                { tail -n 20 "$folder/log" >&2; fail "configure failed: see $folder/log"; }
            echo "$made" >"$folder/configured-by-cpkg"
        fi
        # Without report_bugs=0, ThreadSanitizer would report memory that the build's programs do not free. Under it,
        # compiling the library's bytecode at three levels of optimisation takes many minutes, so only one level is
        # compiled, and pip is left out.
        local install=altinstall
        [ "$name" != 3.14t-tsan ] || install="altinstall COMPILEALL_OPTS=--help ENSUREPIP=no"
        # shellcheck disable=SC2086 # the words are arguments
        (cd "$folder/build" && export TSAN_OPTIONS=report_bugs=0 && nice make -s -j"$(nproc)" && make -s $install &&
            "$folder/bin/python$(suffix "$name")" -m compileall -q "$folder/lib/python$(suffix "$name")") \
            >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; fail "make failed: see $folder/log"; }
        TSAN_OPTIONS=report_bugs=0 "$folder/bin/python$(suffix "$name")" -c 'import bz2, compression.zstd, ctypes, lzma, ssl, zlib' ||
            fail "a module is missing: install the headers that $0 names, then remove $folder"
        rm -rf "$folder/build"
        echo "$made" >"$folder/made-by-cpkg"
    fi
    echo "$folder/bin"
}

suffix() { echo "${1%-tsan}"; }

if [ "${1:-}" = --build ]; then
    [ $# -eq 2 ] || fail "expected one build: 3.14t, 3.14t-tsan or 3.14"
    build "$2"
    exit
fi
case " $* " in
" sanitize-threads ") bin=$(build 3.14t-tsan) ;;
*" sanitize-threads "*) fail "expected sanitize-threads alone, because it runs on another build: run the other rows separately" ;;
*) bin=$(build 3.14t) ;;
esac
[ $# -gt 0 ] || exit 0
cd "$project"
rows=$*
export PATH=$bin:$PATH UV_PYTHON_DOWNLOADS=never TOXENV=${rows// /,} TOX_SKIP_MISSING_INTERPRETERS=false
exec tox run
