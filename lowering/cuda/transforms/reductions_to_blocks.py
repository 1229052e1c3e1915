"""tierup-reductions-to-blocks: a reduction on buffers becomes kernels in which blocks of threads sum together.

    linalg.generic {parallel, reduction} ins(%x : memref<?x?xf32>) outs(%s : memref<?xf32>)
becomes
    gpu.launch blocks(%row, %part) ... { the block's threads take every 256th element of their part; a tree gives the block's sum }
    gpu.launch blocks(%row) ...        { the sums of a row's parts, and what %s held }

What is summed is cut into parts where the outputs are too few to keep the device busy; where one part is certain there is one kernel, and
it writes %s. The last loop decides how threads lie, so that neighbours read neighbouring elements:

    last loop reduced     a block for each output and part, along the reduced loops ("rows")
    last loop parallel    32 outputs side by side, 8 threads deep along the reduced loops ("columns")

The position of a maximum is a block for each output, too. A reduction whose combining op is not known is a thread for each output, one
element after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, maximum, minimum, select
from tierup.lowering.building.loops import Span, carried, when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import Block, positions, summed
from tierup.lowering.cuda.rows.combining import Combiner, combiners
from tierup.lowering.cuda.rows.selecting import Selector, selector
from tierup.lowering.cuda.rows.starts import take_starts

_THREADS = 256
_PER_THREAD = 16  # elements that a thread sums before another part is worth a block
_PARTS_FOR = 2048  # blocks that keep any device busy
_DEPTH = 8  # of a block of columns
_EACH = 4  # elements of a short row that a thread takes before another warp is worth its tree

Starts = list[Union[ir.Value, None]]


@register
class ReductionsToBlocks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in gpu.host_ops(function):
            structured = Structured.of(op)
            if structured is None or structured.is_parallel:
                continue
            with op.location, ir.InsertionPoint(op):
                known, picks = combiners(structured), selector(structured)
                by_rows = structured.iterators[-1] == "reduction"
                if known is not None:
                    (_rows if by_rows else _columns)(_Reduction(structured, take_starts(structured)), known)
                elif picks is not None and by_rows:
                    _selected(_Reduction(structured, take_starts(structured)), picks)
                else:
                    _one_thread_each(structured)
            op.erase()


class _Reduction:
    """A reduction, with its sizes. `starts`: what its outputs start from: a number, or None for what they hold."""

    def __init__(self, op: Structured, starts: Starts) -> None:
        self.op, self.sizes, self.starts = op, op.sizes(), starts
        self.parallel = [i for i, kind in enumerate(op.iterators) if kind == "parallel"]
        self.outer = [self.sizes[i] for i in self.parallel]
        self.outputs = gpu.product(self.outer)
        self.count = gpu.product([size for i, size in enumerate(self.sizes) if i not in self.parallel])

    def at(self, outputs: Sequence[ir.Value]) -> list[ir.Value | None]:
        """The position in all loops of an output: None in the reduced ones."""
        found = dict(zip(self.parallel, outputs, strict=True))
        return [found.get(i) for i in range(len(self.sizes))]

    def held(self, place: Sequence[ir.Value]) -> list[ir.Value]:
        """What the outputs start from."""
        return [self.op.load(self.op.reads + i, place) if start is None else start for i, start in enumerate(self.starts)]

    def finish(self, known: Sequence[Combiner], at: Sequence[ir.Value | None], sums: Sequence[ir.Value]) -> None:
        """Combine with what the outputs start from, if anything, and write them. (Their maps do not look at the reduced loops.)"""
        place = _place(at)
        if not self.op.overwrites:
            sums = [c.combine(first, v) for c, v, first in zip(known, sums, self.held(place), strict=True)]
        self.op.write(place, sums)

    def partial(self, known: Sequence[Combiner], parts: Scalar) -> list[ir.Value] | None:
        """Memory for what each part gives; None where there is one part."""
        unknown = [ir.ShapedType.get_dynamic_size()] * 2
        return None if gpu.constant(parts) == 1 else [b.alloc(ir.MemRefType.get(unknown, c.type), [self.outputs, parts]) for c in known]


def _place(at: Sequence[ir.Value | None]) -> list[ir.Value]:
    return [b.index(0) if p is None else p for p in at]


def _one_thread_each(op: Structured) -> None:
    sizes = op.sizes()
    outer = [size for size, kind in zip(sizes, op.iterators, strict=True) if kind == "parallel"]
    blocks = gpu.ceil_div(gpu.product(outer), _THREADS)
    where = op.op.location if outer else gpu.alone("whether elements may be reduced in another order is not known")
    with where, gpu.launch([blocks], [b.index(_THREADS)]) as here:
        Block(here, here.width()).spread(op, sizes, here.position())


def _rows(r: _Reduction, known: list[Combiner]) -> None:
    parts = _parts(r.outputs, r.count)
    partial = r.partial(known, parts)
    scratch = [gpu.shared_type([gpu.WARP], t) for t in dict.fromkeys(c.type for c in known)]
    threads = b.index(_threads(r.count))
    with gpu.launch([r.outputs, parts], [threads], scratch) as here:
        block = Block(here, threads, here.shared)
        output, part = here.block[0], here.block[1]
        at = r.at(positions(output, r.outer))
        start = part * threads + here.thread[0]
        step = parts * threads
        mine = summed(r.op, [c.neutral() for c in known], at, r.sizes, (start, r.count, step))
        sums = [block.all_reduce(v, c) for v, c in zip(mine, known, strict=True)]
        with when(here.thread[0].equals(0)):
            r.finish(known, at, sums) if partial is None else _store(partial, [output, part], sums)
    if partial is not None:
        with gpu.launch([r.outputs], [b.index(_THREADS)], scratch) as here:
            block = Block(here, b.index(_THREADS), here.shared)
            output = here.block[0]
            sums = [
                block.all_reduce(_gathered(c, buffer, output, (here.thread[0], parts, b.index(_THREADS))), c)
                for c, buffer in zip(known, partial, strict=True)
            ]
            with when(here.thread[0].equals(0)):
                r.finish(known, r.at(positions(output, r.outer)), sums)


def _selected(r: _Reduction, picks: Selector) -> None:
    types = dict.fromkeys(ir.ShapedType(v.type).element_type for v in r.op.buffers[r.op.reads :])
    scratch = [gpu.shared_type([2 * gpu.WARP], t) for t in types]
    threads = b.index(_threads(r.count))
    with gpu.launch([r.outputs], [threads], scratch) as here:
        block = Block(here, threads, here.shared)
        at = r.at(positions(here.block[0], r.outer))
        place = _place(at)
        mine = summed(r.op, r.held(place), at, r.sizes, (here.thread[0], r.count, threads))
        found = block.all_select(mine, picks)  # with barriers: all have read what the outputs held
        with when(here.thread[0].equals(0)):
            r.op.write(place, found)


def _columns(r: _Reduction, known: list[Combiner]) -> None:
    *outer, width = r.outer
    rows = gpu.product(outer)
    across = gpu.ceil_div(width, gpu.WARP)
    down = minimum(rows, gpu.MOST_BLOCKS_Y)
    parts = _parts(rows * across, r.count, gpu.MOST_BLOCKS_Y)
    partial = r.partial(known, parts)
    tiles = [gpu.shared_type([_DEPTH, gpu.WARP], c.type) for c in known]
    with gpu.launch([across, down, parts], [b.index(gpu.WARP), b.index(_DEPTH)], tiles) as here:
        column, deep = here.position(0), here.thread[1]
        inside = column < width
        with gpu.strided(here.block[1], rows, here.blocks[1]) as row:
            at = r.at([*positions(row, outer), column] if outer else [column])
            start = here.block[2] * _DEPTH + deep
            stop = select(inside, r.count, 0)
            step = parts * _DEPTH
            for tile, mine in zip(here.shared, summed(r.op, [c.neutral() for c in known], at, r.sizes, (start, stop, step)), strict=True):
                b.store(mine, tile, deep, here.thread[0])
            gpu.barrier()
            with when(deep.equals(0) & inside):
                sums = [_down(tile, c, here.thread[0]) for tile, c in zip(here.shared, known, strict=True)]
                if partial is None:
                    r.finish(known, at, sums)
                else:
                    output = row * width + column
                    _store(partial, [output, here.block[2]], sums)
            gpu.barrier()  # before the next row's sums go where these were
    if partial is not None:
        with gpu.launch([gpu.ceil_div(r.outputs, _THREADS)], [b.index(_THREADS)]) as here:
            output = here.position()
            with when(output < r.outputs):
                span = (b.index(0), parts, b.index(1))
                sums = [_gathered(c, buffer, output, span) for c, buffer in zip(known, partial, strict=True)]
                r.finish(known, r.at(positions(output, r.outer)), sums)


def _threads(count: Scalar) -> int:
    """Threads for a row of so many elements, where that is known: a power of two."""
    threads, number = _THREADS, gpu.constant(gpu.folded(count))
    while number is not None and threads > gpu.WARP and threads // 2 * _EACH >= number:
        threads //= 2
    return threads


def _parts(outputs: Scalar, count: Scalar, most: int = _PARTS_FOR) -> Scalar:
    """Into how many parts `count` elements are cut: enough for all of the device, each worth a block."""
    worth = maximum(count // (_THREADS * _PER_THREAD), 1)
    free = maximum(b.index(_PARTS_FOR) // maximum(outputs, 1), 1)
    return gpu.folded(minimum(minimum(worth, free), most))


def _store(buffers: Sequence[ir.Value], at: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    for buffer, value in zip(buffers, values, strict=True):
        b.store(value, buffer, *at)


def _gathered(combiner: Combiner, buffer: ir.Value, output: ir.Value, span: Span) -> Scalar:
    """The parts of an output that one thread takes, combined."""
    (whole,) = carried(span, [combiner.neutral()], lambda part, so_far: [combiner.combine(so_far[0], b.load(buffer, output, part))])
    found: Scalar = whole
    return found


def _down(tile: ir.Value, combiner: Combiner, column: Scalar) -> Scalar:
    """A column of a tile, combined by one thread."""
    result = b.load(tile, b.index(0), column)
    for deep in range(1, _DEPTH):
        result = combiner.combine(result, b.load(tile, b.index(deep), column))
    return result
