"""What a pass is, how it registers, and where passes are found.

A pass is a frozen dataclass, which `register` makes it: its typed fields are its options, on the command line in kebab-case. See
registry.py for the names that a pass file imports.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import typing
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, field, fields
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import closest
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics, option_limits
from tierup.dialect.passes.diagnostics import Diagnostic
from tierup.dialect.passes.entry_points import ENTRY_POINTS, may_be_brought

# every module in them is a pass file
PACKAGES = (
    "tierup.dialect.transforms", "tierup.lowering.transforms", "tierup.lowering.cuda.transforms", "tierup.dialect.torchscript.transforms",
)  # fmt: skip

_registered: dict[str, type[Pass]] = {}
_options: weakref.WeakKeyDictionary[type[Pass], tuple[Option, ...]] = weakref.WeakKeyDictionary()
_discovery = forking.lock()
_discovered = False


class PassFailure(Exception):
    """A pass that cannot go on: `PassFailure(op, message)`, with notes as (op, message) pairs.

    `Pipeline.run` raises it for MLIR's passes and for broken IR as well. `diagnostics` says what and where; `pass_name` is
    filled in by the pipeline. The module is then in an unspecified state: throw it away.
    """

    def __init__(self, op: ir.Operation | None, message: str, *notes: tuple[ir.Operation, str]) -> None:
        super().__init__(message)
        self.pass_name = ""
        # the op may be gone when the message is read, so its name and place are taken now
        self.diagnostics: tuple[Diagnostic, ...] = () if op is None else (diagnostics.at(op, "error", message, *notes),)

    @classmethod
    def of(cls, found: Iterable[Diagnostic]) -> PassFailure:
        """A failure with diagnostics that stand already."""
        failure = cls(None, "")
        failure.diagnostics = tuple(found)
        return failure

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, *self.args), self.__dict__  # it comes out of a worker, ops do not

    def __str__(self) -> str:
        found = "\n".join(map(str, self.diagnostics)) or super().__str__()
        return f"{self.pass_name}: {found}" if self.pass_name else found


class PipelineError(ValueError):
    """A pipeline text that cannot be run: unknown pass or option, wrong nesting, unbalanced brackets. `at`: offset in the text."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class Pass:
    """Base of all passes. A subclass defines `name` (ours: see `register`) and either `run`, or `run_on_function`, or both.
    `keeps_analyses`: see analyses.py."""

    name: ClassVar[str]
    keeps_analyses: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raises ValueError for an option outside its limits (option_limits.py)."""
        for option in options_of(type(self)):
            value = getattr(self, option.field)
            if option.limit is not None and not option.limit.allows(value):
                raise ValueError(f"option '{option.flag}' of pass '{self.name}' is {option.limit}, not {_spell(value)}")

    def run(self, module: ir.Module) -> None:
        """Rewrite `module` in place. Runs with the module's context current and an unknown location; raises PassFailure."""
        for function in functions(module.operation):
            self.run_on_function(function)  # type: ignore[attr-defined]  # `register` checked that one of the two is there

    @classmethod
    def on_functions(cls) -> bool:
        """Whether the pass may stand under `func.func(...)`."""
        return hasattr(cls, "run_on_function")

    @classmethod
    def summary(cls) -> str:
        """The first line of the class's docstring."""
        return (cls.__doc__ or "").strip().partition("\n")[0]

    def __str__(self) -> str:
        """The pipeline text that gives this pass again: its name and the options that differ from the default."""
        changed = [(o, getattr(self, o.field)) for o in options_of(type(self))]
        text = " ".join(f"{o.flag}={_spell(value)}" for o, value in changed if value != o.default)
        return f"{self.name}{{{text}}}" if text else self.name


@dataclass(frozen=True)
class Option:
    """One option of a pass: a dataclass field seen from the command line."""

    flag: str  # uses-only
    field: str  # uses_only
    type: Any  # bool, int, float, str, tuple[int, ...], tuple[str, ...]
    default: Any
    limit: option_limits.Limit | None = None

    @property
    def type_name(self) -> str:
        """What a value is called: its type, or what may stand there."""
        return self._plain if self.limit is None else f"{self._plain}: {self.limit}"

    @property
    def _plain(self) -> str:
        return self.type.__name__ if typing.get_origin(self.type) is None else f"{typing.get_args(self.type)[0].__name__},..."


P = TypeVar("P", bound="type[Pass]")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def register(cls: P) -> P:
    """Class decorator, outermost: makes a pass a frozen dataclass, where it is none yet, and known by its name. Raises ValueError for a
    name taken by another class. In the files of our own passes that is the file's, and what the pass does is what the file says first:

        \"\"\"tierup-cse: one computation instead of two equal ones, where nobody can tell the results apart.
    """
    package, _, stem = cls.__module__.rpartition(".")
    if package in PACKAGES:
        cls.name = f"tierup-{stem.replace('_', '-')}"
        said = (sys.modules[cls.__module__].__doc__ or "").partition("\n")[0].removeprefix(f"{cls.name}: ")
        cls.__doc__ = said if "." in said.partition(" ")[0] else said[:1].upper() + said[1:]  # torch.prim.If is spelled so
    if "name" not in cls.__dict__:
        raise ValueError(f"pass {cls.__qualname__} has no name")
    if cls.run is Pass.run and not cls.on_functions():
        raise ValueError(f"pass {cls.name} defines neither run nor run_on_function")
    if not cls.summary():
        raise ValueError(f"pass {cls.name} has no docstring; its first line is the pass's --help")
    other = _registered.get(cls.name)
    if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"two passes are named {cls.name}: {other.__module__} and {cls.__module__}")
    if "__dataclass_fields__" not in cls.__dict__:
        dataclass(frozen=True)(cls)
    options_of(cls)  # an option of a type that no command line can spell is found here, not by a user
    _registered[cls.name] = cls
    return cls


def passes() -> dict[str, type[Pass]]:
    """Every pass by name, sorted. Imports all pass files."""
    _discover()
    return dict(sorted(_registered.items()))


def find(name: str) -> type[Pass] | None:
    """The pass of that name. Imports its file alone when the file is named after the pass, as ours are."""
    if name not in _registered and not _discovered and name.startswith("tierup-"):
        _import_file_of(name)
    if name not in _registered and name.startswith("tierup-"):
        _discover()
    return _registered.get(name)


def _import_file_of(name: str) -> None:
    stem = name.removeprefix("tierup-").replace("-", "_")
    for module in (f"{package}.{stem}" for package in PACKAGES if importlib.util.find_spec(package)):
        if module not in sys.modules and importlib.util.find_spec(module):
            importlib.import_module(module)
            return


def _discover() -> None:
    import pkgutil  # here: a program finds its passes by their names

    global _discovered
    with _discovery:  # two threads may ask at once for their first pass
        if _discovered:
            return
        for package in PACKAGES:
            if importlib.util.find_spec(package) is None:
                continue
            for info in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
                importlib.import_module(info.name)
        load_entry_points()
        _discovered = True


_entry_points_loaded = False


def load_entry_points() -> None:
    """Import the modules of passes that installed distributions name, once. What such a module raises is the caller's to see."""
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    if may_be_brought():
        from importlib.metadata import entry_points

        for entry in entry_points(group=ENTRY_POINTS):
            entry.load()
    _entry_points_loaded = True


def options_of(cls: type[Pass]) -> tuple[Option, ...]:
    """The options of a pass, in the order of its fields. Raises ValueError for a field that cannot be an option."""
    if not hasattr(cls, "__dataclass_fields__"):
        return ()
    known = _options.get(cls)
    if known is None:
        known = _options[cls] = _read_options(cls)
    return known


def _read_options(cls: type[Pass]) -> tuple[Option, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    found = []
    for f in fields(cls):  # type: ignore[arg-type]  # checked above
        type_, limit = hints[f.name], None
        if typing.get_origin(type_) is Annotated:
            type_, limit = typing.get_args(type_)[:2]
        if type_ not in _PARSERS:
            raise ValueError(f"option {f.name} of {cls.name}: options are bool, int, float, str or a tuple of int or str, not {type_}")
        if f.default is MISSING:
            raise ValueError(f"option {f.name} of {cls.name} has no default")
        found.append(Option(f.name.replace("_", "-"), f.name, type_, f.default, limit))
    return tuple(found)


def make(cls: type[Pass], settings: Iterable[tuple[str, str | None]]) -> Pass:
    """A pass from (flag, text) pairs; a text of None is a flag given alone. Raises PipelineError."""
    known = {o.flag: o for o in options_of(cls)}
    values = {}
    for flag, text in settings:
        option = known.get(flag)
        if option is None:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise PipelineError(f"pass '{cls.name}' has no option '{flag}'{closest(flag, known)}; {has}")
        if text is None and option.type is not bool:
            raise PipelineError(f"option '{flag}' of pass '{cls.name}' needs a value: {flag}=<{option.type_name}>")
        try:
            values[option.field] = True if text is None else _PARSERS[option.type](text)
        except ValueError as e:
            raise PipelineError(f"option '{flag}' of pass '{cls.name}' takes <{option.type_name}>, not '{text}'") from e
    try:
        return cls(**values)
    except ValueError as e:
        raise PipelineError(str(e)) from e


def functions(op: ir.Operation) -> Iterator[ir.Operation]:
    """The func.funcs with a body directly in a module, in order. The list is taken first, so a pass may add functions."""
    found = [view.operation for view in op.regions[0].blocks[0].operations]
    yield from (f for f in found if f.name == "func.func" and len(f.regions[0].blocks))


def refuse_several_blocks(func: ir.Operation) -> None:
    """Raise PassFailure, at the op that ends the first block, when a function has more than one."""
    first, *others = func.regions[0].blocks
    if others:
        raise PassFailure(list(first.operations)[-1].operation, "goes to another block: write torch.prim.If or torch.prim.Loop instead")


def _bool(text: str) -> bool:
    if text not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text in ("true", "1")


def _int(text: str) -> int:
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:  # it may become an attribute
        raise ValueError(text)
    return value


def _items(text: str) -> list[str]:
    return [t for t in text.strip("{}").replace(",", " ").split() if t]


_PARSERS: dict[Any, Any] = {
    bool: _bool,
    int: _int,
    float: float,
    str: str,
    tuple[int, ...]: lambda text: tuple(_int(t) for t in _items(text)),
    tuple[str, ...]: lambda text: tuple(_items(text)),
}


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    text = str(value)
    return f'"{text}"' if any(c in text for c in " {}\"") or not text else text
