# SPDX-License-Identifier: Apache-2.0
"""
The command line. `commands` has the group `cpkg` and what needs click; `run` and `zstd` do without it.

Nothing is imported here, so that the commands that scripts start often pay for themselves alone.
"""
