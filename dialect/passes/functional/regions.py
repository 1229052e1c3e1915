"""Branches and loops of a function whose writes become values: what is written inside becomes a result, or a carried value.

A tensor that both arms of a branch give, or that a loop carries unchanged, stays the tensor that it is, views and writes
included. Any other is a new one that may share memory with those it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import UNSET, maker
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.passes.functional.memory import Entry, Items, Memory, Ref, Storage, taken_from_lists, value_type
from tierup.dialect.passes.functional.walk import Regions, Walker

# --- branches ----------------------------------------------------------------------------------------------------------


@dataclass
class _Arm:
    block: ir.Block
    entries: list[Entry]
    memory: Memory
    raises: list[bool]  # per result: whether it is never given, since the arm raises


def branch(w: Walker, op: ir.Operation) -> None:
    """torch.prim.If."""
    condition = w.value(op.operands[0])
    made = ir.Operation.create("torch.prim.If", [], [condition], regions=2, loc=op.location, ip=w.ip)
    outer = w.memory.copy()
    arms = []
    for old, new in zip(op.regions, made.regions, strict=True):
        block = new.blocks.append()
        with w.inside(block):
            yielded = w.block(old.blocks[0])
            arms.append(_Arm(block, [w.entry(v) for v in yielded], w.memory.copy(), [maker(v, UNSET) is not None for v in yielded]))
        w.memory.leave(outer)
    merged = [_merge(arms, i, outer) for i in range(len(op.results))]
    slots = [i for i, entry in enumerate(merged) if entry is None]
    written = [s for s in outer.current if any(a.memory.current[s] != outer.current[s] for a in arms)]
    types = [value_type(op.results[i].type) for i in slots] + [s.type for s in written]
    for arm in arms:
        w.memory.leave(arm.memory)
        with w.inside(arm.block):
            values = [w.coerced(arm.entries[i], t, op) for i, t in zip(slots, types, strict=False)]
            values += [w.cast(arm.memory.current[s], s.type, op) for s in written]
            ir.Operation.create("torch.prim.If.yield", [], values, loc=op.location, ip=w.ip)
    final = ir.Operation.create("torch.prim.If", types, [condition], regions=2, loc=op.location, ip=w.ip)
    for arm, region in zip(arms, final.regions, strict=True):
        arm.block.append_to(region)
    made.erase()
    w.memory.leave(outer)
    for storage, value in zip(written, list(final.results)[len(slots) :], strict=True):
        w.memory.write(storage, value)
    for i, entry in enumerate(merged):
        if entry is not None:
            w.bind(op.results[i], entry)
    paths = [(arm.memory, [arm.entries[i] for i in slots]) for arm in arms]
    w.bind_results([op.results[i] for i in slots], list(final.results)[: len(slots)], paths)


def _merge(arms: Sequence[_Arm], i: int, outer: Memory) -> Entry | None:
    """The tensor that result `i` is, whichever arm runs; None when only its value can be given."""
    given = [a for a in arms if not a.raises[i]] or list(arms)
    first = given[0].entries[i]
    if isinstance(first, ir.Value) or any(a.entries[i] != first for a in given):
        return None
    return first if _visible(first, given[0].block, outer) else None


def _visible(entry: Entry, block: ir.Block, outer: Memory) -> bool:
    """Whether an entry of a region means something outside."""
    if isinstance(entry, Items):
        return all(_visible(e, block, outer) for e in entry.entries)
    if isinstance(entry, Ref):
        return entry.storage in outer.current and not any(_within(v, block) for step in entry.chain for v in step.operands)
    return not _within(entry, block)


def _within(value: ir.Value, block: ir.Block) -> bool:
    owner = value.owner
    at = owner if isinstance(owner, ir.Block) else owner.operation.block
    while at != block:
        above = at.owner.operation
        if above.name == "func.func":
            return False
        at = above.block
    return True


# --- loops -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Guess:
    """What a walk over a loop's body takes for granted; corrected until it holds. `same`: carried tensors that every iteration
    passes on as they are; `written`: storages from outside that the body writes; `sources`: storages from outside that each
    carried value may be besides the first; `taken`: those that may come out of a list; `shared`: pairs of carried values that may share
    memory; `entangled`: storages from outside that may show others' memory after an iteration, as a list does to which the body appends."""

    same: tuple[bool, ...]
    written: tuple[Storage, ...] = ()
    sources: tuple[frozenset[Storage], ...] = ()
    taken: tuple[bool, ...] = ()
    shared: frozenset[tuple[int, int]] = frozenset()
    entangled: tuple[tuple[Storage, frozenset[Storage]], ...] = ()


@dataclass
class _Body:
    op: ir.Operation
    block: ir.Block
    condition: ir.Value
    entries: list[Entry]
    memory: Memory
    written: tuple[Storage, ...]


class Guesses:
    """What the walks so far bear out about a function's loops. `around`: what the loops that are being walked pass on as it is."""

    def __init__(self) -> None:
        self._found: dict[ir.Operation, tuple[tuple[tuple[bool, ...], ...], _Guess]] = Notes()
        self.around: tuple[tuple[bool, ...], ...] = ()
        self.hold = True

    def keep(self, op: ir.Operation, guess: _Guess) -> None:
        """Keep what a walk over a loop bears out, for the next walk over it."""
        self._found[op] = self.around, guess

    def of(self, w: Walker, op: ir.Operation, inits: Sequence[Entry]) -> _Guess:
        """What to take for granted in the next walk over a loop, of the memory that there is in this one."""
        nowhere = (frozenset[Storage](),) * len(inits)
        if op not in self._found:
            return _Guess(tuple(isinstance(e, Ref | Items) for e in inits), (), nowhere, (False,) * len(inits))
        around, last = self._found[op]
        if around != self.around:  # what was memory from outside may now be that of a carried value
            return replace(last, written=(), sources=nowhere, entangled=())
        sources = tuple(frozenset(w.now(some)) for some in last.sources)
        entangled = {new: frozenset(w.now(others)) for s, others in last.entangled for new in w.now([s])}
        return replace(
            last, sources=sources, written=tuple(w.now(last.written)), entangled=tuple((s, entangled[s]) for s in w.now(entangled))
        )


def regions() -> Regions:
    """For one function: what is guessed of a loop is kept from walk to walk."""
    return {"torch.prim.If": branch, "torch.prim.Loop": partial(loop, Guesses())}


def loop(guesses: Guesses, w: Walker, op: ir.Operation) -> None:
    """torch.prim.Loop. One that stands in no other is walked until all guesses hold, its own and those of the loops in it; these are walked
    once each time. So nested loops take a few walks each, however deep they stand."""
    trip, condition, *_ = operands = list(op.operands)
    inits = [w.entry(v) for v in operands[2:]]
    outer = w.memory.copy()
    head = [w.value(trip), w.value(condition)]
    around = guesses.around
    while True:
        guess = guesses.of(w, op, inits)
        guesses.around, guesses.hold = (*around, guess.same), guesses.hold or not around
        body = _walk(w, op, head, inits, outer, guess)
        guesses.around = around
        better = _corrected(body, inits, outer, guess)
        guesses.keep(op, better)
        guesses.hold = guesses.hold and better == guess
        if around or guesses.hold:
            break
        body.op.erase()
        w.memory = outer.copy()
    _finish(w, op, head, inits, outer, body, better, better == guess)


def _walk(w: Walker, op: ir.Operation, head: list[ir.Value], inits: list[Entry], outer: Memory, guess: _Guess) -> _Body:
    old = op.regions[0].blocks[0]
    counter, *arguments = old.arguments
    made = ir.Operation.create("torch.prim.Loop", [], head, regions=1, loc=op.location, ip=w.ip)
    block = ir.Block.create_at_start(made.regions[0], [counter.type], [op.location])
    with w.inside(block):
        w.bind(counter, block.arguments[0])
        new: list[Storage | None] = []
        for argument, init, same, more, taken in zip(arguments, inits, guess.same, guess.sources, guess.taken, strict=True):
            storage = None
            if same:
                w.bind(argument, init)
            else:
                value = block.add_argument(value_type(argument.type), op.location)
                storage = w.bind_new(argument, value, outer.may_be(init) | more, taken=taken or taken_from_lists(init))
                if storage is not None:
                    w.carried[storage] = op
            new.append(storage)
        for i, j in guess.shared:
            a, b = new[i], new[j]
            if a is not None and b is not None:
                w.memory.entangle(a, [b])
        for storage, others in guess.entangled:
            w.memory.entangle(storage, others)
        for storage in guess.written:
            w.memory.write(storage, block.add_argument(storage.type, op.location))
        entry = w.memory.copy()
        again, *yielded = w.block(old)
        changed = tuple(s for s in outer.current if w.memory.current[s] != entry.current[s] or s in guess.written)
        return _Body(made, block, w.value(again), [w.entry(v) for v in yielded], w.memory.copy(), changed)


def _corrected(body: _Body, inits: list[Entry], outer: Memory, guess: _Guess) -> _Guess:
    """The guess that the walk bears out."""
    same = tuple(s and a == b for s, a, b in zip(guess.same, inits, body.entries, strict=True))
    may_be = [body.memory.may_be(e) for e in body.entries]
    sources = tuple(
        frozenset() if s else old | {x for x in found if x in outer.current}
        for s, old, found in zip(same, guess.sources, may_be, strict=True)
    )
    slots = [i for i, s in enumerate(same) if not s]
    pairs = [(i, j) for i in slots for j in slots if i < j]
    shared = {(i, j) for i, j in pairs if outer.share(inits[i], inits[j]) or body.memory.share(body.entries[i], body.entries[j])}
    entangled = tuple((s, body.memory.entangled.get(s, frozenset()) & outer.current.keys()) for s in outer.current)
    new = tuple((s, others) for s, others in entangled if others - outer.entangled.get(s, frozenset()))
    taken = tuple(was or taken_from_lists(e) for was, e in zip(guess.taken, body.entries, strict=True))
    return _Guess(same, body.written, sources, taken, guess.shared | shared, new)


def _finish(
    w: Walker, op: ir.Operation, head: list[ir.Value], inits: list[Entry], outer: Memory, body: _Body, guess: _Guess, holds: bool
) -> None:
    """Give the loop's results. Where the guess does not hold yet, the loops around are walked again: then they are only names."""
    written = list(guess.written)
    slots = [i for i, same in enumerate(guess.same) if not same]
    types = [value_type(op.results[i].type) for i in slots] + [s.type for s in written]
    if holds:
        with w.inside(body.block):
            values = [w.coerced(body.entries[i], t, op) for i, t in zip(slots, types, strict=False)]
            values += [w.cast(body.memory.current[s], s.type, op) for s in written]
            ir.Operation.create("torch.prim.Loop.condition", [], [body.condition, *values], loc=op.location, ip=w.ip)
    w.memory.leave(outer)
    first = [w.coerced(inits[i], t, op) for i, t in zip(slots, types, strict=False)]
    first += [w.cast(outer.current[s], s.type, op) for s in written]
    final = ir.Operation.create("torch.prim.Loop", types, [*head, *first], regions=1, loc=op.location, ip=w.ip)
    if holds:
        body.block.append_to(final.regions[0])
        body.op.erase()
    for storage, value in zip(written, list(final.results)[len(slots) :], strict=True):
        w.memory.write(storage, value)
    for i, same in enumerate(guess.same):
        if same:
            w.bind(op.results[i], inits[i])
    paths = [(outer, [inits[i] for i in slots]), (body.memory, [body.entries[i] for i in slots])]
    w.bind_results([op.results[i] for i in slots], list(final.results)[: len(slots)], paths)


