# SPDX-License-Identifier: Apache-2.0
"""Make cpkg's modules the packages msgpack and zstandard in each process that has this folder on its path."""

import sys

import cpkg.msgpack
import cpkg.zstandard

sys.modules["msgpack"] = cpkg.msgpack
sys.modules["zstandard"] = cpkg.zstandard
