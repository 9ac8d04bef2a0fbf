# SPDX-License-Identifier: Apache-2.0
"""All backends except the pure ones, and the modules with which backends and archives call C code."""
