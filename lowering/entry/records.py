"""What a caller tells a dispatch table: the versions it may run and where the flat arguments come from.

Free of MLIR and LLVM: the native entry (`table.py`) and its pure-Python twin (`runtime/dispatching/dispatch.py`) read the same records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import field
from enum import Enum, IntEnum
from types import CellType, MethodType
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, symbol
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ExitSite, ResultKind, ResultSpec

# From this much work on, the GIL is released around the kernel. Releasing costs some 30 ns, and getting it back can take
# a switch interval (5 ms) when other threads are busy: not worth it for work of a few microseconds.
RELEASE_WORK = 1 << 17

# So many versions are tried in order before static ones are found by hash. Trying one costs some 5 ns, a hash over the arguments' sizes
# about as much as two or three tries.
LINEAR = 8


# What an instance of a native function type holds behind its base's fields.
FUNCTION_VECTORCALL, FUNCTION_TABLE, FUNCTION_RECORD, FUNCTION_SIZE = 0, 8, 16, 24


class ProbeFailed(Exception):
    """Says what of the interpreter, NumPy or PyTorch is not as the native entry expects it."""


class SlowCause(IntEnum):
    """Why a table called `slow` instead of a kernel. Which guard failed is `guards.first_mismatch`'s to say."""

    MISS = 0  # no version fits the arguments
    KEYWORDS = 1  # the call has keyword arguments
    COUNT = 2  # another number of positional arguments
    HIDDEN = 3  # a hidden input is not there (deleted global, empty cell, missing attribute)
    CONSTANT = 4  # a global that was compiled in is another object now
    FAILED = 5  # a kernel left with a status other than 0 and the table has no `failed`
    TENSORS = 6  # a tensor, a thread's mode or a version with which Python must deal: see `tensors.py`
    STRUCTURE = 7  # an argument, or what is read from outside, is of another structure


class Form(Enum):
    """How the user's results are handed over."""

    SINGLE = "single"  # exactly one result, as it is
    TUPLE = "tuple"
    LIST = "list"
    NONE = "none"  # no result: None


@dataclass(frozen=True)
class Made:
    """A result in which others are: a "tuple", "list" or "dict" of `items`, each a result of its own; "next": the program's next result;
    "again": its result `value`, which stands there already; "given": list `value` of those that came in as arrays; "object": `value`
    itself; "complex": of two floats; "union": of `items`, the first is an int that says which of the others; "call": what `value` gives
    for `items`, in the alternatives of unions that `only` says by their results' numbers: others have no such items. What is left of the
    program's results is dropped."""

    kind: str
    items: tuple[Made, ...] = ()
    keys: tuple[object, ...] = ()
    value: object = None
    only: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Positional:
    """Argument `index` of the call: by position, or what `Parameters` bind."""

    index: int


@dataclass(frozen=True, eq=False)
class GlobalSource:
    """`namespace[name]`, read at every call. `behind`: the dict in which Python would find the name first, which must not have it."""

    namespace: dict[str, Any]
    name: str
    behind: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class CellSource:
    """A closure cell's contents, read at every call."""

    cell: CellType


@dataclass(frozen=True, eq=False)
class AttributeSource:
    """`getattr(of, name)`, read at every call: `self.w` is AttributeSource(Positional(0), "w")."""

    of: Source
    name: str


@dataclass(frozen=True, eq=False)
class Items:
    """A guard: what `of` gives is exactly a tuple or list of `keys` in number, or a dict that has them in this order."""

    of: Source
    kind: type
    keys: tuple[object, ...]


@dataclass(frozen=True, eq=False)
class ItemSource:
    """The item at a position of these."""

    items: Items
    index: int


@dataclass(frozen=True, eq=False)
class ScalarSource:
    """A NumPy scalar, as an array of rank 0."""

    of: Source


@dataclass(frozen=True, eq=False)
class Columns:
    """A list with a number at least, as new arrays of float64, int64 or bool. `holds`: None for numbers, of one type or of several (the
    first array then says of which each is), `list` for lists of them (an array before those says where each begins, and where the last one
    ends), `tuple` for tuples of numbers. `types`: of the numbers in each array, float, int or bool, exactly."""

    of: Source
    holds: type | None
    types: tuple[type, ...]


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """The array at a position of these."""

    columns: Columns
    index: int


@dataclass(frozen=True, eq=False)
class ListBack:
    """A list that the program changes (`changes`) or gives back: `columns` are its arrays, from flat argument `first` on."""

    columns: Columns
    first: int
    changes: bool


@dataclass(frozen=True, eq=False)
class SubscriptSource:
    """`of[key]`, read at every call: of an object that is no tuple, list or dict."""

    of: Source
    key: object


Source = Positional | GlobalSource | CellSource | AttributeSource | ItemSource | ScalarSource | ColumnSource | SubscriptSource


@dataclass(frozen=True, eq=False)
class Constant:
    """What was compiled in: calls go to `slow` when `source` no longer gives this very object, or what `same` gives in the same call. The
    native entry takes an equal number or string for the object. `is_type`: it gives one of exactly the type `value`."""

    source: Source
    value: object
    same: Source | None = None
    is_type: bool = False


@dataclass(frozen=True)
class Parameters:
    """How the native entry binds a call's arguments. `names`: of the parameters that take one argument each, the `n_positional` that may be
    given by position first, "" for what may not be given by name. Behind them stand `n_star` arguments of `*args`, and what `**options`
    takes under the names `extra`, in this order. `function`: whose defaults hold, those of the moment."""

    names: tuple[str, ...]
    n_positional: int
    n_star: int = 0
    extra: tuple[str, ...] = ()
    function: Any = None


@dataclass(frozen=True)
class Inputs:
    """Where the flat arguments of a table's versions come from.

    `flat`: one source per flat argument; None stands for the call's arguments in order. `constants`: what must hold, first things first.
    `n_own`: how many of the flat arguments are the call's, not read from outside; they come first; None: as many as
    the call has arguments. `parameters`: None where all
    arguments are given by position. `lists`: all that came in as arrays, where one of them changes or is given back.
    """

    n_positional: int
    flat: tuple[Source, ...] | None = None
    constants: tuple[Constant | Items, ...] = ()
    n_own: int | None = None
    parameters: Parameters | None = None
    lists: tuple[ListBack, ...] = ()

    def __post_init__(self) -> None:
        watched = (s for c in self.constants if isinstance(c, Constant) for s in (c.source, c.same) if s is not None)
        for source in (*self.sources, *watched):
            while isinstance(source, AttributeSource):
                source = source.of
            if isinstance(source, Positional) and not 0 <= source.index < self.n_positional:
                raise ValueError(f"positional source {source.index} of a table with {self.n_positional} arguments")

    @property
    def has_trees(self) -> bool:
        """Whether something has to be taken apart, or to be of some class."""
        made = (ScalarSource, ColumnSource)
        return any(isinstance(c, Items) or c.is_type for c in self.constants) or any(isinstance(s, made) for s in self.sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where each flat argument comes from."""
        return self.flat if self.flat is not None else tuple(Positional(i) for i in range(self.n_positional))

    @property
    def plain(self) -> bool:
        """Whether the flat arguments are just the positional ones and nothing else is looked at."""
        return not self.constants and self.sources == tuple(Positional(i) for i in range(self.n_positional))


_serials = itertools.count(1)
_WRITE_BACKS = (ResultKind.ARGUMENT, ResultKind.WRITTEN)


@dataclass(frozen=True, eq=False)
class VersionRecord:
    """One version: the guards, what comes back, and the kernel. Compared by identity.

    `address`: the kernel's, of the type in `abi`. `keepalive` owns its code and lives as long as the version or a call that
    runs it. `work`: operations of one call, a Dim over the arguments' symbols; 0 means not known, then elements are
    counted. `scalars`: rank-0 arrays come back as NumPy scalars, as NumPy's own functions return them; or whether each of the user's does.
    `serial`: what a thread remembers of its last call; records of one version, in tables of different conventions, share it. `exits`: where
    the kernel may leave with live values. `on_device`: there is no address: `keepalive` is a plan of runtime/cuda, and only the entry in
    Python calls it. `polls`: the kernel may run for long whatever its `work`, and does as `lowering/externals/polling.py` says.
    `allocates`: it may allocate much, as `lowering/externals/allocating.py` says.
    Raises ValueError for results that contradict the ABI.
    """

    arguments: tuple[ArgumentSpec, ...]
    results: tuple[ResultSpec, ...]
    address: int
    keepalive: object = None
    work: Dim = 0
    form: Form | Made = Form.SINGLE
    scalars: bool | tuple[bool, ...] = True
    exits: tuple[ExitSite, ...] = ()
    serial: int = field(default_factory=_serials.__next__)
    on_device: bool = False
    polls: bool = False
    allocates: bool = False
    written: tuple[int, ...] = field(init=False)  # arguments that the program writes

    def __post_init__(self) -> None:
        kinds = [r.kind for r in self.results]
        n_user = sum(k not in _WRITE_BACKS for k in kinds)
        if any(k in _WRITE_BACKS for k in kinds[:n_user]):
            raise ValueError("write-backs must come after the program's results")
        if self.form is Form.SINGLE and n_user != 1 or self.form is Form.NONE and n_user:
            raise ValueError(f"form {self.form.value} with {n_user} results")
        if isinstance(self.form, Made) and _count(self.form) > n_user:
            raise ValueError(f"{n_user} results for a tree of {_count(self.form)}")
        for r in self.results:
            if r.kind in (*_WRITE_BACKS, ResultKind.ALIAS, ResultKind.VIEW):
                if not 0 <= r.argument < len(self.arguments):
                    raise ValueError(f"a result names argument {r.argument} of {len(self.arguments)}")
                if r.kind is not ResultKind.ALIAS and self.arguments[r.argument].kind is not ArgumentKind.ARRAY:
                    raise ValueError(f"argument {r.argument} is a scalar: it cannot be written or viewed")
            if r.kind is ResultKind.VIEW and len(r.strides) != len(r.sizes):
                raise ValueError(f"a view of rank {len(r.sizes)} with {len(r.strides)} strides")
        written = tuple(r.argument for r in self.results if r.kind in _WRITE_BACKS)
        if len(set(written)) != len(written):
            raise ValueError("an argument is written back twice")
        object.__setattr__(self, "written", written)

    @property
    def n_user_results(self) -> int:
        """How many results the caller gets; the arguments that the program writes come behind them."""
        return len(self.results) - len(self.written)

    def hands_over_scalar(self, index: int) -> bool:
        """Whether a result comes back as the NumPy scalar in it, views and arguments too: they are copies then."""
        result = self.results[index]
        if result.kind in (ResultKind.SCALAR, ResultKind.NONE, *_WRITE_BACKS):
            return False
        if not (self.scalars[index] if isinstance(self.scalars, tuple) else self.scalars):
            return False
        if result.kind is ResultKind.ALIAS:
            argument = self.arguments[result.argument]
            return argument.kind is ArgumentKind.ARRAY and not argument.sizes
        return not result.sizes


def _count(tree: Made) -> int:
    return 1 if tree.kind == "next" else sum(map(_count, tree.items))


def is_static(record: VersionRecord) -> bool:
    """Whether all sizes are assumed."""
    return not any(spec.symbols for spec in record.arguments)


@dataclass(frozen=True)
class TableCounts:
    """`hits`: calls whose guards held, removed versions included. `failures`: those of them that left with a status other than 0.
    `slow`: the other calls by cause."""

    hits: int
    failures: int
    slow: Mapping[SlowCause, int]

    @property
    def misses(self) -> int:
        """Calls whose arguments no version fitted."""
        return self.slow[SlowCause.MISS]


class TableCallable:
    """What `table.callable()` gives. Under the native entry a subclass of this, which CPython calls without `__call__`."""

    __slots__ = ("__weakref__", "table")

    def __init__(self, table: Any) -> None:
        self.table = table

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the table."""
        return self.table(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def work_of(record: VersionRecord) -> Dim:
    """The record's work, or the number of elements read and made when it is not known."""
    if record.work != 0:
        return record.work
    shapes: list[tuple[Dim, ...]] = [tuple(symbol(s) if isinstance(s, str) else s for s in a.sizes)
                                     for a in record.arguments if a.kind is ArgumentKind.ARRAY]  # fmt: skip
    shapes += [r.sizes for r in record.results if r.kind is ResultKind.BUFFER]
    return sum(map(math.prod, shapes))
