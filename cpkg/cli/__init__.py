# SPDX-License-Identifier: Apache-2.0
"""
The command line. `commands` has the group `cpkg` and what needs click; `run` and `zstd` do without it.

Nothing is imported here, so that each command loads only what it needs: scripts start some of them often.
"""
