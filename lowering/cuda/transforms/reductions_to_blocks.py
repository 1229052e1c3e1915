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
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
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
@dataclass(frozen=True)
class ReductionsToBlocks(Pass):
    """Launch kernels for each reduction on buffers."""

    name = "tierup-reductions-to-blocks"

    def run_on_function(self, function: ir.Operation) -> None:
        for op in gpu.host_ops(function):
            structured = Structured.of(op)
            if structured is None or structured.is_parallel:
                continue
            with op.location, ir.InsertionPoint(op):
                known, picks = combiners(structured), selector(structured)
                if known is None and picks is not None and structured.iterators[-1] == "reduction":
                    _selected(structured, picks, take_starts(structured))
                elif known is None:
                    _one_thread_each(structured)
                else:
                    (_rows if structured.iterators[-1] == "reduction" else _columns)(structured, known, take_starts(structured))
            op.erase()


def _split(op: Structured, sizes: Sequence[ir.Value]) -> tuple[list[int], list[int], list[ir.Value], list[ir.Value]]:
    parallel = [i for i, kind in enumerate(op.iterators) if kind == "parallel"]
    reduced = [i for i, kind in enumerate(op.iterators) if kind != "parallel"]
    return parallel, reduced, [sizes[i] for i in parallel], [sizes[i] for i in reduced]


def _one_thread_each(op: Structured) -> None:
    sizes = op.sizes()
    _, _, outer, _ = _split(op, sizes)
    outputs = gpu.product(outer)
    blocks = gpu.ceil_div(outputs, _THREADS)
    where = op.op.location if outer else gpu.alone("whether elements may be reduced in another order is not known")
    with where, gpu.launch([blocks], [b.index(_THREADS)]) as here:
        Block(here, here.width()).spread(op, sizes, here.position())


def _rows(op: Structured, known: list[Combiner], starts: Starts) -> None:
    sizes = op.sizes()
    parallel, _, outer, inner = _split(op, sizes)
    outputs, count = gpu.product(outer), gpu.product(inner)
    parts = _parts(outputs, count)
    partial = None if gpu.constant(parts) == 1 else [_allocate([outputs, parts], c.type) for c in known]
    scratch = [gpu.shared_type([gpu.WARP], t) for t in dict.fromkeys(c.type for c in known)]
    threads = b.index(_threads(count))
    with gpu.launch([outputs, parts], [threads], scratch) as here:
        block = Block(here, threads, here.shared)
        output, part = here.block[0], here.block[1]
        at = _at(op, parallel, positions(output, outer))
        start = part * threads + here.thread[0]
        step = parts * threads
        mine = summed(op, [c.neutral() for c in known], at, sizes, (start, count, step))
        sums = [block.all_reduce(v, c) for v, c in zip(mine, known, strict=True)]
        with when(here.thread[0].equals(0)):
            _finish(op, known, at, sums, starts) if partial is None else _store(partial, [output, part], sums)
    if partial is not None:
        with gpu.launch([outputs], [b.index(_THREADS)], scratch) as here:
            block = Block(here, b.index(_THREADS), here.shared)
            output = here.block[0]
            sums = [
                block.all_reduce(_gathered(c, buffer, output, (here.thread[0], parts, b.index(_THREADS))), c)
                for c, buffer in zip(known, partial, strict=True)
            ]
            with when(here.thread[0].equals(0)):
                _finish(op, known, _at(op, parallel, positions(output, outer)), sums, starts)


def _selected(op: Structured, picks: Selector, starts: Starts) -> None:
    sizes = op.sizes()
    parallel, _, outer, inner = _split(op, sizes)
    types = dict.fromkeys(ir.ShapedType(v.type).element_type for v in op.buffers[op.reads :])
    scratch = [gpu.shared_type([2 * gpu.WARP], t) for t in types]
    threads = b.index(_threads(gpu.product(inner)))
    with gpu.launch([gpu.product(outer)], [threads], scratch) as here:
        block = Block(here, threads, here.shared)
        at = _at(op, parallel, positions(here.block[0], outer))
        place = [b.index(0) if p is None else p for p in at]
        held = _held(op, place, starts)
        mine = summed(op, held, at, sizes, (here.thread[0], gpu.product(inner), threads))
        found = block.all_select(mine, picks)  # with barriers: all have read what the outputs held
        with when(here.thread[0].equals(0)):
            op.write(place, found)


def _columns(op: Structured, known: list[Combiner], starts: Starts) -> None:
    sizes = op.sizes()
    parallel, _, outputs_of, inner = _split(op, sizes)
    *outer, width = outputs_of
    rows, count = gpu.product(outer), gpu.product(inner)
    outputs = rows * width
    across = gpu.ceil_div(width, gpu.WARP)
    down = minimum(rows, gpu.MOST_BLOCKS_Y)
    parts = _parts(rows * across, count, gpu.MOST_BLOCKS_Y)
    partial = None if gpu.constant(parts) == 1 else [_allocate([outputs, parts], c.type) for c in known]
    tiles = [gpu.shared_type([_DEPTH, gpu.WARP], c.type) for c in known]
    with gpu.launch([across, down, parts], [b.index(gpu.WARP), b.index(_DEPTH)], tiles) as here:
        column, deep = here.position(0), here.thread[1]
        inside = column < width
        with gpu.strided(here.block[1], rows, here.blocks[1]) as row:
            at = _at(op, parallel, [*positions(row, outer), column] if outer else [column])
            start = here.block[2] * _DEPTH + deep
            stop = select(inside, count, 0)
            step = parts * _DEPTH
            for tile, mine in zip(here.shared, summed(op, [c.neutral() for c in known], at, sizes, (start, stop, step)), strict=True):
                b.store(mine, tile, deep, here.thread[0])
            gpu.barrier()
            with when(deep.equals(0) & inside):
                sums = [_down(tile, c, here.thread[0]) for tile, c in zip(here.shared, known, strict=True)]
                if partial is None:
                    _finish(op, known, at, sums, starts)
                else:
                    output = row * width + column
                    _store(partial, [output, here.block[2]], sums)
            gpu.barrier()  # before the next row's sums go where these were
    if partial is not None:
        with gpu.launch([gpu.ceil_div(outputs, _THREADS)], [b.index(_THREADS)]) as here:
            output = here.position()
            with when(output < outputs):
                span = (b.index(0), parts, b.index(1))
                sums = [_gathered(c, buffer, output, span) for c, buffer in zip(known, partial, strict=True)]
                _finish(op, known, _at(op, parallel, positions(output, outputs_of)), sums, starts)


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


def _allocate(sizes: Sequence[Scalar], element: ir.Type) -> ir.Value:
    return b.alloc(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()] * len(sizes), element), sizes)


def _at(op: Structured, parallel: list[int], outputs: Sequence[ir.Value]) -> list[ir.Value | None]:
    """The position in all loops of an output: None in the reduced ones."""
    found: list[ir.Value | None] = [None] * len(op.iterators)
    for i, position in zip(parallel, outputs, strict=True):
        found[i] = position
    return found


def _finish(
    op: Structured, known: Sequence[Combiner], at: Sequence[ir.Value | None], sums: Sequence[ir.Value], starts: Starts
) -> None:
    """Combine with what the outputs start from, if anything, and write them. (Their maps do not look at the reduced loops.)"""
    place = [b.index(0) if p is None else p for p in at]
    if op.overwrites:
        op.write(place, sums)
        return
    op.write(place, [c.combine(first, v) for c, v, first in zip(known, sums, _held(op, place, starts), strict=True)])


def _held(op: Structured, place: Sequence[ir.Value], starts: Starts) -> list[ir.Value]:
    """What the outputs start from: numbers, or what they hold."""
    return [op.load(op.reads + i, place) if start is None else start for i, start in enumerate(starts)]


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
