"""What a value shows: the values whose memory it may be, or be a view of, through branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tierup.dialect.ir.structure import last_of
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of

_IF, _LOOP = "torch.prim.If", "torch.prim.Loop"
Shown = Callable[[ir.Operation], Iterable[ir.Value]]


def shown(op: ir.Operation) -> Iterator[ir.Value]:
    """The operands of which an op may give memory."""
    row = row_of(op)
    if row is None or row.aliasing is not Aliasing.FRESH or not all(is_tensor(r.type) for r in op.results):
        yield from (v for v in op.operands if "tensor" in str(v.type))


def sources(value: ir.Value, shown: Shown = shown) -> Iterator[ir.Value]:
    """What a value may be, or be a view of."""
    if isinstance(value.owner, ir.Block):
        loop, number = value.owner.owner, ir.BlockArgument(value).arg_number - 1
        if loop.name == _LOOP and number >= 0:
            yield from (loop.operands[2 + number], _yielded(loop.regions[0], 1 + number))
        return
    op, number = value.owner.operation, ir.OpResult(value).result_number
    if op.name == _IF:
        yield from (_yielded(region, number) for region in op.regions)
    elif op.name == _LOOP:
        yield from (op.operands[2 + number], _yielded(op.regions[0], 1 + number))
    else:
        yield from shown(op)


def reached(values: Iterable[ir.Value], shown: Shown = shown) -> Iterator[ir.Value]:
    """All that these values may be, or be views of, themselves first."""
    seen, left = set[ir.Value](), list(values)
    while left:
        value = left.pop()
        if value not in seen:
            seen.add(value)
            yield value
            left += sources(value, shown)


def _yielded(region: ir.Region, number: int) -> ir.Value:
    ended = last_of(region.blocks[0])
    return ended.operands[number]
