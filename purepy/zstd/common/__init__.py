# SPDX-License-Identifier: Apache-2.0
"""The parts of Zstandard that every backend uses: parameters, dictionaries, locks, files, tables."""
