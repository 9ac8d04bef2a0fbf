# SPDX-License-Identifier: Apache-2.0
"""
Create random classes with fields for tests of typed messages, each in a module of random source, with its Meaning.

The classes inherit, are generic, and have slots, defaults, options of `typed`, fields that the constructor does not
accept, arguments that are not stored, and custom constructors. A name stands for different types in different modules.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Annotated, Any, Callable, Generic, NamedTuple, TypeVar

if sys.version_info >= (3, 11):
    from typing import NotRequired, Required, TypedDict
else:
    from typing_extensions import NotRequired, Required, TypedDict

import attr

from cpkg import typed

T = TypeVar("T")
NAMES = [
    "id", "name", "a_field_with_a_long_name", "ärger", "x", "kind", "tags", "value", "p", "depth", "self_", "_private",
]  # fmt: skip
EMPTY = (list, dict, set, tuple, frozenset)
FUTURE = "from __future__ import annotations\n"
_numbers = itertools.count()
_modules: list[str] = []


@dataclasses.dataclass
class Field:
    """A field of a class. `takes`: decode passes it to the constructor. `writes`: encode writes it."""

    name: str
    key: str
    type: Any
    default: Callable[[], Any] | None = None
    takes: bool = True
    writes: bool = True
    omits: bool = False  # with `omit_defaults`, encode omits the field if it has its default
    parameter: str = ""

    def __post_init__(self) -> None:
        self.parameter = self.parameter or self.name


@dataclasses.dataclass
class Meaning:
    """The form that objects of a class have in messages."""

    style: str
    fields: list[Field]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    parameters: tuple[Any, ...] = ()
    own_constructor: bool = False  # the constructor stores something other than its arguments
    flags: dict[str, bool] = dataclasses.field(default_factory=dict)

    @property
    def array_like(self) -> bool:
        return self.style == "namedtuple" or self.options.get("array_like", False)

    @property
    def taken(self) -> list[Field]:
        return [field for field in self.fields if field.takes]

    @property
    def written(self) -> list[Field]:
        found = [field for field in self.fields if field.writes]
        return sorted(found, key=lambda field: not field.takes) if self.array_like else found

    def builds(self) -> bool:
        """Return whether decoding the output of encode gives the same object."""
        return not self.own_constructor and all(field.writes for field in self.fields)


MEANINGS: weakref.WeakKeyDictionary[type, Meaning] = weakref.WeakKeyDictionary()


def forget() -> None:
    """Remove the modules of all random classes."""
    while _modules:
        del sys.modules[_modules.pop()]


def meaning_of(tp: Any) -> Meaning | None:
    """
    Return the meaning of a random class, or None for another type.

    In the meaning of a generic class the arguments replace the type variables.
    """
    origin = getattr(tp, "__origin__", tp)
    if not isinstance(origin, type) or origin not in MEANINGS:
        return None
    meaning = MEANINGS[origin]
    if not meaning.parameters:
        return meaning
    args = getattr(tp, "__args__", None) or (Any,) * len(meaning.parameters)
    env = dict(zip(meaning.parameters, args))
    fields = [dataclasses.replace(field, type=replaced(field.type, env)) for field in meaning.fields]
    return dataclasses.replace(meaning, fields=fields)


def replaced(tp: Any, env: dict[Any, Any]) -> Any:
    """Return a type with its type variables replaced."""
    if tp in env:
        return env[tp]
    parameters = getattr(tp, "__parameters__", ())
    return tp[tuple([env.get(name, name) for name in parameters])] if parameters and not isinstance(tp, type) else tp


class Maker:
    """Creates classes whose fields have types from `random_type(depth)` and defaults from `random_object`."""

    def __init__(
        self, rng: Any, random_type: Callable[[int], Any], random_object: Callable[[Any], Any], hashable: list[Any]
    ) -> None:
        self.rng = rng
        self.random_type = random_type
        self.random_object = random_object
        self.hashable = hashable

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def make(self, depth: int, before: list[tuple[str, Any]] | None = None) -> Any:
        """Return a random class, often with an argument if it is generic; `before` has its first, required fields."""
        styles = ["dataclass"] * 6 + ["attrs", "typeddict"] + ["namedtuple"] * (before is None)
        style = self.rng.choice(styles)
        cls = getattr(self, style)(depth, before or [])
        parameters = MEANINGS[cls].parameters
        return cls[self.rng.choice(self.hashable)] if parameters and self.chance(0.8) else cls

    # --- parts of sources -------------------------------------------------------------------------------------------

    def _run(self, names: dict[str, Any], lines: list[str]) -> Any:
        module = types.ModuleType(f"random_classes_{next(_numbers)}")
        sys.modules[module.__name__] = module
        _modules.append(module.__name__)
        vars(module).update(names)
        future = FUTURE if self.chance(0.5) else ""
        exec(compile(future + "\n".join(lines), "<string>", "exec", dont_inherit=True), vars(module))
        return vars(module)[names["NAME"]]

    def _options(self, in_union: bool, array_like: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not in_union and self.chance(0.2):
            found["rename"] = self.rng.choice(["upper", lambda name: name + "!", {"id": "Ä", "x": "é"}])
        for name, probability in (("omit_defaults", 0.25), ("forbid_unknown_fields", 0.2), ("array_like", 0.15)):
            if self.chance(probability) and (name != "array_like" or (array_like and not in_union)):
                found[name] = True
        return found

    def _default(self, tp: Any, field: Field, names: dict[str, Any]) -> tuple[str, str]:
        """Choose the default of a field; return its keyword ("default" or "factory") and its name in `names`."""
        origin = getattr(tp, "__origin__", tp)
        is_fixed = origin is tuple and tp.__args__[1:] != (...,)
        if origin in EMPTY and not is_fixed and self.chance(0.6):
            field.default, field.omits = origin, True
            names[f"D_{field.name}"] = origin
            return "factory", f"D_{field.name}"
        value = self.random_object(tp)
        field.default = lambda: value
        if type(value) in (int, str, float, bool, bytes, type(None)) and self.chance(0.7):
            field.omits = True
            names[f"D_{field.name}"] = value
            return "default", f"D_{field.name}"
        names[f"D_{field.name}"] = field.default
        return "factory", f"D_{field.name}"

    def _annotation(self, tp: Any, field: Field, names: dict[str, Any], can_name: bool) -> str:
        if can_name and self.chance(0.1):
            field.key = f"key of {field.name}"
            names[f"A_{field.name}"] = Annotated[tp, typed.Name(field.key)]
        else:
            names[f"A_{field.name}"] = tp
        return f"A_{field.name}"

    def _renamed(self, fields: list[Field], rename: Any) -> list[Field]:
        found = []
        for field in fields:
            key = field.key
            if not key.startswith("key of ") and rename is not None:
                key = field.name.upper() if rename == "upper" else None
                key = key or (rename(field.name) if callable(rename) else rename.get(field.name, field.name))
            found.append(dataclasses.replace(field, key=key))
        return found

    def _fields(
        self, depth: int, before: list[tuple[str, Any]], names: list[str] = NAMES, least: int = 0
    ) -> Iterator[tuple[Field, bool]]:
        """Yield the fields in `before`, each with True (required), then up to five random fields, each with False."""
        for name, tp in before:
            yield Field(name, name, tp), True
        for name in self.rng.sample(names, self.rng.randint(least, 5)):
            yield Field(name, name, self.random_type(depth - 1)), False

    # --- kinds of classes -------------------------------------------------------------------------------------------

    def dataclass(
        self, depth: int, before: list[tuple[str, Any]], flags: dict[str, bool] | None = None, may_inherit: bool = True
    ) -> Any:
        rng = self.rng
        is_base = flags is not None
        if flags is None:
            flags = {"frozen": self.chance(0.3)}
            if sys.version_info >= (3, 10):
                flags.update(slots=self.chance(0.4), kw_only=self.chance(0.2))
        base: Any = None
        inherited = Meaning("dataclass", [])
        base_args: tuple[Any, ...] = ()
        if may_inherit and not before and self.chance(0.4):
            base = self.dataclass(depth - 1, [], flags, self.chance(0.3))
            inherited = MEANINGS[base]
        names: dict[str, Any] = {
            "NAME": rng.choice(["Class", "Point", "Ünit", "d"]),
            "typed": typed,
            "Generic": Generic,
        }
        names.update(
            dataclass=dataclasses.dataclass, field=dataclasses.field, InitVar=dataclasses.InitVar, Base=base, T=T
        )
        has_own = any(not field.writes for field in inherited.fields) or inherited.own_constructor
        kept = not has_own and not inherited.array_like and self.chance(0.15)  # an InitVar
        own = not has_own and not kept and not is_base and self.chance(0.15)
        is_generic = self.chance(0.2)
        bases = []
        if base is not None and inherited.parameters:
            argument = T if is_generic and self.chance(0.5) else rng.choice(self.hashable)
            base_args = (argument,)
            names["Argument"] = argument
            bases.append("Base[Argument]")
        elif base is not None:
            bases.append("Base")
        if is_generic:
            bases.append("Generic[T]")
        env = dict(zip(inherited.parameters, base_args or (Any,)))
        fields = [dataclasses.replace(field, type=replaced(field.type, env)) for field in inherited.fields]
        defaults = any(field.default is not None for field in fields) and not flags.get("kw_only")
        lines = []
        options = self._options(bool(before), not kept and all(field.writes for field in fields))
        if options:
            names["OPTIONS"] = options
            lines.append("@typed.options(**OPTIONS)")
        lines.append(f"@dataclass({', '.join(f'{name}={flag}' for name, flag in flags.items())})")
        lines.append(f"class {names['NAME']}({', '.join(bases)}):")
        lines.append("    'About it.'")

        def add(name: str, tp: Any, extra: str = "", default: bool | None = None, **more: Any) -> Field:
            nonlocal defaults
            made = Field(name, name, tp, **more)
            annotation = self._annotation(tp, made, names, can_name=not extra and not before)
            arguments = [extra] if extra else []
            if default is None:
                default = defaults or self.chance(0.3)
            if default:
                argument, value = self._default(tp, made, names)
                arguments.append(f"{'default_factory' if argument == 'factory' else argument}={value}")
                defaults = defaults or (made.takes and not flags.get("kw_only"))
            old = [index for index, field in enumerate(fields) if field.name == name]
            if old:
                fields[old[0]] = made
            else:
                fields.append(made)
            if not made.writes:
                annotation = f"InitVar[{annotation}]"
                value = ""
                if made.default is not None:
                    names[f"D_{name}"] = made.default()
                    value = f" = D_{name}"
                lines.append(f"    {name}: {annotation}{value}")
            elif arguments and arguments[0].startswith("default=") and self.chance(0.5):
                lines.append(f"    {name}: {annotation} = D_{name}")
            else:
                lines.append(f"    {name}: {annotation}" + (f" = field({', '.join(arguments)})" if arguments else ""))
            return made

        for name, tp in before:
            add(name, tp, default=False)
        taken = {field.name for field in fields if field.takes and field.writes and field.default is None}
        for name in rng.sample(NAMES, rng.randint(0, 5)):
            again = next((field for field in fields if field.name == name), None)
            if again is not None and name not in taken:
                continue
            tp = T if is_generic and not defaults and self.chance(0.4) else self.random_type(depth - 1)
            if again is None and tp is not T and self.chance(0.1):
                add(name, tp, "init=False", default=True, takes=False)
            else:
                add(name, tp, default=False if tp is T or again is not None else None)
        if kept:
            add("kept", Any, "init=False", default=True, takes=False)
            add("given", rng.choice(self.hashable), writes=False)
            lines.append("    def __post_init__(self, given):")
            lines.append("        object.__setattr__(self, 'kept', given)")
        elif own and fields:
            signature = [f"{f.name}=None" if f.default is not None else f.name for f in fields if f.takes]
            lines.append(f"    def __init__(self, {'*, ' if signature else ''}{', '.join(signature)}):")
            for f in fields:
                value = f.name
                if not f.takes or f.default is not None:
                    names[f"M_{f.name}"] = f.default
                    value = f"M_{f.name}()" if not f.takes else f"M_{f.name}() if {f.name} is None else {f.name}"
                lines.append(f"        object.__setattr__(self, {f.name!r}, {value})")
            lines.append(f"        object.__setattr__(self, {fields[0].name!r}, (getattr(self, {fields[0].name!r}),))")
        elif fields and not has_own and self.chance(0.3) and fields[0].takes:  # a default would always be refused
            first = fields[0].name
            lines.append("    def __post_init__(self):")
            lines.append(f"        if repr(self.{first}) in ('0', 'True', repr('a'), '[]'):")
            lines.append(f"            raise ValueError('no such {first}')")
        cls = self._run(names, lines)
        every = {**inherited.options, **options}
        meaning = Meaning(
            "dataclass",
            self._renamed(fields, every.get("rename")),
            every,
            tuple(cls.__parameters__) if hasattr(cls, "__parameters__") else (),
            bool(own and fields) or inherited.own_constructor,
            flags,
        )
        MEANINGS[cls] = meaning
        return cls

    def attrs(self, depth: int, before: list[tuple[str, Any]]) -> Any:
        names: dict[str, Any] = {"NAME": "Attrs", "typed": typed, "attr": attr}
        lines = []
        fields: list[Field] = []
        options = self._options(bool(before))
        if options:
            names["OPTIONS"] = options
            lines.append("@typed.options(**OPTIONS)")
        lines.append(f"@attr.define(slots={self.chance(0.5)}, frozen={self.chance(0.3)})")
        lines += ["class Attrs:", "    'About it.'"]
        defaults = False
        for made, is_given in self._fields(depth, before):
            made.takes = is_given or self.chance(0.9)
            made.parameter = made.name.lstrip("_")
            annotation = self._annotation(made.type, made, names, can_name=not is_given)
            arguments = [] if made.takes else ["init=False"]
            if not made.takes or (not is_given and (defaults or self.chance(0.3))):
                argument, value = self._default(made.type, made, names)
                arguments.append(f"{argument}={value}")
                defaults = True
            fields.append(made)
            lines.append(f"    {made.name}: {annotation} = attr.field({', '.join(arguments)})")
        cls = self._run(names, lines)
        MEANINGS[cls] = Meaning("attrs", self._renamed(fields, options.get("rename")), options)
        return cls

    def namedtuple(self, depth: int, before: list[tuple[str, Any]]) -> Any:
        names: dict[str, Any] = {"NAME": "Row", "NamedTuple": NamedTuple}
        lines = ["class Row(NamedTuple):", "    'About it.'"]
        fields: list[Field] = []
        defaults = False
        for made, _ in self._fields(depth, [], [name for name in NAMES if name[0] != "_"], least=1):
            line = f"    {made.name}: {self._annotation(made.type, made, names, can_name=False)}"
            if defaults or self.chance(0.3):
                defaults = True
                names[f"D_{made.name}"] = found = self.random_object(made.type)
                made.default = lambda found=found: found
                line += f" = D_{made.name}"
            fields.append(made)
            lines.append(line)
        cls = self._run(names, lines)
        MEANINGS[cls] = Meaning("namedtuple", fields)
        return cls

    def typeddict(self, depth: int, before: list[tuple[str, Any]]) -> Any:
        names: dict[str, Any] = {"NAME": "Keys", "typed": typed, "TypedDict": TypedDict}
        names.update(Required=Required, NotRequired=NotRequired)
        is_total = self.chance(0.6)
        options = {"forbid_unknown_fields": True} if self.chance(0.2) else {}
        lines = ["@typed.options(forbid_unknown_fields=True)"] if options else []
        lines += [f"class Keys(TypedDict, total={is_total}):", "    'About it.'"]
        fields: list[Field] = []
        for made, is_given in self._fields(depth, before):
            annotation = self._annotation(made.type, made, names, can_name=False)
            is_required = is_given or self.chance(0.6)
            if is_required is not is_total:
                annotation = f"{'Required' if is_required else 'NotRequired'}[{annotation}]"
            made.default = None if is_required else ABSENT
            fields.append(made)
            lines.append(f"    {made.name}: {annotation}")
        cls = self._run(names, lines)
        MEANINGS[cls] = Meaning("typeddict", fields, options)
        return cls


def ABSENT() -> Any:
    """Stand for the default of a key that a TypedDict may lack."""
    raise AssertionError
