# SPDX-License-Identifier: Apache-2.0
"""The `Packer` for PyPy."""

from __future__ import annotations

from cpkg._native.msgpack.pypy.encoder import PLAIN_ENCODER
from purepy.msgpack import packer


class Packer(packer.Packer):
    """Pack objects with the same options (see `purepy.msgpack.Packer`)."""

    _encoder = PLAIN_ENCODER


Packer.__doc__ = packer.Packer.__doc__
