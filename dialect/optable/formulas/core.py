"""What formulas are written with: an op that is made of other ops is written once, as these.

    @formula("mse_loss(self, target; reduction)")
    def mse_loss(o, x, target, reduction): ...

Tier 0 computes the formula with the kernels of its ops and inference follows their rules (dialect/ops/formulas.py), native code
is made of these ops (formula_expansion.py), and so is the gradient (gradients/formulas.py): `Ops` is whichever of them asks. Operands
before the `;` are tensors, `*tensors` a list of them, or None where they may be left out; those behind it, and `=dim` before it, numbers,
strings, None, and lists of such. `reduction` is torch's: 0 none, 1 mean, 2 sum. A formula may give a list of tensors.

Semantics are those of PyTorch's ATen ops; where ATen broadcasts what its Python functions refuse or warn of (binary_cross_entropy, a target
of one place beside an input of none), so is it here: refused. Free of MLIR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Tensor
from tierup.dialect.optable.core import Kind, ShapeError

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])
TENSOR, INT, FLOAT, SIZES = "!torch.vtensor", "!torch.int", "!torch.float", "!torch.list<int>"


class Arithmetic(ABC, Generic[T]):
    """Tensors with tensors or Python numbers, by the ops of the table that say so."""

    @abstractmethod
    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> T:
        """The result of an op of the table; `type_`: what it is in the torch dialect."""

    @abstractmethod
    def _is_tensor(self, x: Any) -> bool: ...

    def add(self, a: T, b: Any) -> T:
        """`a + b`, of a tensor and a tensor or number."""
        return self._binary("add", a, b, 1)

    def sub(self, a: T, b: Any) -> T:
        """`a - b`, of a tensor and a tensor or number."""
        return self._binary("sub", a, b, 1)

    def mul(self, a: T, b: Any) -> T:
        """`a * b`, of a tensor and a tensor or number."""
        return self._binary("mul", a, b)

    def div(self, a: T, b: Any) -> T:
        """`a / b`, of a tensor and a tensor or number; of ints, too, the quotient is of floats."""
        return self._binary("div", a, b)

    def _binary(self, name: str, a: T, b: Any, *rest: Any) -> T:
        return self.call(f"aten.{name}.{'Tensor' if self._is_tensor(b) else 'Scalar'}", a, b, *rest)

    def rsub(self, number: Any, a: T) -> T:
        """`number - a`."""
        return self.call("aten.rsub.Scalar", a, number, 1)

    def neg(self, a: T) -> T:
        """`-a`."""
        return self.call("aten.neg", a)

    def where(self, condition: T, a: Any, b: Any) -> T:
        """`a` where the condition is true, else `b`; each a tensor or a number."""
        kinds = self._is_tensor(a), self._is_tensor(b)
        overload = {(True, True): "self", (True, False): "ScalarOther", (False, True): "ScalarSelf", (False, False): "Scalar"}[kinds]
        return self.call(f"aten.where.{overload}", condition, a, b)


class Ops(Arithmetic[T]):
    """What formulas compute with. Operands of `call` are values, Python numbers, None and lists of numbers."""

    @abstractmethod
    def several(self, name: str, count: int, *operands: Any) -> Sequence[T]:
        """The results, so many tensors, of an op of the table."""

    @abstractmethod
    def known(self, x: T) -> Tensor:
        """What is known of a tensor."""

    @abstractmethod
    def unknown(self) -> Exception:
        """What is raised where the formula needs more than is known."""

    @abstractmethod
    def equal(self, x: T, i: int, y: T, j: int, what: str) -> None:
        """Require that dim i of x and dim j of y, of known rank, have one size; else `what` is a ShapeError."""

    def no_gradient_of(self, x: T, operand: str) -> None:
        """Say that PyTorch refuses a gradient of an operand."""

    def check(self, condition: T, message: str) -> None:
        """Require that all elements of a condition are true; else a ValueError, for the run to raise."""

    # --- what formulas are written with --------------------------------------------------------------------------------

    def rank(self, x: T) -> int:
        """How many dims a tensor has. Raises `unknown()` where that is not known."""
        rank = self.known(x).rank
        if rank is None:
            raise self.unknown()
        return rank

    def is_float(self, x: T) -> bool | None:
        """None where it is not known."""
        dtype = self.known(x).dtype
        return None if dtype is None else dtype.is_float

    def size(self, x: T, dim: int) -> T:
        """The size of one dim, an int."""
        return self.call("aten.size.int", x, dim, type_=INT)

    def same_sizes(self, x: T, y: T, what: str) -> None:
        """Require that two tensors have the same sizes, of what is known of them."""
        ranks = self.known(x).rank, self.known(y).rank
        if None in ranks:
            return
        if ranks[0] != ranks[1]:
            raise ShapeError(what)
        for i in range(ranks[0] or 0):
            self.equal(x, i, y, i, what)


@dataclass(frozen=True)
class Formula:
    """One op. `compute(ops, *operands)`: its result, a tuple of them, or a list of tensors (`results` LIST). `plain`: which
    operands are no tensors or lists of tensors. `raises`: for some values. `is_row`: whether the op's row in the
    table is made of the formula too, or has a kernel of its own. `is_gradient`: whether its gradient is that of the formula;
    else the op's rule says, or where it has none PyTorch's autograd, in PyTorch's programs.
    `looked_at`, `no_gradient`: as a row's."""

    name: str
    operands: tuple[str, ...]
    plain: frozenset[int]
    compute: Callable[..., Any]
    results: int
    raises: bool
    kind: Kind
    is_row: bool
    is_gradient: bool
    looked_at: tuple[int, ...]
    no_gradient: str


LIST = 0  # `results` of an op that gives a list
FORMULAS: dict[str, Formula] = {}


def formula(
    *heads: str, results: int = 1, raises: bool = False, kind: Kind = Kind.REDUCTION, is_row: bool = True, is_gradient: bool = True,
    looked_at: tuple[int, ...] = (), no_gradient: str = "",
) -> Callable[[C], C]:  # fmt: skip
    def register(compute: C) -> C:
        for head in heads:
            name, _, rest = head.rstrip(")").partition("(")
            first, others = ([p for part in group.split(",") if (p := part.strip(" *"))] for group in f"{rest};".split(";")[:2])
            plain = frozenset(i for i, p in enumerate((*first, *others)) if p.startswith("=") or i >= len(first))
            operands = tuple(p.removeprefix("=") for p in (*first, *others))
            name = f"aten.{name}"
            has_one = is_gradient and not no_gradient
            FORMULAS[name] = Formula(name, operands, plain, compute, results, raises, kind, is_row, has_one, looked_at, no_gradient)
        return compute

    return register


def reduced(o: Ops[T], each: T, reduction: int, *, integers: str = "") -> T:
    """`integers`: the op that refuses them."""
    if integers and o.is_float(each) is False:
        raise TypeError(f"{integers} is not implemented for integers")
    if reduction not in (0, 1, 2):
        raise ShapeError(f"{reduction} is not a valid value for reduction: it is 0 (none), 1 (mean) or 2 (sum)")
    return each if reduction == 0 else o.call("aten.mean" if reduction == 1 else "aten.sum", each, None)


def as_dtype_of(o: Ops[T], op: str, each: T, like: T) -> T:
    """In the dtype of an operand, which must be of numbers with a point."""
    if o.is_float(like) is False:
        raise TypeError(f"{op}: the result's dtype can't be cast to the integers of an operand")
    return o.call("aten.type_as", each, like)
