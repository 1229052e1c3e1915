"""The ops of one row as a block's work: each linalg op in place becomes what the threads do of it, with barriers where they must meet.

Single numbers (buffers of rank 0) are in registers: every thread computes the same. One that is also memory of others, a row's sum that
the program returns, has a register that stands for it; the first thread stores it at the end.

A barrier stands between two ops of which one touches an element that another thread writes in the other. An op that visits each
element of a buffer once, in order, leaves element i to thread i modulo their number, as every such op does: those need none.
"""

from __future__ import annotations

from dataclasses import field

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import base
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import is_identity
from tierup.lowering.building.loops import when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import Block, summed
from tierup.lowering.cuda.rows.combining import combiners
from tierup.lowering.cuda.rows.selecting import Selector, selector

Access = tuple[ir.Value, ir.Value, bool]  # base, buffer, whether each thread keeps to its own elements


@dataclass
class _Since:
    """What was touched since the last barrier."""

    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)

    def clash(self, reads: list[Access], writes: list[Access]) -> bool:
        return any(_clash(x, y) for x in self.writes for y in reads + writes) or any(_clash(x, y) for x in self.reads for y in writes)

    def add(self, reads: list[Access], writes: list[Access]) -> None:
        self.reads += reads
        self.writes += writes

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes)


def _clash(x: Access, y: Access) -> bool:
    return x[0] == y[0] and not (x[1] == y[1] and x[2] and y[2])


class Row:
    """Built inside the launch: `number` makes registers, `run` converts what stands in the body."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._top = ir.InsertionPoint.current.block

    def number(self, type_: ir.Type) -> ir.Value:
        """A register of every thread, as a buffer of rank 0. LLVM keeps it out of memory."""
        with ir.InsertionPoint.at_block_begin(self._top):
            alone = ir.MemRefType.get([], ir.ShapedType(type_).element_type)
            return b.alloca(alone)

    def fill(self, body: ir.Block, number: ir.Value) -> None:
        """Move what stands in the body of a loop over rows to the insertion point, for the row of this number, and convert it."""
        b.inline(body, [number])
        self.run(ir.InsertionPoint.current.block)

    def run(self, block: ir.Block) -> None:
        """Convert the ops of a block; in loops, each turn begins and ends with all threads together."""
        since = _Since()
        outside: dict[ir.Value, ir.Value] = {}  # numbers in others' memory -> the register that stands for each
        for op in [view.operation for view in block.operations]:
            structured = Structured.of(op)
            if structured is None:
                if op.name == "scf.for":
                    self._meet(since, op)
                    self.run(op.regions[0].blocks[0])
                elif op.name == "memref.load":
                    self._touch(since, op, [(base(op.operands[0]), op.operands[0], False)], [])
                continue
            self._stand_in(structured, outside)
            structured = Structured.of(op)
            assert structured is not None
            self._touch(since, op, *_accesses(structured))
            with op.location, ir.InsertionPoint(op):
                self._convert(structured)
            op.erase()
        last = list(block.operations)[-1].operation if len(block.operations) else None
        where = ir.InsertionPoint(last) if last is not None and last.name == "scf.yield" else ir.InsertionPoint(block)
        with where:
            outside = {buffer: register for buffer, register in outside.items() if self._is_result(buffer)}
            if outside:
                with when(self._block.thread.equals(0)):
                    for buffer, register in outside.items():
                        b.store(b.load(register), buffer)
            if since and block != self._top:
                gpu.barrier()

    def _touch(self, since: _Since, op: ir.Operation, reads: list[Access], writes: list[Access]) -> None:
        if since.clash(reads, writes):
            self._meet(since, op)
        since.add(reads, writes)

    def _meet(self, since: _Since, op: ir.Operation) -> None:
        if since:
            with ir.InsertionPoint(op):
                gpu.barrier()
            since.reads.clear()
            since.writes.clear()

    def _stand_in(self, op: Structured, outside: dict[ir.Value, ir.Value]) -> None:
        """Let a register stand for each number in others' memory that the op writes, or that an op before wrote."""
        for i, buffer in enumerate(op.buffers):
            if ir.ShapedType(buffer.type).rank or self._is_register(buffer):
                continue
            if buffer not in outside:
                if i < op.reads:
                    continue  # only read so far: all threads read the same
                outside[buffer] = self.number(buffer.type)
                if op.read_of(i):
                    with ir.InsertionPoint(op.op):
                        b.store(b.load(buffer), outside[buffer])
                        gpu.barrier()  # the first thread stores the end's value when all have read this
            op.op.operands[list(op.op.operands).index(buffer)] = outside[buffer]

    def _is_result(self, buffer: ir.Value) -> bool:
        """Whether who comes after the loop may look at a number in memory."""
        del buffer
        return True

    def _is_register(self, buffer: ir.Value) -> bool:
        made = b.defining_op(buffer)
        return made is not None and made.name == "memref.alloca" and made.block == self._top

    def _convert(self, op: Structured) -> None:
        if not op.iterators:
            op.run([])
            return
        sizes = op.sizes()
        known = combiners(op) if _is_tree(op) else None
        if known is not None:
            span = (self._block.thread, gpu.product(sizes), self._block.threads)
            sums = summed(op, [c.neutral() for c in known], [None] * len(sizes), sizes, span)
            place = [b.index(0)] * len(sizes)
            totals = [self._block.all_reduce(v, c) for v, c in zip(sums, known, strict=True)]
            held = [op.load(op.reads + i, place) for i in range(len(known))]
            op.write(place, [c.combine(h, v) for c, h, v in zip(known, held, totals, strict=True)])
        elif (picks := _selects(op)) is not None:
            span = (self._block.thread, gpu.product(sizes), self._block.threads)
            place = [b.index(0)] * len(sizes)
            held = [op.load(op.reads + i, place) for i in range(2)]
            op.write(place, self._block.all_select(summed(op, held, [None] * len(sizes), sizes, span), picks))
        elif _is_number(op):
            self._block.everyone(op, sizes)
        else:
            self._block.spread(op, sizes)


def _accesses(op: Structured) -> tuple[list[Access], list[Access]]:
    """What an op reads and writes of memory that threads share."""
    # the op's points are numbered through, and thread t takes t, t + threads, ...
    side_by_side = op.is_parallel or _is_tree(op) or _selects(op) is not None
    found = [(base(v), v, side_by_side and is_identity(m)) for v, m in zip(op.buffers, op.maps, strict=True)]
    shared = [ir.ShapedType(v.type).rank > 0 for v in op.buffers]
    reads = [a for i, a in enumerate(found) if shared[i] and (i < op.reads or op.read_of(i))]
    loads = [inner for inner in b.walk(op.op) if inner.name == "memref.load"]
    reads += [(base(inner.operands[0]), inner.operands[0], False) for inner in loads]
    return reads, [a for i, a in enumerate(found) if shared[i] and i >= op.reads]


def _is_number(op: Structured) -> bool:
    """Whether it gives single numbers, of which each thread has its own."""
    return all(ir.ShapedType(v.type).rank == 0 for v in op.buffers[op.reads :])


def _is_tree(op: Structured) -> bool:
    """Whether the threads reduce together."""
    return not op.is_parallel and _is_number(op) and combiners(op) is not None


def _selects(op: Structured) -> Selector | None:
    """How the threads choose together, where they do."""
    return selector(op) if not op.is_parallel and _is_number(op) else None
