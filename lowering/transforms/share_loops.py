"""tierup-share-loops: a loop with much to do, whose iterations touch nothing of one another's, becomes a function that threads run.

    module attributes {tierup.threads = 2 : i64} {
      func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
        linalg.generic {parallel} ins(%x) outs(%y) { exp }

becomes

      func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
        %count = ...                                      // of parts: 1 where the sizes of this call are small
        call @f_shared0(%c0, %count, %x, %y)
      }
      func.func private @f_shared0(%number: index, %count: index, %x: memref<?xf32> {tierup.apart}, ...) attributes {tierup.shared = 0} {
        linalg.generic {parallel} ins(%x) outs(%y) { exp }
      }

The call says part `number` of `count`. tierup-split-shared gives the function's loop, around which as many others stand as
`tierup.shared` says, the iterations of its part, and tierup-hand-to-threads has the threads call it. Taken are linalg ops with a parallel
loop, the loops over rows that tierup-fuse-rows makes, and parts of products (tierup-products-to-blas); none that checks something on its
way, allocates, or calls anything but BLAS. `tierup.apart` marks memory that is reached through this argument alone.

Loops that write much and compute little stay as they are, and those whose results are read by one that stays.

How many parts: the work is estimated as the operations of a point and what it reads and writes, times the points, which the sizes say. It
is the same whatever the number of threads, and so is each iteration, so results do not hang on that number.

A row's scratch memory is each part's own: on the stack where it was there, else a piece of bytes that are allocated for all parts.
"""

from __future__ import annotations

import math

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import captured, read_others, users
from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.lowering.analysis.aliasing import VIEWS, base, may_alias
from tierup.lowering.analysis.stated import threads
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import Scalar, bytes_of, maximum, minimum, of
from tierup.lowering.building.shares import LEAST, MOST_PARTS, PARTS, parts_of, picoseconds
from tierup.lowering.externals import blas
from tierup.lowering.transforms.fuse_rows import ROWS

SHARED = "tierup.shared"
APART = "tierup.apart"

_HEAVY = 600  # picoseconds of a point, of a loop that writes one in each: less, and memory is what takes time
_GOES_THROUGH = ("linalg.", "memref.copy", "func.call")
_LINE = 64  # bytes of a cache line: parts write none of one another's
_PIECE = 512  # the least iterations of a part where they are neighbours in memory

_HARMLESS = ("arith.", "math.", "complex.", "linalg.")
_KNOWN = frozenset({
    "scf.for", "scf.if", "scf.yield", "memref.load", "memref.subview", "memref.dim", "memref.cast", "memref.collapse_shape", "memref.copy",
    "memref.expand_shape", "memref.reinterpret_cast", "memref.extract_strided_metadata", "memref.extract_aligned_pointer_as_index",
    "memref.get_global", "llvm.inttoptr",
})  # fmt: skip


@register
class ShareLoops(Pass):
    def run(self, module: ir.Module) -> None:
        if threads(module) < 2:
            return
        for function in functions(module.operation):
            for number, (loop, work) in enumerate(_chosen(function).items()):
                with loop.location, ir.InsertionPoint(loop):
                    _share(loop, work, function, f"{symbol_of(function)}_shared{number}")


def _chosen(function: ir.Operation) -> dict[ir.Operation, _Work]:
    """The loops that are shared. One whose results another op goes through in this thread is not: memory that another core has just written
    is read at a fraction of the speed, and what is gained is lost there."""
    ops = b.walk_unfused(function)
    found = {op: work for op in ops if not _is_within_shared(op) and (work := _work(op)) is not None}
    passes = [op for op in ops if op.name.startswith(_GOES_THROUGH) or (op.name == "memref.load" and op.parent.operation != function)]
    touching = [(op, [base(v) for v in op.operands if isinstance(v.type, ir.MemRefType)]) for op in passes]
    while True:
        alone = {v for op, buffers in touching if not any(b.is_within(op, loop) for loop in found) for v in buffers}
        lost = [loop for loop, work in found.items() if any(v in alone for v in work.writes)]
        if not lost:
            return found
        for loop in lost:
            del found[loop]


def _is_within_shared(op: ir.Operation) -> bool:
    while (parent := op.parent) is not None and parent.operation.name != "func.func":
        op = parent.operation
        if ROWS in op.attributes or PARTS in op.attributes:
            return True
    return parent is None or SHARED in parent.operation.attributes


_Size = int | tuple[ir.Value, int]  # a number, or of an axis of a buffer


@dataclass(frozen=True)
class _Work:
    """What a loop does: its iterations, or as a value its parts; its points, the product of these sizes; picoseconds of a point; how many
    loops stand around the one that is cut; the least iterations of a part; the memory that it writes in each point."""

    iterations: _Size | ir.Value
    points: tuple[_Size, ...] = ()
    each: int = 0
    depth: int = 0
    fewest: int = 1
    writes: tuple[ir.Value, ...] = ()

    @property
    def may_suffice(self) -> bool:
        """Whether there may be enough to do: the run has to say, or the sizes do."""
        if isinstance(self.iterations, int) and self.iterations < 2 * self.fewest:
            return False
        if self.writes and self.each < _HEAVY:
            return False
        known = [size for size in self.points if isinstance(size, int)]
        return len(known) < len(self.points) or not self.points or self.each * math.prod(known) >= LEAST

    def parts(self) -> Scalar:
        """How many there are, at the insertion point."""
        if isinstance(self.iterations, ir.Value):
            return of(self.iterations)
        total = b.index(self.each)
        for size in self.points:
            total = total * _value(size)
        return maximum(minimum(parts_of(total), _value(self.iterations) // self.fewest), 1)


def _value(size: _Size) -> Scalar:
    return b.index(size) if isinstance(size, int) else b.dim(*size)


def _work(loop: ir.Operation) -> _Work | None:
    """None for what is no loop that can be shared, or surely does too little."""
    if PARTS in loop.attributes:
        found: _Work | None = _Work(loop.operands[1])
    else:
        found = _of_rows(loop) if ROWS in loop.attributes else _of_points(loop)
    if found is None or not found.may_suffice or not all(_is_harmless(op, loop) for op in b.walk(loop)) or not _keeps_to_itself(loop):
        return None
    return found


def _keeps_to_itself(loop: ir.Operation) -> bool:
    """Whether each iteration over rows writes its own row of what it writes, or memory that only this loop uses. So these loops are
    made; memory that all iterations use in turn is found here."""
    if ROWS not in loop.attributes:
        return True
    written = [v for op in b.walk(loop) if (structured := Structured.of(op)) is not None for v in structured.buffers[structured.reads :]]
    return all(_is_own(base(v), loop) or _is_row(v, loop) for v in written)


def _is_row(buffer: ir.Value, loop: ir.Operation) -> bool:
    """Whether a buffer is a part of another that this iteration alone has."""
    index = loop.regions[0].blocks[0].arguments[0]
    while (made := b.defining_op(buffer)) is not None and made.name in VIEWS:
        if made.name == "memref.subview" and index in list(made.operands):
            return True
        buffer = made.operands[0]
    return False


def _is_harmless(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether threads may run an op side by side. Only loops that are made of parts say that what they store and call is so."""
    if op.name == "func.call":
        return PARTS in loop.attributes and callee_name(op).startswith(blas.PREFIX)
    return op.name in _KNOWN or op.name.startswith(_HARMLESS) or (op.name == "memref.store" and PARTS in loop.attributes)


def _of_points(op: ir.Operation) -> _Work | None:
    """A linalg op is cut along its first parallel loop; along one within others in pieces of some cache lines."""
    structured = Structured.of(op)
    if structured is None or op.name == "memref.copy" or "parallel" not in structured.iterators:
        return None
    sizes = [_extent(structured, loop) for loop in range(len(structured.iterators))]
    known = tuple(size for size in sizes if size is not None)
    loops = enumerate(zip(structured.iterators, sizes, strict=True))
    cut = next((n for n, (kind, size) in loops if kind == "parallel" and size != 1), None)
    if cut is None or len(known) < len(sizes):
        return None
    written = () if "reduction" in structured.iterators else tuple(base(v) for v in structured.buffers[structured.reads :])
    return _Work(known[cut], known, picoseconds(op), cut, _PIECE if cut else 1, written)


def _extent(op: Structured, loop: int) -> _Size | None:
    for buffer, map_ in zip(op.buffers, op.maps, strict=True):
        for axis, e in enumerate(map_.results):
            if isinstance(e, ir.AffineDimExpr) and e.position == loop:
                return _size(buffer, axis)
    return None


def _size(buffer: ir.Value, axis: int) -> _Size:
    shaped = ir.ShapedType(buffer.type)
    return (buffer, axis) if shaped.is_dynamic_dim(axis) else int(shaped.get_dim_size(axis))


def _of_rows(loop: ir.Operation) -> _Work | None:
    """The rows of the largest buffer, each point of which every op in the loop meets."""
    buffers = [v for v in dict.fromkeys(captured(loop)) if isinstance(v.type, ir.MemRefType) and ir.ShapedType(v.type).rank > 1]
    if not buffers:
        return None
    static = [v for v in buffers if ir.ShapedType(v.type).has_static_shape]
    largest = max(static or buffers, key=lambda v: math.prod(b.shape_of(v.type)) if v in static else ir.ShapedType(v.type).rank)
    points = tuple(_size(largest, axis) for axis in range(ir.ShapedType(largest.type).rank))
    each = sum(picoseconds(op) for op in b.walk(loop) if op.name.startswith("linalg.") and len(op.regions))
    inside = [found for op in b.walk(loop) if (found := Structured.of(op)) is not None and found.is_parallel and found.iterators]
    written = (base(v) for found in inside for v in found.buffers[found.reads :])
    return _Work(points[0], points, each, writes=tuple(v for v in written if not _is_own(v, loop)))


@dataclass(frozen=True)
class _Scratch:
    """Memory for the parts in place of a buffer that each iteration uses anew: bytes for all, how many each has, and the buffer's sizes."""

    type: ir.MemRefType
    memory: ir.Value
    each: ir.Value
    sizes: tuple[ir.Value, ...]

    @staticmethod
    def instead_of(buffer: ir.Value) -> _Scratch:
        """Allocated where the buffer is, a cache line or several for each part."""
        made, type_ = buffer.owner.operation, ir.MemRefType(buffer.type)
        with made.location, ir.InsertionPoint(made):
            each = b.index(bytes_of(type_.element_type) * math.prod(size for size in b.shape_of(type_) if size >= 0))
            for size in made.operands:
                each = each * of(size)
            each = (each + (_LINE - 1)) // _LINE * _LINE
            kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], b.integer_type(8))
            memory = b.alloc(kind, [each * MOST_PARTS], alignment=ir.IntegerAttr.get(b.integer_type(64), _LINE))
        return _Scratch(type_, memory, each, tuple(made.operands))

    @property
    def values(self) -> tuple[ir.Value, ...]:
        """What a part has to be given."""
        return (self.memory, self.each, *self.sizes)

    def of_part(self, number: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
        """The buffer of one part, in its function, where `known` has what was given."""
        at = of(number) * known[self.each]
        return b.value("memref.view", [known[self.memory], at, *(known[size] for size in self.sizes)], self.type)


def _share(loop: ir.Operation, work: _Work, function: ir.Operation, name: str) -> None:
    count = work.parts()
    read = list(dict.fromkeys([*loop.operands, *captured(loop)]))
    own = [v for v in read if _is_own(v, loop)]
    scratch = {v: _Scratch.instead_of(v) for v in own if v.owner.name == "memref.alloc"}
    values = [v for v in read if _is_given(v) and v not in own]
    values += [v for v in dict.fromkeys(v for made in scratch.values() for v in made.values) if v not in values]
    with ir.InsertionPoint(function):
        types = [b.index_type(), b.index_type(), *(v.type for v in values)]
        made = fn.declare(name, types, **{SHARED: ir.IntegerAttr.get(b.integer_type(64), work.depth)})
    marks = [ir.DictAttr.get({APART: ir.UnitAttr.get()} if _is_apart(v, values) else {}) for v in values]
    made.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({})] * 2 + marks)
    b.op("func.call", [b.index(0), count, *values], callee=ir.FlatSymbolRefAttr.get(name))
    body = fn.body(made)
    known = dict(zip(values, list(body.arguments)[2:], strict=True))
    with ir.InsertionPoint(body):
        for v in read:
            if v in scratch:
                known[v] = scratch[v].of_part(body.arguments[0], known)
            elif v in own or not _is_given(v):
                maker = v.owner.operation
                known[v] = (maker if v in own else maker.clone()).results[0]
                if v in own:
                    b.take([maker])
        b.take([loop])
        b.op("func.return")
    read_others([loop], known)
    for old, new in scratch.items():
        for use in list(old.uses):
            use.owner.operation.operands[use.operand_number] = new.memory  # what is left is its deallocation
        old.owner.operation.erase()


def _is_given(value: ir.Value) -> bool:
    """Whether a part has to be given the value, and cannot make it itself."""
    return isinstance(value.owner, ir.Block) or value.owner.name not in ("arith.constant", "memref.get_global")


def _is_own(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is memory that only the loop uses, anew in each iteration."""
    if isinstance(value.owner, ir.Block) or value.owner.name not in ("memref.alloc", "memref.alloca") or ROWS not in loop.attributes:
        return False
    return all(b.is_within(user, loop) or user.name == "memref.dealloc" for user in users(value))


def _is_apart(value: ir.Value, others: list[ir.Value]) -> bool:
    """Whether a value is memory of which none of the others shows a part."""
    buffers = [v for v in others if v != value and isinstance(v.type, ir.MemRefType)]
    return isinstance(value.type, ir.MemRefType) and not any(may_alias(base(value), base(v)) for v in buffers)
