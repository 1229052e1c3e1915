"""Ops that are asked for a memory format: channels last is row-major with the channels behind the other dims.

    %y = aten.contiguous(%x, channels_last)   ->   %t = aten.permute(%x, [0, 2, 3, 1])
                                                   %c = aten.contiguous(%t, contiguous)
                                                   %y = aten.permute(%c, [0, 3, 1, 2])

So %y is %x, or a copy, as in eager mode, and lies in memory as there. What no constant says, and `preserve`, stays with the op.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import optable
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of, under_casts
from tierup.frontend.python.building.emit import Emitter

_ROWS = 0
_RANKS = {2: 4, 3: 5}  # c10::MemoryFormat: channels_last, channels_last_3d


def emitted(em: Emitter, name: str, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
    """The results of an op of ATen's."""
    row = optable.lookup(name)
    at = row.operands.index("memory_format") if row is not None and "memory_format" in row.operands else len(operands)
    asked = int_of(under_casts(operands[at])) if at < len(operands) else None
    rank = _RANKS.get(asked or 0)
    if rank is None or operands[0].type not in (em.types.tensor, em.types.int_list):
        return list(em.op(name, operands, types))
    last, back = [0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)]
    if operands[0].type == em.types.tensor:
        (permuted,) = em.op("aten.permute", [operands[0], em.ints(*last)], [em.types.tensor])
    else:  # sizes
        sizes = [v for d in last for v in em.op("aten.__getitem__.t", [operands[0], em.int(d)], [em.types.int])]
        permuted = em.create("torch.prim.ListConstruct", sizes, [em.types.int_list]).results[0]
    (made,) = em.op(name, [permuted, *operands[1:at], em.int(_ROWS), *operands[at + 1 :]], types)
    return list(em.op("aten.permute", [made, em.ints(*back)], types))
