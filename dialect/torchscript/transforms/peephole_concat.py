"""tierup-peephole-concat: a concatenation of concatenations is one.

    %l = torch.prim.ListConstruct %a, %b : (!torch.vtensor<[2],f32>, !torch.vtensor<[3],f32>) -> !torch.list<vtensor>
    %0 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[5],f32>
    %m = torch.prim.ListConstruct %0, %c : (!torch.vtensor<[5],f32>, !torch.vtensor<[1],f32>) -> !torch.list<vtensor>
    %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[6],f32>

becomes

    %m = torch.prim.ListConstruct %a, %b, %c : (...) -> !torch.list<vtensor>
    %1 = torch.aten.cat %m, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[6],f32>

Only along one dim, and where the inner result has no other use. All ranks must be known and equal (torch skips empty tensors of rank 1,
so an error of the inner op could be lost), and the inner tensors have one dtype (converting twice may round twice). Nobody writes the
tensors or the lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.analysis.lazy_aliases import LazyAliases
from tierup.dialect.facts.inference.infer import promotion
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import LocalRewrites, create, erase, int_of, items_of, rewrite

_CAT = "torch.aten.cat"


@register
class PeepholeConcat(LocalRewrites):
    def apply(self, func: ir.Operation) -> bool:
        aliases, merged = LazyAliases(func), list[ir.Operation]()
        changed = rewrite(func, {"aten.cat": lambda op: _merged(op, aliases, merged)})
        for op in merged:  # what made them raise makes the op that took their operands raise
            erase(op)
        return changed


def _merged(op: ir.Operation, aliases: LazyAliases, merged: list[ir.Operation]) -> ir.Value | None:
    items, dim = items_of(op.operands[0]), int_of(op.operands[1])
    if items is None or dim is None or len(list(op.operands[0].uses)) != 1:
        return None
    rank = _rank(items)
    if rank is None or not -rank <= dim < rank:
        return None
    inners = [_inner(item, op, dim % rank, rank, aliases) for item in items]
    if all(inner is None for inner in inners):
        return None
    merged += [item.owner.operation for item, inner in zip(items, inners, strict=True) if inner is not None]
    flat = [value for item, inner in zip(items, inners, strict=True) for value in (inner or [item])]
    aliases.forget()
    list_ = create(op, "torch.prim.ListConstruct", flat, op.operands[0].type)
    return create(op, _CAT, [list_, op.operands[1]], op.results[0].type, like=op)


def _inner(item: ir.Value, outer: ir.Operation, dim: int, rank: int, aliases: LazyAliases) -> list[ir.Value] | None:
    """The operands of the concatenation that gives `item`, if they may stand in its place."""
    op = maker(item, _CAT)
    if op is None or len(list(item.uses)) != 1 or promotion(op) != promotion(outer):
        return None
    items, inner_dim = items_of(op.operands[0]), int_of(op.operands[1])
    if not items or inner_dim is None or not -rank <= inner_dim < rank or inner_dim % rank != dim or _rank(items) != rank:
        return None
    dtypes = {torch_types.parse_tensor(str(v.type))[1] for v in items}
    if len(dtypes) != 1 or None in dtypes or aliases.is_written(op.operands[0]) or aliases.are_written([item, *items]):
        return None
    return items


def _rank(items: Sequence[ir.Value]) -> int | None:
    """The rank of all tensors; None unless it is known, one and not 0."""
    sizes = [torch_types.parse_tensor(str(v.type))[0] for v in items]
    ranks = {None if s is None else len(s) for s in sizes}
    return ranks.pop() or None if len(ranks) == 1 else None


