"""tierup-rows-to-blocks: a loop over rows becomes one kernel, with a block of threads for each row.

    scf.for %i = %c0 to %rows step %c1 {                                   // made by tierup-fuse-rows
      linalg.generic {reduction} ins(%x[%i] : memref<128xf32, ...>) outs(%max : memref<f32>)
      linalg.generic {parallel} ins(%x[%i], %max) outs(%e : memref<128xf32>)
      ...
    } {tierup.rows}
becomes
    gpu.launch blocks(%i) in (%rows) threads(%t) in (128) {
      the threads' tree gives each of them the maximum, in a register
      thread t does elements t, t + 128, ... of %e, in memory that the block shares
      ...
    }

So softmax and layer_norm are one kernel each and read their rows once from memory; what the ops of a row hand to one another is in
registers (single numbers, of which every thread has the same) or in shared memory (rows). Rows in rows are loops of the whole block.
Threads wait for each other where one reads what another wrote; elements that a thread wrote itself need no waiting.
"""

from __future__ import annotations

from math import prod

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.blocks import Block
from tierup.lowering.cuda.rows import Row
from tierup.lowering.cuda.selecting import selector
from tierup.lowering.cuda.structured import Structured
from tierup.lowering.transforms.fuse_rows import ROWS

_LEAST, _MOST = 32, 1024  # threads of a block
_UNKNOWN = 256
_PER_THREAD = 4  # elements of a row that a thread takes before another warp is worth its tree


@register
@dataclass(frozen=True)
class RowsToBlocks(Pass):
    """Launch a block of threads for each row of a loop over rows."""

    name = "tierup-rows-to-blocks"

    def run_on_function(self, function: ir.Operation) -> None:
        loops = [op for op in gpu.host_ops(function) if op.name == "scf.for" and ROWS in op.attributes]
        for loop in [op for op in loops if not any(_within(op.parent.operation, other) for other in loops)]:
            with loop.location, ir.InsertionPoint(loop):
                _launch(loop)
            loop.erase()


def _launch(loop: ir.Operation) -> None:
    block = loop.regions[0].blocks[0]
    _, count, _ = loop.operands
    inside = [s for op in b.walk(loop) if (s := Structured.of(op)) is not None]
    own = _own_memory(loop)
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
        block.arguments[0].replace_all_uses_with(here.block[0])
        end = b.op("scf.yield")  # marks where the body goes; the launch has a terminator of its own
        for view in list(block.operations)[:-1]:
            view.operation.move_before(end)
        end.erase()
        row.run(ir.InsertionPoint.current.block)


def _own_memory(loop: ir.Operation) -> list[ir.Value]:
    """Stack buffers that the loop alone uses: memory of one row at a time."""
    found = dict.fromkeys(v for op in b.walk(loop) for v in op.operands if _is_stack(v))
    return [v for v in found if all(_within(use.owner.operation, loop) for use in v.uses)]


def _is_stack(value: ir.Value) -> bool:
    made = b.defining_op(value)
    return made is not None and made.name == "memref.alloca"


def _within(op: ir.Operation, outer: ir.Operation) -> bool:
    while op.name != "func.func":
        if op == outer:
            return True
        op = op.parent.operation
    return False


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
