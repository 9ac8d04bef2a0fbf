# SPDX-License-Identifier: Apache-2.0
"""The benchmark matrix: payloads, peers, the measured groups, and the tools that read their results."""
