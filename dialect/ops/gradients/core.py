"""The shape of a gradient's rule, and what it may ask for.

    @mul.vjp(reads=("self", "other"))
    def _(g: Backward) -> Gradients:
        x, y = g.operands[:2]
        return g.sum_to(g.mul(g.grad, y), "self"), g.sum_to(g.mul(g.grad, x), "other")

A rule gives, for one op, the products of the gradients of its results with its Jacobian: a gradient for each operand, None where there
is none. It emits ops through the helpers of `Emitter`; operands that want no gradient need no care, since what is emitted for them
alone is dropped.

* A gradient has the sizes and the dtype of its value. `g.sum_to(gradient, i)` is the one place that undoes what broadcasting and dtype
  promotion did to operand i.
* What a rule reads of operands and results is kept from the forward run until the gradient is computed. `reads` names all of it:
  operands as in the op's schema, `result` (or `result0`, `result1`, ...) for results. Sizes and dtypes, cheap to keep, are not named.
* An op that rules emit has a rule itself, so that the gradient can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, Union, overload

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Int, List, Str, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter, Operand
from tierup.dialect.optable.written import INPLACE
from tierup.dialect.rewriting.core import bool_of, float_of, int_of, ints_of, is_none, items_of, str_of, under_casts

RANKS = "tierup.ranks"
"""An op's attribute: the ranks of its operands, where a front end knows them and types do not say them."""

Which = Union[int, str]
"""An operand: by its name in the op's schema, or by its place."""

Gradient = Union[ir.Value, None, Sequence["ir.Value | None"]]
Gradients = Union[ir.Value, None, tuple[Gradient, ...]]
"""One per operand, in order; those left out at the end are None, and a value alone is the first operand's. A list's is a list."""


@dataclass(frozen=True)
class Rule:
    """The gradient of one op. `operands`: their names, for `captures`."""

    op: str
    operands: tuple[str, ...]
    captures: tuple[str, ...]
    apply: Callable[[Backward], Gradients]


class NoGradient(Exception):
    """Why an op has no gradient here; the message says what to do instead."""


class Values(Sequence[ir.Value]):
    """Operands or results of the forward op. Notes which of them are read."""

    def __init__(self, values: Sequence[ir.Value], names: Sequence[str], read: set[str]) -> None:
        self._values, self._names, self._read = values, names, read

    @overload
    def __getitem__(self, i: int) -> ir.Value: ...
    @overload
    def __getitem__(self, i: slice) -> list[ir.Value]: ...
    def __getitem__(self, i: int | slice) -> ir.Value | list[ir.Value]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        self._read.add(self._names[i])
        return self._values[i]

    def __len__(self) -> int:
        return len(self._values)


class Walk(Protocol):
    """A walk back over ops (`autodiff.reverse.Reverse`)."""

    def give(self, value: ir.Value, gradient: Gradient) -> None:
        """Add to the gradient of a value; None adds nothing."""

    def run(self, block_ops: Sequence[ir.Operation]) -> None:
        """Pass the gradients of what these ops give on to what they take, from the last op to the first."""

    def take(self, value: ir.Value) -> Any:  # a Gradient, of a tensor
        """The gradient of a value, which is not kept any longer; None when there is none."""


class Backward(Emitter):
    """What a rule gets: the op, the gradients of its results, and the helpers.

    `grads[k]`: the gradient of result k, None when there is none (of a list: a list of such); `grad`: that of the first, which is there
    unless the op has several. `read`: the names of what was read. `walk`: differentiates ops that the rule emits (composed.py), given
    of which values a gradient is asked for.
    """

    def __init__(
        self,
        emitter: Emitter,
        op: ir.Operation,
        rule: Rule,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Value],
        grads: Sequence[Gradient],
        wanted: Sequence[bool],
        walk: Callable[[Emitter, dict[ir.Value, bool]], Walk],
    ) -> None:
        self.__dict__.update(emitter.__dict__)  # the same place to emit at, the same knowledge
        self.op = op
        self.rule = rule
        self.grads = grads
        self.read: set[str] = set()
        operands = [_present(v) for v in operands]
        self._operands, self._results, self._wanted = operands, results, wanted
        self.walk = walk
        names = [*rule.operands, *(f"operand{i}" for i in range(len(rule.operands), len(operands)))]
        self.operands = Values(operands, names, self.read)
        self.results = Values(results, ["result"] if len(results) == 1 else [f"result{k}" for k in range(len(results))], self.read)

    def at(self, emitter: Emitter) -> Backward:
        """The same, emitting where `emitter` now does."""
        return Backward(emitter, self.op, self.rule, self._operands, self._results, self.grads, self._wanted, self.walk)

    def only(self, emitter: Emitter, k: int, gradient: Gradient) -> Backward:
        """The same with a gradient of result k alone."""
        grads = [gradient if i == k else None for i in range(len(self.grads))]
        return Backward(emitter, self.op, self.rule, self._operands, self._results, grads, self._wanted, self.walk)

    @property
    def grad(self) -> ir.Value:
        """The gradient of the first result, for rules of ops with one result, a tensor."""
        found = self.grads[0]
        assert isinstance(found, ir.Value), "a rule of an op with several results looks at `grads`"
        return found

    @staticmethod
    def is_value(x: object) -> TypeGuard[ir.Value]:
        """Whether this is a value of the program, not a Python number, a string, None or a list."""
        return isinstance(x, ir.Value)

    @staticmethod
    def no_gradient(why: str) -> NoGradient:
        """To be raised by a rule: why the op has no gradient here, and what to do instead."""
        return NoGradient(why)

    def grad_of(self, k: int) -> ir.Value | None:
        """The gradient of result k, a tensor; None when there is none."""
        found = self.grads[k]
        assert found is None or isinstance(found, ir.Value), "a list has gradients of its items"
        return found

    @property
    def is_of_pytorch(self) -> bool:
        """Whether the program is one of PyTorch's."""
        func = self.op
        while func.name != "func.func":
            func = func.parent.operation
        source = func.attributes["tierup.source"] if "tierup.source" in func.attributes else None
        return source is not None and ir.StringAttr(source).value in ("torchscript", "fx")

    def leave_to_pytorch(self, why: str) -> None:
        """Raises NoGradient in a program of PyTorch's: its autograd refuses this gradient, and the program then runs there."""
        if self.is_of_pytorch:
            raise NoGradient(why)

    def _index(self, which: Which) -> int:
        return which if isinstance(which, int) else self.rule.operands.index(which)

    def _name(self, which: Which) -> str:
        return which if isinstance(which, str) else self.rule.operands[which]

    def wants(self, i: Which) -> bool:
        """Whether the gradient of operand i is asked for."""
        return self._wanted[self._index(i)]

    # --- undoing promotion and broadcasting ----------------------------------------------------------------------------

    def sum_to(self, gradient: ir.Value, i: Which) -> ir.Value:
        """A gradient that has the sizes and dtype of what operand i was broadcast and promoted to, as that of operand i."""
        operand = self._operands[self._index(i)]
        if not self.same_shape(gradient, operand):
            gradient = self._sum_repeated(gradient, operand)
        return self.cast_like(gradient, operand)

    def _sum_repeated(self, gradient: ir.Value, operand: ir.Value) -> ir.Value:
        """The sum over what broadcasting repeated: over dims where it is known which they are, else the run looks at the sizes."""
        of, to = self.tensor(gradient).shape, self.tensor(operand).shape
        if of is not None and to is not None and len(of) < len(to) and all(n == 1 for n in to[: len(to) - len(of)]):
            for _ in range(len(to) - len(of)):  # dims of size 1 led what was stored
                gradient, of = self.call("aten.unsqueeze", gradient, 0), (1, *of)
        leading = -1 if of is None or to is None else len(of) - len(to)
        if of is None or to is None or leading < 0 or not self.is_certain((*of, *to)) or any(
            w not in (1, n) for w, n in zip(to, of[leading:], strict=True)
        ):
            return self.call("aten._grad_sum_to_size", gradient, self.size(operand))
        if leading:
            gradient = self.call("aten.sum.dim_IntList", gradient, list(range(leading)), False, None)
        repeated = [d for d, (w, n) in enumerate(zip(to, of[leading:], strict=True)) if w != n]
        return self.call("aten.sum.dim_IntList", gradient, repeated, True, None) if repeated else gradient

    def cast_to(self, gradient: ir.Value, i: Which) -> ir.Value:
        """A gradient that has the sizes of operand i, in its dtype."""
        return self.cast_like(gradient, self._operands[self._index(i)])

    def promoted(self, i: Which) -> ir.Value:
        """Operand i in the dtype of the (first) result, or of its gradient where that is not known: a gradient is of floats, also where a
        path makes the result of ints, which have no product with it and raise for a divisor of 0. Counts as read."""
        known, grad = self.tensor(self._results[0]).dtype is not None, self.grads[0]
        return self.cast_like(self.operands[self._index(i)], self._results[0] if known or not isinstance(grad, ir.Value) else grad)

    # --- sizes and constants of the forward op, which need not be captured ---------------------------------------------

    def like(self, i: Which) -> ir.Value:
        """Operand i, to be asked for its sizes, rank or dtype alone: does not count as read."""
        return self._operands[self._index(i)]

    def operand_size(self, i: Which) -> ir.Value:
        """The sizes of operand i."""
        return self.size(self._operands[self._index(i)])

    def zeros(self, i: Which) -> ir.Value:
        """Zeros of the sizes and dtype of operand i."""
        return self.zeros_like(self._operands[self._index(i)])

    def rank(self, i: Which) -> int | None:
        """The rank of operand i, where it is known, by its type or because the front end says so."""
        known = self.tensor(self._operands[self._index(i)]).rank
        if known is None and RANKS in self.op.attributes:
            return int(list(ir.DenseI64ArrayAttr(self.op.attributes[RANKS]))[self._index(i)])
        return known

    def is_none(self, i: Which) -> bool:
        """Whether operand i was left out."""
        return is_none(self._operands[self._index(i)])

    def is_list(self, i: Which) -> bool:
        """Whether operand i is a list, whatever it was cast to."""
        return str(under_casts(self._operands[self._index(i)]).type).startswith("!torch.list")

    def is_tensor(self, i: Which) -> bool:
        """Whether operand i is a tensor."""
        return torch_types.is_tensor(self._operands[self._index(i)].type)

    # --- the same kind of op -------------------------------------------------------------------------------------------

    @property
    def numpy(self) -> bool:
        """Whether the op follows NumPy's rules."""
        return PROMOTION in self.op.attributes

    @property
    def is_of_inplace_op(self) -> bool:
        """Whether the op writes what an in-place op gives, which raises unless that has the written tensor's shape."""
        return INPLACE in self.op.attributes and ir.StringAttr(self.op.attributes[INPLACE]).value != "out"

    def alike(self, name: str, *operands: Operand) -> ir.Value:
        """An op of one tensor that follows the rules that the differentiated op does, NumPy's or torch's."""
        return self.call(name, *operands, numpy=self.numpy)

    # --- constants among the operands ----------------------------------------------------------------------------------

    def given(self, i: Which) -> bool:
        """Whether the op has an operand i, and it is not None."""
        i = self._index(i)
        return i < len(self._operands) and not is_none(self._operands[i])

    def text(self, i: Which) -> str:
        """A string among the operands. Raises NoGradient where it is not a constant."""
        found = str_of(under_casts(self._operands[self._index(i)]))
        if found is None:
            raise NoGradient(f"its operand '{self._name(i)}' is not a constant: write it as a string")
        return found

    def numbers(self, i: Which) -> list[int | ir.Value]:
        """The integers of a list of known length among the operands: constants, or values, which then count as read. Raises NoGradient."""
        found = items_of(under_casts(self._operands[self._index(i)]))
        if found is None:
            return list(self.ints(i) or [])
        each = [int_of(under_casts(v)) for v in found]
        if None in each:
            self.operands[self._index(i)]
        return [v if n is None else n for v, n in zip(found, each, strict=True)]

    def number(self, i: Which) -> int | float | bool | ir.Value:
        """A number among the operands: itself where it is a constant, else its value, which then counts as read."""
        value = under_casts(self._operands[self._index(i)])
        for found in (int_of(value), float_of(value), bool_of(value)):
            if found is not None:
                return found
        return self.operands[self._index(i)]

    def is_known(self, i: Which) -> bool:
        """Whether a number among the operands is a constant."""
        return not isinstance(self.number(i), ir.Value)

    def constant(self, i: Which) -> int | float | bool:
        """A number among the operands that must be a constant. Raises NoGradient."""
        found = self.number(i)
        if isinstance(found, ir.Value):
            raise NoGradient(f"its operand '{self._name(i)}' is not a constant: write it as a number")
        return found

    def known_operand(self, i: Which) -> Value | None:
        """What is known of an operand that is no tensor: of a constant all."""
        value = under_casts(self._operands[self._index(i)])
        text, numbers = str_of(value), ints_of(value)
        if text is not None:
            return Str(text)
        return self.inference.values.get(value) if numbers is None else List(tuple(map(Int, numbers)))

    def known_ints(self, i: Which) -> list[int] | None:
        """A list of integers among the operands; None where it was left out or is not constant."""
        value = under_casts(self._operands[self._index(i)])
        found = ints_of(value)
        known = self.inference.values.get(value)
        if found is None and isinstance(known, List) and known.items is not None:
            items = [item.value if isinstance(item, Int) else None for item in known.items]
            found = [n for n in items if isinstance(n, int)] if all(isinstance(n, int) for n in items) else None
        return found

    def ints(self, i: Which) -> list[int] | None:
        """A list of integers among the operands; None where it was left out. Raises NoGradient where it is not constant."""
        found = self.known_ints(i)
        if found is None and not is_none(under_casts(self._operands[self._index(i)])):
            raise NoGradient(f"its operand '{self._name(i)}' is not a list of constants: write it as numbers")
        return found

    def floats(self, i: Which) -> list[float] | None:
        """A list of floats among the operands; None where it was left out. Raises NoGradient where it is not constant."""
        if is_none(under_casts(self._operands[self._index(i)])):
            return None
        found = [float_of(under_casts(v)) for v in items_of(under_casts(self._operands[self._index(i)])) or ()]
        if not found or None in found:
            raise NoGradient(f"its operand '{self._name(i)}' is not a list of constants: write it as numbers")
        return found  # type: ignore[return-value]  # none is None

    @staticmethod
    def written_items(value: ir.Value) -> list[ir.Value] | None:
        """The items of a list that is written down; None of another."""
        return items_of(under_casts(value))

    def has_items(self, i: Which) -> bool:
        """Whether the items of a list among the operands are known."""
        return items_of(under_casts(self._operands[self._index(i)])) is not None

    def items(self, i: Which) -> list[ir.Value]:
        """The tensors of a list among the operands; what is read of them counts as a capture of it. Raises NoGradient."""
        found = items_of(under_casts(self._operands[self._index(i)]))
        if found is None:
            what = self._name(i)
            raise NoGradient(f"the number of tensors in its operand '{what}' is not known: make the list where it is used")
        return [under_casts(v) for v in found]


def _present(value: ir.Value) -> ir.Value:
    """A tensor that is handed over where there may be none, as the tensor that it is: rules compute with it."""
    under = under_casts(value)
    return under if not torch_types.is_tensor(value.type) and torch_types.is_tensor(under.type) else value
