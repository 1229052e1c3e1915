"""tierup-cse: one computation instead of two equal ones, where nobody can tell the results apart.

    %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    %1 = torch.prim.If %c -> (!torch.vtensor) {
      %2 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor        // equal to %0, which dominates it
      torch.prim.If.yield %2 : !torch.vtensor
    } else { ... }

becomes

    %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    %1 = torch.prim.If %c -> (!torch.vtensor) {
      torch.prim.If.yield %0 : !torch.vtensor
    } else { ... }

Ops are equal by name, operands, attributes (`tierup.promotion` is one: NumPy's addition is not torch's) and result types; constants so by
type and bits: 1, 1.0, True and "1" are four, and -0.0 is not 0.0. One pass from top to bottom: a region sees what stands before it around
it, branches do not see each other. Of two equal ops that may raise the first raises for both. Left alone are ops that write, draw random
numbers or have other effects, profiles, guards and checks (see tierup-remove-redundant-profiles and the guard passes), calls, ops with
regions, and every op that touches memory with a writer anywhere in the function. Results that the caller could tell apart stay apart:
two outputs never become one object.

MLIR's `cse` does this on value tensors, by the effects in language/effects.py. It knows no identity: it makes two outputs one, and one
tensor of many that a loop put into a list; it looks at no writer behind a branch, and it merges nothing that may raise.
"""

from __future__ import annotations

from collections import ChainMap

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.points_to import BODIES
from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register

# Known ops without a row that compute their result from their operands alone.
_PURE = frozenset({
    "torch.derefine", "torch.prim.unchecked_cast", "torch.tensor_static_info_cast", "torch.copy.to_tensor", "torch.copy.to_vtensor",
    "tierup.all_nonzero", "tierup.all_zero", "tierup.any_nonzero", "tierup.autograd_add", "tierup.autograd_zero", "tierup.constant_chunk",
    "tierup.batched_mm_tree", "tierup.batched_mm_side", "tierup.if_then_else",
})  # fmt: skip

Key = tuple[object, ...]
Table = ChainMap[Key, list[ir.Value]]  # innermost scope first


@register
class CommonSubexpressionElimination(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        merge_equal_ops(func, AliasAnalysis(func))


def merge_equal_ops(func: ir.Operation, aliases: AliasAnalysis) -> None:
    """Merge the equal ops of one function. `aliases` is that function's, and stays valid."""
    _block(func.regions[0].blocks[0], ChainMap(), aliases)


def _block(block: ir.Block, table: Table, aliases: AliasAnalysis) -> None:
    for op in ops_of(block):
        isolated = op.name in BODIES  # sees its arguments only
        for inner in (b for b in blocks(op)):
            _block(inner, ChainMap() if isolated else table.new_child(), aliases)
        if not _is_candidate(op, aliases):
            continue
        key = _key(op)
        known = table.get(key)
        if known is None or not _replace(op, known, aliases):  # of two that must stay apart the first serves the next, in one scope
            table.maps[0].setdefault(key, list(op.results))


def _is_candidate(op: ir.Operation, aliases: AliasAnalysis) -> bool:
    """Whether the op gives equal results for equal operands and does nothing else."""
    row = row_of(op)
    known = op.name in _PURE or op.name.startswith("torch.constant.") or (row is not None and row.results != 0)
    if not known or not len(op.results) or (row is not None and (row.random or row.writes)):
        return False
    return not aliases.touches_written(op)


def _key(op: ir.Operation) -> Key:
    attributes = op.attributes
    return (
        op.name, tuple(op.operands), tuple(sorted((name, attributes[name]) for name in attributes)) if len(attributes) else (),
        tuple(r.type for r in op.results),
    )  # fmt: skip


def _replace(op: ir.Operation, known: list[ir.Value], aliases: AliasAnalysis) -> bool:
    """Put the known results in place of the op's; it goes when that was safe for all."""
    replaced = [aliases.replace(old, new) for old, new in zip(op.results, known, strict=True)]
    if all(replaced):
        op.erase()
    return all(replaced)
