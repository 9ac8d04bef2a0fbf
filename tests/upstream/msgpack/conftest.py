# SPDX-License-Identifier: Apache-2.0
"""The suite runs in processes of its own (test_upstream.py): it takes over the name `msgpack`."""

collect_ignore = ["suite"]
