# SPDX-License-Identifier: Apache-2.0
"""The encoder of the pure Zstandard codec: one module for each part of the format."""
