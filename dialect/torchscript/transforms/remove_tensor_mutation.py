"""tierup-remove-tensor-mutation: in-place ops on tensors that nobody else has seen yet become functional ones.

    %1 = torch.aten.mul.Tensor %x, %y : !torch.tensor, !torch.tensor -> !torch.tensor
    %2 = torch.aten.relu_ %1 : !torch.tensor -> !torch.tensor
    return %1 : !torch.tensor

becomes

    %1 = torch.aten.mul.Tensor %x, %y : !torch.tensor, !torch.tensor -> !torch.tensor
    %2 = torch.aten.relu %1 : !torch.tensor -> !torch.tensor
    return %2 : !torch.tensor

The tensor is made by an op that gives new memory, in the same block, or is the result of a branch each of whose arms makes one for it
alone. Before the write only ops that keep no part of it have used it; what uses it later uses the new value. The functional twin
must give the dtype and shape that the tensor has, or the in-place op could raise where it does not: types must prove that, unless
it holds for all of them. Random in-place ops and those without a twin stay.

This is TorchScript's rewrite, one op at a time: what it cannot remove stays, in a graph that is still mutable. `tierup-functionalize`
turns all writes of a function into values, through views, arguments and control flow, or fails; it comes before profiling, this pass
may come anywhere in a mutable graph. Ours goes further than the ancestor in one thing: ops that read the tensor before the write do not
keep it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference.infer import InferenceError, infer_function, promotion
from tierup.dialect.facts.values import Bool, Float, Int, NoneValue, Number, Str, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import attributes_of, blocks, maker
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.ops.inplace import converts, writes_by_index
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import replace
from tierup.dialect.rewriting.regions import top_level

_MAX_RANK = 3  # for which a twin is tried when the tensor's type says nothing


@register
class RemoveTensorMutation(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        try:
            known = infer_function(func).values
        except InferenceError:  # it raises whenever it runs on such arguments: nothing can be proven of it
            known = {}
        _Walk(dict(known)).block_of(func)


class _Walk:
    def __init__(self, known: dict[ir.Value, Value]) -> None:
        self.known = known

    def block_of(self, op: ir.Operation) -> None:
        for block in blocks(op):
            for inner in ops_of(block):
                self.block_of(inner)
                row = row_of(inner)
                if row is not None and row.writes and row.functional is not None and not row.random:
                    self._inplace(inner, row)

    def _inplace(self, op: ir.Operation, row: Op) -> None:
        target = op.operands[0]
        if not _is_fresh(target, op) or not _is_unseen(target, op):
            return
        twin = optable.lookup(row.functional or "")
        if twin is None or (converts(row) and not self._gives_the_same(op, twin)):
            return
        if (not converts(row) or writes_by_index(row)) and sum(operand == target for operand in op.operands) > 1:
            return  # PyTorch refuses to read what is written by an index
        name, attributes = torch_types.spelled(op.context, twin.name, attributes_of(op))
        made = ir.Operation.create(
            name, [target.type], list(op.operands), attributes, loc=op.location, ip=ir.InsertionPoint(op)
        ).operation
        new = made.results[0]
        if target in self.known:
            self.known[new] = self.known[target]
        for use in [u for u in target.uses if not _stands_before(u.owner.operation, made) and u.owner.operation != made]:
            use.owner.operation.operands[use.operand_number] = new
        self.known.pop(op.results[0], None)  # a value made later may take its address
        replace(op, [new])

    def _gives_the_same(self, op: ir.Operation, twin: Op) -> bool:
        """Whether the functional op gives operand 0's dtype and shape, for all that these types allow."""
        values = [self.known.get(v) or torch_types.value_of(v.type) for v in op.operands]
        target = values[0]
        if not isinstance(target, Tensor):
            return False
        if target.dtype is not None and target.shape is not None:
            return _same(twin, op, values)
        if not all(_is_number(v) for v in values[1:]):
            return False
        sizes = tuple(symbol(f"d{i}") for i in range(_MAX_RANK))
        kinds = dtypes.BY_MLIR.values() if target.dtype is None else [target.dtype]
        tried = itertools.product(kinds, range(_MAX_RANK + 1))
        return twin.kind is Kind.POINTWISE and all(_same(twin, op, [Tensor(d, sizes[:rank]), *values[1:]]) for d, rank in tried)


def _same(twin: Op, op: ir.Operation, values: Sequence[Value]) -> bool:
    answer = twin.answer(values, promotion(op))
    return answer is None or (answer[0] == (values[0],) and not any(tie.left != tie.right for tie in answer[1]))  # None: both raise


def _is_number(value: Value) -> bool:
    return isinstance(value, (Int, Float, Bool, Number, NoneValue, Str))


def _is_fresh(value: ir.Value, op: ir.Operation) -> bool:
    """Whether the value is new memory made in the op's block."""
    made = maker(value)
    if made is None or made.block != op.block:
        return False
    return _makes(made, list(made.results).index(value))


def _makes(op: ir.Operation, at: int) -> bool:
    if op.name == "torch.prim.If":
        return all(_is_given_up(region.blocks[0], at) for region in op.regions)
    if op.name in ("torch.tensor.literal", "torch.copy.to_tensor"):
        return True
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH and row.kind is not Kind.SCALAR


def _is_given_up(block: ir.Block, at: int) -> bool:
    """Whether an arm makes its result for nothing but to give it."""
    *_, last = [view.operation for view in block.operations]
    value = last.operands[at]
    made = maker(value)
    return made is not None and made.block == block and len(list(value.uses)) == 1 and _makes(made, list(made.results).index(value))


def _is_unseen(value: ir.Value, op: ir.Operation) -> bool:
    """Whether all that uses the value before the op only reads it."""
    for use in value.uses:
        user = use.owner.operation
        if user != op and (top_level(user, op.block) is None or (_stands_before(user, op) and not _only_reads(user))):
            return False
    return True


def _stands_before(user: ir.Operation, op: ir.Operation) -> bool:
    top = top_level(user, op.block)
    return top is not None and top != op and top.is_before_in_block(op)


def _only_reads(op: ir.Operation) -> bool:
    row = row_of(op)
    if row is None or row.aliasing is not Aliasing.FRESH or row.results == 0:
        return False
    return row.kind is not Kind.SCALAR or all("tensor" not in str(r.type) for r in op.results)
