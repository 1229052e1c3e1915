"""Rows that are too long for registers: what an op hands to others is computed again by each of them, from what it read.

    %e[i] = exp(%x[i] - %max)                        %sum += exp(%x[i] - %max)
    %sum += %e[i]                        becomes     %y[i] = exp(%x[i] - %max) / %sum
    %y[i] = %e[i] / %sum

Softmax then reads a row three times and writes it once, as PyTorch's own kernel for long rows does; with the exponentials in memory it
reads four times and writes twice.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.cuda.rows.slots import is_own

_LONG, _READERS = 24, 3  # ops of a body and readers of its result, beyond which memory is cheaper


def recompute(body: ir.Block) -> None:
    """In the body of a loop over rows, as often as it can be done. Memory that is not needed any more is left without uses."""
    while any(_spare(op, body) for op in _ops(body)):
        pass


def _ops(body: ir.Block) -> list[Structured]:
    return [s for view in body.operations if (s := Structured.of(view.operation)) is not None]


def _spare(maker: Structured, body: ir.Block) -> bool:
    """Have all who read what an op writes compute it; whether that was done."""
    if not maker.is_parallel or len(maker.iterators) != 1 or len(maker.buffers) != maker.reads + 1 or maker.read_of(maker.reads):
        return False
    made, row = maker.buffers[-1], ir.AffineMap.get_identity(1, maker.op.context)
    if maker.maps[-1] != row or not _is_in_memory(made) or not is_own(made, body) or _length(maker) > _LONG:
        return False
    ops = _ops(body)
    after = ops[next(i for i, op in enumerate(ops) if op.op == maker.op) + 1 :]
    readers = [op for op in after if made in op.buffers]
    if len(readers) > _READERS or any(op.op != maker.op and made in op.buffers for op in ops if op not in readers):
        return False
    for op in readers:
        if len(op.iterators) != 1 or any(v == made and (i >= op.reads or op.maps[i] != row) for i, v in enumerate(op.buffers)):
            return False
    until = after[: after.index(readers[-1])] if readers else []
    written = [v for op in until for v in op.buffers[op.reads :]]
    if any(may_alias(base(v), base(w)) for v in maker.buffers[: maker.reads] for w in written):
        return False
    for op in readers:
        with op.op.location, ir.InsertionPoint(op.op):
            _with(op, maker)
        op.op.erase()
    maker.op.erase()
    return True


def _is_in_memory(row: ir.Value) -> bool:
    made = b.defining_op(base(row))
    return made is not None and made.name == "memref.alloc"


def _length(op: Structured) -> int:
    return sum(1 for _ in b.walk(op.op))


def _with(reader: Structured, maker: Structured) -> None:
    """The reader, with what it read of the maker computed in its body."""
    made = maker.buffers[-1]
    kept = [i for i in range(reader.reads) if reader.buffers[i] != made]
    inputs = [*(reader.buffers[i] for i in kept), *maker.buffers[: maker.reads]]
    maps = [*(reader.maps[i] for i in kept), *maker.maps[: maker.reads], *reader.maps[reader.reads :]]

    def body(read: list[ir.Value], held: list[ir.Value]) -> list[ir.Value]:
        at = [b.loop_index(0)]
        (element,) = maker.compute(at, [*read[len(kept) :], None])
        given: list[ir.Value | None] = [element] * reader.reads
        for i, value in zip(kept, read, strict=False):
            given[i] = value
        return reader.compute(at, [*given, *held])

    b.loops(inputs, maps, reader.buffers[reader.reads :], reader.iterators, body)
