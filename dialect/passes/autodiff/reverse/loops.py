"""Gradients through torch.prim.Loop: the iterations backwards, each computed again from what it began with.

    %r = torch.prim.Loop %n, %true, init(%x) {             %r:2 = torch.prim.Loop %n, %true, init(%x, %empty) {
    ^bb0(%i, %a):                                          ^bb0(%i, %a, %saved):
      %0 = torch.aten.sin %a                                 %0 = torch.aten.sin %a
                                                             %one = torch.prim.ListConstruct %a
                                                             %more = torch.aten.add.t %saved, %one
      torch.prim.Loop.condition %true, iter(%0)              torch.prim.Loop.condition %true, iter(%0, %more)
    }                                           becomes    }
                                                           %g = torch.prim.Loop %n, %true, init(%seed) {
                                                           ^bb0(%j, %ga):
                                                             %k = %n - 1 - %j
                                                             %a = torch.aten.__getitem__.t %r#1, %k
                                                             ... the gradient of %a from that of sin %a
                                                             torch.prim.Loop.condition %true, iter(%gb)
                                                           }

Saved is what a loop carries, as it is when an iteration begins, and of that only what the gradient needs. It is a list, since sizes may
change from one iteration to the next; a list made anew each time, since nothing in a program in value form is written. The backward loop
carries the gradients of the carried tensors, and for each tensor from outside the sum of what all iterations pass back to it. A loop
that ends by its condition also counts its iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.values import Int, List
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import attributes_of, hand_over, handed_over, is_used, last_of, made_again, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients import lists
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import is_list
from tierup.dialect.passes.autodiff.reverse.branches import passed_on, refuse_draws, replay
from tierup.dialect.passes.autodiff.reverse.paths import When, either, negated
from tierup.dialect.passes.autodiff.reverse.records import Gradients, read_backwards, records
from tierup.dialect.passes.autodiff.reverse.reverse import Found, Reverse, is_nothing, settle, sweep
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.core import int_of
from tierup.dialect.rewriting.loops import is_counted

_ALWAYS, _FIRST, _LATER, _ANY = range(4)  # iterations of the backward loop at whose beginning the gradient of what is carried is there


def loop(reverse: Reverse, op: ir.Operation, found: Sequence[Found], when: Sequence[When]) -> None:
    """The handler of torch.prim.Loop."""
    e = reverse.emitter
    body = op.regions[0].blocks[0]
    number, *entering = body.arguments
    *_, last = [view.operation for view in body.operations]
    kept = [r for k, r in records(op).items() if reverse.active.get(entering[k], False)]
    grown = {r.k for r in kept}
    carried = [k for k, v in enumerate(entering) if reverse.active.get(v, False) and k not in grown]
    for k in carried:
        if not torch_types.is_tensor(entering[k].type) and not is_list(entering[k]):
            raise PassFailure(op, f"has no gradient: it carries a {entering[k].type} of tensors; carry the tensors themselves")

    recorded = Gradients(reverse, op, found, [r for r in kept if not is_nothing(found[r.k])])
    there = {k: _ALWAYS if when[k] is True else _LATER if when[k] is False else _ANY for k in carried}
    while (back := _Backwards(reverse, op, recorded, there)).there != there:  # an iteration shows whether a gradient stays there
        back.draft.erase()
        there = back.there
    stand_ins, passed, backwards = back.stand_ins, back.passed, back.backwards

    needed = [k for k, v in enumerate(entering) if is_used(stand_ins[v])]
    counted = is_counted(op)
    joins = {v for v in passed if reverse.when is True and v not in backwards}  # what they have so far is added to
    earlier = {v: reverse.path(v).when for v in joins}
    with e.before(back.draft):
        before = [*(found[k] for k in carried), *(reverse.take(v) if v in joins else None for v in passed)]
    forward = _saving(reverse, op, needed, counted)
    saved = list(forward.results)[len(entering) :]
    count = forward.operands[0] if counted else saved.pop()
    _fill(reverse, back.block, count, stand_ins[number], {stand_ins[entering[k]]: v for k, v in zip(needed, saved, strict=True)})
    for stand_in in stand_ins.values():
        stand_in.owner.operation.erase()
    with e.before(back.draft):
        of = [*(forward.results[k] for k in carried), *passed]
        inits = [lists.packed(e, [], lists.type_of(v)) if v in backwards else reverse.whole(v, g) for g, v in zip(before, of, strict=True)]
        inits = [*map(reverse.typed, of, inits)]
        flags = [e.value(when[k]) for k in carried if there[k] == _ANY]
        inits = [*inits[: len(carried)], *flags, *inits[len(carried) :], *(e.value(False) for _ in back.told)]
        made = settle(back.draft, [count, e.value(True), *inits], [a.type for a in list(back.block.arguments)[1:]])
    results = list(made.results)
    told = results[len(carried) : len(carried) + len(flags)] + results[len(of) + len(flags) :]
    results = results[: len(carried)] + results[len(carried) + len(flags) :]
    rounds = int_of(count)
    ran: When = rounds > 0 if rounds is not None else e.call("aten.gt.int", count, 0, type_="!torch.bool")
    each = {_ALWAYS: True, _FIRST: negated(e, ran), _LATER: ran}
    paths = [each[there[k]] if there[k] != _ANY else told.pop(0) for k in carried]
    paths += [either(e, earlier.get(v, False), told.pop(0) if v in back.told else ran) for v in passed]
    targets = [*(forward.operands[2 + k] for k in carried), *passed]
    for target, result, path in zip(targets, results, paths, strict=False):
        e.inference.values[result] = e.known(target)
        reverse.give(target, result, path, zeros=True)
    recorded.give_starts(list(forward.operands)[2:])


class _Backwards:
    """A loop that goes back, without operands and results: `draft`. `passed`: the values from outside to which it gives gradients, `told`:
    those of which it tells whether it did, `backwards`: the items that lists of them get."""

    def __init__(self, reverse: Reverse, op: ir.Operation, recorded: Gradients, there: Mapping[int, int]) -> None:
        e = reverse.emitter
        body = op.regions[0].blocks[0]
        number, *entering = body.arguments
        *inside, last = [view.operation for view in body.operations]
        leaving = list(last.operands)[1:]
        e.location = op.location
        self.draft = e.create("torch.prim.Loop", [], [], regions=1)
        types = [reverse.type_of(entering[k]) for k in there]
        self.block = block = self.draft.regions[0].blocks.append(number.type, *types, arg_locs=[op.location] * (len(there) + 1))
        round_, *begun = block.arguments
        flag = ir.Type.parse("!torch.bool", e.context)
        with e.inside(block):
            self.stand_ins = stand_ins = {v: e.create("torch.prim.Uninitialized", [v.type], []).results[0] for v in (number, *entering)}
            for value, stand_in in stand_ins.items():
                reverse.active[stand_in] = reverse.active.get(value, False)
                if value in e.inference.values:
                    e.inference.values[stand_in] = e.inference.values[value]
            for k, argument in zip(there, begun, strict=True):
                e.inference.values[argument] = e.known(leaving[k])
            clones, now = replay(reverse, inside, stand_ins)
            inner = reverse.nested()
            first = e.call("aten.eq.int", round_, 0, type_="!torch.bool")
            paths: dict[int, When] = {_ALWAYS: True, _FIRST: first, _LATER: negated(e, first)}
            for (k, which), argument in zip(there.items(), begun, strict=True):
                path = paths[which] if which != _ANY else block.add_argument(flag, op.location)
                inner.give(now.get(leaving[k], leaving[k]), argument, path, zeros=True)
            for record in recorded.kept:
                inner.give(now.get(record.items, record.items), recorded.items(record, stand_ins[number]))
            inner.run(clones)
            e.location = op.location
            left = {k: inner.path(stand_ins[entering[k]]).when for k in there}
            back = [inner.take(stand_ins[entering[k]]) for k in there]
            passed_on(op, inner)
            ways = {v: inner.path(v).when for v in inner.grads}
            passed = {v: g for v in ways if (g := inner.take(v)) is not None}
            self.backwards = {v: g for v, found_ in passed.items() if (g := read_backwards(op, v, found_, stand_ins[number])) is not None}
            done = [reverse.whole(stand_ins[entering[k]], g) for g, k in zip(back, there, strict=True)]
            done = [*map(reverse.typed, (entering[k] for k in there), done), *(e.value(left[k]) for k in there if there[k] == _ANY)]
            for value, gradient in passed.items():
                total = block.add_argument(reverse.type_of(value), op.location)
                e.inference.values[total] = e.known(value) if value not in self.backwards else List(None)
                longer = value in self.backwards
                sum_ = _longer(e, total, self.backwards[value]) if longer else reverse.added(total, gradient)
                done.append(reverse.typed(value, sum_))
            self.told = [v for v in passed if ways[v] is not True and ways[v] != first]  # of the others the first iteration tells
            for value in self.told:
                done.append(e.value(either(e, block.add_argument(flag, op.location), ways[value])))
            e.create("torch.prim.Loop.condition", [], [e.value(True), *done])
        self.passed = list(passed)
        stays = {_ALWAYS: {True: _ALWAYS, False: _FIRST}, _FIRST: {False: _FIRST}, _LATER: {True: _LATER}}
        self.there = {k: stays.get(which, {}).get(left[k], _ANY) if isinstance(left[k], bool) else _ANY for k, which in there.items()}
        sweep(block, kept=set(stand_ins.values()))
        refuse_draws(block)


def _longer(e: Emitter, items: ir.Value, value: ir.Value) -> ir.Value:
    return lists.joined(e, items, lists.packed(e, [value], lists.type_of(items)))


def _fill(reverse: Reverse, block: ir.Block, count: ir.Value, number: ir.Value, saved: dict[ir.Value, ir.Value]) -> None:
    """Put what an iteration of the forward loop began with at the beginning of the backward one."""
    e = reverse.emitter
    if not saved and not is_used(number):
        return
    with e.before(block.operations[0].operation):
        final = e.call("aten.sub.int", count, 1, type_="!torch.int")
        index = e.call("aten.sub.int", final, block.arguments[0], type_="!torch.int")
        e.inference.values[index] = Int()
        number.replace_all_uses_with(index)
        for stand_in, items in saved.items():
            item = e.create("torch.aten.__getitem__.t", [ir.Type.parse(_element(stand_in.type), e.context)], [items, index]).results[0]
            e.inference.values[item] = e.known(stand_in)
            reverse.active[item] = reverse.active.get(stand_in, False)
            stand_in.replace_all_uses_with(cast(item, stand_in.type, e.ip))


def _element(type_: ir.Type) -> str:
    """The type of a saved value in its list, which says nothing of sizes: they may differ in each iteration."""
    return "!torch.vtensor" if torch_types.is_tensor(type_) else str(type_)


def _saving(reverse: Reverse, op: ir.Operation, needed: Sequence[int], counted: bool) -> ir.Operation:
    """The loop with further results: a list of what it carried at each iteration's beginning for each of `needed`, and how many there
    were unless `counted`."""
    if not needed and counted:
        return op
    e = reverse.emitter
    elements = [_element(op.operands[2 + k].type) for k in needed]
    lists = [ir.Type.parse(f"!torch.list<{t.removeprefix('!torch.')}>", e.context) for t in elements]
    with e.before(op):
        starts = [e.create("torch.prim.ListConstruct", [t], []).results[0] for t in lists]
        starts += [] if counted else [e.value(0)]
    attributes = attributes_of(op)
    if "tierup.site" in attributes:  # whoever numbers ops (split_gradient.py) can tell what the further results are
        attributes["tierup.saved"] = ir.DenseI64ArrayAttr.get([*needed, *([] if counted else [-1])], e.context)
    made = made_again(op, [*op.operands, *starts], [*(r.type for r in op.results), *(v.type for v in starts)], attributes)
    block = made.regions[0].blocks[0]
    number, *entering = block.arguments
    further = [block.add_argument(v.type, op.location) for v in starts]
    with e.before(last_of(block)):
        more = []
        for k, items in zip(needed, further, strict=False):
            value = cast(entering[k], ir.Type.parse(_element(entering[k].type), e.context), e.ip)
            one = e.create("torch.prim.ListConstruct", [items.type], [value]).results[0]
            more.append(e.create("torch.aten.add.t", [items.type], [items, one]).results[0])
        if not counted:
            more.append(e.call("aten.add.int", number, 1, type_="!torch.int"))
    hand_over(block, [*handed_over(block), *more])
    for before, after in zip(op.results, made.results, strict=False):
        if before in e.inference.values:
            e.inference.values[after] = e.inference.values[before]
        reverse.active[after] = reverse.active.get(before, False)
    take_place(op, list(made.results)[: len(op.results)])
    return made
