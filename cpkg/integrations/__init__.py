# SPDX-License-Identifier: Apache-2.0
"""Integrations of the codecs with other libraries; each module is imported only on request, and needs its library."""
