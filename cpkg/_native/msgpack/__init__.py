# SPDX-License-Identifier: Apache-2.0
"""The native backends of MessagePack, `cpython` and `pypy`, and functions in C that both have (`starts`, `weigher`)."""
