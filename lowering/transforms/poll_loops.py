"""tierup-poll-loops: loops of the program that may run for long ask now and then whether somebody else wants something.

    %r = scf.for %i = %0 to %n step %1 iter_args(%x = %a) { ... }
becomes
    %budget = memref.alloca() : memref<1xi64>
    %state = memref.alloca() : memref<2xi64>
    %at, %r = scf.while (%at = %0, %x = %a) { condition: %at < %n and %status is 0 }
    do {
      %end = %at + min(CHUNK, %n - %at)
      assume(%end <= %n)
      %y = scf.for %i = %at to %end step %1 iter_args(%x = %x) { ... }
      %budget -= (%end - %at) * (operations of an iteration)
      if %budget < 0 and %status is 0 { %budget = BUDGET; if tierup_poll(%state) is not 0 { %status = INTERRUPTED } }
      yield %end, %y
    }
    ...
    tierup_poll_end(%state)
    return

An scf.while that counts its rounds beside its condition goes in chunks, too:

    %i, %r = scf.while (%i = 0, %go = true, %x = %a) { condition: %i < %n and %go } do { ...; yield %i + 1, %on, %y }
becomes
    %i, %r = scf.while (%i = 0, %go = true, %x = %a) { condition: %i < %n and %go and %status is 0 }
    do {
      %end = %i + min(CHUNK, %n - %i)
      assume(%end <= %n)
      %j, %o, %y = scf.while (%j = %i, %o = %go, %x = %x) { condition: %j < %end and %o } do { ...; yield %j + 1, %on, %y }
      %budget -= (%j - %i) * (operations of a round), and so on
      yield %j, %o, %y
    }

Whoever is asked is `externals/polling.py`: other threads of Python run, and handlers of signals. Any other loop that ends by its
condition does the same in each round, at its beginning: what the end of a round finds out then leads to the next one, or out, at once.
After an interruption, or a check that failed, all such loops end, so the rest of the function has as good as nothing to do, frees what it
has to, and returns the status; it may go on, since the values are those of a shorter loop. A loop that surely goes round once does so
whatever the status: what it gives, and who owns that, has been folded on the strength of it.

A part of a long entry (`split_kernel.py`) that has such loops gets the entry's status as its last argument.

Loops of a known and small amount of work stay as they are, those that halve a number in each round, and those that the program did not
write: what they compute may be taken for whole by what follows. Comes after deallocation, which would have to find out who owns what a loop
of loops carries.
"""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import handed_over, last_of, maker, take_place, with_more
from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import ERROR_SITES, PART, RESULT_KINDS
from tierup.lowering.base.abi import ERROR_BASE, INTERRUPTED
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import SIGNED_INDEX, CmpI, Scalar, conjuncts, known, minimum, of, select
from tierup.lowering.building.loops import when
from tierup.lowering.building.origins import has_few_rounds, is_programs
from tierup.lowering.externals import polling
from tierup.lowering.transforms.asserts_to_status import add_status

BUDGET = 1 << 17  # operations between two polls: some 50 us
CHUNK = 1 << 12  # operations of the inner loop
_UNKNOWN = 1 << 11  # operations of what only the run knows
_FEW, _MOST_OF_FEW = 1 << 2, 1 << 7  # rounds of a loop that halves a number: as a rule, and at most
_CALL = 1 << 10  # operations of a function, which is a matrix product
_SITE = INTERRUPTED - (ERROR_BASE - 1)  # the status as it is in here, where sites count from 1: see `adapter`
ENDS = "tierup.ends_with_status"  # of a loop that polls: no round of it begins once the status is set


@dataclass(frozen=True)
class _Work:
    """Operations of one round of a loop: a number, and to this the elements of arrays of which the run alone knows the sizes."""

    known: int
    arrays: tuple[ir.Value, ...] = ()


@register
class PollLoops(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if RESULT_KINDS not in function.attributes or ERROR_SITES not in function.attributes:
            return
        parts = [op.operation for op in function.parent.regions[0].blocks[0].operations if PART in op.operation.attributes]
        polled = [f for f in (function, *parts) if _long_loops(f)]
        if not polled or any(_calls(f, [polling.POLL]) for f in (function, *parts)):
            return
        function.context.get_dialect_descriptor("llvm")  # loads it
        with ir.Location.unknown(function.context):
            _declare(function)
            for call in _calls(function, [symbol_of(f) for f in polled if f in parts]):
                status = function.regions[0].blocks[0].arguments[-1]  # a part has as good as nothing to do once it is set
                with_more(call, [*call.operands, status])
            for f in polled:
                if f in parts:
                    add_status(f)
                _poll_in(f)


def _long_loops(function: ir.Operation) -> list[tuple[ir.Operation, _Work]]:
    """The program's loops that may run for long, inner ones first."""
    loops: list[tuple[ir.Operation, _Work]] = []
    for op in reversed(b.walk_unfused(function)):
        if op.name in ("scf.for", "scf.while") and is_programs(op):
            work = _work(op.regions[-1].blocks[0], [loop for loop, _ in loops])
            if not _is_short(op, work):
                loops.append((op, work))
    return loops


def _calls(function: ir.Operation, names: list[str]) -> list[ir.Operation]:
    return [op for op in b.walk_unfused(function) if op.name == "func.call" and callee_name(op) in names]


def _poll_in(function: ir.Operation) -> None:
    """Poll in the loops of a function whose last argument is the status."""
    block, loops = function.regions[0].blocks[0], _long_loops(function)
    poll = _prepared(block)
    for loop, work in reversed(loops):  # outer ones first: what they read of inner ones' results is replaced with these
        with loop.location:
            counter = _counter(loop) if loop.name == "scf.while" and not work.arrays else None
            if loop.name == "scf.for":
                _in_chunks(loop, work, poll)
            elif counter is not None:
                _in_chunks_of_rounds(loop, counter, work, poll)
            else:
                _each_round(loop, work, poll)
    with ir.InsertionPoint(last_of(block)):
        b.op("func.call", [poll.state], callee=ir.FlatSymbolRefAttr.get(polling.END))


@dataclass(frozen=True)
class _Poll:
    """What stands at the head of the function: the status, the address of the state, the budget."""

    status: ir.Value
    state: ir.Value
    budget: ir.Value

    def clear(self) -> Scalar:
        """Whether the status is 0."""
        return b.load(self.status).equals(0)

    def spend(self, work: Scalar) -> None:
        """Take `work` operations off the budget, and poll when there is none left."""
        zero = b.index(0)
        budget, work = of(b.load(self.budget, zero), dtypes.u64), of(work, dtypes.u64)
        b.store(budget - work, self.budget, zero)
        with when(budget < work):  # not what is left is compared: so LLVM subtracts and branches, in two instructions
            b.store(b.integer(BUDGET, 64), self.budget, zero)
            with when(self.clear()):
                answer = b.value("func.call", [self.state], b.integer_type(32), callee=ir.FlatSymbolRefAttr.get(polling.POLL))
                with when(of(answer).equals(0).equals(False)):
                    b.store(b.integer(_SITE, 32), self.status)


def _work(block: ir.Block, polled: list[ir.Operation], inside: bool = True) -> _Work:
    """What one round of a loop does, but for the loops in it that poll themselves. `inside`: whether its values are there at its end."""
    known, arrays = 0, list[ir.Value]()
    for view in block.operations:
        op = view.operation
        known += _CALL if op.name == "func.call" else 1
        if op.name.startswith("linalg.") or op.name == "memref.copy":
            each = sum(len(region.blocks[0].operations) for region in op.regions) or 1
            largest = max(op.operands, key=_elements)
            if _elements(largest) < _UNKNOWN or not _is_dynamic(largest):
                known += each * _elements(largest)
            elif inside:
                arrays.append(largest)
            else:
                known += each * _UNKNOWN
        elif op not in polled:
            rounds = _trip(op) if op.name == "scf.for" else 1
            if op.name == "scf.while":
                rounds = _FEW if has_few_rounds(op) else _UNKNOWN
            for region in op.regions:
                for inner in region.blocks:
                    known += (rounds or _UNKNOWN) * _work(inner, polled, inside=False).known
    return _Work(known, tuple(arrays))


def _is_dynamic(value: ir.Value) -> bool:
    return isinstance(value.type, ir.ShapedType) and not ir.ShapedType(value.type).has_static_shape


def _elements(value: ir.Value) -> int:
    """The elements of a memref; _UNKNOWN where the run knows them."""
    if not isinstance(value.type, ir.MemRefType):
        return 1
    return _UNKNOWN if _is_dynamic(value) else math.prod(b.shape_of(value.type))


def _trip(loop: ir.Operation) -> int | None:
    """How often an scf.for goes round, where that is known."""
    low, high, step = map(known, list(loop.operands)[:3])
    return None if None in (low, high, step) else max(0, -(-(high - low) // step))


def _is_short(loop: ir.Operation, work: _Work) -> bool:
    trip = _trip(loop) if loop.name == "scf.for" else _MOST_OF_FEW if has_few_rounds(loop) else None
    has_loops = any(op.name in ("scf.for", "scf.while") for op in b.walk_unfused(loop))
    return trip is not None and not has_loops and not work.arrays and trip * work.known <= BUDGET


def interrupts(op: ir.Operation) -> bool:
    """Whether an op is the store to the status of a loop that was interrupted."""
    return bool(op.name == "memref.store" and known(op.operands[0]) == _SITE)


def _declare(function: ir.Operation) -> None:
    i32, i64 = b.integer_type(32), b.integer_type(64)
    with ir.InsertionPoint(function):
        for name, results in ((polling.POLL, [i32]), (polling.END, [])):
            fn.declare(name, [i64], results)


def _prepared(block: ir.Block) -> _Poll:
    with ir.InsertionPoint.at_block_begin(block):
        budget, state = (b.alloca(ir.MemRefType.get([size], b.integer_type(64))) for size in (1, polling.WORDS))
        b.store(b.integer(BUDGET, 64), budget, b.index(0))
        for word in range(polling.WORDS):
            b.store(b.integer(0, 64), state, b.index(word))
        return _Poll(block.arguments[-1], b.address(state).cast(dtypes.i64), budget)


def _in_chunks(loop: ir.Operation, work: _Work, poll: _Poll) -> None:
    """Turn an scf.for into one of fewer rounds in an scf.while that polls."""
    low, high, step = (of(v, SIGNED_INDEX) for v in list(loop.operands)[:3])
    carried = list(loop.operands)[3:]
    runs_once = bool(carried) and bool(_trip(loop))
    types, unknown = [b.index_type(), *(r.type for r in loop.results)], ir.Location.unknown()
    with ir.InsertionPoint(loop):
        outer = b.op("scf.while", [low, *carried], types, regions=2, **({} if runs_once else {ENDS: ir.UnitAttr.get()}))
    before, after = (region.blocks.append(*types, arg_locs=[unknown] * len(types)) for region in outer.regions)
    with ir.InsertionPoint(before):
        now = of(before.arguments[0], SIGNED_INDEX)
        below, clear = now < high, poll.clear()
        if runs_once:
            clear = clear | now.equals(low)
        b.op("scf.condition", [below & clear, *before.arguments])
    for old, new in zip(loop.results, list(outer.results)[1:], strict=True):
        old.replace_all_uses_with(new)
    start = of(after.arguments[0], SIGNED_INDEX)
    with ir.InsertionPoint(after):
        rounds = max(1, CHUNK // (work.known + _UNKNOWN * len(work.arrays)))
        chunk = step * rounds
        if runs_once:
            chunk = select(poll.clear(), chunk, step)
        end = _chunk_end(start, high, chunk)
    loop.detach_from_parent()
    after.append(loop)
    for i, operand in enumerate((start, end, step, *list(after.arguments)[1:])):
        loop.operands[i] = operand
    if work.arrays:
        _spend_in(loop.regions[0].blocks[0], work, poll)
    with ir.InsertionPoint(after):
        if not work.arrays:
            poll.spend((end - start).call("arith.divsi", step).cast(dtypes.i64) * work.known)
        b.op("scf.yield", [end, *loop.results])


def _chunk_end(start: Scalar, limit: Scalar, size: Scalar | int) -> Scalar:
    """Where a chunk ends of a loop that counts up to a limit; LLVM is told that it is not beyond that. Of the lesser of two ends it would
    know so, too, but it unrolls no loop whose rounds take that much to count."""
    end = start + minimum(limit - start, size)
    b.op("llvm.intr.assume", [end <= limit], op_bundle_sizes=ir.DenseI32ArrayAttr.get([]))
    return end


@dataclass(frozen=True)
class _Counter:
    """What an scf.while counts its rounds with: the number of the value that it takes, and what it stays below."""

    number: int
    limit: ir.Value


def _counter(loop: ir.Operation) -> _Counter | None:
    """The counter of a loop that ends by its condition, or when it has gone round so often."""
    before, after = (region.blocks[0] for region in loop.regions)
    condition, *given = handed_over(before)
    last = handed_over(after)
    if any(isinstance(v.type, ir.ShapedType) for v in (*before.arguments, *given)):
        return None  # whose memory it is has been decided
    if not all(view.operation.name.startswith(("arith.", "memref.load", "scf.condition")) for view in before.operations):
        return None
    for part in conjuncts(condition):
        compared = maker(part, "arith.cmpi")
        if compared is None or ir.IntegerAttr(compared.attributes["predicate"]).value != CmpI.SLT:
            continue
        counter, limit = compared.operands
        block = limit.owner if isinstance(limit.owner, ir.Block) else limit.owner.operation.block
        if counter not in list(before.arguments) or counter not in given or limit in given or block == before:
            continue
        number = list(before.arguments).index(counter)
        more = maker(last[number], "arith.addi")
        if more is not None and more.operands[0] == after.arguments[given.index(counter)] and known(more.operands[1]) == 1:
            return _Counter(number, limit)
    return None


def _in_chunks_of_rounds(loop: ir.Operation, counter: _Counter, work: _Work, poll: _Poll) -> None:
    """Turn an scf.while that counts its rounds into one of fewer rounds in one that polls."""
    before, after = (region.blocks[0] for region in loop.regions)
    taken = list(before.arguments)
    condition, *given = handed_over(before)
    types, unknown = [*(v.type for v in given), *(v.type for v in taken)], ir.Location.unknown()

    def looped(start: list[ir.Value], limits: dict[ir.Value, ir.Value], polls: bool) -> tuple[ir.Operation, ir.Block]:
        """A loop with the condition of this one, that hands on beside its values those that it takes."""
        made = b.op("scf.while", start, types, regions=2)
        asked = made.regions[0].blocks.append(*types[len(given) :], arg_locs=[unknown] * len(taken))
        with ir.InsertionPoint(asked):
            stand_ins = dict(zip(taken, asked.arguments, strict=True)) | limits
            goes_on, *values = [b.once_more(v, stand_ins, lambda op: op.block == before) for v in (condition, *given)]
            b.op("scf.condition", [of(goes_on) & poll.clear() if polls else goes_on, *values, *asked.arguments])
        return made, made.regions[1].blocks.append(*types, arg_locs=[unknown] * len(types))

    with ir.InsertionPoint(loop):
        outer, chunk = looped(list(loop.operands), {}, True)
        outer.attributes[ENDS] = ir.UnitAttr.get()
    now = list(chunk.arguments)[len(given) :]
    begin, limit = of(now[counter.number]), of(counter.limit)
    with ir.InsertionPoint(chunk):
        end = _chunk_end(begin, limit, max(1, CHUNK // work.known))
        inner, body = looped(now, {counter.limit: end}, False)
        with ir.InsertionPoint(body):
            b.op("scf.yield", b.inline(after, list(body.arguments)[: len(given)]))
        results = list(inner.results)[len(given) :]
        poll.spend((of(results[counter.number]) - begin) * work.known)
        b.op("scf.yield", results)
    take_place(loop, list(outer.results)[: len(given)])


def _each_round(loop: ir.Operation, work: _Work, poll: _Poll) -> None:
    """Let an scf.while poll, and end once the status is set."""
    condition = last_of(loop.regions[0].blocks[0])
    with ir.InsertionPoint(condition):
        condition.operands[0] = of(condition.operands[0]) & poll.clear()
        loop.attributes[ENDS] = ir.UnitAttr.get()
    body = loop.regions[1].blocks[0]
    if work.arrays:
        _spend_in(body, work, poll)
        return
    with ir.InsertionPoint.at_block_begin(body):  # at the end it would stand between what a round found out and the next
        poll.spend(b.integer(work.known, 64))


def _spend_in(block: ir.Block, work: _Work, poll: _Poll) -> None:
    """Spend, at the end of a round, what the round did."""
    with ir.InsertionPoint(last_of(block)):
        total = b.integer(work.known, 64)
        for array in work.arrays:
            size = b.index(1)
            for axis in range(ir.ShapedType(array.type).rank):
                size = size * b.dim(array, axis)
            total = total + size.cast(dtypes.i64)
        poll.spend(total)
