"""Formulas: of each the gradient of the ops that it is made of (dialect/optable/formulas). Operands are captured, and no result.

These ops are emitted again, and differentiated one by one. What of them only the value needs is swept away with all else that nobody uses;
what the forward run computed too, and kept in the same function, CSE finds.

A loss of classes whose rank is not known is taken apart as places x classes x places. That of a probability p is, as in PyTorch,
(p - target) / (p (1 - p)), whose denominator is bounded, where the formula's logarithms are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.core import Backward, Gradient, Gradients, NoGradient, Rule
from tierup.dialect.ops.gradients.emitter import Operand
from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas import FORMULAS
from tierup.dialect.optable.formulas.classes import likelihood, of_classes, of_probabilities
from tierup.dialect.optable.formulas.core import INT, TENSOR, Formula, Ops
from tierup.dialect.optable.operands import Unknown, plain
from tierup.dialect.optable.rows import row_of

Compute = Callable[["_Graph"], Any]


class _Graph(Ops[ir.Value]):
    """Emits through a rule's helpers and notes what; the forward run has checked sizes and values. What follows from `inputs`, tensors,
    may have a gradient."""

    def __init__(self, g: Backward, inputs: Sequence[ir.Value]) -> None:
        self._g, self._inputs = g, inputs
        self._active = dict.fromkeys(inputs, True)
        self._ops: list[ir.Operation] = []

    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> ir.Value:
        made = self._g.call(name, *map(self._operand, operands), type_=type_)
        self._note([made])
        return made

    def several(self, name: str, count: int, *operands: Any) -> Sequence[ir.Value]:
        made = self._g.several(name, *map(self._operand, operands), types=[TENSOR] * count)
        self._note(made)
        return made

    def _operand(self, operand: Operand) -> Operand:
        """A list of tensors is made of them by an op of its own, through which gradients go."""
        if not isinstance(operand, (list, tuple)) or not any(self._active.get(v, False) for v in operand if isinstance(v, ir.Value)):
            return operand
        made = self._g.value(operand)
        self._ops.append(made.owner.operation)
        self._active[made] = True
        return made

    def _note(self, made: Sequence[ir.Value]) -> None:
        op = made[0].owner.operation
        self._ops.append(op)
        row = row_of(op)
        follows = row is not None and row.differentiable and any(self._active.get(v, False) for v in op.operands)
        for value in made:
            dtype = self._g.tensor(value).dtype
            self._active[value] = follows and torch_types.is_tensor(value.type) and (dtype is None or dtype.is_float)

    def known(self, x: ir.Value) -> Tensor:
        return self._g.tensor(x)

    def unknown(self) -> Exception:
        return NoGradient("the rank of its input is not known")

    def _is_tensor(self, x: Any) -> bool:
        return isinstance(x, ir.Value) and torch_types.is_tensor(x.type)

    def no_gradient_of(self, x: ir.Value, operand: str) -> None:
        if self._active.get(x, False):
            self._g.leave_to_pytorch(f"PyTorch refuses one of its operand '{operand}': pass it detached")

    def equal(self, x: ir.Value, i: int, y: ir.Value, j: int, what: str) -> None:
        pass

    def gradients(self, results: Sequence[ir.Value]) -> list[Gradient]:
        """Of the inputs, given the rule's of these results."""
        reverse = self._g.walk(self._g, self._active)
        for result, grad in zip(results, self._g.grads, strict=True):
            reverse.give(result, grad)
        reverse.run(self._ops)
        return [reverse.take(v) for v in self._inputs]


def _tensors(g: Backward, formula: Formula) -> list[Any]:
    """By operand: a tensor, a list of tensors, None for one that is left out or none."""
    return [
        None if i in formula.plain or g.is_none(i) else g.items(i) if str(g.operands[i].type).startswith("!torch.list") else g.operands[i]
        for i in range(len(formula.operands))
    ]


def _numbers(g: Backward, formula: Formula) -> list[Any]:
    """What is no tensor among the operands, as Python has it."""
    return [_plain(g, i) for i in sorted(formula.plain)]


def _plain(g: Backward, i: int) -> Any:
    if g.is_none(i):
        return None
    known = g.known_operand(i)
    try:
        return g.constant(i) if known is None else plain(known)
    except Unknown:
        return g.constant(i)


def _of_operands(g: Backward, tensors: Sequence[Any], compute: Compute, skipped: int | None = None) -> list[Gradient]:
    """One gradient per tensor operand; none of one that wants none, or is skipped."""
    wanted = [i for i, x in enumerate(tensors) if x is not None and g.wants(i) and i != skipped]
    given = [x if isinstance(x, list) else [x] for x in (tensors[i] for i in wanted)]
    try:
        graph = _Graph(g, [x for items in given for x in items])
        made = compute(graph)
        found = iter(graph.gradients(made if isinstance(made, tuple) else (made,)))
    except (ShapeError, IndexError, TypeError) as e:
        raise NoGradient(f"the program raises: {e}") from e
    each: list[Gradient] = [None] * len(tensors)
    for i, items in zip(wanted, given, strict=True):
        gradients = [next(found) for _ in items]
        each[i] = gradients if isinstance(tensors[i], list) else gradients[0]
    return each


def _composed(formula: Formula) -> Callable[[Backward], Gradients]:
    def rule(g: Backward) -> Gradients:
        tensors, numbers = _tensors(g, formula), iter(_numbers(g, formula))
        operands = [next(numbers) if i in formula.plain else x for i, x in enumerate(tensors)]
        return tuple(_of_operands(g, tensors, lambda o: formula.compute(o, *operands)))

    return rule


def _binary_cross_entropy(formula: Formula) -> Callable[[Backward], Gradients]:
    def rule(g: Backward) -> Gradients:
        tensors, numbers = _tensors(g, formula), _numbers(g, formula)
        x, target, weight = tensors[:3]
        assert x is not None and target is not None
        each = _of_operands(g, tensors, lambda o: formula.compute(o, *tensors[:3], *numbers), skipped=0)
        if g.wants(0):
            slope = g.div(g.sub(x, target), g.call("aten.clamp_min", g.mul(g.rsub(1, x), x), 1e-12))
            share = g.div(g.grad, g.call("aten.numel", x, type_=INT)) if numbers[0] == 1 else g.grad
            each[0] = g.cast_to(g.mul(slope if weight is None else g.mul(slope, weight), share), 0)
        return tuple(each)

    return rule


# --- classes -----------------------------------------------------------------------------------------------------------


def _likelihood(formula: Formula) -> Callable[[Backward], Gradients]:
    def rule(g: Backward) -> Gradients:
        tensors, (reduction, ignored) = _tensors(g, formula), _numbers(g, formula)
        if g.rank(0) is not None and g.rank(1) is not None:
            return tuple(_of_operands(g, tensors, lambda o: formula.compute(o, *tensors[:3], reduction, ignored)))

        def compute(o: _Graph) -> Any:
            sizes = _normal_sizes(o, tensors[0])
            x, target = _reshaped(o, tensors[0], sizes), _reshaped(o, tensors[1], [sizes[0], sizes[2]])
            found, total = likelihood(o, x, target, tensors[2], reduction, ignored, 1)
            found = _like_result(o, g, found, reduction)
            return found if formula.results == 1 else (found, o.call("aten.type_as", total, x))

        return tuple(_of_operands(g, tensors, compute))

    return rule


def _cross_entropy(formula: Formula) -> Callable[[Backward], Gradients]:
    def rule(g: Backward) -> Gradients:
        tensors, (reduction, ignored, smoothing) = _tensors(g, formula), _numbers(g, formula)
        if g.rank(0) is not None and g.rank(1) is not None:
            return tuple(_of_operands(g, tensors, lambda o: formula.compute(o, *tensors[:3], reduction, ignored, smoothing)))

        def classes(o: _Graph) -> Any:
            sizes = _normal_sizes(o, tensors[0])
            x, target = _reshaped(o, tensors[0], sizes), _reshaped(o, tensors[1], [sizes[0], sizes[2]])
            return _like_result(o, g, of_classes(o, x, target, tensors[2], reduction, ignored, smoothing, 1, 1), reduction)

        def probabilities(o: _Graph) -> Any:
            sizes = _normal_sizes(o, tensors[0])
            x, target = _reshaped(o, tensors[0], sizes), _reshaped(o, tensors[1], sizes)
            return _like_result(o, g, of_probabilities(o, x, target, tensors[2], reduction, smoothing, 1, 1), reduction)

        dtype = g.tensor(g.like(1)).dtype
        if dtype is not None:
            return tuple(_of_operands(g, tensors, probabilities if dtype.is_float else classes))
        is_float = g.call("aten.is_floating_point", g.like(1), type_="!torch.bool")

        def arm(i: int, compute: Compute) -> Callable[[], ir.Value]:
            def gradient() -> ir.Value:
                found = _of_operands(g, tensors, compute)[i]
                return found if isinstance(found, ir.Value) else g.zeros(i)

            return gradient

        wanted = [x is not None and g.wants(i) for i, x in enumerate(tensors)]
        return tuple(g.choose(is_float, arm(i, probabilities), arm(i, classes)) if wanted[i] else None for i in range(len(tensors)))

    return rule


def _normal_sizes(o: _Graph, x: Any) -> list[Any]:
    """Places, classes, places: of a vector 1 and 1; of no elements 0 behind the classes."""
    vector = o.call("aten.Int.bool", o.call("aten.eq.int", o.call("aten.dim", x, type_=INT), 1, type_="!torch.bool"), type_=INT)
    other = o.call("aten.sub.int", 1, vector, type_=INT)
    classes = o.call("aten.size.int", x, other, type_=INT)
    first = o.call("aten.add.int", vector, o.call("aten.mul.int", other, o.size(x, 0), type_=INT), type_=INT)
    rows = o.call("prim.max.int", o.call("aten.mul.int", first, classes, type_=INT), 1, type_=INT)
    return [first, classes, o.call("aten.floordiv.int", o.call("aten.numel", x, type_=INT), rows, type_=INT)]


def _reshaped(o: _Graph, x: Any, sizes: list[Any]) -> ir.Value:
    return o.call("aten.reshape", x, sizes)


def _like_result(o: _Graph, g: Backward, found: ir.Value, reduction: int) -> ir.Value:
    """Places as the result has them."""
    return o.call("aten.reshape", found, g.size(g.grad)) if reduction == 0 and isinstance(g.grads[0], ir.Value) else found


_SPECIAL = {
    "aten.binary_cross_entropy": _binary_cross_entropy,
    "aten.cross_entropy_loss": _cross_entropy,
    **{f"aten.{name}": _likelihood for name in ("nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward")},
}


def rules() -> Iterator[Rule]:
    """Of all formulas whose gradient is that of the ops that they are made of."""
    for each in FORMULAS.values():
        if each.is_gradient:
            captures = tuple(p for i, p in enumerate(each.operands) if i not in each.plain)
            yield Rule(each.name, each.operands, captures, _SPECIAL.get(each.name, _composed)(each))
