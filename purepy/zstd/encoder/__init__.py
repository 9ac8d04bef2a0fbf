# SPDX-License-Identifier: Apache-2.0
"""The encoder of the pure Zstandard codec, one file for each part of the format that it writes."""
