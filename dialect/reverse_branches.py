"""Gradients through torch.prim.If: a second one on the same condition, whose arms compute the arm's values again and go back through them.

    %r = torch.prim.If %c -> (...) {                %d = torch.prim.If %c -> (...) {
      %0 = torch.aten.tanh %x                         %0 = torch.aten.tanh %x
      torch.prim.If.yield %0                          ... the gradient of %x from that of %r
    } else {                               and        torch.prim.If.yield %g
      torch.prim.If.yield %x                        } else {
    }                                                 torch.prim.If.yield %seed
                                                    }

What the arms pass back to values from outside are its results; where only one arm does, the other gives what was there before, or zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.contracts import walk
from tierup.dialect.gradients.core import Gradient
from tierup.dialect.mlir import ir
from tierup.dialect.passes import PassFailure
from tierup.dialect.reverse import Reverse, settle, sweep


def branch(reverse: Reverse, op: ir.Operation, found: Sequence[Gradient]) -> None:
    """The handler of torch.prim.If."""
    e = reverse.emitter
    draft = e.create("torch.prim.If", [], [op.operands[0]], regions=2)
    blocks = [region.blocks.append() for region in draft.regions]
    passed: list[dict[ir.Value, ir.Value]] = []
    for region, block in zip(op.regions, blocks, strict=True):
        with e.inside(block):
            passed.append(_arm(reverse, op, region.blocks[0], found))
    e.location = op.location
    values = list(dict.fromkeys(v for arm in passed for v in arm))
    before = {v: reverse.take(v) for v in values}
    for block, arm in zip(blocks, passed, strict=True):
        with e.inside(block):
            e.create("torch.prim.If.yield", [], [_total(reverse, v, before[v], arm.get(v)) for v in values])
        sweep(block, reverse)
    made = settle(draft, [op.operands[0]], [e.tensor_type] * len(values))
    for value, result in zip(values, made.results, strict=True):
        e.inference.values[result] = e.tensor(value)
        reverse.give(value, result)


def _arm(reverse: Reverse, op: ir.Operation, arm: ir.Block, found: Sequence[Gradient]) -> dict[ir.Value, ir.Value]:
    """Compute an arm again and go back through it; the gradients that it passes to values from outside."""
    inner = reverse.nested()
    *body, last = [view.operation for view in arm.operations]
    clones, twins = replay(reverse, body, {})
    for value, gradient in zip(last.operands, found, strict=True):
        inner.give(twins.get(value, value), gradient)
    inner.run(clones)
    return tensors(op, inner)


def tensors(op: ir.Operation, reverse: Reverse) -> dict[ir.Value, ir.Value]:
    """The gradients that a region passes on. Raises PassFailure for those of a list."""
    for gradient in reverse.grads.values():
        if not isinstance(gradient, ir.Value):
            raise PassFailure(op, "has no gradient: a list of tensors from outside is used in it; unpack the list before")
    return {value: gradient for value, gradient in reverse.grads.items() if isinstance(gradient, ir.Value)}


def _total(reverse: Reverse, value: ir.Value, before: Gradient, passed: ir.Value | None) -> ir.Value:
    assert before is None or isinstance(before, ir.Value)
    if before is None:
        return reverse.emitter.zeros_like(value) if passed is None else passed
    return before if passed is None else reverse.emitter.add(before, passed)


def replay(
    reverse: Reverse, body: Sequence[ir.Operation], twins: Mapping[ir.Value, ir.Value]
) -> tuple[list[ir.Operation], dict[ir.Value, ir.Value]]:
    """Copies of ops where the emitter is, with `twins` in place of some values; the copies, and what stands for each value now."""
    e, now = reverse.emitter, dict(twins)
    known, active = e.inference.values, reverse.active
    made = []
    for op in body:
        twin = op.clone(e.ip).operation
        for inner in (twin, *walk(twin)):
            for i, operand in enumerate(inner.operands):
                if operand in now:
                    inner.operands[i] = now[operand]
        now.update(zip(op.results, twin.results, strict=True))
        for old, new in zip(_values(op), _values(twin), strict=True):
            if old in known:
                known[new] = known[old]
            active[new] = active.get(old, False)
        made.append(twin)
    return made, now


def _values(op: ir.Operation) -> list[ir.Value]:
    """All values that an op defines, those inside it included, in order."""
    found = list(op.results)
    for region in op.regions:
        for block in region.blocks:
            found += block.arguments
            for view in block.operations:
                found += _values(view.operation)
    return found
