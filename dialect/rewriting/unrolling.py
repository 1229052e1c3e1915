"""Unrolling of counted loops, whole or by a factor: for `tierup-unroll-loops`, `-constant-loops` and `-exchanges`."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.structure import hand_over, handed_over, if_, last_of, yield_
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import create, drop_unused, erase, int_of, number
from tierup.dialect.rewriting.loops import FOREVER, counts, inline_body, is_counted, may_be_copied, retrip, shift, size_of

DONE = "tierup.unrolled"  # by which factor a loop was unrolled; 1 on the rest of one
_INT = "!torch.int"


def unroll_whole(loop: ir.Operation, max_trips: int, *, profiles: bool = False) -> bool:
    """Replace a counted loop of a known number of rounds, at most `max_trips`, by copies of its body. A negative number is none.
    `profiles`: see may_be_copied.
    """
    trip = int_of(loop.operands[0])
    if DONE in loop.attributes or trip is None or trip > max_trips or not is_counted(loop):
        return False
    if not may_be_copied(loop, profiles=profiles):
        return False
    carried = _copies(loop, max(trip, 0), [number(loop, k) for k in range(trip)] if counts(loop) else None, _carried(loop), loop)
    _become(loop, carried)
    return True


def unroll_by(loop: ir.Operation, factor: int, max_body_size: int, *, profiles: bool = False) -> bool:
    """Split a small counted loop into one whose body is `factor` copies and one for the rounds that are left."""
    trip = int_of(loop.operands[0])
    if DONE in loop.attributes or trip == FOREVER or not is_counted(loop) or not may_be_copied(loop, profiles=profiles):
        return False
    if size_of(loop.regions[0].blocks[0]) > max_body_size or (trip is not None and trip < factor):
        return False
    main, rest, done = _main_loop(loop, factor)
    remainder = retrip(loop, rest, loop.operands[1], list(main.results), loop)
    shift(remainder, done)
    _become(loop, list(remainder.results))
    if not unroll_whole(remainder, factor, profiles=profiles):
        remainder.attributes[DONE] = i64(1, remainder.context)
    return True


def unroll_in_branches(loop: ir.Operation, factor: int) -> None:
    """Split a counted loop into one whose body is `factor` copies, and branches for the rounds that are left, one inside the other."""
    main, rest, done = _main_loop(loop, factor)
    _become(loop, _left(loop, rest, done, 0, factor - 1, list(main.results), loop))


def _left(
    loop: ir.Operation, rest: ir.Value, done: ir.Value, first: int, end: int, carried: list[ir.Value], before: ir.Operation
) -> list[ir.Value]:
    """What the rounds from `first` to `end` give of those that are left."""
    if first == end:
        return carried
    left = create(before, "torch.aten.gt.int", [rest, number(before, first)], ir.Type.parse("!torch.bool", loop.context))
    made, then, otherwise = if_(left, [v.type for v in carried], loop.location, ir.InsertionPoint(before))
    for block in (then, otherwise):
        yield_(block, carried)
    last = last_of(then)
    counter = create(last, "torch.aten.add.int", [done, number(last, first)], _int(loop))
    _, after = inline_body(loop, counter, carried, last)
    hand_over(then, _left(loop, rest, done, first + 1, end, after, last))
    return list(made.results)


def unroll_in_pairs(loop: ir.Operation, exchanged: Sequence[int]) -> None:
    """Let a loop that a condition ends do two rounds at a time, the second in a branch. `exchanged`: what it carries that each round hands
    on in each other's place, and two rounds in its own."""
    body, trip = loop.regions[0].blocks[0], loop.operands[0]
    types, kept = [v.type for v in loop.results], [i for i in range(len(loop.results)) if i not in exchanged]
    bool_ = ir.Type.parse("!torch.bool", loop.context)
    no, yes = (number(loop, truth) for truth in (False, True))
    is_forever = int_of(trip) == FOREVER
    pairs = trip if is_forever else create(loop, "torch.aten.floordiv.int", [_plus_one(loop, trip), number(loop, 2)], _int(loop))
    made = ir.Operation.create(
        loop.name, [*types, bool_], [pairs, loop.operands[1], *_carried(loop), no], regions=1, loc=loop.location, ip=ir.InsertionPoint(loop)
    ).operation
    block = made.regions[0].blocks.append(*(v.type for v in body.arguments), bool_, arg_locs=[loop.location] * (len(types) + 2))
    counter, *carried = list(block.arguments)[:-1]
    end = ir.Operation.create(
        last_of(body).name, [], [yes, *carried, no], loc=last_of(body).location, ip=ir.InsertionPoint(block)
    ).operation  # to be handed on what the rounds give
    first = create(end, "torch.aten.mul.int", [counter, number(end, 2)], _int(loop)) if counts(loop) or not is_forever else counter
    goes_on, between = inline_body(loop, first, carried, end)
    second = _plus_one(end, first) if first != counter else counter
    if not is_forever:
        is_left = create(end, "torch.aten.lt.int", [second, trip], bool_)
        goes_on = create(end, "torch.aten.__and__.bool", [goes_on, is_left], bool_)
    pair, then, otherwise = if_(goes_on, [bool_, *(types[i] for i in kept), bool_], loop.location, ir.InsertionPoint(end))
    yield_(otherwise, [no, *(between[i] for i in kept), yes])
    yield_(then, [no])
    again, behind = inline_body(loop, second, between, last_of(then))
    hand_over(then, [again, *(behind[i] for i in kept), no])
    asked, *after, odd = pair.results
    after_pair = dict(zip(kept, after, strict=True))
    hand_over(block, [asked, *(after_pair.get(i, v) for i, v in enumerate(carried)), odd])
    place = {i: _number(body, v) for i, v in enumerate(handed_over(body)[1:]) if i in exchanged}
    chosen, swapped, straight = if_(made.results[len(types)], [types[i] for i in exchanged], loop.location, ir.InsertionPoint(loop))
    yield_(swapped, [made.results[place[i]] for i in exchanged])
    yield_(straight, [made.results[i] for i in exchanged])
    ends = dict(zip(exchanged, chosen.results, strict=True))
    _become(loop, [ends.get(i, made.results[i]) for i in range(len(types))])


def _number(body: ir.Block, argument: ir.Value) -> int:
    """Of an argument of a loop's body among those that it carries."""
    return list(body.arguments).index(argument) - 1


def _plus_one(before: ir.Operation, value: ir.Value) -> ir.Value:
    return create(before, "torch.aten.add.int", [value, number(before, 1)], _int(before))


def _main_loop(loop: ir.Operation, factor: int) -> tuple[ir.Operation, ir.Value, ir.Value]:
    """A counted loop before another, of `factor` of its rounds each; how many rounds are left, and how many it does."""
    trip = int_of(loop.operands[0])
    if trip is None:
        least = create(loop, "torch.prim.max.int", [loop.operands[0], number(loop, 0)], _int(loop))  # a negative count is no round
        main_trip = create(loop, "torch.aten.floordiv.int", [least, number(loop, factor)], _int(loop))
        done = create(loop, "torch.aten.mul.int", [main_trip, number(loop, factor)], _int(loop))
        rest = create(loop, "torch.aten.sub.int", [least, done], _int(loop))
    else:
        main_trip, done, rest = number(loop, trip // factor), number(loop, trip // factor * factor), number(loop, trip % factor)
    main = retrip(loop, main_trip, loop.operands[1], _carried(loop), loop)
    _multiply(main, factor)
    main.attributes[DONE] = i64(factor, main.context)
    return main, rest, done


def _multiply(loop: ir.Operation, factor: int) -> None:
    """Make the body `factor` copies of itself. The counter of a copy is computed from the loop's, so that nothing more is carried."""
    body = loop.regions[0].blocks[0]
    counter, *carried = body.arguments
    first = loop.clone(ip=ir.InsertionPoint(loop)).operation  # what the copies are taken from
    old = [view.operation for view in body.operations]
    last = old[-1]
    counters = None
    if counts(first):
        base = create(last, "torch.aten.mul.int", [counter, number(last, factor)], _int(loop))
        counters = [base, *(create(last, "torch.aten.add.int", [base, number(last, k)], _int(loop)) for k in range(1, factor))]
    after = _copies(first, factor, counters, carried, last)
    for i, value in enumerate([loop.operands[1], *after]):  # as true as the body's own condition, which may go with the old body
        last.operands[i] = value
    first.erase()
    for op in reversed(old[:-1]):
        op.erase()


def _copies(
    loop: ir.Operation, times: int, counters: Sequence[ir.Value] | None, carried: Sequence[ir.Value], before: ir.Operation
) -> list[ir.Value]:
    """Bodies one after another; what the last one carries on. `counters`: None when the body does not count."""
    values = list(carried)
    unread = number(before, 0) if counters is None else None
    for k in range(times):
        counter = unread if counters is None else counters[k]
        assert counter is not None
        _, values = inline_body(loop, counter, values, before)
    if unread is not None:
        drop_unused([unread])
    return values


def _become(loop: ir.Operation, values: Sequence[ir.Value]) -> None:
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(loop)


def _carried(loop: ir.Operation) -> list[ir.Value]:
    return list(loop.operands)[2:]


def _int(op: ir.Operation) -> ir.Type:
    return ir.Type.parse(_INT, op.context)
