"""Tensors that NumPy lets nobody write, views by np.broadcast_to and np.diagonal, followed to what they reach.

`tierup.read_only` numbers the user's results that are such on all paths, `tierup.perhaps_read_only` those that may be on some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tierup.dialect import optable
from tierup.dialect.functional.views import is_read_only
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing

READ_ONLY, PERHAPS_READ_ONLY = "tierup.read_only", "tierup.perhaps_read_only"
_IF, _LOOP = "torch.prim.If", "torch.prim.Loop"
Shown = Callable[[ir.Operation], Iterable[ir.Value]]


def shown(op: ir.Operation) -> Iterator[ir.Value]:
    """The operands of which an op may give memory."""
    row = optable.lookup(op.name)
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


def perhaps_read_only(value: ir.Value, shown: Shown = shown) -> bool:
    """Whether some path makes a value read-only, or puts what is read-only into it."""
    seen, left = set[ir.Value](), [value]
    while left:
        value = left.pop()
        if value not in seen:
            seen.add(value)
            if not isinstance(value.owner, ir.Block) and is_read_only(value.owner.operation):
                return True
            left += sources(value, shown)
    return False


def _yielded(region: ir.Region, number: int) -> ir.Value:
    ended = list(region.blocks[0].operations)[-1].operation
    return ended.operands[number]
