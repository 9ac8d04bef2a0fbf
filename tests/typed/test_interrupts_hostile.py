# SPDX-License-Identifier: Apache-2.0
"""After an exception at any line a decoder, an encoder and what classes keep are as before, or as after the call."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any, List, Literal, Optional, Union

import interrupts

from cpkg import typed


def test_a_first_call_that_is_interrupted_leaves_nothing_half_made():
    def make() -> Any:
        point = make_dataclass("Point", [("kind", Literal["point"]), ("x", int), ("y", float, 1.5)])
        name = make_dataclass("Name", [("kind", Literal["name"]), ("text", str), ("next", Optional[point], None)])
        return List[Union[point, name]], point, name

    def act(subject: Any) -> Any:
        tp, point, name = subject
        return typed.decode(typed.encode([point("point", 1), name("name", "x", point("point", 2))]), tp)

    def check(subject: Any, outcome: Any) -> None:
        _, point, name = subject
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        assert act(subject) == [point("point", 1, 1.5), name("name", "x", point("point", 2, 1.5))]

    interrupts.at_every_line(make, act, check, every=9)
