"""The threads of a block at work together: on the points of an op side by side, on a reduction as a tree.

    block = Block(here, threads)
    block.spread(op)            # thread t runs points t, t + threads, ... of an op without reductions
    block.reduce(op)            # every thread gets the sum of all: shuffles within a warp, shared memory between warps

The tree is the usual one (M. Harris, "Optimizing Parallel Reduction in CUDA"; its warp step with shuffles: NVIDIA, CUDA C++ Programming
Guide, warp shuffle functions): five exchanges make a warp's result known to its 32 threads, one store per warp and five more exchanges
the block's. It needs whole warps, which blocks of a power of two of at least 32 threads have.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.combining import Combiner
from tierup.lowering.cuda.rows.selecting import Selector
from tierup.lowering.cuda.structured import Structured


class Block:
    """`threads` (index): how many there are, all along x. `scratch`: shared buffers of 32 elements, one per type that is reduced; without
    any the threads along x are one warp, whatever other warps the block has."""

    def __init__(self, here: gpu.Here, threads: ir.Value, scratch: Sequence[ir.Value] = ()) -> None:
        self.thread, self.threads = here.thread[0], threads
        self._scratch = {ir.MemRefType(s.type).element_type: s for s in scratch}

    def spread(self, op: Structured, sizes: Sequence[ir.Value], first: ir.Value | None = None) -> None:
        """All points of an op, side by side, this thread's from `first` on (its own number); with reductions, all outputs, each summed by
        one thread."""
        parallel = [i for i, kind in enumerate(op.iterators) if kind == "parallel"]
        reduced = [i for i, kind in enumerate(op.iterators) if kind != "parallel"]
        count = gpu.product([sizes[i] for i in parallel])
        start = self.thread if first is None else first
        if not reduced:
            self._side_by_side(op, (start, count, self.threads), sizes)
            return
        with gpu.strided(start, count, self.threads) as point:
            at: list[ir.Value | None] = [None] * len(sizes)
            for i, position in zip(parallel, positions(point, [sizes[i] for i in parallel]), strict=True):
                at[i] = position
            self._inner(op, at, reduced, sizes)

    def _side_by_side(self, op: Structured, span: Span, sizes: Sequence[ir.Value]) -> None:
        """Points that nothing is carried between. Some are read before the first of them is computed; the last ones come one by one."""
        step, count = gpu.constant(gpu.folded(span[2])), gpu.constant(gpu.folded(span[1]))
        points = _SPREAD if step is None or count is None else max(1, min(_SPREAD, count // step))

        def some(first: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            at = [positions(_further(first, k, span[2]), sizes) for k in range(points)]
            elements = [op.read(place) for place in at]
            values = [op.compute(place, e) for place, e in zip(at, elements, strict=True)]
            for place, v in zip(at, values, strict=True):
                op.write(place, v)
            return []

        end, _ = gpu.carried_while(span, points, [], some) if points > 1 else (span[0], [])
        with gpu.strided(end, span[1], span[2]) as point:
            op.run(positions(point, sizes))

    def everyone(self, op: Structured, sizes: Sequence[ir.Value]) -> None:
        """All points of an op, by each thread for itself, one after the other."""
        self._inner(op, [None] * len(sizes), list(range(len(sizes))), sizes)

    def _inner(self, op: Structured, at: list[ir.Value | None], left: list[int], sizes: Sequence[ir.Value]) -> None:
        if not left:
            op.run([p for p in at if p is not None])
            return
        with gpu.strided(b.index(0), sizes[left[0]], b.index(1)) as position:
            self._inner(op, [position if i == left[0] else p for i, p in enumerate(at)], left[1:], sizes)

    def all_select(self, values: Sequence[ir.Value], selector: Selector) -> list[ir.Value]:
        """The best of the block's candidates, for every thread: (element, position). `scratch` needs 64 elements of each type."""
        found = _warp_select(values, selector)
        places = [self._scratch[v.type] for v in found]
        lane = b.value("arith.remui", [self.thread, b.index(gpu.WARP)], b.index_type())
        warp = b.value("arith.divui", [self.thread, b.index(gpu.WARP)], b.index_type())
        warps = b.value("arith.divui", [self.threads, b.index(gpu.WARP)], b.index_type())
        gpu.barrier()  # who still reads what the scratch held
        with gpu.when(gpu.same(lane, b.index(0))):
            for i, (value, place) in enumerate(zip(found, places, strict=True)):
                b.op("memref.store", [value, place, _beyond(warp, i)])
        gpu.barrier()
        mine = gpu.smaller(lane, b.value("arith.subi", [warps, b.index(1)], b.index_type()))  # the last more than once: it changes nothing
        there = [b.value("memref.load", [place, _beyond(mine, i)], v.type) for i, (v, place) in enumerate(zip(found, places, strict=True))]
        return _warp_select(there, selector)

    def all_reduce(self, value: ir.Value, combiner: Combiner) -> ir.Value:
        """The block's values combined; every thread gets the result."""
        value = _warp_reduce(value, combiner)
        if not self._scratch:
            return value
        scratch = self._scratch[value.type]
        lane = b.value("arith.remui", [self.thread, b.index(gpu.WARP)], b.index_type())
        warp = b.value("arith.divui", [self.thread, b.index(gpu.WARP)], b.index_type())
        warps = b.value("arith.divui", [self.threads, b.index(gpu.WARP)], b.index_type())
        gpu.barrier()  # who still reads what the scratch held
        with gpu.when(gpu.same(lane, b.index(0))):
            b.op("memref.store", [value, scratch, warp])
        gpu.barrier()
        mine = gpu.smaller(lane, b.value("arith.subi", [warps, b.index(1)], b.index_type()))
        found = b.value("memref.load", [scratch, mine], value.type)
        there = b.value("arith.select", [gpu.below(lane, warps), found, combiner.neutral()], value.type)
        return _warp_reduce(there, combiner)


Span = tuple[ir.Value, ir.Value, ir.Value]  # from, up to, step
_SHORT = 8  # ops of a body
_SPREAD = 4  # points of an op without reductions that a thread takes at once


def summed(
    op: Structured, start: Sequence[ir.Value], at: Sequence[ir.Value | None], sizes: Sequence[ir.Value], span: Span
) -> list[ir.Value]:
    """What one thread's points of a reduction come to, from `start` on. `at`: its position in the parallel loops, None in the others,
    whose points are numbered; `span`: the numbers that the thread takes."""
    reduced = [i for i, position in enumerate(at) if position is None]

    def add(point: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        inside = iter(positions(point, [sizes[i] for i in reduced]))
        place = [next(inside) if position is None else position for position in at]
        return op.compute(place, [*op.read(place, op.reads), *sums])

    return gpu.carried_together(span, list(start), add, _together(op, span))


def _together(op: Structured, span: Span) -> int:
    """How many points of a reduction a thread takes at once: enough loads on their way to keep the memory busy, less code where the body is
    long. As many as it has where that is known to be few."""
    length = sum(_SHORT if inner.name.startswith("math.") else 1 for inner in b.walk(op.op))
    together = 8 if length <= _SHORT else 4 if length <= 3 * _SHORT else 2
    count, step = gpu.constant(gpu.folded(span[1])), gpu.constant(gpu.folded(span[2]))
    return together if count is None or step is None else max(1, min(together, count // step))


def _warp_reduce(value: ir.Value, combiner: Combiner) -> ir.Value:
    """The values of a warp's threads combined, in each of them."""
    distance = gpu.WARP // 2
    while distance:
        value = combiner.combine(value, shuffle(value, distance))
        distance //= 2
    return value


def _warp_select(values: Sequence[ir.Value], selector: Selector) -> list[ir.Value]:
    """The best of a warp's candidates, in each of its threads."""
    found = list(values)
    distance = gpu.WARP // 2
    while distance:
        found = selector.combine(found, [shuffle(v, distance) for v in found])
        distance //= 2
    return found


def _further(first: ir.Value, k: int, step: ir.Value) -> ir.Value:
    return b.value("arith.addi", [first, b.value("arith.muli", [step, b.index(k)], b.index_type())], b.index_type()) if k else first


def _beyond(place: ir.Value, which: int) -> ir.Value:
    """Of one type's scratch elements and positions have a half each."""
    return b.value("arith.addi", [place, b.index(which * gpu.WARP)], b.index_type()) if which else place


def shuffle(value: ir.Value, distance: int, mode: str = "xor") -> ir.Value:
    """The value of another thread of the warp, by `mode`: "xor", whose lane differs in one bit; "up", so many lanes before, where there is
    one. Registers of 32 bits are exchanged: narrow types take one, wide two."""
    type_ = value.type
    bits = _bits(type_)
    if bits == 64:
        return _shuffle_halves(value, distance, mode)
    if bits == 32:
        made = b.op(
            "gpu.shuffle", [value, b.integer(distance, 32), b.integer(gpu.WARP, 32)], [type_, b.integer_type(1)],
            mode=ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>"),
        )  # fmt: skip
        return made.results[0]
    narrow = b.integer_type(bits)
    as_bits = value if isinstance(type_, ir.IntegerType) else b.value("arith.bitcast", [value], narrow)
    moved = shuffle(b.value("arith.extui", [as_bits], b.integer_type(32)), distance, mode)
    back = b.value("arith.trunci", [moved], narrow)
    return back if isinstance(type_, ir.IntegerType) else b.value("arith.bitcast", [back], type_)


def _shuffle_halves(value: ir.Value, distance: int, mode: str) -> ir.Value:
    word, half, type_ = b.integer_type(64), b.integer_type(32), value.type
    as_bits = value if isinstance(type_, ir.IntegerType) else b.value("arith.bitcast", [value], word)
    high = b.value("arith.shrui", [as_bits, b.integer(32, 64)], word)
    low, high = (shuffle(b.value("arith.trunci", [part], half), distance, mode) for part in (as_bits, high))
    low, high = (b.value("arith.extui", [part], word) for part in (low, high))
    back = b.value("arith.ori", [low, b.value("arith.shli", [high, b.integer(32, 64)], word)], word)
    return back if isinstance(type_, ir.IntegerType) else b.value("arith.bitcast", [back], type_)


def _bits(type_: ir.Type) -> int:
    if isinstance(type_, ir.IntegerType):
        return type_.width
    return {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[str(type_)]


def positions(number: ir.Value, sizes: Sequence[ir.Value]) -> list[ir.Value]:
    """The positions in a nest of loops that a number of all its points stands for, outermost first."""
    if not sizes:
        return []
    found = []
    for size in reversed(sizes[1:]):
        found.append(b.value("arith.remui", [number, size], b.index_type()))
        number = b.value("arith.divui", [number, size], b.index_type())
    return [number, *reversed(found)]
