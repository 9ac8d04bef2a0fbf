# SPDX-License-Identifier: Apache-2.0
"""Build the files of a release: `python -m ffi_build.wheels`, or `tox run -e wheels`, which installs Python tools."""
