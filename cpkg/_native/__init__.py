# SPDX-License-Identifier: Apache-2.0
"""The cffi backends of both codecs, and the module that passes buffers to C."""
