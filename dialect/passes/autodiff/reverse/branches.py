"""Gradients through torch.prim.If: a second one on the same condition, whose arms compute the arm's values again and go back through them.

    %r = torch.prim.If %c -> (...) {                %d = torch.prim.If %c -> (...) {
      %0 = torch.aten.tanh %x                         %0 = torch.aten.tanh %x
      torch.prim.If.yield %0                          ... the gradient of %x from that of %r
    } else {                               and        torch.prim.If.yield %g
      torch.prim.If.yield %x                        } else {
    }                                                 torch.prim.If.yield %seed
                                                    }

What the arms pass back to values from outside are its results; where only one arm does, the other gives what was there before, or zeros,
and whether there is a gradient is the condition's to say.
Random numbers that the gradient needs would be others when they are drawn again: that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker, read_others, values_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import ListGradient, is_list
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.reverse.paths import When, either, negated
from tierup.dialect.passes.autodiff.reverse.reverse import PACKS, Found, Reverse, settle, sweep
from tierup.dialect.passes.core import PassFailure


def branch(reverse: Reverse, op: ir.Operation, found: Sequence[Found], when: Sequence[When]) -> None:
    """The handler of torch.prim.If."""
    e = reverse.emitter
    draft = e.create("torch.prim.If", [], [op.operands[0]], regions=2)
    blocks = [region.blocks.append() for region in draft.regions]
    inner = [_arm(reverse, op, region.blocks[0], block, found, when) for region, block in zip(op.regions, blocks, strict=True)]
    e.location = op.location
    values = list(dict.fromkeys(v for arm in inner for v in arm.grads))
    paths = {v: [arm.path(v).when for arm in inner] for v in values}
    told = [v for v in values if not all(isinstance(p, bool) for p in paths[v])]  # an arm's path decides
    earlier = {v: reverse.path(v).when if reverse.when is True else False for v in values}
    with e.before(draft):
        before = {v: reverse.take(v) if reverse.when is True else None for v in values}
    for k, (block, arm) in enumerate(zip(blocks, inner, strict=True)):
        with e.inside(block):
            given = [reverse.typed(v, _total(reverse, v, before[v], arm.take(v))) for v in values]
            e.create("torch.prim.If.yield", [], [*given, *(e.value(paths[v][k]) for v in told)])
        sweep(block)
        refuse_draws(block)
    flag = ir.Type.parse("!torch.bool", e.context)
    made = settle(draft, [op.operands[0]], [*map(reverse.type_of, values), *[flag] * len(told)])
    flags = dict(zip(told, list(made.results)[len(values) :], strict=True))
    taken: dict[tuple[When, ...], When] = {(True, True): True, (True, False): _condition(e, op), (False, True): negated(e, op.operands[0])}
    for value, result in zip(values, made.results, strict=False):
        e.inference.values[result] = e.known(value)
        is_list, when_ = isinstance(before[value], ListGradient), flags.get(value) or taken[tuple(paths[value])]
        reverse.give(value, result, when_ if is_list else either(e, earlier[value], when_), zeros=True)
        if is_list:
            reverse.give(value, before[value], earlier[value], zeros=True)


def _arm(reverse: Reverse, op: ir.Operation, arm: ir.Block, block: ir.Block, found: Sequence[Found], when: Sequence[When]) -> Reverse:
    """Compute an arm again in a block and go back through it; what holds the gradients that it passes to values from outside."""
    inner = reverse.nested()
    *body, last = [view.operation for view in arm.operations]
    with reverse.emitter.inside(block):
        clones, twins = replay(reverse, body, {})
        for value, gradient, there in zip(last.operands, found, when, strict=True):
            inner.give(twins.get(value, value), gradient, there, zeros=True)
        inner.run(clones)
        passed_on(op, inner)
    return inner


def _condition(e: Emitter, op: ir.Operation) -> ir.Value:
    """The condition of a branch, as what is noted may be: a loop that gives it may be made again, with other results."""
    value = op.operands[0]
    return value if maker(value, "torch.prim.Loop") is None else e.call("aten.__and__.bool", value, True, type_="!torch.bool")


def passed_on(op: ir.Operation, reverse: Reverse) -> dict[ir.Value, ir.Value | ListGradient]:
    """The gradients that a region passes on, those of a list that is written down outside to its items."""
    written = [v for v in reverse.grads if not torch_types.is_tensor(v.type) and maker(v) is not None]
    while written:
        value = written.pop()
        made = maker(value)
        if made is not None and made.name in PACKS:
            reverse.op(made)
            written += [v for v in made.operands if v in reverse.grads and not torch_types.is_tensor(v.type)]
    for value in reverse.grads:
        if not torch_types.is_tensor(value.type) and not is_list(value):
            raise PassFailure(op, f"has no gradient: a {value.type} from outside is used in it; unpack it before")
    return reverse.grads


def _total(reverse: Reverse, value: ir.Value, before: Found, passed: Found) -> ir.Value:
    """Of a list what was there before is added later: a list of zeros is made for what is passed anyway."""
    if before is None or isinstance(before, ListGradient):
        return reverse.whole(value, passed)
    return before if passed is None else reverse.added(before, passed)


def replay(
    reverse: Reverse, body: Sequence[ir.Operation], twins: Mapping[ir.Value, ir.Value]
) -> tuple[list[ir.Operation], dict[ir.Value, ir.Value]]:
    """Copies of ops where the emitter is, with `twins` in place of some values; the copies, and what stands for each value now."""
    e, now = reverse.emitter, dict(twins)
    known, active = e.inference.values, reverse.active
    made = []
    for op in body:
        twin = op.clone(e.ip).operation
        read_others([twin], now)
        now.update(zip(op.results, twin.results, strict=True))
        for mine, its in zip((op, *walk(op)), (twin, *walk(twin)), strict=True):
            for old, new in zip(values_of(mine), values_of(its), strict=True):
                if old in known:
                    known[new] = known[old]
                active[new] = active.get(old, False)
        made.append(twin)
    return made, now


def refuse_draws(block: ir.Block) -> None:
    """Raise PassFailure for what was copied into a block, and is needed there, but gives something else each time."""
    for view in block.operations:
        for op in (view.operation, *walk(view.operation)):
            row = row_of(op)
            if row is not None and row.random:
                name = f"({row.name}) " if op.name == "torch.operator" else ""
                raise PassFailure(op, f"{name}draws random numbers in a branch or a loop, which gradients compute again: draw before it")


