# SPDX-License-Identifier: Apache-2.0
"""Install cpkg as msgpack and zstandard in each process that has this folder on its path."""

import sys

import cpkg.msgpack
import cpkg.zstandard

sys.modules["msgpack"] = cpkg.msgpack
sys.modules["zstandard"] = cpkg.zstandard
