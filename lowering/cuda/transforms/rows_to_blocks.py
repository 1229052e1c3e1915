"""tierup-rows-to-blocks: a loop over rows becomes one kernel, with a block of threads for each row.

    scf.for %i = %c0 to %rows step %c1 {                                   // made by tierup-fuse-rows
      linalg.generic {reduction} ins(%x[%i] : memref<128xf32, ...>) outs(%max : memref<f32>)
      linalg.generic {parallel} ins(%x[%i], %max) outs(%e : memref<128xf32>)
      ...
    } {tierup.rows}
becomes
    gpu.launch blocks(%i) in (%rows) threads(%t) in (32) {
      thread t reads elements t, t + 32, ... of its row, into registers
      the threads' tree gives each of them the maximum, in a register
      thread t does its elements of %e, in registers
      ...
    }

So softmax and layer_norm are one kernel each and read their rows once from memory. Rows of up to 16384 elements are in registers
(slots.py); of a length that only launches know, up to 8192, and the host chooses between that kernel and the one for any length. Rows
of up to 256 elements have a warp each.

Where rows are longer, or ops look at elements of other threads, single numbers are in registers (every thread has the same) and short
rows in shared memory; what would be in longer ones is computed again by each who reads it, if that can be (recomputing.py). Threads wait
for each other where one reads what another wrote; elements that a thread wrote itself need no waiting. A loop in a loop over rows that is
all of it becomes one with it; other rows in rows are loops of the whole block.
"""

from __future__ import annotations

from math import prod

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import VIEWS, base
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows import in_registers as slot_rows
from tierup.lowering.cuda.rows.blocks import Block, positions
from tierup.lowering.cuda.rows.in_blocks import Row
from tierup.lowering.cuda.rows.recomputing import recompute
from tierup.lowering.cuda.rows.selecting import selector
from tierup.lowering.cuda.rows.slots import plan, size
from tierup.lowering.transforms.fuse_rows import ROWS

_LEAST, _MOST = 32, 1024  # threads of a block
_UNKNOWN = 256
_PER_THREAD = 4  # elements of a row that a thread takes before another warp is worth its tree


@register
class RowsToBlocks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        loops = [op for op in gpu.host_ops(function) if op.name == "scf.for" and ROWS in op.attributes]
        for loop in [op for op in loops if not any(b.is_within(op.parent.operation, other) for other in loops)]:
            with loop.location:
                flat = _flat(loop)
            with flat.location, ir.InsertionPoint(flat):
                _rows(flat)


def _rows(loop: ir.Operation) -> None:
    """Launch kernels in the place of a loop, of which one is chosen on the host where a row's length is known there alone."""
    slots = plan(loop.regions[0].blocks[0])
    most = slots.threads_and_slots() if slots is not None else None
    own = _own_memory(loop)
    if slots is None or most is None:
        _launch(loop, own)
    elif slots.length is not None:
        slot_rows.launch(slots, *most, [v for v in own if not ir.ShapedType(v.type).rank])
    else:
        n, (threads, count) = slots.size(), most
        fits = (b.index(0) < n) & (n < threads * count + 1)
        branch = b.op("scf.if", [fits], regions=2)
        with ir.InsertionPoint(branch.regions[1].blocks.append()):
            other = loop.clone()
            b.op("scf.yield")
        with ir.InsertionPoint(other):
            for memory in dict.fromkeys(base(v) for v in slots.own):
                if memory not in own:
                    _apart(memory, other)
            _launch(other, [_apart(v, other) for v in own])
        other.erase()
        with ir.InsertionPoint(branch.regions[0].blocks.append()):
            loop.move_before(b.op("scf.yield"))
        with ir.InsertionPoint(loop):
            slot_rows.launch(slots, threads, count, own)
    loop.erase()


def _flat(loop: ir.Operation) -> ir.Operation:
    """One loop in the place of a nest of loops over rows of which each is all that the one before it does, as often in each turn."""
    while True:
        body = loop.regions[0].blocks[0]
        others = [op for view in list(body.operations)[:-1] if not _is_view(op := view.operation)]
        if len(others) != 1 or ROWS not in others[0].attributes:
            return loop
        inner = others[0]
        with ir.InsertionPoint(loop):
            count = _count(inner, body)
            if count is None:
                return loop
            whole = of(loop.operands[1]) * count
            made = b.op("scf.for", [b.index(0), gpu.folded(whole), b.index(1)], regions=1, **{ROWS: ir.UnitAttr.get()})
        block = made.regions[0].blocks.append(b.index_type(), arg_locs=[loop.location])
        with ir.InsertionPoint(block):
            at = positions(of(block.arguments[0]), [of(loop.operands[1]), count])
            for old, position in zip((body, inner.regions[0].blocks[0]), at, strict=True):
                b.inline(old, [position])
            b.op("scf.yield")
        inner.erase()
        loop.erase()
        loop = made


def _is_view(op: ir.Operation) -> bool:
    return op.name in (*VIEWS, "memref.dim") or op.name.startswith("arith.")


def _count(loop: ir.Operation, around: ir.Block) -> ir.Value | None:
    """How often a loop turns, by what stands before the loop around it; None where each turn of that has a number of its own."""
    number = loop.operands[1]
    known = gpu.constant(number)
    if known is not None:
        return b.index(known)
    made = b.defining_op(number)
    if made is None or made.block != around:
        return None if made is None else number
    axis = gpu.constant(made.operands[1]) if made.name == "memref.dim" else None
    found = None if axis is None else size(made.operands[0], axis, around)
    return None if found is None else b.dim(*found)


def _apart(buffer: ir.Value, loop: ir.Operation) -> ir.Value:
    """A buffer like this one, for this loop."""
    made = buffer.owner.operation
    with ir.InsertionPoint(made):
        again = made.clone().results[0]
    for use in list(buffer.uses):
        if b.is_within(use.owner.operation, loop):
            use.owner.operands[use.operand_number] = again
    return again


def _launch(loop: ir.Operation, own: list[ir.Value]) -> None:
    block = loop.regions[0].blocks[0]
    recompute(block)
    _, count, _ = loop.operands
    inside = [s for op in b.walk(loop) if (s := Structured.of(op)) is not None]
    rows = [v for v in own if ir.ShapedType(v.type).rank]
    summed = dict.fromkeys(ir.ShapedType(v.type).element_type for s in inside if not s.is_parallel for v in s.buffers[s.reads :])
    each = gpu.WARP * (2 if any(selector(s) for s in inside) else 1)
    shared = [gpu.shared_type([each], t) for t in summed]
    shared += [gpu.shared_type(b.shape_of(v.type), ir.ShapedType(v.type).element_type) for v in rows]
    threads = _threads(inside)
    with gpu.launch([count], [b.index(threads)], shared) as here:
        row = Row(Block(here, b.index(threads), here.shared[: len(summed)]))
        for buffer, tile in zip(rows, here.shared[len(summed) :], strict=True):
            buffer.replace_all_uses_with(b.value("memref.memory_space_cast", [tile], buffer.type))
        for buffer in own:
            if buffer not in rows:
                buffer.replace_all_uses_with(row.number(buffer.type))
        row.fill(block, here.block[0])


def _own_memory(loop: ir.Operation) -> list[ir.Value]:
    """Stack buffers that the loop alone uses: memory of one row at a time."""
    found = dict.fromkeys(v for op in b.walk(loop) for v in op.operands if _is_stack(v))
    return [v for v in found if all(b.is_within(use.owner.operation, loop) for use in v.uses)]


def _is_stack(value: ir.Value) -> bool:
    made = b.defining_op(value)
    return made is not None and made.name == "memref.alloca"


def _threads(ops: list[Structured]) -> int:
    """Threads for a row: the longest row's elements by four, as a power of two; 256 for rows of a length that is not known."""
    longest = 0
    for shape in (b.shape_of(buffer.type) for op in ops for buffer in op.buffers):
        if ir.ShapedType.get_dynamic_size() in shape:
            return _UNKNOWN
        longest = max(longest, prod(shape))
    threads = _LEAST
    while threads < _MOST and threads * _PER_THREAD < longest:
        threads *= 2
    return threads
