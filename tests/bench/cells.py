# SPDX-License-Identifier: Apache-2.0
"""The classes with which a file of `groups/` declares a group of cells, and the libraries' calls of each cell.

A cell is a group, a case and an operation. All libraries of a cell are measured in the same processes.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Union

OURS = "cpkg"
"""The library that all others are compared with."""
PEP784 = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"

Call = Callable[[], Any]
Function = Callable[[Any], Any]
Pair = tuple[Any, ...]
"""The functions of a library that pack and unpack."""
Answer = Union[float, str]


class Case:
    """One row of a group.

    name: as in the report. quick: part of the representative tenth. small: the ordinary tests run it once and check the
    results. slow: only with --bench-slow. copies: the operations that only copy memory once, in every library; means
    leave them out. more: further attributes, for the functions of the group.
    """

    copies: Sequence[str] = ()

    def __init__(self, name: str, quick: bool = False, small: bool = False, slow: bool = False, **more: Any) -> None:
        self.name, self.quick, self.small, self.slow = name, quick, small, slow
        vars(self).update(more)

    def __str__(self) -> str:
        return self.name


@dataclass
class Works:
    """The calls of one cell.

    calls: a call for each library; all do the same work. missing: the reasons why other libraries have no call.
    check: called with the library and the result of its call, outside the measured time; raises AssertionError.
    formats: the format of each library, if the cell has several. Only libraries of cpkg's format are alternatives.
    limits: entries that only show a lower bound (libzstd alone); they are not alternatives. size: bytes of the
    uncompressed side. values: the number of values that a call handles, if the report should show the time of one.
    clock: "processor", or "wall" where other threads, processes or the disk do part of the work.
    info: anything else that the results keep. data: the data that each library packed; the results do not keep them.
    """

    calls: dict[str, Call] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    check: Callable[[str, Any], None] | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    limits: Sequence[str] = ()
    size: int | None = None
    values: int | None = None
    clock: str = "processor"
    info: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    _took: dict[str, float] = field(default_factory=dict)

    def once(self, longest: float = math.inf) -> dict[str, float]:
        """Call each library once and check its result; return the seconds of each call.

        If the call or check of another library fails, the library moves to `missing`. A library whose last call took
        more than `longest` seconds is not called.
        """
        for library, call in [*self.calls.items()]:
            if self._took.get(library, 0) > longest:
                continue
            try:
                start = time.perf_counter()
                result = call()
                self._took[library] = time.perf_counter() - start or 1e-9
                if self.check is not None:
                    self.check(library, result)
            except Exception as error:
                self.misses(library, error)
                del self.calls[library]
        return self._took

    def misses(self, library: str, error: Exception) -> None:
        """Record the error because of which another library has no call. Raise the error if it is cpkg's."""
        if library == OURS:
            raise error
        self.missing[library] = reason(error)

    def imported(self, modules: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        """Yield each library whose module can be imported, with the module."""
        for library, module in modules.items():
            try:
                yield library, importlib.import_module(module)
            except ImportError as error:
                self.misses(library, error)


def coded(
    ways: Mapping[str, Pair | Callable[[], Pair]], value: Any, packs: bool, data: Any = None, **more: Any
) -> Works:
    """Return the works of libraries that pack a value, or unpack `data`, by default what the same library packed.

    ways: for each library its pair of functions, or a function that returns the pair. A text instead of the second
    function is the reason why the library cannot unpack; a third item is packed instead of `value`. more: further
    arguments of `Works`; the default `check` compares values.
    """
    pairs: dict[str, Pair] = {}

    def check(library: str, result: Any) -> None:
        assert (pairs[library][1](result) if packs else result) == value, f"{library} gave something else"

    found = Works(**{"check": check, **more})
    for library, way in ways.items():
        try:
            pack, unpack, *own = pairs[library] = way() if callable(way) else way
            given = own[0] if own else value
            found.data[library] = packed = pack(given) if data is None else data
            if isinstance(unpack, str) and not packs:
                found.missing[library] = unpack
            else:
                found.calls[library] = partial(pack, given) if packs else partial(unpack, packed)
        except Exception as error:
            found.misses(library, error)
    return found


@dataclass(frozen=True)
class Group:
    """A table of the report.

    operations: the operations of every case, or a function that returns the operations of a case. A group has one of
    two functions. `works(case, operation)` returns calls, which are timed in turns in a few fresh processes.
    `sample(case, number)` starts fresh processes itself, one for each library, and returns for each operation and
    library a figure or the reason why there is none; it is called with 0, 1, 2, ... until the interval is narrow, and
    with -1 where an answer is only checked.
    unit: "seconds" or "bytes". formats: as in `Works`, of what `sample` measures. alone: the calls use several cores:
    no cell of another row may be measured at the same time.
    """

    name: str
    cases: Sequence[Case]
    operations: Sequence[str] | Callable[[Any], Sequence[str]]
    works: Callable[[Any, str], Works] | None = None
    sample: Callable[[Any, int], Mapping[str, Mapping[str, Answer]]] | None = None
    unit: str = "seconds"
    formats: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False

    def of(self, case: Case) -> Sequence[str]:
        """Return the operations of a case."""
        return self.operations(case) if callable(self.operations) else self.operations

    def case(self, name: str) -> Case:
        """Return the case of that name. Raises StopIteration if the group has no such case."""
        return next(case for case in self.cases if case.name == name)


def reason(error: BaseException) -> str:
    """Return the first line of an error, as the report shows it: without the folder of the environment."""
    text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    text = re.sub(r"\S*/site-packages/", "", text)
    return (text.strip().splitlines() or ["failed"])[0][:160]


class NotHere(Exception):
    """No library can be measured in a cell on this interpreter or machine; the text is the reason."""


def read_data(name: str) -> Any:
    """Return the content of a JSON file in `data/`, in which PEP784 is replaced by the name of PEP784's module here."""
    text = Path(__file__).with_name("data").joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text.replace("PEP784", PEP784))


def group(name: str) -> Group:
    """Return a group. Only its own file is imported, because modules of other groups would change its processes."""
    from bench.groups import ORDER

    loaded = importlib.import_module(f"bench.groups.{ORDER[name]}")
    return next(group for group in loaded.GROUPS if group.name == name)


def groups() -> dict[str, Group]:
    """Return the groups by name, in the order of the report."""
    from bench.groups import ORDER

    return {name: group(name) for name in ORDER}


def cells(quick: bool = False, slow: bool = False, only: str = "") -> Iterator[tuple[Group, Case, str]]:
    """Yield the cells whose name contains `only`: with `quick` a representative tenth; slow cells only with `slow`."""
    for group in groups().values():
        for case in group.cases:
            if (case.quick or not quick) and (slow or not case.slow):
                for operation in group.of(case):
                    if only in named(group, case, operation):
                        yield group, case, operation


def named(group: Group, case: Case, operation: str) -> str:
    """Return the name of a cell."""
    return f"{group.name}, {case}, {operation}"
