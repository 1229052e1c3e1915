"""tierup-strip-mine: where a loop goes through one array along its rows and through another across them, both are met in cache lines.

    linalg.generic {maps = [(i, j) -> (j, i), (i, j) -> (i, j)], parallel} ins(%x : memref<?x?xf64>) outs(%y : memref<?x?xf64>) { copy }

becomes, for the loop that the array read across has innermost, i,

    scf.for %strip = %c0 to %main step %c8 {                  // 64 bytes of %x
      scf.for %j = %c0 to %columns step %c1 {
        scf.for %k = %c0 to %c8 step %c1 {
          %v = memref.load %x[%j, %strip + %k]                // a line of %x, all of it
          memref.store %v, %y[%strip + %k, %j]                // eight lines of %y, each where it was left
        }
      }
    }
    ...                                                       // the rest of i, in its order: fewer than eight rounds

Else each round would read a line for one element, and have it read again when the next comes. Strip-mining and interchange, as of Allen
and Kennedy, "Optimizing Compilers for Modern Architectures", 9.2. Taken are parallel ops of cheap bodies on more than a first cache
holds, with divisions and roots on more than a second does: where more is computed, memory is not what takes time, and threads share the
loop (tierup-share-loops). Eight lines in turn are what a cache of eight ways holds though all have the same place in it, as the rows of a
matrix of 1024 columns have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, bytes_of, minimum
from tierup.lowering.building.loops import carried, nest

_LINES, _NARROWEST = 8, 4  # lines that are written or read along at a time: the ways of a first cache; and the least width of a strip
_BLOCK = 256  # elements along: so many pages of what is read across are all known to the processor
_LEAST, _LEAST_IF_DEAR = 1 << 15, 1 << 20  # bytes: what fits in a first cache is read again from there, in a second quickly enough
_DEAR = frozenset({"arith.divf", "math.sqrt"})  # which a strip of few rounds makes fewer vectors of
_DEARER = frozenset(f"arith.{name}" for name in ("remf", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi"))
_MOST_OPS = 8


@register
class StripMine(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk_unfused(function)):
            structured = Structured.of(op)
            strip = None if structured is None else strip_of(structured)
            if structured is not None and strip is not None:
                with op.location, ir.InsertionPoint(op):
                    _mine(structured, strip)
                op.erase()


def strip_of(op: Structured) -> int | None:
    """The loop to take in strips: that in which an array lies which is read across; None where no array is, or it costs nothing."""
    body = list(b.ops_of(op.op.regions[0].blocks[0])) if op.op.name == "linalg.generic" else ()
    if not body or not op.is_parallel or len(body) > _MOST_OPS or not all(_is_cheap(inner) for inner in body):
        return None
    if any(not isinstance(e, ir.AffineDimExpr) for map_ in op.maps for e in map_.results):
        return None
    inner = len(op.iterators) - 1
    along = [_in_memory(buffer, map_) for buffer, map_ in zip(op.buffers, op.maps, strict=True)]
    across = [i for i in range(op.reads) if along[i] not in (None, inner) and op.read_of(i) and _moves(op.maps[i], inner)]
    least = _LEAST_IF_DEAR if any(each.name in _DEAR for each in body) else _LEAST
    if not across or inner not in along[op.reads :] or not any(_is_large(op.buffers[i], least) for i in across):
        return None
    return along[across[0]]


def _rows(op: Structured) -> int:
    """How many arrays lie along the innermost loop: each strip is met in so many times its width lines."""
    return sum(_in_memory(buffer, map_) == len(op.iterators) - 1 for buffer, map_ in zip(op.buffers, op.maps, strict=True))


def _is_cheap(op: ir.Operation) -> bool:
    return op.name in _DEAR or not len(op.regions) and op.name not in _DEARER and op.name.startswith(("arith.", "linalg.yield"))


def _in_memory(buffer: ir.Value, map_: ir.AffineMap) -> int | None:
    """The loop whose rounds read neighbours in memory; None where none does."""
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    places = [ir.AffineDimExpr(e).position for e in map_.results]
    return places[-1] if strides and strides[-1] == 1 else None


def _moves(map_: ir.AffineMap, loop: int) -> bool:
    return any(ir.AffineDimExpr(e).position == loop for e in map_.results)


def _is_large(buffer: ir.Value, least: int) -> bool:
    shaped = ir.ShapedType(buffer.type)
    return not shaped.has_static_shape or math.prod(b.shape_of(shaped)) * bytes_of(shaped.element_type) >= least


def _mine(op: Structured, strip: int) -> None:
    """Blocks of the innermost loop; in each strips, all other loops as they were, and a strip's rounds; at last the rest of that loop."""
    sizes, zero, one = op.sizes(), b.index(0), b.index(1)
    size = sizes.pop(strip)
    *others, length = sizes
    width = max(_NARROWEST, _LINES // _rows(op))
    main = size // width * width

    def run(position: Scalar, at: list[Scalar]) -> list[Scalar]:
        op.run([*at[:strip], position, *at[strip:]])
        return []

    def in_strip(first: Scalar, at: list[Scalar]) -> list[Scalar]:
        return carried((zero, b.index(width), one), [], lambda k, _: run(first + k, at))

    def in_block(start: Scalar, do: Callable[[Scalar, list[Scalar]], list[Scalar]]) -> Callable[[Scalar, list[Any]], list[Scalar]]:
        span = start, minimum(start + _BLOCK, length), one
        return lambda position, _: nest(others, [], lambda at, _: carried(span, [], lambda last, _: do(position, [*at, last])))

    def block(start: Scalar, _: list[Scalar]) -> list[Scalar]:
        carried((zero, main, b.index(width)), [], in_block(start, in_strip))
        return carried((main, size, one), [], in_block(start, run))

    carried((zero, length, b.index(_BLOCK)), [], block)
