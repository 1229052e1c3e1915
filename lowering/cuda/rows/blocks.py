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

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, minimum, of, select
from tierup.lowering.building.loops import Span, when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.combining import Combiner
from tierup.lowering.cuda.rows.selecting import Selector


class Block:
    """`threads` (index): how many there are, all along x. `scratch`: shared buffers of 32 elements, one per type that is reduced; without
    any the threads along x are one warp, whatever other warps the block has."""

    def __init__(self, here: gpu.Here, threads: Scalar, scratch: Sequence[ir.Value] = ()) -> None:
        self.thread, self.threads = here.thread[0], threads
        self._scratch = {ir.MemRefType(s.type).element_type: s for s in scratch}

    def spread(self, op: Structured, sizes: Sequence[Scalar], first: Scalar | None = None) -> None:
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
            at: list[Scalar | None] = [None] * len(sizes)
            for i, position in zip(parallel, positions(point, [sizes[i] for i in parallel]), strict=True):
                at[i] = position
            self._inner(op, at, reduced, sizes)

    def _side_by_side(self, op: Structured, span: Span, sizes: Sequence[Scalar]) -> None:
        """Points that nothing is carried between. Some are read before the first of them is computed; the last ones come one by one."""
        step, count = gpu.constant(gpu.folded(span[2])), gpu.constant(gpu.folded(span[1]))
        points = _SPREAD if step is None or count is None else max(1, min(_SPREAD, count // step))

        def some(first: Scalar, _: list[Scalar]) -> list[Scalar]:
            op.run_together([positions(first + span[2] * k if k else first, sizes) for k in range(points)])
            return []

        end, _ = gpu.carried_while(span, points, [], some) if points > 1 else (span[0], [])
        with gpu.strided(end, span[1], span[2]) as point:
            op.run(positions(point, sizes))

    def everyone(self, op: Structured, sizes: Sequence[Scalar]) -> None:
        """All points of an op, by each thread for itself, one after the other."""
        self._inner(op, [None] * len(sizes), list(range(len(sizes))), sizes)

    def _inner(self, op: Structured, at: list[Scalar | None], left: list[int], sizes: Sequence[Scalar]) -> None:
        if not left:
            op.run([p for p in at if p is not None])
            return
        with gpu.strided(b.index(0), sizes[left[0]], b.index(1)) as position:
            self._inner(op, [position if i == left[0] else p for i, p in enumerate(at)], left[1:], sizes)

    def all_select(self, values: Sequence[Scalar], selector: Selector) -> list[Scalar]:
        """The best of the block's candidates, for every thread: (element, position). `scratch` needs 64 elements of each type."""
        return _warp_select(self._of_warps(_warp_select(values, selector)), selector)

    def all_reduce(self, value: Scalar, combiner: Combiner) -> Scalar:
        """The block's values combined; every thread gets the result."""
        value = _warp_reduce(value, combiner)
        if not self._scratch:
            return value
        (found,) = self._of_warps([value])
        is_one = self.thread % gpu.WARP < self.threads // gpu.WARP
        return _warp_reduce(select(is_one, found, combiner.neutral()), combiner)

    def _of_warps(self, values: Sequence[Scalar]) -> list[Scalar]:
        """What the warps have found: the first thread of each warp that of the first warp, and so on; those beyond, that of the last."""
        places = [self._scratch[v.type] for v in values]
        lane, warp = self.thread % gpu.WARP, self.thread // gpu.WARP
        warps = self.threads // gpu.WARP
        gpu.barrier()  # who still reads what the scratch held
        with when(lane.equals(0)):
            for i, (value, place) in enumerate(zip(values, places, strict=True)):
                b.store(value, place, warp + i * gpu.WARP)  # of one type's scratch elements and positions have a half each
        gpu.barrier()
        mine = minimum(lane, warps - 1)
        return [b.load(place, mine + i * gpu.WARP) for i, place in enumerate(places)]


_SHORT = 8  # ops of a body
_SPREAD = 4  # points of an op without reductions that a thread takes at once


def summed(op: Structured, start: Sequence[Scalar], at: Sequence[Scalar | None], sizes: Sequence[Scalar], span: Span) -> list[Scalar]:
    """What one thread's points of a reduction come to, from `start` on. `at`: its position in the parallel loops, None in the others,
    whose points are numbered; `span`: the numbers that the thread takes."""
    reduced = [i for i, position in enumerate(at) if position is None]

    def add(point: Scalar, sums: list[Scalar]) -> list[Scalar]:
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


def _warp_reduce(value: Scalar, combiner: Combiner) -> Scalar:
    """The values of a warp's threads combined, in each of them."""
    distance = gpu.WARP // 2
    while distance:
        value = combiner.combine(value, shuffle(value, distance))
        distance //= 2
    return value


def _warp_select(values: Sequence[Scalar], selector: Selector) -> list[Scalar]:
    """The best of a warp's candidates, in each of its threads."""
    found = list(values)
    distance = gpu.WARP // 2
    while distance:
        found = selector.combine(found, [shuffle(v, distance) for v in found])
        distance //= 2
    return found


def shuffle(value: ir.Value, distance: int, mode: str = "xor") -> Scalar:
    """The value of another thread of the warp, by `mode`: "xor", whose lane differs in one bit; "up", so many lanes before, where there is
    one. Registers of 32 bits are exchanged: narrow types take one, wide two."""
    value = of(value)
    dtype, width = value.dtype, value.dtype.itemsize
    if width == 4:
        made = b.op(
            "gpu.shuffle", [value, b.integer(distance, 32), b.integer(gpu.WARP, 32)], [value.type, b.integer_type(1)],
            mode=ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>"),
        )  # fmt: skip
        return Scalar(made.results[0], dtype)
    bits = value.bits() if value.is_float else value
    if width == 8:
        halves = bits.cast(dtypes.u64), bits.cast(dtypes.u64) >> 32
        low, high = [shuffle(part.cast(dtypes.u32), distance, mode) for part in halves]
        bits = low.cast(dtypes.u64) | (high.cast(dtypes.u64) << 32)
    else:
        bits = shuffle(bits.convert("arith.extui", dtypes.u32), distance, mode).convert("arith.trunci", bits.dtype)
    return bits.convert("arith.bitcast", dtype) if value.is_float else Scalar(bits, dtype)


def positions(number: Scalar, sizes: Sequence[Scalar]) -> list[Scalar]:
    """The positions in a nest of loops that a number of all its points stands for, outermost first."""
    if not sizes:
        return []
    found = []
    for size in reversed(sizes[1:]):
        found.append(number % size)
        number = number // size
    return [number, *reversed(found)]
