#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run tox rows on the interpreters and the libzstd of Debian sid: CPython 3.14 and 3.15, PyPy 8.
#
#   newer_interpreters.sh [ROW...]     as root on Debian, with debootstrap
#
# The first call creates a root file system with these interpreters, in two minutes, in the folder CPKG_ROOTS (default
# /var/tmp/cpkg-roots); later calls use it again. Without rows the script ends there. In the root file system the
# project has the same path as outside.
set -euo pipefail

project=$(cd "$(dirname "$0")/../.." && pwd)
root=${CPKG_ROOTS:-/var/tmp/cpkg-roots}/newest
interpreters=python3.14-venv,python3.14-dev,python3.15-venv,python3.15-dev,pypy3-dev,pypy3-venv
packages=ca-certificates,gcc,libc6-dev,pkg-config,git,zstd,tar,libzstd-dev,libmsgpack-c-dev,$interpreters

fail() { echo "newer_interpreters.sh: $*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || fail "only root can create and enter a root file system: run this as root"
command -v debootstrap >/dev/null || fail "debootstrap is missing (apt-get install debootstrap)"
# check that a process can have its own mounts, which end with the process, so that nothing needs to be unmounted
unshare --mount true || fail "mounting is not permitted on this system: cannot mount /proc, /dev and the project in the root"

if [ "$(cat "$root/opt/made-by-cpkg" 2>/dev/null)" != "$packages" ]; then
    archive=$(grep -hoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        head -n 1 | tr -d ' ' || true)
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    log=$(mktemp)
    debootstrap --variant=minbase --include="$packages" sid "$root" ${archive:+"$archive"} >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; fail "debootstrap could not make $root"; }
    rm -f "$log"
    echo "$packages" >"$root/opt/made-by-cpkg"
fi
[ $# -gt 0 ] || exit 0

# let pip in the root file system reach the package index in the same way as outside
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    if [ -f "$file" ]; then cp "$file" "$root$file"; fi
done
folders=("$project")
if [ -d "${PIP_FIND_LINKS:-}" ]; then folders+=("$PIP_FIND_LINKS"); fi

# run in a mount namespace, whose end removes the mounts
export CPKG_NEW_ROOT=$root CPKG_NEW_PROJECT=$project CPKG_NEW_ROWS=$*
exec unshare --mount bash -euo pipefail -c '
    mount -t proc proc "$CPKG_NEW_ROOT/proc"
    mount --bind /dev "$CPKG_NEW_ROOT/dev"
    for folder in "$@"; do
        mkdir -p "$CPKG_NEW_ROOT$folder"
        mount --bind "$folder" "$CPKG_NEW_ROOT$folder"
    done
    exec chroot "$CPKG_NEW_ROOT" env PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 bash -euo pipefail -c "
        git config --global --replace-all safe.directory \"*\"
        cd \"\$CPKG_NEW_PROJECT\"
        [ -x /opt/tox/bin/uv ] || { python3.14 -m venv /opt/tox && /opt/tox/bin/pip install --quiet \"tox>=4.36\" tox-uv; }
        export UV_PYTHON_DOWNLOADS=never TOXENV=\${CPKG_NEW_ROWS// /,} TOX_SKIP_MISSING_INTERPRETERS=false
        exec /opt/tox/bin/tox run-parallel --workdir .tox/newest
    "
' mounts "${folders[@]}"
