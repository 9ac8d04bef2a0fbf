# SPDX-License-Identifier: Apache-2.0
"""Build the native modules and the wheels; never imported at run time."""
