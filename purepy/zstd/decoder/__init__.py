# SPDX-License-Identifier: Apache-2.0
"""The decoder: one module for each part of the format, from frames to bits."""
