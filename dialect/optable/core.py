"""The shape of a row of the op table, and what shape rules may ask for.

One row says everything about one torch op: how tier 0 computes it, which type its results have, what it reads and writes,
whether it has native code and within which bound it agrees with a float64 oracle. The interpreter, inference, the passes,
lowering, tests and docs read rows; none of them has a list of ops of its own.

Free of MLIR: rows name ops as `aten.add.Tensor` (MLIR spells it `torch.aten.add.Tensor`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, TypeVar

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, Expr, symbol
from tierup.dialect.facts.values import Int, Opaque, Shape, Tensor, Value


class Kind(Enum):
    """How an op uses its tensors: what grouping, lowering and tests treat alike."""

    POINTWISE = "pointwise"  # one element out per broadcast element in
    REDUCTION = "reduction"
    SCAN = "scan"  # running sums: each element combined with all before it along a dim
    NORMALISATION = "normalisation"  # softmax, layer_norm: reductions and pointwise work over the same rows
    PRODUCT = "product"  # mm and its kin
    VIEW = "view"  # the result shares its operand's memory
    MOVEMENT = "movement"  # cat, gather, pad: elements move, values don't change
    FACTORY = "factory"
    SCALAR = "scalar"  # ints, floats, bools, lists, tuples: no tensor made
    OTHER = "other"


class Aliasing(Enum):
    """What the (first) result is to operand 0."""

    FRESH = "fresh"
    VIEW = "view"  # always shares memory
    MAY_VIEW = "may view"  # reshape, contiguous, to: shares memory when it can
    SELF = "self"  # in-place: writes operand 0 and returns it


class Combine(Enum):
    """What a scan or reduction does with two elements. Floats may be combined in any order (an op says no order, a loop does)."""

    ADD = "add"
    MULTIPLY = "multiply"
    LOG_ADD_EXP = "log add exp"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"


class Layout(Enum):
    """How an op's result lies in memory in PyTorch."""

    ROWS = "row-major"
    KEPT = "row-major where operand 0 is"
    DENSE = "without gaps, row-major where the operands are but for gaps"  # of ops on elements, too, unless they say otherwise
    COLUMNS = "column-major"


class TakesComplex(Enum):
    """Of which complex numbers tier 0, under NumPy's rules, gives what NumPy gives. Front ends leave all else to Python."""

    NONE = "none"
    ALL = "all"
    KEPT = "those that stay complex, or become truth values"  # a complex number that a real one is made of is a warning in NumPy


OF_COMPLEX: Any = {"takes_complex": TakesComplex.ALL, "native_complex": True}
KEPT_COMPLEX: Any = {"takes_complex": TakesComplex.KEPT, "native_complex": True}
"""Fields of an op that tier 0 and native code compute of complex numbers, too."""

NUMPYS_STEPS = "tierup.numpys_steps"  # on a reduction that rounds and overflows on the way, and raises, as NumPy's does


class Promotion(Enum):
    """Whose dtype rules an op follows (DESIGN: MLIR and PyTorch programs torch's, @tierup.jit code NumPy's)."""

    TORCH = "torch"
    NUMPY = "numpy"


EITHER = tuple(Promotion)


@dataclass(frozen=True)
class Tolerance:
    """How far a native float result may be from tier 0's: `ulp` units in the last place of the result's dtype, plus
    `per_element` * sqrt(reduced length) for reductions."""

    ulp: float = 4.0
    per_element: float = 0.0


EXACT = Tolerance(0.0)

InferRule = Callable[["Infer", Sequence[Value]], "Value | tuple[Value, ...]"]
GradientRule = Callable[[Any], Any]  # of a gradients.core.Backward: gradients of the operands


Of = TypeVar("Of")
AS_MANY = -1  # results: as many as the operand has items (ListUnpack, TupleUnpack)


_NO_GRADIENT = {
    Kind.FACTORY: "made of numbers and sizes; of a tensor only sizes and dtype are read",
    Kind.SCALAR: "a number, a truth value, a text, or a list of them",
}


@dataclass(eq=False)
class Op:
    """One op of the torch dialect. See the module docstring for who reads it."""

    name: str
    kind: Kind
    kernel: str  # tier 0, torch's semantics: "family:op.tier0", or "module.function" under tierup.dialect.optable.kernels
    infer: InferRule
    results: int = 1  # or AS_MANY
    aliasing: Aliasing = Aliasing.FRESH
    numpy: str | None = None  # the kernel under NumPy's promotion, spelled as `kernel`, same operands; None: the same
    may_be_operand: tuple[Promotion, ...] = ()  # the rules under which it gives operand 0 itself where it changes nothing
    functional: str | None = None  # for Aliasing.SELF: the op that computes the new value, e.g. aten.add.Tensor
    native: bool = True  # whether lowering has it
    on_device: bool = True  # whether it has it for a GPU, too
    random: bool = False  # draws from a generator: not to be folded, merged, moved or repeated
    tolerance: Tolerance = Tolerance()
    raises: bool = False  # can raise for some tensor VALUES (index out of range, integer zero divisor), not only for shapes
    acts: bool = False  # prints, sets an attribute, changes a dict or list: tier 0 does that, once a call, in the user's order; random, too
    differentiable: bool = True  # whether a result of floating dtype requires a gradient when an operand does, as in PyTorch
    looked_at: tuple[int, ...] = ()  # the operands that have no part in that: only their sizes, dtype or some truth of them is asked
    flat: tuple[int, ...] = ()  # the results that never require a gradient
    layout: Layout | None = None  # of the (first) result, where its kind does not say it
    strided: bool = False  # raises where the strides of operand 0 allow no view, whatever its sizes
    puts: bool = False  # gives operand 0 with a part replaced
    overwrites: bool = False  # writes operand 0, and reads nothing of it
    window: int | None = None  # the operand whose sizes, but for the first two, are the window's that slides: few programs see two of them
    cuts: int | None = None  # the operand that says along which dim it cuts operand 0, into parts whose number and sizes hang on its size
    asks: bool = False  # a tensor for its sizes or its dtype alone
    takes_complex: TakesComplex | None = None  # None: all where NumPy itself computes it, or no element is looked at, else none
    native_complex: bool = False  # whether native code takes them, too; views and sizes need not say so
    of_memory: bool = False  # checks operand 0 before it is written, in words of its own: code of values does without
    refuses_some: bool = False  # of numbers and lists: raises for some of them
    note: str = ""  # one line for the docs: the edge that surprises
    operands: tuple[str, ...] = ()  # their names, where the schema is given
    combine: Combine | None = None  # of scans
    numpy_form: str = ""  # how the op under NumPy's rules is written in torch ops: a name in rewriting/numpy_rules
    numpy_function: Callable[..., Any] | None = None  # the one that the op is under NumPy's rules, where that is one
    nearest: str = ""  # of an op without native code: what has some and gives nearly the same, as users write it
    spelled: tuple[str, ...] = ()  # what the op is called in NumPy's Python: "np.cumsum", "ndarray.cumsum"
    gradient: tuple[GradientRule, tuple[str, ...]] | None = None  # the rule, and what it keeps of the forward run
    no_gradient: str = ""  # why by nature it has none: "truth values"; a rule that gives None says that it is zero

    @property
    def why_no_gradient(self) -> str | None:
        """Why the op has no gradient by nature, in a few words for the documentation; None when nothing says that it has none."""
        return self.no_gradient or (None if self.differentiable else _NO_GRADIENT.get(self.kind))

    @property
    def complex_operands(self) -> TakesComplex:
        """Of which complex numbers the op gives what NumPy gives."""
        if self.takes_complex is not None:
            return self.takes_complex
        return TakesComplex.ALL if self._looks_at_none or self.numpy_function is not None else TakesComplex.NONE

    @property
    def has_native_complex(self) -> bool:
        """Whether native code takes complex numbers."""
        return self.native_complex or self._looks_at_none

    @property
    def _looks_at_none(self) -> bool:
        return self.asks or self.kind is Kind.VIEW

    @property
    def writes(self) -> bool:
        """Whether the op writes operand 0 in place."""
        return self.aliasing is Aliasing.SELF

    def answer(self, operands: Sequence[Value], promotion: Promotion = Promotion.TORCH) -> tuple[tuple[Value, ...], list[Tie]] | None:
        """What the rule says of the results, and which sizes it needs equal; None where it refuses these operands."""
        rules = Infer()
        rules.promotion = promotion
        try:
            found = self.infer(rules, operands)
        except REFUSALS:
            return None
        return found if isinstance(found, tuple) else (found,), rules.ties

    def followed(self, operands: Sequence[Of]) -> Sequence[Of]:
        """Of what is said of each operand that of those which a result's gradient goes on to."""
        return [x for i, x in enumerate(operands) if i not in self.looked_at] if self.looked_at else operands


NO_RULE = "no rule is written: asking for it is an error"
"""`no_gradient` of an op that has a gradient by nature."""


def declared(ctx: Infer, operands: Sequence[Value]) -> Value:
    """The rule of ops whose results are what the types in the program say, no more: inference reads these, it does not ask here."""
    return Opaque()


class ShapeError(ValueError):
    """The operands' types fit no run of this op. Carries the message tier 0's kernel would raise."""


OF_RULES = (ShapeError, IndexError, TypeError, ZeroDivisionError, OverflowError)  # how a rule refuses all operands of some types
REFUSALS = (ValueError, *OF_RULES)  # of rules and of kernels


@dataclass(frozen=True)
class Tie:
    """Two sizes that the program needs equal; at least one is symbolic. `site`: the op that needs it. `of`: which sizes of its operands
    these are, where each is one of several that only the path tells apart."""

    left: Dim
    right: Dim
    site: Any = field(default=None, compare=False)
    of: tuple[Dim, Dim] | None = field(default=None, compare=False)


class Infer:
    """What a rule may ask and must report while the types of one program are inferred.

    One instance serves a whole program. `promotion` is set to the current op's before its rule runs, and so are `given`: its operands'
    SSA values (empty where there are none), and `site`: the op itself. `scope` tells apart the calls of a function, in which its SSA values
    are others. `items` gives the SSA values in a list that is written down. `first`: the number of the first size that only the run will
    tell.
    """

    def __init__(self, first: int = 0, items: Callable[[Hashable], Hashable] = lambda value: value) -> None:
        self.promotion = Promotion.TORCH
        self.given: Sequence[Hashable] = ()
        self.site: Any = None
        self.scope = 0
        self.ties: list[Tie] = []
        self._fresh = first
        self._items = items
        self._parts: dict[Hashable, Expr] = {}

    def fresh(self, low: int = 0) -> Expr:
        """A size that only the run will tell (`nonzero`, a loop that concatenates)."""
        self._fresh += 1
        return symbol(f"u{self._fresh - 1}", low)

    def part(self, size: Dim, bounds: Sequence[Value]) -> Expr:
        """The size of a part of a dim, of which only the run will tell the bounds, the last operands of the current op: the same size
        whenever the dim and the bounds are the same."""
        if len(self.given) < len(bounds):
            return self.fresh()
        found = self.given[len(self.given) - len(bounds) :]
        known = (value.value if isinstance(value, Int) else None for value in bounds)
        key = self.scope, size, tuple(ssa if number is None else number for number, ssa in zip(known, found, strict=True))
        if key not in self._parts:
            self._parts[key] = self.fresh()
        return self._parts[key]

    def counted(self, operand: int) -> Expr:
        """How many elements the masks in an operand of the current op name: the same number whenever the masks are the same."""
        if operand >= len(self.given):
            return self.fresh()
        key = self.scope, "masks", self._items(self.given[operand])
        if key not in self._parts:
            self._parts[key] = self.fresh()
        return self._parts[key]

    def equal(self, a: Dim, b: Dim, what: str) -> Dim:
        """Require a == b: checked now when both are known, else recorded as a tie that a guard must hold. Returns the better known one."""
        if a == b:
            return a
        if isinstance(a, int) and isinstance(b, int):
            raise ShapeError(f"{what}: {a} and {b} differ")
        self.ties.append(Tie(a, b, self.site))
        return a if isinstance(a, int) else b if isinstance(b, int) else a

    def broadcast(self, shapes: Iterable[Shape | None], what: str = "operands do not broadcast") -> Shape | None:
        """The broadcast of shapes under NumPy's and torch's common rule; None when a rank is unknown.
        Symbols stand for sizes of at least 2."""
        known = list(shapes)
        if any(s is None for s in known):
            return None
        rank = max((len(s) for s in known if s is not None), default=0)
        out: list[Dim] = [1] * rank
        for shape in known:
            assert shape is not None
            for i, dim in enumerate(shape, start=rank - len(shape)):
                if out[i] == 1:
                    out[i] = dim
                elif dim not in (1, out[i]):  # the message below costs more than all else here
                    out[i] = self.equal(out[i], dim, f"{what} {' and '.join(map(format_shape, known))}")
        return tuple(out)


def format_shape(shape: Shape | None) -> str:
    return "(unknown)" if shape is None else "(" + ", ".join(str(d) for d in shape) + ("," if len(shape) == 1 else "") + ")"


def normalise_dim(dim: int, rank: int) -> int:
    """A dimension counted from the front. Raises IndexError like torch: a rank-0 tensor accepts -1 and 0."""
    bound = max(rank, 1)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


def like(tensor: Tensor, **changes: object) -> Tensor:
    """`tensor` with fields replaced."""
    return Tensor(**{"dtype": tensor.dtype, "shape": tensor.shape, **changes})  # type: ignore[arg-type]  # fields by name
