"""The ops of one row in registers: thread t does elements t, t + threads, ... of each, and keeps them.

    launch(slots, threads, count, ...)       # a block, or a warp, for each row of a loop

The loops over a thread's slots have a length that is known and are unrolled: LLVM makes registers of the slots, and all loads of a thread
are on their way before the first of them arrives. A thread whose last elements lie beyond the row computes with the row's last element in
their place; it neither stores nor sums them. Rows short enough for a warp need no barrier: a block has several.

NVIDIA's and PyTorch's kernels for softmax keep rows so where they are short enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Union

from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, minimum, of, select
from tierup.lowering.building.loops import either, when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import Block
from tierup.lowering.cuda.rows.combining import combiners
from tierup.lowering.cuda.rows.in_blocks import Row
from tierup.lowering.cuda.rows.slots import Slots

_GROUP = 4  # slots between two tests whether the row goes on, where its length is known at launch only
_WARPS = 4  # of a block whose rows have a warp each

# the slot's number, the element's, whether there is one (None: surely), what is carried -> what is carried
Body = Callable[[Scalar, Scalar, Union[Scalar, None], list[Any]], list[ir.Value]]


def launch(slots: Slots, threads: int, count: int, numbers: list[ir.Value]) -> None:
    """Launch the kernel before the loop, whose ops it takes. `threads`: of a row, the most of them where its length is not known;
    `numbers`: buffers of rank 0 that the loop alone uses."""
    loop = slots.body.owner.operation
    n, rows = slots.size(), of(loop.operands[1])
    ops = [s for op in b.walk(loop) if (s := Structured.of(op)) is not None]
    summed = dict.fromkeys(ir.ShapedType(v.type).element_type for s in ops if not s.is_parallel for v in s.buffers[s.reads :])
    wide = b.index(threads) if slots.length is not None else _wide(n, count, threads)
    in_warps = gpu.constant(wide) == gpu.WARP
    scratch = [] if in_warps else [gpu.shared_type([gpu.WARP], t) for t in summed]
    blocks, block = (gpu.ceil_div(rows, _WARPS), [wide, b.index(_WARPS)]) if in_warps else (rows, [wide])
    with gpu.launch([blocks], block, scratch) as here:
        row = SlotRow(Block(here, wide, here.shared), slots, count, n)
        for buffer in numbers:
            buffer.replace_all_uses_with(row.number(buffer.type))
        if not in_warps:
            row.fill(slots.body, here.block[0])
            return
        mine = here.block[0] * _WARPS + here.thread[1]
        with when(mine < rows):
            row.fill(slots.body, mine)


def _wide(n: Scalar, count: int, most: int) -> Scalar:
    """Threads for a row of `n` elements: half of their slots are used at least, where a warp has not slots enough."""
    result, threads = b.index(most), most
    while threads > gpu.WARP:
        threads //= 2
        result = select(n < threads * count // 2 + 1, b.index(threads), result)
    return result


class SlotRow(Row):
    """A row whose buffers are slots. `count`: how many slots a thread has in each; `n`: the row's length."""

    def __init__(self, block: Block, slots: Slots, count: int, n: ir.Value) -> None:
        super().__init__(block)
        self._slots, self._count, self._n = slots, count, n
        self._filled: set[ir.Value] = set()
        known = gpu.constant(block.threads)
        self._is_full = slots.length is not None and known is not None and known * count == slots.length
        self._places = {v: self._registers(v) for v in slots.held}

    def _registers(self, buffer: ir.Value) -> ir.Value:
        type_ = ir.MemRefType.get([self._count], ir.ShapedType(buffer.type).element_type)
        return b.alloca(type_)

    def _is_result(self, buffer: ir.Value) -> bool:
        return buffer not in self._slots.own

    def _touch(self, since: object, op: ir.Operation, reads: object, writes: object) -> None:
        """No thread looks at another's elements."""

    def _convert(self, op: Structured) -> None:
        known = combiners(op) if op.iterators and not op.is_parallel else None
        if not op.iterators:
            op.run([])
        elif known is None:
            self._each([], lambda k, at, inside, _: self._point(op, k, at, inside))
        else:
            mine = self._each([c.neutral() for c in known], lambda k, at, inside, sums: self._add(op, k, at, inside, sums))
            held = [op.load(op.reads + i, [b.index(0)]) for i in range(len(known))]
            totals = [self._block.all_reduce(v, c) for v, c in zip(mine, known, strict=True)]
            op.write([b.index(0)], [c.combine(h, v) for c, h, v in zip(known, held, totals, strict=True)])
        self._filled |= {v for i, v in enumerate(op.buffers) if v in self._places and (i >= op.reads or op.read_of(i))}

    def _each(self, start: list[ir.Value], body: Body) -> list[ir.Value]:
        """All slots of a thread."""
        values = start

        def group(first: int, count: int) -> list[ir.Value]:
            return gpu.unrolled(count, values, lambda k, sums: self._slot(k + first, sums, body))

        def kept() -> list[ir.Value]:
            return values

        if self._slots.length is not None:
            return group(0, self._count)
        for first in range(0, self._count, _GROUP):
            more = partial(group, first, min(_GROUP, self._count - first))
            values = either(self._block.threads * first < self._n, [v.type for v in values], more, kept) if first else more()
        return values

    def _slot(self, k: ir.Value, values: list[ir.Value], body: Body) -> list[ir.Value]:
        at = k * self._block.threads + self._block.thread
        if self._is_full:
            return body(k, at, None, values)
        return body(k, minimum(at, self._n - 1), at < self._n, values)

    def _elements(self, op: Structured, k: ir.Value, at: ir.Value) -> list[ir.Value | None]:
        found: list[ir.Value | None] = []
        for i, buffer in enumerate(op.buffers):
            if not op.read_of(i):
                found.append(None)
            elif buffer in self._filled:
                found.append(b.load(self._places[buffer], k))
            else:
                found.append(op.load(i, [at]))
                if buffer in self._places:
                    b.store(found[-1], self._places[buffer], k)
        return found

    def _point(self, op: Structured, k: ir.Value, at: ir.Value, inside: ir.Value | None) -> list[ir.Value]:
        values = op.compute([at], self._elements(op, k, at))
        for value, buffer in zip(values, op.buffers[op.reads :], strict=True):
            if buffer in self._places:
                b.store(value, self._places[buffer], k)
            if buffer in self._slots.own:
                continue
            if inside is None:
                b.store(value, buffer, at)
            else:
                with when(inside):
                    b.store(value, buffer, at)
        return []

    def _add(self, op: Structured, k: ir.Value, at: ir.Value, inside: ir.Value | None, sums: list[ir.Value]) -> list[ir.Value]:
        more = op.compute([at], [*self._elements(op, k, at)[: op.reads], *sums])
        if inside is None:
            return more
        return [select(inside, new, old) for new, old in zip(more, sums, strict=True)]
