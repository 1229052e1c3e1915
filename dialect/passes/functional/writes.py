"""In-place ops as values: what the written tensor is afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, constant
from tierup.dialect.ir.structure import attributes_of
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.mlir import ir
from tierup.dialect.ops import inplace
from tierup.dialect.optable.core import Op, Promotion
from tierup.dialect.optable.written import INPLACE, WRITTEN_BY
from tierup.dialect.passes.core import PassFailure


def new_contents(op: ir.Operation, row: Op, operands: Sequence[ir.Value], ip: ir.InsertionPoint, is_part: bool) -> ir.Value:
    """The value of operand 0 after `op`: its functional twin, converted to operand 0's dtype and held to its shape and layout.
    `is_part`: operand 0 is a part of a tensor whose layout stays.

    The conversion is an `aten.copy` with the attribute `tierup.inplace`, which says whose rule allows it ("same_kind": NumPy's,
    "can_cast": torch's): where the in-place op raises, inference then raises at the copy.
    """
    if row.functional is None:
        raise PassFailure(op, "has no functional twin")
    whole = operands[0]
    if INPLACE in op.attributes:
        return copied(whole, operands[1], op, ip, {INPLACE: op.attributes[INPLACE]})
    if not inplace.converts(row):
        made = _make(row.functional, operands, whole.type, attributes_of(op), op, ip)
        promotion = Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH
        return made if is_part or inplace.twin_keeps_layout(row, promotion) else copied(whole, made, op, ip)
    unknown = ir.Type.parse("!torch.vtensor", op.context)  # the twin promotes: its dtype and shape may differ from the written tensor's
    attributes = attributes_of(op)
    if PROMOTION in op.attributes and row.numpy and sum(is_tensor(v.type) for v in operands) > 1:
        attributes[WRITTEN_BY] = ir.StringAttr.get(row.name, op.context)
    result = _make(row.functional, operands, unknown, attributes, op, ip)
    rule = "same_kind" if PROMOTION in op.attributes else "can_cast"
    return copied(whole, result, op, ip, {INPLACE: ir.StringAttr.get(rule, op.context)})


def copied(
    whole: ir.Value, source: ir.Value, op: ir.Operation, ip: ir.InsertionPoint, attributes: dict[str, ir.Attribute] | None = None
) -> ir.Value:
    """`source` with the dtype and shape of `whole`."""
    return _make("aten.copy", [whole, source, constant(False, ip, op.location)], whole.type, attributes or {}, op, ip)


def _make(
    name: str, operands: Sequence[ir.Value], type_: ir.Type, attributes: dict[str, ir.Attribute], op: ir.Operation, ip: ir.InsertionPoint
) -> ir.Value:
    spelled, marks = torch_types.spelled(op.context, name, attributes)
    return ir.Operation.create(spelled, [type_], operands, marks, loc=op.location, ip=ip).results[0]
