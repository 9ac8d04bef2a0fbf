# SPDX-License-Identifier: Apache-2.0
"""The `Packer` for PyPy."""

from __future__ import annotations

from cpkg._native.msgpack.pypy.encoder import PLAIN_ENCODER
from purepy.msgpack import packer


class Packer(packer.Packer):
    """Pack one object after the other with the same options, as `purepy.msgpack.Packer` does."""

    _encoder = PLAIN_ENCODER


Packer.__doc__ = packer.Packer.__doc__
