# SPDX-License-Identifier: Apache-2.0
"""Record files as each backend writes and reads them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
