"""tierup-transposes-to-tiles: an elementwise op that reads along another axis than it writes goes through tiles in shared memory.

    linalg.generic {parallel, parallel} ins(%x : memref<?x?xf32>) [(i, j) -> (j, i)] outs(%y : memref<?x?xf32>) [(i, j) -> (i, j)]
becomes
    gpu.launch blocks(%across, %down) ... threads (32, 8) {
      the threads read 32 x 32 elements of %x, neighbours along i, into a tile of shared memory, and wait for each other;
      then they write 32 x 32 elements of %y, neighbours along j
    }

so that a warp touches neighbouring memory both times. Lines of the tile are 33 elements long: the 32 of a column then lie in different
banks (M. Harris, "An Efficient Matrix Transpose in CUDA C/C++"). All operands that are read along that other axis have a tile; those that
are read along the written one are read as they are written. Loops around the two are numbers of tiles.

An op of which one of the two axes is known to be short is left to tierup-pointwise-to-threads: most of a tile would be empty.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, minimum
from tierup.lowering.building.loops import when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products.product import length
from tierup.lowering.cuda.rows.blocks import positions

_SIDE = 32
_LINES = 8  # threads of a block along a tile's lines: each takes four elements
_SHORT = 8
_MOST_TILES = 4  # of 32 x 33 elements, at most 33 KB


@register
class TransposesToTiles(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in gpu.host_ops(function):
            structured = Structured.of(op)
            found = None if structured is None else _transpose(structured)
            if found is not None:
                with op.location, ir.InsertionPoint(op):
                    _launch(found)
                op.erase()


@dataclass(frozen=True)
class _Transpose:
    """The operands `tiled` have neighbours in memory along the loop `read`, what is written along the last loop."""

    op: Structured
    read: int
    tiled: tuple[int, ...]


def _transpose(op: Structured) -> _Transpose | None:
    if not op.is_parallel or len(op.iterators) < 2:
        return None
    last = len(op.iterators) - 1
    if any(_along(op, i) != last for i in range(op.reads, len(op.buffers))):
        return None
    along = {i: _along(op, i) for i in range(op.reads) if op.read_of(i)}
    crossing = [i for i, loop in along.items() if loop is not None and loop != last and _indexes(op, i, last)]
    if not crossing:
        return None
    read = along[crossing[0]]
    assert read is not None
    tiled = tuple(i for i in crossing if along[i] == read)
    short = any(known is not None and known < _SHORT for known in (length(op, (loop,)) for loop in (read, last)))
    return None if short or len(tiled) > _MOST_TILES else _Transpose(op, read, tiled)


def _along(op: Structured, i: int) -> int | None:
    """The loop along which neighbours of a buffer's elements are neighbours in memory; None where no loop alone is."""
    type_ = ir.MemRefType(op.buffers[i].type)
    results = list(op.maps[i].results)
    if not results or not isinstance(results[-1], ir.AffineDimExpr) or type_.get_strides_and_offset()[0][-1] != 1:
        return None
    return int(ir.AffineDimExpr(results[-1]).position)


def _indexes(op: Structured, i: int, loop: int) -> bool:
    """Whether a loop alone indexes an axis of a buffer."""
    return any(isinstance(e, ir.AffineDimExpr) and ir.AffineDimExpr(e).position == loop for e in op.maps[i].results)


def _launch(found: _Transpose) -> None:
    op, last = found.op, len(found.op.iterators) - 1
    sizes = op.sizes()
    outer = [i for i in range(last) if i != found.read]
    counts = [*(sizes[i] for i in outer), gpu.ceil_div(sizes[found.read], _SIDE)]
    total = gpu.product(counts)
    grid = [gpu.ceil_div(sizes[last], _SIDE), minimum(total, gpu.MOST_BLOCKS_Y)]
    types = [gpu.shared_type([_SIDE, _SIDE + 1], ir.ShapedType(op.buffers[i].type).element_type) for i in found.tiled]
    with gpu.launch(grid, [b.index(_SIDE), b.index(_LINES)], types) as here:
        across = here.block[0] * _SIDE
        with gpu.strided(here.block[1], total, here.blocks[1]) as number:
            *around, tile = positions(number, counts)
            down = tile * _SIDE
            place = dict(zip(outer, around, strict=True))
            for line in _lines(here):
                at = place | {found.read: down + here.thread[0], last: across + line}
                with when(_inside(found, at, sizes)):
                    for buffer, i in zip(here.shared, found.tiled, strict=True):
                        value = op.load(i, [at[loop] for loop in range(last + 1)])
                        b.store(value, buffer, line, here.thread[0])
            gpu.barrier()
            for line in _lines(here):
                at = place | {found.read: down + line, last: across + here.thread[0]}
                with when(_inside(found, at, sizes)):
                    _write(found, here, line, [at[loop] for loop in range(last + 1)])
            gpu.barrier()  # the next tile takes the place of this one


def _lines(here: gpu.Here) -> list[Scalar]:
    """The thread's lines of a tile."""
    return [here.thread[1] + first for first in range(0, _SIDE, _LINES)]


def _inside(found: _Transpose, at: dict[int, Scalar], sizes: list[Scalar]) -> Scalar:
    read, last = (at[loop] < sizes[loop] for loop in (found.read, len(sizes) - 1))
    return read & last


def _write(found: _Transpose, here: gpu.Here, line: Scalar, at: list[Scalar]) -> None:
    """One element, of what the tiles hold of the tiled operands."""
    op = found.op
    elements: list[Scalar | None] = []
    for i in range(len(op.buffers)):
        if i in found.tiled:
            buffer = here.shared[found.tiled.index(i)]
            elements.append(b.load(buffer, here.thread[0], line))
        else:
            elements.append(op.load(i, at) if op.read_of(i) else None)
    op.write(at, op.compute(at, elements))
