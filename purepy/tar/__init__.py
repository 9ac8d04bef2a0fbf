# SPDX-License-Identifier: Apache-2.0
"""The tar format (pax, ustar, V7, GNU tar, star): headers both ways, sparse maps, patterns, safe names."""
