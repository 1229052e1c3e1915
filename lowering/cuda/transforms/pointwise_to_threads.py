"""tierup-pointwise-to-threads: an elementwise op on buffers becomes a kernel with a thread for every few elements.

    linalg.generic {parallel, parallel} ins(%x : memref<?x?xf32>, %v : memref<?xf32>) outs(%y : memref<?x?xf32>)
becomes
    gpu.launch blocks(%bx, %by) in (...) threads(%tx, %ty) in (...) {
      the points (%row, 4 * %column .. 4 * %column + 3) of a thread, straight one after the other; what is left over, in a loop
    }

Threads lie along the innermost loop, so that neighbours touch neighbouring memory; the loops around it are one number along y. The block's
shape is found at launch from the sizes: rows of 3 have blocks of 1 x 256. tierup-collapse-loops, before, makes one loop of most.

A thread reads all its elements before it computes: LLVM makes loads and stores of up to 16 bytes of them where the buffer begins at such an
address (vectorised access: NVIDIA, CUDA C++ Best Practices Guide). So no point may read what another point writes, and none does:
bufferization copies what is read elsewhere than where it is written.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, bytes_of, minimum, select
from tierup.lowering.building.loops import either, when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import positions

_THREADS = 256  # of a block: eight blocks make a multiprocessor of any target full
_BYTES = 16  # the widest load of a thread


@register
class PointwiseToThreads(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in gpu.host_ops(function):
            structured = Structured.of(op)
            if structured is not None and structured.is_parallel:
                with op.location, ir.InsertionPoint(op):
                    _launch(structured)
                op.erase()


def _launch(op: Structured) -> None:
    sizes = op.sizes()
    if not sizes:
        with gpu.launch([b.index(1)], [b.index(1)]):
            op.run([])
        return
    *outer, inner = sizes
    points = _points(op)
    wide = b.index(_THREADS) if not outer else _wide(gpu.ceil_div(inner, points))
    tall = b.index(_THREADS) // wide
    rows = gpu.product(outer)
    across = gpu.ceil_div(inner, wide * points)
    down = minimum(gpu.ceil_div(rows, tall), gpu.MOST_BLOCKS_Y)
    with gpu.launch([across, down] if outer else [across], [wide, tall] if outer else [wide]) as here:
        first = here.position(0) * points
        if not outer:
            _row(op, [], first, inner, points)
            return
        with gpu.strided(here.position(1), rows, here.width(1)) as row:
            _row(op, positions(row, outer), first, inner, points)


def _wide(wanted: Scalar) -> Scalar:
    """Threads of a block along the innermost loop: the least power of two that holds `wanted`, at most all of a block's."""
    result, size = b.index(_THREADS), _THREADS
    while size > 1:
        size //= 2
        result = select(wanted < size + 1, b.index(size), result)
    return result


def _points(op: Structured) -> int:
    """How many points in a row a thread takes: as many as the widest load has elements, where every buffer steps by one element or none."""
    last = len(op.iterators) - 1
    sizes = []
    for buffer, map_ in zip(op.buffers, op.maps, strict=True):
        type_ = ir.MemRefType(buffer.type)
        axes = [axis for axis, e in enumerate(map_.results) if str(e).find(f"d{last}") >= 0]
        if not axes:
            continue
        strides, _ = type_.get_strides_and_offset()
        if axes != [type_.rank - 1] or not isinstance(map_.results[axes[0]], ir.AffineDimExpr) or strides[-1] != 1:
            return 1
        sizes.append(bytes_of(type_.element_type))
    return max(1, _BYTES // max(sizes, default=_BYTES))


def _row(op: Structured, outer: list[Scalar], first: Scalar, size: Scalar, points: int) -> None:
    """The points of a thread in one row, from `first` on."""
    if points == 1:
        with when(first < size):
            op.run([*outer, first])
        return

    def together() -> list[ir.Value]:
        op.run_together([[*outer, first + i] for i in range(points)])
        return []

    def one_by_one() -> list[ir.Value]:
        with gpu.strided(first, size, b.index(1)) as column:
            op.run([*outer, column])
        return []

    either(first + (points - 1) < size, [], together, one_by_one)
