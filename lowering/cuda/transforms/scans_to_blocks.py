"""tierup-scans-to-blocks: running sums and products along the last axis become kernels in which blocks of threads scan together.

    scf.for %i = %c0 to %rows step %c1 {
      scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
        %v = memref.load %x[%i, %j]
        %next = arith.addf %sum, %v
        memref.store %next, %y[%i, %j]
        scf.yield %next
      }
    }
becomes
    gpu.launch blocks(%row, %part) ... { each part's sum, but the last one's }
    gpu.launch blocks(%row) ...        { the parts' running sums }
    gpu.launch blocks(%row, %part) ... {
      for each 1024 elements of the part: a thread sums four in a row; five exchanges make the warp's running sums, which go through shared
      memory to the other warps; what came before is added, and the elements are written
    }

A row is cut into parts where there are too few rows to keep the device busy; where one part is enough the host launches the last kernel
alone. The scan of a warp by shuffles is Hillis and Steele's ("Data parallel algorithms", 1986); sums of parts, their scan, scan of the
parts is the usual way for long rows (Harris, Sengupta and Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3; of those that read
twice, "reduce, then scan": Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).

Floats are scanned where the op is one that says no order (cumsum, cumprod): what a program adds up in a loop of its own keeps its order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tierup.dialect import optable
from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used, users
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, maximum, minimum, of, select
from tierup.lowering.building.loops import carried, either, when
from tierup.lowering.building.origins import Origin, origin
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import Block, positions, shuffle
from tierup.lowering.cuda.rows.combining import Combiner, is_combining

_THREADS, _EACH = 256, 4
_TILE = _THREADS * _EACH
_TILES = 8  # of a part, at least
_BLOCKS = 1056  # that keep any device busy, eight for each of 132 multiprocessors

Element = Callable[[Scalar], Scalar]
Put = Callable[[Scalar, Scalar], None]


@register
class ScansToBlocks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        loops = [op for op in gpu.host_ops(function) if op.name == "scf.for"]
        done: list[ir.Operation] = []
        for loop in loops:
            if any(b.is_within(loop, other) for other in done):
                continue
            scan = _scan(loop)
            if scan is not None:
                with loop.location, ir.InsertionPoint(loop):
                    _launch(scan)
                done.append(loop)
        for loop in done:
            loop.erase()


@dataclass(frozen=True)
class _Scan:
    """A nest of loops: the last carries `state`, which each turn `combiner.op` gives anew."""

    loops: tuple[ir.Operation, ...]
    combiner: Combiner

    @property
    def body(self) -> ir.Block:
        return self.loops[-1].regions[0].blocks[0]

    @property
    def state(self) -> ir.Value:
        return self.body.arguments[1]


def _scan(loop: ir.Operation) -> _Scan | None:
    loops = [loop]
    while not len(loops[-1].results):
        inside = [view.operation for view in loops[-1].regions[0].blocks[0].operations][:-1]
        if len(inside) != 1 or inside[0].name != "scf.for":
            return None
        loops.append(inside[0])
    last = loops[-1]
    if len(last.results) != 1 or is_used(last.results[0]) or not all(_counts_from_zero(each, loop) for each in loops):
        return None
    block = last.regions[0].blocks[0]
    *ops, end = [view.operation for view in block.operations]
    made = b.defining_op(end.operands[0])
    state = block.arguments[1]
    if made is None or made.block != block or not is_combining(made) or users(state) != [made]:
        return None
    found = origin(last.location)
    if not isinstance(state.type, ir.IntegerType) and not _is_scan(found):
        return None
    inner = [each.regions[0].blocks[0].arguments[0] for each in loops]
    return _Scan(tuple(loops), Combiner(made, state.type)) if _goes_along(ops, inner, loop) else None


def _is_scan(found: Origin | None) -> bool:
    row = None if found is None else optable.lookup(found.op)
    return row is not None and row.kind is Kind.SCAN


def _counts_from_zero(loop: ir.Operation, outermost: ir.Operation) -> bool:
    start, stop, step = list(loop.operands)[:3]
    made = b.defining_op(stop)
    return gpu.constant(start) == 0 and gpu.constant(step) == 1 and (made is None or not b.is_within(made, outermost))


def _goes_along(ops: list[ir.Operation], indices: list[ir.Value], outermost: ir.Operation) -> bool:
    """Whether a loop's ops are arithmetic, loads, and stores of a row's elements, one in each turn; a turn loads nothing that is stored."""
    stores = [op for op in ops if op.name == "memref.store"]
    loads = [op for op in ops if op.name == "memref.load"]
    if not stores or any(op not in stores and op not in loads and not op.name.startswith("arith.") for op in ops):
        return False
    if any(may_alias(base(load.operands[0]), base(store.operands[1])) for load in loads for store in stores):
        return False
    if any((made := b.defining_op(v)) is not None and b.is_within(made, outermost) for op in stores for v in list(op.operands)[1:]):
        return False
    if len({base(op.operands[1]) for op in stores}) != len(stores):
        return False
    for op in stores:
        places = list(op.operands)[2:]
        if not places or places[-1] != indices[-1] or any(places.count(index) != 1 for index in indices):
            return False
    return True


def _launch(scan: _Scan) -> None:
    last, known = scan.loops[-1], scan.combiner
    n, counts, first = of(last.operands[1]), [of(loop.operands[1]) for loop in scan.loops[:-1]], of(last.operands[3])
    rows = gpu.product(counts)
    parts, length = _parts(rows, n)
    before = None if gpu.constant(parts) == 1 else _before(scan, rows, parts, length)
    with gpu.launch([rows, parts], [b.index(_THREADS)], [gpu.shared_type([gpu.WARP], known.type)]) as here:
        at, part = positions(here.block[0], counts), here.block[1]
        start = part * length
        stop = minimum(start + length, n)
        if before is not None:
            starts_at = first
            (first,) = either(b.index(0) < part, [known.type], lambda: [b.load(before, here.block[0], part - 1)], lambda: [starts_at])
        _tiles(here, known, (start, stop), lambda i: _element(scan, at, i), lambda i, v: _put(scan, at, i, v), first)


def _before(scan: _Scan, rows: Scalar, parts: Scalar, length: Scalar) -> ir.Value:
    """For each row and part a buffer's element: what the row's running sum is at the part's end. (That of the last part is not set.) Where
    there is one part, nothing is launched."""
    known, counts = scan.combiner, [of(loop.operands[1]) for loop in scan.loops[:-1]]
    before = b.alloc(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()] * 2, known.type), [rows, parts])
    scratch, threads, one = gpu.shared_type([gpu.WARP], known.type), b.index(_THREADS), b.index(1)
    others = parts - one
    with gpu.launch([rows, others], [threads], [scratch]) as here:
        at, start = positions(here.block[0], counts), here.block[1] * length
        stop = start + length  # a part that another follows is whole
        span = start + here.thread[0], stop, threads
        mine = gpu.carried_together(span, [known.neutral()], lambda i, sums: [known.combine(sums[0], _element(scan, at, i))], _EACH)
        total = Block(here, threads, here.shared).all_reduce(mine[0], known)
        with when(here.thread[0].equals(0)):
            b.store(total, before, here.block[0], here.block[1])
    with gpu.launch([rows * minimum(others, one)], [threads], [scratch]) as here:
        row = here.block[0]

        first = of(scan.loops[-1].operands[3])
        _tiles(here, known, (b.index(0), others), partial(b.load, before, row), lambda i, v: b.store(v, before, row, i), first)
    return before


def _parts(rows: Scalar, n: Scalar) -> tuple[Scalar, Scalar]:
    """Into how many parts a row is cut, and how long they are: whole tiles."""
    worth = gpu.ceil_div(n, _TILE * _TILES)
    free = maximum(b.index(_BLOCKS) // maximum(rows, 1), 1)
    wanted = maximum(minimum(worth, free), 1)
    tiles = maximum(gpu.ceil_div(gpu.ceil_div(n, _TILE), wanted), 1)
    length = gpu.folded(tiles * _TILE)
    return gpu.folded(maximum(gpu.ceil_div(n, length), 1)), length


def _tiles(here: gpu.Here, known: Combiner, span: tuple[Scalar, Scalar], element: Element, put: Put, first: Scalar) -> None:
    """Scan what lies in `span` (from, up to), tile by tile, from `first` on."""
    start, stop = span
    thread, scratch = here.thread[0], here.shared[0]
    lane = thread % gpu.WARP
    warp = thread // gpu.WARP
    last = maximum(stop, 1) - 1

    def tile(at: Scalar, carried: list[Scalar]) -> list[Scalar]:
        mine = at + thread * _EACH
        places = [mine + k for k in range(_EACH)]
        inside = [place < stop for place in places]
        values = [element(minimum(place, last)) for place in places]
        running: list[Scalar] = []
        for value, yes in zip(values, inside, strict=True):
            term = select(yes, value, known.neutral())
            running.append(known.combine(running[-1], term) if running else term)
        total = _warp_scan(running[-1], known, lane)
        with when(lane.equals(gpu.WARP - 1)):
            b.store(total, scratch, warp)
        gpu.barrier()
        before = everything = known.neutral()
        for w in range(_THREADS // gpu.WARP):
            theirs = b.load(scratch, b.index(w))
            everything = known.combine(everything, theirs)
            if w < _THREADS // gpu.WARP - 1:
                more = known.combine(before, theirs)
                before = select(b.index(w) < warp, more, before)
        above = shuffle(total, 1, "up")
        above = select(lane.equals(0), known.neutral(), above)
        offset = known.combine(known.combine(carried[0], before), above)
        for place, yes, value in zip(places, inside, running, strict=True):
            with when(yes):
                put(place, known.combine(offset, value))
        gpu.barrier()  # before the next tile's sums go where these were
        return [known.combine(carried[0], everything)]

    carried((start, stop, b.index(_TILE)), [first], tile)


def _warp_scan(value: Scalar, known: Combiner, lane: Scalar) -> Scalar:
    """Each thread's value combined with those of the threads before it in the warp."""
    distance = 1
    while distance < gpu.WARP:
        more = known.combine(shuffle(value, distance, "up"), value)
        value = select(lane < distance, value, more)
        distance *= 2
    return value


def _element(scan: _Scan, at: list[Scalar], i: Scalar) -> Scalar:
    """What the turn `i` combines the state with."""
    made = scan.combiner.op
    (term,) = [v for v in made.operands if v != scan.state]
    return of(_in_turn(scan, at, i)(term))


def _put(scan: _Scan, at: list[Scalar], i: Scalar, state: Scalar) -> None:
    """What the turn `i` stores, when `state` is what it hands on."""
    value = _in_turn(scan, at, i, {scan.combiner.op.results[0]: state})
    for op in b.ops_of(scan.body):
        if op.name == "memref.store":
            b.store(*map(value, op.operands))


def _in_turn(scan: _Scan, at: list[Scalar], i: Scalar, given: Mapping[ir.Value, ir.Value] | None = None) -> Callable[[ir.Value], ir.Value]:
    """Values of a loop's body in one turn, by copies of its ops at the insertion point, as they are asked for."""
    indices = [loop.regions[0].blocks[0].arguments[0] for loop in scan.loops]
    known: dict[ir.Value, ir.Value] = {**dict(zip(indices, [*at, i], strict=True)), **(given or {})}
    return lambda value: b.once_more(value, known, lambda made: made.block == scan.body)
