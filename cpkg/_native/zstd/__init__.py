# SPDX-License-Identifier: Apache-2.0
"""The backends of Zstandard over libzstd: `compiled` and `dlopen`, and what both are made of."""
