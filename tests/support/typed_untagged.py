# SPDX-License-Identifier: Apache-2.0
"""Two classes without a tag, whose objects a union distinguishes by their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union


@dataclass
class ByUrl:
    url: str
    next: Optional[Union[ByUrl, ByPath]] = None


@dataclass
class ByPath:
    path: str
    next: Optional[Union[ByUrl, ByPath]] = None
