# SPDX-License-Identifier: Apache-2.0
"""All backends except the pure ones, and modules with which they and the archives call C code."""
