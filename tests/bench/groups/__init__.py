# SPDX-License-Identifier: Apache-2.0
"""The groups of the benchmark matrix: a small file of cells for each."""

from bench.cells import read_data

ORDER: dict[str, str] = read_data("groups")
"""The names of the groups in the order of the report, and the module of each."""
