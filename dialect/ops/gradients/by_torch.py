"""Gradients of ops that are left to PyTorch: its autograd computes them, in an op of its own that tier 0 runs between native regions.

    %y = torch.aten.linalg_inv %x       has       %dx = torch.operator "vjp0n0x1.aten.linalg_inv"(%dy, %x)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tierup.dialect import optable
from tierup.dialect.facts.values import List, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients import lists
from tierup.dialect.ops.gradients.core import Backward, Gradients, NoGradient, Rule
from tierup.dialect.optable.core import Infer, Kind, Op
from tierup.dialect.optable.formulas import FORMULAS
from tierup.dialect.optable.kernels.by_torch import operand_names, spelled
from tierup.dialect.optable.kernels.by_torch_vjp import Wanted, name_of
from tierup.dialect.rewriting.core import bool_of, under_casts

_FLAT = frozenset({"aten.bernoulli", "aten.normal.Tensor_float", "aten.normal.Tensor_Tensor", "aten.normal.float_Tensor", "aten.poisson"})
"""Draws whose gradients PyTorch has, and they are zero."""


def rule_of(name: str) -> Rule | None:
    """None for an op that is not left to PyTorch, nor a formula whose gradient is, one that draws random numbers, and one that acts or
    writes."""
    if name in _FLAT:
        return Rule(name, (), (), lambda g: None)
    if name == "aten.native_dropout":
        return Rule(name, ("input", "p", "train"), ("result1",), _dropout)
    row, formula = optable.lookup(name), FORMULAS.get(name)
    is_ours = formula is None or not formula.is_row or formula.is_gradient
    if row is None or (is_ours and not row.kernel.startswith(("by_torch.", "by_torch_vjp."))) or row.random or row.acts or row.writes:
        return None
    return Rule(name, (), (), lambda g: _by_torch(g, name)) if row.differentiable else None


def _dropout(g: Backward) -> Gradients:
    """What was kept was scaled."""
    p, grad = g.constant("p"), g.grads[0]
    if not isinstance(grad, ir.Value):
        return None
    if bool_of(under_casts(g.like("train"))) is False:
        return grad
    return g.mul(grad, g.mul(g.cast_like(g.results[1], grad), 1 / (1 - p) if p != 1 else 0.0))


def _by_torch(g: Backward, name: str) -> Gradients:
    operands, wanted = g.operands[:], []
    for said, value in zip(operand_names(name) if name.startswith("aten.") else (), operands, strict=False):
        if said == "sparse" and bool_of(under_casts(value)) is not False:
            raise NoGradient("sparse=True makes one that is a sparse tensor")
    for i, value in enumerate(operands):
        count = 0 if torch_types.is_tensor(value.type) else lists.length(g, value) if lists.is_list(value) else None
        if g.wants(i) and count is None:
            raise NoGradient(f"operand {i}, a {value.type}, is known at run time only, so its gradient is PyTorch's to make")
        if g.wants(i) and count is not None:
            wanted.append((i, count))
    cotangents = [c for grad in g.grads for c in (grad if isinstance(grad, Sequence) else (grad,))]
    vjp = name_of(name, wanted, len(cotangents))
    optable.add_foreign(_row(vjp, wanted, len(cotangents)))
    types = ["!torch.vtensor" for _, count in wanted for _ in range(count or 1)]
    made = iter(g.several(vjp, *cotangents, *operands, types=types))
    found = {i: [next(made) for _ in range(count)] if count else next(made) for i, count in wanted}
    return tuple(found.get(i) for i in range(len(operands)))


def _as_operands(wanted: Wanted, results: int, ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
    """A gradient is as its operand, which come behind the cotangents of so many results."""
    found: list[Value] = []
    for i, count in wanted:
        operand = operands[results + i]
        items = operand.items if isinstance(operand, List) else (operand,)
        found += items if items is not None and len(items) == (count or 1) else [Tensor()] * (count or 1)
    made = tuple(Tensor(v.dtype, v.shape) if isinstance(v, Tensor) else Tensor() for v in found)
    return made[0] if len(made) == 1 else made


def _row(name: str, wanted: Wanted, results: int) -> Op:
    return Op(
        name, Kind.OTHER, f"by_torch_vjp.{spelled(name)}", partial(_as_operands, wanted, results),
        results=sum(count or 1 for _, count in wanted), native=False, raises=True, note="computed by PyTorch's autograd",
    )  # fmt: skip
