# SPDX-License-Identifier: Apache-2.0
"""The version, in the one place that both the build and the package read."""

__version__ = VERSION = "0.1.0"
