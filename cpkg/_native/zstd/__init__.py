# SPDX-License-Identifier: Apache-2.0
"""The Zstandard backends that use libzstd: `compiled` and `dlopen`, and the code that they share."""
