"""tierup-remove-expands: an implicit expand in front of an op that broadcasts anyway goes.

    %s = torch.prim.ListConstruct %int2, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
    %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
    %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>

becomes

    %1 = torch.aten.mul.Tensor %x, %b : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[2,4],f32>

Implicit (the third operand is true) are those that tracing and shape analysis wrote down; a user's own stay. Only uses go for which
inference proves that dtype and shape of the result stay what they are: two expanded operands do not both lose it, and a tensor of
rank 0 keeps it where that decides the dtype. The expand itself goes when nobody uses it and it is sure not to raise.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import Inference, promotion
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ir.structure import is_used
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind, Tie
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import bool_of, erase
from tierup.dialect.rewriting.typed import infer_or_remark

EXPAND = "torch.aten.expand"


@register
class RemoveExpands(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        found = [op for op in walk(func) if op.name == EXPAND and bool_of(op.operands[2]) is True]
        inference = infer_or_remark(func) if found else None
        if inference is None:
            return
        for op in found:
            for use in list(op.results[0].uses):
                user, index = use.owner.operation, use.operand_number
                if _broadcasts_as_well(user, index, op.operands[0], inference):
                    user.operands[index] = op.operands[0]
        for op in found:
            if not is_used(op.results[0]) and _cannot_raise(op, inference):
                erase(op)


def _broadcasts_as_well(user: ir.Operation, index: int, source: ir.Value, inference: Inference) -> bool:
    row = row_of(user)
    if row is None or row.kind is not Kind.POINTWISE or (row.writes and index == 0) or source not in inference.values:
        return False
    if any(v not in inference.values for v in (*user.operands, *user.results)):
        return False
    operands = [inference[v] for v in user.operands]
    before = _result(user, operands)
    operands[index] = inference[source]
    after = _result(user, operands)
    return before is not None and after is not None and before[0] == after[0] and set(after[1]) <= set(before[1])


def _result(op: ir.Operation, operands: list[Value]) -> tuple[Tensor, list[Tie]] | None:
    """What the row says of a result of known dtype and shape, and which sizes it needs equal."""
    row = row_of(op)
    assert row is not None
    (found, *_), ties = row.answer(operands, promotion(op)) or ((None,), [])
    return (found, ties) if isinstance(found, Tensor) and found.dtype is not None and found.shape is not None else None


def _cannot_raise(op: ir.Operation, inference: Inference) -> bool:
    if any(v not in inference.values for v in op.operands):
        return False
    found = _result(op, [inference[v] for v in op.operands])
    return found is not None and not found[1]
