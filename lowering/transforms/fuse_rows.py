"""tierup-fuse-rows: ops that work row by row share one loop over the rows.

    linalg.generic ins(%x : memref<64x128xf32>) outs(%max : memref<64xf32>)           // each row's maximum
    linalg.generic ins(%x, %max) outs(%e : memref<64x128xf32>)                        // exp(x - max)
becomes
    scf.for %i = %c0 to %c64 step %c1 {
      linalg.generic ins(%x[%i] : memref<128xf32, ...>) outs(%max : memref<f32>)
      linalg.generic ins(%x[%i], %max) outs(%e : memref<128xf32>)
    }

so that softmax and layer_norm read memory once: a row stays in the first-level cache from one op to the next. Buffers that
only the run of ops uses shrink to one row. Batches of rows are taken apart again inside the loop. Which ops make a run is
row_runs.py's to say. Runs without a reduction stay as they are: elementwise fusion has made one op of those.
"""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import Annotated

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.lowering.analysis.aliasing import ALLOCATIONS
from tierup.lowering.analysis.row_runs import Member, Run, runs
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import set_maps

ROWS = "tierup.rows"  # on the loop: its iterations touch nothing of one another's


@register
class FuseRows(Pass):
    stack_bytes: Annotated[int, AtLeast(0)] = 4096  # a row's buffer of this size goes on the stack: single elements become registers
    lone_row: Annotated[int, AtLeast(0)] = 0  # where one op alone goes along the rows: fuse only rows known to be no longer; 0: any
    heap: bool = True  # larger rows' buffers shrink too, to memory that all iterations use; else they stay what they are

    def run_on_function(self, function: ir.Operation) -> None:
        for region in function.regions:
            for block in region.blocks:
                self.fuse_block(block, function)

    def fuse_block(self, block: ir.Block, function: ir.Operation) -> None:
        for op in b.ops_of(block):
            for region in op.regions:
                if not op.name.startswith("linalg."):
                    for inner in region.blocks:
                        self.fuse_block(inner, function)
        for run in runs(block):
            if not self.lone_row or not _is_lone(run, self.lone_row):
                _fuse(run, function, self)


def _is_lone(run: Run, most: int) -> bool:
    """Whether one member alone goes along the rows, and these are long, or of a length that is not known."""
    along = [m for m in run.members if len(m.iterators) > 1 and m.reads]
    if len(along) > 1:
        return False
    shapes = [b.shape_of(v.type)[1:] for m in along for v, yes in zip(m.buffers, m.by_row, strict=True) if yes]
    return any(ir.ShapedType.get_dynamic_size() in shape or prod(shape) > most for shape in shapes)


@dataclass
class _Rows:
    """The loop being built: what stands for each buffer inside it."""

    index: ir.Value
    shrunk: dict[ir.Value, ir.Value] = field(default_factory=Notes)
    row_of: dict[ir.Value, ir.Value] = field(default_factory=Notes)

    def __getitem__(self, buffer: ir.Value) -> ir.Value:
        if buffer in self.shrunk:
            return self.shrunk[buffer]
        if buffer not in self.row_of:
            self.row_of[buffer] = b.row(buffer, self.index)
        return self.row_of[buffer]


def _fuse(run: Run, function: ir.Operation, how: FuseRows) -> None:
    last = run.members[-1].op
    inside = [m.op for m in run.members]
    location = last.location
    with location:
        with ir.InsertionPoint(last):
            count = _count(run)
        written = dict.fromkeys(v for m in run.members for v in m.written)
        shrunk = {v: new for v in written if (new := _shrink(v, inside, function, how)) is not None}
        with ir.InsertionPoint(last):
            loop = b.op("scf.for", [b.index(0), count, b.index(1)], regions=1, **{ROWS: ir.UnitAttr.get()})
        body = loop.regions[0].blocks.append(b.index_type(), arg_locs=[location])
        with ir.InsertionPoint(body):
            rows = _Rows(body.arguments[0], shrunk)
            for member in run.members:
                _emit(member, rows)
            b.op("scf.yield")
    for member in run.members:
        member.op.erase()
    for old, new in shrunk.items():
        allocation = old.owner
        old.replace_all_uses_with(new)  # what is left is its deallocation
        if new.owner.name == "memref.alloca":
            for use in list(new.uses):
                if use.owner.name == "memref.dealloc":
                    use.owner.erase()
        allocation.erase()
    how.fuse_block(body, function)


def _count(run: Run) -> ir.Value:
    """The number of rows."""
    static = next((extent for extent in run.rows if isinstance(extent, int)), None)
    if static is not None:
        return b.index(static)
    buffer = next(buffer for m in run.members for buffer, yes in zip(m.buffers, m.by_row, strict=True) if yes)
    made = b.defining_op(buffer)
    # an allocation says how many; the buffer itself may shrink to a row
    return made.operands[0] if made is not None and made.name in ALLOCATIONS else b.dim(buffer, 0)


def _shrink(buffer: ir.Value, inside: list[ir.Operation], function: ir.Operation, how: FuseRows) -> ir.Value | None:
    """One row's worth of a buffer that only the run uses; None for any other.

    On the stack when it is small, and then where the function begins: in a loop each turn would take more of it. Otherwise where the
    old buffer is allocated, which its deallocation is the counterpart of.
    """
    allocation = b.defining_op(buffer)
    if allocation is None or allocation.name not in ALLOCATIONS:
        return None
    for use in buffer.uses:
        if use.owner.operation not in inside and use.owner.operation.name != "memref.dealloc":
            return None
    type_ = ir.MemRefType(buffer.type)
    row = ir.MemRefType.get(b.shape_of(type_)[1:], type_.element_type, memory_space=type_.memory_space)
    dynamic = list(allocation.operands)[1 if type_.is_dynamic_dim(0) else 0 :]
    count = 1
    for axis in range(1, type_.rank):
        count = how.stack_bytes if type_.is_dynamic_dim(axis) else count * type_.get_dim_size(axis)
    small = not dynamic and count * 8 <= how.stack_bytes
    if not small and not how.heap:
        return None
    where = ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]) if small else ir.InsertionPoint(allocation)
    with where:
        name = "memref.alloca" if small else allocation.name
        return b.alloc(row, dynamic, name, alignment=ir.IntegerAttr.get(b.integer_type(64), 64))


def _emit(member: Member, rows: _Rows) -> None:
    """The member's op on this iteration's rows."""
    operands = [rows[v] if yes else v for v, yes in zip(member.buffers, member.by_row, strict=True)]
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
    for read, yes in zip(member.maps, member.by_row, strict=True):
        results = list(read.results)[1:] if yes else list(read.results)
        maps.append(ir.AffineMap.get(n, 0, [e.compose(ir.AffineMap.get(n, 0, removed)) for e in results]))
    set_maps(made, maps)
    made.attributes["iterator_types"] = ir.ArrayAttr.get(list(ir.ArrayAttr(member.op.attributes["iterator_types"]))[1:])
    for op in b.ops_of(made.regions[0].blocks[0]):
        if op.name == "linalg.index":
            axis = ir.IntegerAttr(op.attributes["dim"]).value
            if axis == 0:
                take_place(op, [rows.index])
            else:
                op.attributes["dim"] = ir.IntegerAttr.get(b.integer_type(64), axis - 1)
