"""tierup-fuse-rows: ops that work row by row share one loop over the rows.

    linalg.generic ins(%x : memref<64x128xf32>) outs(%max : memref<64xf32>)           // each row's maximum
    linalg.generic ins(%x, %max) outs(%e : memref<64x128xf32>)                        // exp(x - max)
becomes
    scf.for %i = %c0 to %c64 step %c1 {
      linalg.generic ins(%x[%i] : memref<128xf32, ...>) outs(%max : memref<f32>)
      linalg.generic ins(%x[%i], %max) outs(%e : memref<128xf32>)
    }

so that softmax and layer_norm read memory once: a row stays in the first-level cache from one op to the next. Buffers that
only the run of ops uses shrink to one row. Batches of rows are taken apart again inside the loop.

A run is a stretch of linalg ops whose outermost loop is parallel and has the same trip count, in which what one op writes and
another touches is indexed by that loop alone in its first dim, and by it in no other: then no iteration sees another's data.
Runs without a reduction stay as they are: elementwise fusion has made one op of those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b

_OPS = ("linalg.generic", "linalg.fill", "memref.copy")
_BETWEEN = ("memref.alloc", "arith.constant", "memref.dim")  # may stand between the ops of a run: they move before the loop
_VIEWS = ("memref.subview", "memref.reinterpret_cast", "memref.cast", "memref.expand_shape", "memref.collapse_shape")
_D0 = re.compile(r"\bd0\b")
_STACK_BYTES = 4096  # a shrunken buffer up to this size goes on the stack, where LLVM turns single elements into registers


@register
@dataclass(frozen=True)
class FuseRows(Pass):
    """Ops that work row by row share one loop over the rows."""

    name = "tierup-fuse-rows"

    def run_on_function(self, function: ir.Operation) -> None:
        for region in function.regions:
            for block in region.blocks:
                _fuse_block(block)


@dataclass
class _Member:
    """An op of a run: its buffers, where it reads or writes them, and how many it only reads."""

    op: ir.Operation
    buffers: list[ir.Value]
    maps: list[ir.AffineMap]
    reads: int
    iterators: list[str]

    @property
    def written(self) -> list[ir.Value]:
        return self.buffers[self.reads :]


def _fuse_block(block: ir.Block) -> None:
    for view in list(block.operations):
        for region in view.operation.regions:
            if view.operation.name != "linalg.generic":
                for inner in region.blocks:
                    _fuse_block(inner)
    for run in _runs(block):
        _fuse(run)


def _runs(block: ir.Block) -> list[list[_Member]]:
    found: list[list[_Member]] = []
    run: list[_Member] = []
    for view in block.operations:
        op = view.operation
        if op.name in _BETWEEN:
            continue
        member = _member(op)
        if member is not None and _joins(run, member):
            run.append(member)
            continue
        found.append(run)
        run = [member] if member is not None and _joins([], member) else []
    return [r for r in (*found, run) if _worth_it(r)]


def _worth_it(run: Sequence[_Member]) -> bool:
    return sum(m.op.name == "linalg.generic" for m in run) > 1 and any("reduction" in m.iterators for m in run)


def _member(op: ir.Operation) -> _Member | None:
    if op.name not in _OPS or len(op.results):
        return None
    if op.name == "linalg.generic":
        maps = [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]
        iterators = ["parallel" if "parallel" in str(a) else "reduction" for a in ir.ArrayAttr(op.attributes["iterator_types"])]
        buffers = list(op.operands)
        if any(not isinstance(v.type, ir.MemRefType) for v in buffers):
            return None
        reads = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]
        return _Member(op, buffers, maps, reads, iterators)
    buffers = [op.operands[0], op.operands[1]] if op.name == "memref.copy" else [op.operands[1]]
    rank = ir.ShapedType(buffers[-1].type).rank
    return _Member(op, buffers, [ir.AffineMap.get_identity(rank)] * len(buffers), len(buffers) - 1, ["parallel"] * rank)


def _joins(run: Sequence[_Member], member: _Member) -> bool:
    if not member.iterators or member.iterators[0] != "parallel":
        return False
    if not all(_by_row(m) is not None for m in member.maps) or not all(_by_row(m) for m in member.maps[member.reads :]):
        return False
    if not run:
        return True
    if _rows(run[0]) != _rows(member):
        return False
    if _rows(member) is None and not any(_shares_rows(m, member) for m in run):
        return False  # sizes known at run time only are equal if a buffer says so
    everyone = [*run, member]
    written = [v for m in everyone for v in m.written]
    for m in everyone:
        for buffer, read in zip(m.buffers, m.maps, strict=True):
            for other in written:
                if buffer == other:
                    if not _by_row(read):
                        return False
                elif _root(buffer) == _root(other):
                    return False
    return True


def _by_row(read: ir.AffineMap) -> bool | None:
    """True: the first dim, and no other, is indexed by the outermost loop. False: none is. None: anything else."""
    uses = [bool(_D0.search(str(e))) for e in read.results]
    if not any(uses):
        return False
    return True if str(read.results[0]) == "d0" and not any(uses[1:]) else None


def _rows(member: _Member) -> int | None:
    """The static trip count of the outermost loop; None when it is known at run time only."""
    for buffer, read in zip(member.buffers, member.maps, strict=True):
        type_ = ir.ShapedType(buffer.type)
        if _by_row(read) and not type_.is_dynamic_dim(0):
            return type_.get_dim_size(0)
    return None


def _shares_rows(a: _Member, c: _Member) -> bool:
    mine = [buffer for buffer, read in zip(a.buffers, a.maps, strict=True) if _by_row(read)]
    return any(_by_row(read) and any(buffer == m for m in mine) for buffer, read in zip(c.buffers, c.maps, strict=True))


def _root(buffer: ir.Value) -> ir.Value:
    """The buffer whose memory a view shows."""
    while isinstance(buffer.owner, ir.Operation) and buffer.owner.name in _VIEWS:
        buffer = buffer.owner.operands[0]
    return buffer


@dataclass
class _Rows:
    """The loop being built: what stands for each buffer inside it."""

    index: ir.Value
    shrunk: dict[ir.Value, ir.Value] = field(default_factory=dict)
    row_of: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def __getitem__(self, buffer: ir.Value) -> ir.Value:
        if buffer in self.shrunk:
            return self.shrunk[buffer]
        if buffer not in self.row_of:
            self.row_of[buffer] = _row(buffer, self.index)
        return self.row_of[buffer]


def _fuse(run: Sequence[_Member]) -> None:
    last = run[-1].op
    inside = {hash(m.op) for m in run}
    context_location = last.location
    with ir.InsertionPoint(last), context_location:
        count = _count(run)
        shrunk = {v: new for v in _written(run) if (new := _shrink(v, inside)) is not None}
        loop = b.op("scf.for", [b.index(0), count, b.index(1)], regions=1)
        body = loop.regions[0].blocks.append(b.index_type(), arg_locs=[context_location])
        with ir.InsertionPoint(body):
            rows = _Rows(body.arguments[0], shrunk)
            for member in run:
                _emit(member, rows)
            b.op("scf.yield")
    for member in run:
        member.op.erase()
    for old, new in shrunk.items():
        allocation = old.owner
        old.replace_all_uses_with(new)  # what is left is its deallocation
        if new.owner.name == "memref.alloca":
            for use in list(new.uses):
                if use.owner.name == "memref.dealloc":
                    use.owner.erase()
        allocation.erase()
    _fuse_block(body)


def _count(run: Sequence[_Member]) -> ir.Value:
    """The number of rows."""
    static = next((n for m in run if (n := _rows(m)) is not None), None)
    if static is not None:
        return b.index(static)
    buffer = next(buffer for m in run for buffer, read in zip(m.buffers, m.maps, strict=True) if _by_row(read))
    allocated = not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.alloc"
    return buffer.owner.operands[0] if allocated else b.dim(buffer, 0)  # the allocation itself may shrink to a row


def _written(run: Sequence[_Member]) -> list[ir.Value]:
    return list(dict.fromkeys(v for m in run for v in m.written))


def _shrink(buffer: ir.Value, inside: set[int]) -> ir.Value | None:
    """One row's worth of a buffer that only the run uses, allocated before the loop; None for any other."""
    if isinstance(buffer.owner, ir.Block) or buffer.owner.name != "memref.alloc":
        return None
    for use in buffer.uses:
        if hash(use.owner.operation) not in inside and use.owner.operation.name != "memref.dealloc":
            return None
    type_ = ir.MemRefType(buffer.type)
    sizes = b.shape_of(type_)[1:]
    row = ir.MemRefType.get(sizes, type_.element_type)
    dynamic = list(buffer.owner.operands)[1 if type_.is_dynamic_dim(0) else 0 :]
    count = 1
    for axis in range(1, type_.rank):
        count = _STACK_BYTES if type_.is_dynamic_dim(axis) else count * type_.get_dim_size(axis)
    kind = "memref.alloca" if not dynamic and count * 8 <= _STACK_BYTES else "memref.alloc"
    made = b.op(kind, dynamic, [row], operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(dynamic), 0]),
                alignment=ir.IntegerAttr.get(b.integer_type(64), 64))  # fmt: skip
    return made.results[0]


def _row(buffer: ir.Value, index: ir.Value) -> ir.Value:
    """Row `index` of a buffer, one dim less."""
    type_ = ir.MemRefType(buffer.type)
    strides, _ = type_.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = b.shape_of(type_)
    inner = b.dynamic_sizes_from(buffer, 1)
    stride_text = ", ".join("?" if s == ir.ShapedType.get_dynamic_stride_or_offset() else str(s) for s in strides[1:])
    size_text = "".join(("?" if s == dynamic else str(s)) + "x" for s in sizes[1:])
    result = ir.Type.parse(f"memref<{size_text}{type_.element_type}, strided<[{stride_text}], offset: ?>>")
    return b.op(
        "memref.subview",
        [buffer, index, *inner],
        [result],
        static_offsets=ir.DenseI64ArrayAttr.get([dynamic, *[0] * (type_.rank - 1)]),
        static_sizes=ir.DenseI64ArrayAttr.get([1, *sizes[1:]]),
        static_strides=ir.DenseI64ArrayAttr.get([1] * type_.rank),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(inner), 0]),
    ).results[0]


def _emit(member: _Member, rows: _Rows) -> None:
    """The member's op on this iteration's rows."""
    operands = [rows[v] if _by_row(read) else v for v, read in zip(member.buffers, member.maps, strict=True)]
    if member.op.name == "memref.copy":
        b.op("memref.copy", operands)
        return
    made = member.op.clone()
    if member.op.name == "linalg.fill":
        made.operands[1] = operands[0]
        return
    for i, operand in enumerate(operands):
        made.operands[i] = operand
    n = len(member.iterators) - 1
    removed = [ir.AffineConstantExpr.get(0), *(ir.AffineDimExpr.get(i) for i in range(n))]
    maps = []
    for read in member.maps:
        results = list(read.results)[1:] if _by_row(read) else list(read.results)
        maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(n, 0, [e.compose(ir.AffineMap.get(n, 0, removed)) for e in results])))
    made.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    made.attributes["iterator_types"] = ir.ArrayAttr.get(list(ir.ArrayAttr(member.op.attributes["iterator_types"]))[1:])
    for inner in list(made.regions[0].blocks[0].operations):
        op = inner.operation
        if op.name == "linalg.index":
            axis = ir.IntegerAttr(op.attributes["dim"]).value
            if axis == 0:
                op.results[0].replace_all_uses_with(rows.index)
                op.erase()
            else:
                op.attributes["dim"] = ir.IntegerAttr.get(b.integer_type(64), axis - 1)
