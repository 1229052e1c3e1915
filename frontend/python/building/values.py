"""What an expression of the user's program is while its graph is being built.

Python's structure is run at build time (partial evaluation): constants, tuples, lists, dicts, slices, functions. What remains
for the run is arrays and Python scalars, each an SSA value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments.hidden import Access

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir


@dataclass(frozen=True, eq=False)
class Const:
    """A Python object known now: number, string, None, dtype, NumPy scalar, function, module, class, Ellipsis."""

    value: Any
    access: Access | None = None  # where it came from, when from outside the body


@dataclass(frozen=True, eq=False)
class Scalar:
    """A Python int, float or bool known at run time only."""

    ssa: ir.Value
    kind: str  # int, float, bool


@dataclass(frozen=True, eq=False)
class Complex:
    """A Python complex number known at run time only: two floats, of which one may be known now."""

    real: Value
    imag: Value


@dataclass(frozen=True, eq=False)
class Array:
    """A NumPy array or NumPy scalar.

    `rank` is None when the call decides; it is `min_rank` at least. `decays`: NumPy makes it a scalar (a value of its own, never
    written in place) when its rank turns out to be 0; a !torch.bool where paths meet of which one has a scalar and one an array.
    `detached`: a copy where NumPy has a view; a Reversed, where it can be written back. `writes`: how many writes stood before the copy, -1
    where paths meet. `loads`: what indexing gave on the way here that NumPy may have as scalars, of which views are copies.
    """

    ssa: ir.Value
    rank: int | None = None
    min_rank: int = 0
    dtype: np.dtype | None = None
    decays: bool | ir.Value = True
    detached: bool | Reversed = False
    writes: int = -1
    loads: tuple[Array, ...] = ()

    @property
    def at_least(self) -> int:
        """The rank, or the least that it can be when the call decides."""
        return self.min_rank if self.rank is None else self.rank

    @property
    def may_be_scalar(self) -> bool:
        """Whether NumPy may have a scalar here."""
        return self.decays is not False and self.at_least == 0


@dataclass(frozen=True, eq=False)
class Reversed:
    """`whole` is a copy of `base` with the dim `dim` in reverse: what is written to it is the base's."""

    base: Array
    whole: ir.Value
    dim: int


@dataclass(eq=False)
class Sequence:
    """A tuple or list. A list made by the body may grow in the region that made it; one from outside may not. `keys`: of a named tuple its
    class."""

    kind: str  # tuple, list
    items: list[Value]
    region: int = 0
    external: bool = False
    access: Access | None = None
    keys: tuple[type, ...] = ()
    perhaps: list[Container] = field(default_factory=list)  # what `tie` put together, itself among them
    view: tuple[Mapping_, str] | None = None  # of what `.keys()`, `.values()` or `.items()` gives: of which dict, and which of them
    site: tuple[str, int, int] | None = None  # of a list: where it is made, by a display

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple and of no class of its own, of which Python gives the object itself where a copy would be the same."""
        return self.kind == "tuple" and not self.keys


@dataclass(eq=False)
class Growing:
    """A list that a loop appends to (operations/appending.py): arrays of its items' numbers, and a rank-0 array of how many there are. All
    are written in place, so that every name of the list has what another one appended."""

    room: Any  # a Room
    buffers: tuple[Array, ...]
    count: Array
    appended: int = 0  # how often that was built
    site: tuple[str, int, int] | None = None  # where it is made


@dataclass(frozen=True, eq=False)
class Reference:
    """A list in a heap (heaps.py) with others that may have its place: which of them it is. `item`: the template of all their items."""

    item: Any
    place: Value


@dataclass(frozen=True, eq=False)
class Given:
    """A list of numbers, or of tuples or lists of them, that came in (runtime/arguments/lists): the arrays of all, the template of an item,
    the place of the first one, and how many there are. What is written to the arrays the list has when the call ends."""

    buffers: tuple[Array, ...]
    item: Any
    begin: Value
    count: Value


@dataclass(frozen=True)
class Itself:
    """In a Const that is returned: a list that came in as arrays, itself, by which of them it is."""

    index: int


Grows = Growing | Reference | Given
"""Lists of which only the run knows how many items they have."""


@dataclass(frozen=True, eq=False)
class Heap:
    """Where the lists of one kind are: `lists` has a row for each, of where its items begin, how many there are, and how many have room;
    `ends` how many lists there are, and items; `buffers` the numbers of these. All are written in place. `most`: as in a Room."""

    lists: Array
    ends: Array
    buffers: tuple[Array, ...]
    most: int


@dataclass(frozen=True, eq=False)
class Grown:
    """A list that has grown, as it is returned: the template of its items, and the numbers of all of them by their places in an item."""

    item: Any
    columns: tuple[Array, ...]


@dataclass(eq=False)
class Mapping_:
    """A dict with constant keys. One made by the body may change in the region that made it; one from outside may not."""

    items: dict[Any, Value]
    external: bool = False
    region: int = -1
    perhaps: list[Container] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class ShapeOf:
    """`x.shape`, taken apart only as far as it is used."""

    array: Array


@dataclass(frozen=True, eq=False)
class IntList:
    """A tuple of ints whose length only the run knows (a slice of the shape of an array of unknown rank)."""

    ssa: ir.Value


@dataclass(frozen=True, eq=False)
class DTypeOf:
    """`x.dtype`: torch's dtype code as an int at run time."""

    ssa: ir.Value


@dataclass(frozen=True, eq=False)
class Slice:
    """`start:stop:step`; None for what is left out."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, eq=False)
class Object:
    """An object from outside whose attributes are read: a module, `self`, a configuration."""

    value: Any
    access: Access


@dataclass(frozen=True, eq=False)
class Method:
    """`value.name`, about to be called."""

    owner: Value
    name: str
    function: Any = None  # of an object's method: what a tierup function was made of, a FunctionType or a GradientSpec


@dataclass(frozen=True, eq=False)
class Closure:
    """A function that the body makes, by `def` or `lambda`. `values`: the defaults of its parameters; and of names around it that it reads
    what they have, but of those of the function at hand (`scope`), which it reads at each call."""

    target: Any  # a FunctionType of its code, or a GradientSpec of one
    values: dict[str, Value]
    scope: Any = None  # a Frame; None in others
    access: Access | None = None  # of the function around it, as in Frame
    itself: tuple[str, ...] = ()  # names by which it reads itself, in others


@dataclass(frozen=True, eq=False)
class Iterable_:
    """What a for loop runs over: a length and how to get item i, as it is by then. `once`: an iterator, which is used up by then."""

    length: Value  # Const int or Scalar int
    item: Callable[[Value], Value]
    needs_static_index: bool = False  # item() takes a Const only
    once: bool = True
    check: Callable[[], None] | None = None  # raises UnsupportedSyntax where a list or dict has another number of items by now


@dataclass(frozen=True, eq=False)
class Unset:
    """A name that only some paths give a value. Using it is an error that says `why`."""

    why: str


@dataclass(frozen=True, eq=False)
class Perhaps(Unset):
    """A name that has a value if the run went one way. `settle` gives it, and emits the error for the other way."""

    settle: Callable[[], Value]


@dataclass(frozen=True, eq=False)
class Unknown(Unset):
    """A name that a statement binds which is refused: what reads it is not known to be refused too."""


@dataclass(frozen=True, eq=False)
class Foreign(Unknown):
    """An array that programs cannot hold; `why` says of what dtype."""


@dataclass(frozen=True, eq=False)
class OneOf:
    """A value of one kind or another: what the entry returns, or `.item()` gives, of any kinds, which is only ever returned; and what a
    loop carries, of numbers and an array, whose readers are built for each. `tag` (Const or Scalar int) is the index of the
    alternative that holds; the others have dummies in their SSA values."""

    tag: Value
    alternatives: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Vacant:
    """What a name has that nobody reads before it gets its value. Where paths meet, that may be of any kind, and a dummy stands for it on
    this one."""


_Structure = Sequence | Mapping_ | ShapeOf | IntList | DTypeOf | Slice
_AtRunTime = Scalar | Complex | Array | Growing | Reference | Given | Grown
Value = Const | _AtRunTime | _Structure | Object | Method | Closure | Iterable_ | Unset | OneOf | Vacant

VACANT = Vacant()
PYTHON_SCALARS = (bool, int, float)
NONE = Const(None)
FALSE, TRUE = Const(False), Const(True)
ZERO, ONE, LAST = Const(0), Const(1), Const(-1)


Container = Sequence | Mapping_


def parts_of(value: Sequence | Mapping_ | OneOf | Closure) -> Iterable[Value]:
    """The values that a value consists of."""
    if isinstance(value, OneOf):
        return value.alternatives
    if isinstance(value, Closure):
        return value.values.values()
    return value.items.values() if isinstance(value, Mapping_) else value.items


def containers_in(value: Value) -> Iterator[Container]:
    """The lists and dicts in a value, itself among them: those that may change."""
    if isinstance(value, (Sequence, Mapping_, Closure)):
        if isinstance(value, Mapping_) or isinstance(value, Sequence) and value.kind == "list":
            yield value
        for item in parts_of(value):
            yield from containers_in(item)


def tie(containers: Iterable[Container]) -> None:
    """Note that these may be one object: what paths that meet have, or a function took and gave, is built as a value of its own. None of
    them may change from here on, nor be returned beside another."""
    together = list({id(other): other for one in containers for other in (one, *one.perhaps)}.values())
    for one in together:
        one.perhaps = together


def copies_in(value: Value) -> Iterator[Array]:
    """The arrays in a value that are copies where NumPy has views."""
    if isinstance(value, Array) and value.detached:
        yield value
    elif isinstance(value, (Sequence, Mapping_, OneOf, Closure)):
        for item in parts_of(value):
            yield from copies_in(item)


def is_none(value: Value) -> bool:
    """Whether a value is None, known when the graph is built."""
    return isinstance(value, Const) and value.value is None


def is_number(value: Value) -> bool:
    """A Python int, float or bool, known now or later."""
    return isinstance(value, Scalar) or (isinstance(value, Const) and type(value.value) in PYTHON_SCALARS)


def is_one_of_scalars(value: Value | None) -> bool:
    """Whether a value is a number or a NumPy scalar, one of these kinds: no operator changes it in place."""
    found = value.alternatives if isinstance(value, OneOf) else ()
    return bool(found) and all(is_number(v) or isinstance(v, Array) and v.rank == 0 and v.decays is True for v in found)


def is_complex_number(value: Value) -> bool:
    """A Python complex number, known now or later."""
    return isinstance(value, Complex) or (isinstance(value, Const) and type(value.value) is complex)


def parts_of_complex(value: Value) -> tuple[Value, Value]:
    """The real and the imaginary part of a Python complex number."""
    if isinstance(value, Complex):
        return value.real, value.imag
    return Const(value.value.real), Const(value.value.imag)  # type: ignore[union-attr]  # a Const


def is_numpy_scalar(value: Value) -> bool:
    """Whether a value is a NumPy scalar that is known when the graph is built."""
    return isinstance(value, Const) and isinstance(value.value, np.generic)


def is_array_like(value: Value) -> bool:
    """An array, or a NumPy scalar known now."""
    return isinstance(value, Array) or is_numpy_scalar(value)


def number_kind(value: Value) -> str:
    """int, float, bool or complex of a Python number."""
    if isinstance(value, Complex):
        return "complex"
    return value.kind if isinstance(value, Scalar) else type(value.value).__name__  # type: ignore[union-attr]  # is_number holds


def describe(value: Value) -> str:
    """What a value is, in the user's words."""
    if isinstance(value, Const):
        if value.value is None:
            return "None"
        return (
            f"the constant {value.value!r}"
            if isinstance(value.value, (*PYTHON_SCALARS, complex, str, np.generic))
            else f"a {type(value.value).__name__}"
        )
    if isinstance(value, (Scalar, Complex)):
        return f"a Python {number_kind(value)}"
    if isinstance(value, Array):
        return "an array"
    if isinstance(value, Sequence):
        return f"a {value.kind}"
    names = {
        Mapping_: "a dict", ShapeOf: "a shape", IntList: "a shape", DTypeOf: "a dtype", Slice: "a slice", Iterable_: "an iterator",
        Method: "a method", Closure: "a function", Unset: "a name that may be unset", Foreign: "an array that programs cannot hold",
        Growing: "a list that grows", Reference: "a list that grows", Grown: "a list that grew", Given: "a list that came in",
        OneOf: "a value whose kind only the run knows", Vacant: "no value",
    }  # fmt: skip
    if isinstance(value, Object):
        return f"a {type(value.value).__name__} object"
    return names[type(value)]


@dataclass
class Ends:
    """How a run of statements ends; None (not one of these) means it falls through."""


@dataclass
class Return(Ends):
    """The function ends with this value; `line`: of the return statement."""

    value: Value
    line: int = 0


@dataclass
class Jump(Ends):
    """The end of one loop iteration: `broke` is whether the loop stops (Const or Scalar bool)."""

    env: dict[str, Value] = field(default_factory=dict)
    broke: Value = field(default_factory=lambda: Const(False))


@dataclass
class Raised(Ends):
    """Nothing after this runs."""


@dataclass
class GoOn(Ends):
    """No end: these statements take the place of all that follows, and end as that would. So the length of a program costs no stack."""

    statements: list[Any]
