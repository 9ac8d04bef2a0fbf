# SPDX-License-Identifier: Apache-2.0
"""The tar format (pax, ustar, V7, GNU tar, star): reading and writing headers, sparse maps, patterns, safe names."""
