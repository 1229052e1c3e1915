"""tierup-canonicalize-outputs: results of branches and loops in the order in which they are first used.

    %0:3 = torch.prim.If %c -> (!torch.int, !torch.vtensor, !torch.vtensor) {
      torch.prim.If.yield %n, %x, %y : !torch.int, !torch.vtensor, !torch.vtensor
    } else {
      torch.prim.If.yield %m, %y, %x : !torch.int, !torch.vtensor, !torch.vtensor
    }
    %1 = torch.aten.add.Scalar %0#2, %0#0, %one : ...

becomes

    %0:3 = torch.prim.If %c -> (!torch.vtensor, !torch.int, !torch.vtensor) {
      torch.prim.If.yield %y, %n, %x : !torch.vtensor, !torch.int, !torch.vtensor
    } else {
      torch.prim.If.yield %x, %m, %y : !torch.vtensor, !torch.int, !torch.vtensor
    }
    %1 = torch.aten.add.Scalar %0#0, %0#1, %one : ...

so that programs that differ in that order alone print alike. (Values are numbered in the order of the text by MLIR's printer.) First use
is by the text, operands from left to right; results that nobody uses come last, in the order they had. What a loop carries follows its
results. Later ops go first, and an op before what is in it: what they read is then in its last order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.structure import blocks, last_of, made_again
from tierup.dialect.ir.walking import backwards, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register

_IF, _LOOP = "torch.prim.If", "torch.prim.Loop"
_PLACE = "tierup.place"  # of each op in the text, while the pass runs: the bindings hash an op by its operands, which change


@register
class CanonicalizeOutputs(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        if not any(op.name in (_IF, _LOOP) and len(op.results) > 1 for op in walk(func)):
            return
        i64 = ir.IntegerType.get_signless(64, func.context)
        for place, op in enumerate(walk(func)):
            op.attributes[_PLACE] = ir.IntegerAttr.get(i64, place)
        _order(func)
        for op in walk(func):
            del op.attributes[_PLACE]


def _order(op: ir.Operation) -> None:
    """Order the results of the ops inside `op`."""
    for block in blocks(op):
        for inner in backwards(block):
            if inner.name in (_IF, _LOOP):
                inner = _permuted(inner)
            _order(inner)


def _permuted(op: ir.Operation) -> ir.Operation:
    """The op with its results in order; the op itself when they are."""
    keys = [_first_use(result) for result in op.results]
    order = sorted(range(len(keys)), key=lambda i: (keys[i] is None, keys[i] or (i,)))
    if order == list(range(len(keys))):
        return op
    operands = list(op.operands)
    if op.name == _LOOP:
        operands[2:] = [operands[2 + i] for i in order]
    made = made_again(op, operands, [op.results[i].type for i in order])
    for block in blocks(made):
        terminator = last_of(block)
        first = 1 if op.name == _LOOP else 0  # a loop's begins with whether to go on
        values = list(terminator.operands)[first:]
        for at, i in enumerate(order):
            terminator.operands[first + at] = values[i]
        if op.name == _LOOP:
            _permute_arguments(block, order)
    for at, i in enumerate(order):
        op.results[i].replace_all_uses_with(made.results[at])
    op.erase()
    return made


def _permute_arguments(block: ir.Block, order: Sequence[int]) -> None:
    """What a loop's body is given, after the number of the round."""
    old = list(block.arguments)[1:]
    new = [block.add_argument(old[i].type, old[i].location) for i in order]
    for i, argument in zip(order, new, strict=True):
        old[i].replace_all_uses_with(argument)
    for _ in old:
        block.erase_argument(1)


def _first_use(value: ir.Value) -> tuple[int, ...] | None:
    """Where a value is read first: the place of the op, and which operand it is; None when nobody does."""
    uses = [(ir.IntegerAttr(use.owner.operation.attributes[_PLACE]).value, use.operand_number) for use in value.uses]
    return min(uses, default=None)
