"""tierup-expand-to-torch: ops of the tierup dialect that compute become torch ops, which have native code.

    %0 = "tierup.if_then_else"(%c, %n, %m) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
    %1:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = 1 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
    %2 = "tierup.batched_mm_tree"(%a, %c, %b, %d) : ...
    %3:2 = "tierup.batched_mm_side"(%w, %x, %y) {side = "left"} : ...

become

    %0 = torch.prim.If %c -> (!torch.int) { torch.prim.If.yield %n : !torch.int } else { torch.prim.If.yield %m : !torch.int }
    %l = torch.aten.chunk %x, %int2, %int1 : ...
    %1:2 = torch.prim.ListUnpack %l : ...
    %p = torch.aten.mm %a, %b : ...
    %q = torch.aten.mm %c, %d : ...
    %2 = torch.aten.add.Tensor %p, %q, %int1 : ...
    %3 = torch.aten.mm %w, %x : ...
    %4 = torch.aten.mm %w, %y : ...

The choice, the views, the products and the order in which they are added are the same; so is what raises. Every compile begins with it:
a batch saves tier 0 calls, while native code has none to save. Types say of products what their factors say, of sums what all products
have in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.dims import Dim, symbol
from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import if_, yield_
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting import regions
from tierup.dialect.rewriting.core import Rule, create, number, rewrite


@register
class ExpandToTorch(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        if rewrite(func, _RULES):
            func.attributes[STALE] = ir.UnitAttr.get(func.context)


def _if(op: ir.Operation) -> Sequence[ir.Value]:
    condition, *values = op.operands
    made, *arms = if_(condition, [op.results[0].type], op.location, ir.InsertionPoint(op))
    for block, value in zip(arms, values, strict=True):
        yield_(block, [value])
    return list(made.results)


def _chunks(op: ir.Operation) -> Sequence[ir.Value]:
    element = regions.plain_type(op.results[0].type)  # of a list all elements have one type
    chunks, dim = (number(op, ir.IntegerAttr(op.attributes[name]).value) for name in ("chunks", "dim"))
    list_type = ir.Type.parse(f"!torch.list<{str(element).removeprefix('!torch.')}>", op.context)
    whole = create(op, "torch.aten.chunk", [op.operands[0], chunks, dim], list_type)
    unpacked = ir.Operation.create("torch.prim.ListUnpack", [element] * len(op.results), [whole], loc=op.location, ip=ir.InsertionPoint(op))
    return list(unpacked.operation.results)


def _tree(op: ir.Operation) -> Sequence[ir.Value]:
    matrices, result = list(op.operands), op.results[0].type
    half = len(matrices) // 2
    total, *others = [_product(op, a, b, result) for a, b in zip(matrices[:half], matrices[half:], strict=True)]
    for product in others:
        type_ = total.type if total.type == product.type else regions.plain_type(result)
        total = create(op, "torch.aten.add.Tensor", [total, product, number(op, 1)], type_)
    return [total]


def _side(op: ir.Operation) -> Sequence[ir.Value]:
    common, *others = op.operands
    left = ir.StringAttr(op.attributes["side"]).value == "left"
    pairs = [(common, other) if left else (other, common) for other in others]
    return [_product(op, a, b, r.type) for (a, b), r in zip(pairs, op.results, strict=True)]


def _product(op: ir.Operation, left: ir.Value, right: ir.Value, like: ir.Type) -> ir.Value:
    """The product of two matrices, of the type that theirs give; for anything else it raises."""
    (rows, left_dtype), (columns, right_dtype) = (torch_types.parse_tensor(str(v.type)) for v in (left, right))
    shape: tuple[Dim, ...] | None = None
    if rows is not None and columns is not None and len(rows) == len(columns) == 2:
        shape = tuple(symbol("unknown") if d is None else d for d in (rows[0], columns[1]))
    known = Tensor(left_dtype if left_dtype == right_dtype else None, shape)
    type_ = torch_types.tensor_type(known, value_semantics=torch_types.is_value_tensor(like), context=op.context)
    return create(op, "torch.aten.mm", [left, right], type_)


_RULES: dict[str, Rule] = {
    "tierup.if_then_else": _if,
    "tierup.constant_chunk": _chunks,
    "tierup.batched_mm_tree": _tree,
    "tierup.batched_mm_side": _side,
}
