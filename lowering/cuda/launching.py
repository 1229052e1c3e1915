"""Building `gpu.launch`: a grid of blocks of threads, and where a thread finds itself in it.

    with launch([blocks], [index(256)]) as here:
        i = here.linear_thread()          # block * 256 + thread, along x
        ...
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, dtype_of, known, lifted, maximum, of
from tierup.lowering.building.loops import Span, carried
from tierup.lowering.building.sizes import Size

WARP = 32  # threads that run in step; shuffles exchange registers among them
LAUNCH = "gpu.launch"
_ALONE = "one thread: "
_SAID_ALONE = re.compile(rf'"{_ALONE}([^"]+)"')
MOST_BLOCKS_Y = 65535  # CUDA C Programming Guide, technical specifications: blocks along y and z
_AXES = 3
_STATIC_BYTES = 48 << 10  # the same: shared memory of a block that is not asked for at launch
_ALIGNMENT = 16


@dataclass(frozen=True)
class Here:
    """The body of a launch: per axis (x, y, z) the block's and the thread's number, and how many there are of each."""

    block: tuple[Scalar, ...]
    thread: tuple[Scalar, ...]
    blocks: tuple[Scalar, ...]
    threads: tuple[Scalar, ...]
    shared: tuple[ir.Value, ...]  # memory that the threads of a block share, one buffer per type asked for

    def position(self, axis: int = 0) -> Scalar:
        """The thread's number among all threads along an axis."""
        return self.block[axis] * self.threads[axis] + self.thread[axis]

    def width(self, axis: int = 0) -> Scalar:
        """How many threads there are along an axis."""
        return self.blocks[axis] * self.threads[axis]


def shared_type(shape: Sequence[int], element: ir.Type) -> ir.Type:
    """The type of a buffer in the memory that a block's threads share."""
    return ir.MemRefType.get(shape, element, memory_space=ir.Attribute.parse("#gpu.address_space<workgroup>"))


@contextmanager
def launch(blocks: Sequence[ir.Value], threads: Sequence[ir.Value], shared: Sequence[ir.Type] = ()) -> Iterator[Here]:
    """A launch of `blocks` x `threads` (index, per axis; missing axes are 1). The body is what is built inside the `with`. Shared buffers
    of more than 48 KB in all are asked for at launch, as the device wants it."""
    ir.Context.current.get_dialect_descriptor("gpu")  # loads it: contexts are made without
    one = b.index(1)
    sizes = [*blocks, *[one] * (_AXES - len(blocks)), *threads, *[one] * (_AXES - len(threads))]
    bytes_ = [bytes_of(type_) for type_ in shared]
    at_launch = sum(bytes_) > _STATIC_BYTES
    asked = [b.integer(sum(bytes_), 32)] if at_launch else []
    segments = [0, *[1] * len(sizes), *[0] * 3, len(asked), 0]  # no async dependencies before, no clusters, no modules behind
    made = b.op(
        LAUNCH, [*sizes, *asked], regions=1,
        operandSegmentSizes=ir.DenseI32ArrayAttr.get(segments),
        workgroup_attributions=ir.IntegerAttr.get(b.integer_type(64), 0 if at_launch else len(shared)),
    )  # fmt: skip
    types = [*[b.index_type()] * 4 * _AXES, *([] if at_launch else shared)]
    body = made.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    values = lifted(body.arguments)
    block, thread, grid, width = (tuple(values[i * _AXES : (i + 1) * _AXES]) for i in range(4))
    with ir.InsertionPoint(body):
        yield Here(block, thread, grid, width, _views(shared, bytes_) if at_launch else tuple(values[4 * _AXES :]))
        b.op("gpu.terminator")


def alone(why: str) -> ir.Location:
    """A location for a launch of which one thread does all loops, that says why; the launch keeps it to the end, and explain() tells it."""
    return ir.Location.name(f"{_ALONE}{why}", ir.Location.current)


def why_alone(location: ir.Location) -> str:
    """Why one thread does all loops of the launch at this location; "" where that is not so."""
    found = _SAID_ALONE.search(str(location))
    return found[1] if found else ""


def bytes_of(type_: ir.Type) -> int:
    """Of a shared buffer, up to where the next may begin."""
    return -(-math.prod(b.shape_of(type_)) * dtype_of(type_).itemsize // _ALIGNMENT) * _ALIGNMENT


def _views(types: Sequence[ir.Type], bytes_: Sequence[int]) -> tuple[ir.Value, ...]:
    """Buffers one behind the other in the memory that the launch asked for."""
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    all_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], b.integer_type(8), memory_space=space)
    memory = b.value("gpu.dynamic_shared_memory", [], all_)
    starts = [sum(bytes_[:i]) for i in range(len(types))]
    return tuple(b.value("memref.view", [memory, b.index(start)], type_) for start, type_ in zip(starts, types, strict=True))


def barrier() -> None:
    """All threads of the block have come this far, and see what the others wrote."""
    b.op("gpu.barrier")


@contextmanager
def strided(start: ir.Value, stop: ir.Value, step: ir.Value) -> Iterator[Scalar]:
    """A loop over start, start + step, ... below stop, carrying nothing."""
    loop = b.op("scf.for", [start, stop, step], regions=1)
    block = loop.regions[0].blocks.append(b.index_type(), arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(block):
        yield of(block.arguments[0])
        b.op("scf.yield")


def carried_while(
    span: Span, points: int, start: Sequence[ir.Value], body: Callable[[Scalar, list[Any]], list[Any]]
) -> tuple[Scalar, list[Any]]:
    """As `carried`, `points` positions in each turn, `body` being given the first; as long as there are so many. The position that is next,
    and what is carried."""
    first, stop, step = span
    ahead = step * (points - 1)
    last = maximum(stop, ahead) - ahead
    stride = step * points

    def turn(position: Scalar, values: list[Any]) -> list[Any]:
        return [position + stride, *body(position, values[1:])]

    end, *values = carried((first, last, stride), [first, *start], turn)
    return end, values


def carried_together(span: Span, start: Sequence[ir.Value], body: Callable[[Scalar, list[Any]], list[Any]], points: int) -> list[Any]:
    """As `carried`, the body so many times in each turn that `points` positions are one's work; what is left over comes one by one."""
    if points == 1:
        return carried(span, start, body)

    def some(first: Scalar, values: list[Any]) -> list[Any]:
        return unrolled(points, values, lambda k, sums: body(first + k * span[2], sums))

    end, values = carried_while(span, points, start, some)
    return carried((end, *span[1:]), values, body)


def unrolled(count: int, start: Sequence[ir.Value], body: Callable[[Scalar, list[Any]], Sequence[ir.Value]]) -> list[Any]:
    """As `carried`, over 0 .. count - 1: an affine.for, which a later stage unrolls (LLVM does not where the body is long)."""
    bounds = [ir.AffineMapAttr.get(ir.AffineMap.get_constant(i)) for i in (0, count)]
    loop = b.op(
        "affine.for", start, [v.type for v in start], regions=1,
        lowerBoundMap=bounds[0], upperBoundMap=bounds[1], step=ir.IntegerAttr.get(b.index_type(), 1),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([0, 0, len(start)]),
    )  # fmt: skip
    types = [b.index_type(), *(v.type for v in start)]
    block = loop.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    with ir.InsertionPoint(block):
        position, *values = lifted(block.arguments)
        b.op("affine.yield", body(position, values))
    return lifted(loop.results)


def ceil_div(left: Scalar, right: Size) -> Scalar:
    """left / right rounded up, of type index and not negative."""
    by = left.like(right)
    return (left + (by - 1)) // by


def product(numbers: Sequence[Scalar]) -> Scalar:
    """Of type index; 1 for none."""
    return sizes.value(sizes.product(numbers))


def folded(number: Scalar) -> Scalar:
    """The number, as one constant where it follows from constants: who builds a launch may ask for it."""
    known = constant(number)
    return number if known is None else b.index(known)


_FOLD: dict[str, Callable[[int, int], int]] = {
    "arith.addi": int.__add__, "arith.subi": int.__sub__, "arith.muli": int.__mul__, "arith.divui": int.__floordiv__,
    "arith.remui": int.__mod__, "arith.minui": min, "arith.maxui": max,
}  # fmt: skip


def constant(number: ir.Value) -> int | None:
    """The number, where it follows from constants; else None."""
    made = b.defining_op(number)
    if made is None:
        return None
    if made.name not in _FOLD:
        found: int | None = known(number)
        return found
    left, right = map(constant, made.operands)
    return None if left is None or right is None else _FOLD[made.name](left, right)


def host_ops(function: ir.Operation) -> list[ir.Operation]:
    """The ops that the host runs: those of the function and of its loops and branches, none inside a launch or a linalg op."""
    found: list[ir.Operation] = []

    def visit(view: ir.Operation) -> ir.WalkResult:
        op = view.operation
        found.append(op)
        return ir.WalkResult.SKIP if op.name == LAUNCH or op.name.startswith("linalg.") else ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:]
