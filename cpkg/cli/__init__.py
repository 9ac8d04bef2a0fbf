# SPDX-License-Identifier: Apache-2.0
"""
The command line. `commands` has the group `cpkg` and needs click; `run`, `zstd` and `plain` work without click.

This module imports nothing, so that each command loads only what it needs: scripts start some commands often.
"""
