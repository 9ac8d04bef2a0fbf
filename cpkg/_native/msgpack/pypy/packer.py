# SPDX-License-Identifier: Apache-2.0
"""The `Packer` of PyPy."""

from __future__ import annotations

from cpkg._native.msgpack.pypy.encoder import Encoder
from purepy.msgpack import packer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from purepy.msgpack.encoder import Encoder as PureEncoder


class Packer(packer.Packer):
    """Pack objects under one set of options (see `purepy.msgpack.Packer`)."""

    _encoder_type: ClassVar[type[PureEncoder]] = Encoder


Packer.__doc__ = packer.Packer.__doc__
