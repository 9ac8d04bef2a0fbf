# SPDX-License-Identifier: Apache-2.0
"""Puts cpkg in the place of msgpack and zstandard in a process that has this folder on its path, and in its children."""

import sys

import cpkg.msgpack
import cpkg.zstandard

sys.modules["msgpack"] = cpkg.msgpack
sys.modules["zstandard"] = cpkg.zstandard
