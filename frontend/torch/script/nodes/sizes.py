"""Arithmetic of sizes in traced graphs, where ints are tensors of rank 0, as arithmetic of ints.

    %s = aten::size(%x, 2); %t = prim::NumToTensor(%s); %h = aten::floor_divide(%t, {4}); %n = aten::Int(%h)
becomes
    %n = torch.aten.floordiv.int %s, 4

so that what is known of a size is known of what is computed from it. Tensors that something writes to stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import optable
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import int_of, str_of
from tierup.frontend.torch.script.builder import Builder

_OPS = {"add": "add", "sub": "sub", "mul": "mul", "floor_divide": "floordiv", "remainder": "remainder"}


def folded(builder: Builder, name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """What an op on sizes gives, an int or a tensor made of one; None for an op on anything else."""
    if name == "aten.Int.Tensor":
        return _int_of_tensor(operands[0])
    op, _, overload = name.removeprefix("aten.").partition(".")
    if op == "div" and overload in ("Tensor_mode", "Scalar_mode") and str_of(operands[2]) == "floor":
        op, overload = "floor_divide", ""
    if overload not in ("", "Tensor", "Scalar"):
        return None
    if op not in _OPS or f"aten.{_OPS[op]}.int" not in optable.table():
        return None
    if op in ("add", "sub") and (len(operands) < 3 or int_of(operands[2]) != 1):
        return None
    first, second = _int_of_tensor(operands[0]), _int_of_tensor(operands[1])
    if first is None or (second is None and str(operands[1].type) != "!torch.int"):
        return None
    em = builder.em
    made = em.create(f"torch.aten.{_OPS[op]}.int", [first, second or operands[1]], [builder.type("int")]).results[0]
    return em.create("torch.prim.NumToTensor.Scalar", [made], [em.types.tensor]).results[0]


def _int_of_tensor(value: ir.Value) -> ir.Value | None:
    made = maker(value, "torch.prim.NumToTensor.Scalar")
    if made is None or str(made.operands[0].type) != "!torch.int" or not all(_only_reads(use.owner.operation) for use in value.uses):
        return None
    return made.operands[0]


def _only_reads(op: ir.Operation) -> bool:
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH and not row.acts
