# SPDX-License-Identifier: Apache-2.0
"""Build the native modules; imported only by setup.py, never at run time."""
