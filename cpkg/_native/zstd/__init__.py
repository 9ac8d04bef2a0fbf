# SPDX-License-Identifier: Apache-2.0
"""The Zstandard backends that use a libzstd: `compiled` and `dlopen`, which share the code here, and `stdlib`."""
