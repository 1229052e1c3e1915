"""Loops that end by a condition, made loops that count: a copy that only counts its iterations runs before.

    %r = torch.prim.Loop %max, %c, init(%x) {              %n:2 = torch.prim.Loop %max, %c, init(%x, %zero) {
    ^bb0(%i, %a):                                          ^bb0(%i, %a, %k):
      %0 = torch.aten.mul.Tensor %a, %a                      ... %1 the same
      %1 = ... of %0                                         %more = torch.aten.add.int %i, %one
      torch.prim.Loop.condition %1, iter(%0)     becomes     torch.prim.Loop.condition %1, iter(%0, %more)
    }                                                      }
                                                           %r = torch.prim.Loop %n#1, %true, init(%x) {
                                                             ...
                                                             torch.prim.Loop.condition %true, iter(%0)
                                                           }
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.structure import read_others
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.optable.rows import row_of

_PLAIN = frozenset({
    "torch.prim.If", "torch.prim.If.yield", "torch.prim.Loop", "torch.prim.Loop.condition", "torch.derefine", "torch.prim.unchecked_cast",
    "torch.tensor_static_info_cast",
})  # fmt: skip


def only_computes(loop: ir.Operation) -> bool:
    """Whether running the loop twice is running it once."""
    for op in walk(loop):
        row = row_of(op)
        plain = op.name in _PLAIN or op.name.startswith("torch.constant.")
        if not plain and (row is None or row.writes or row.random):
            return False
    return True


def count_first(e: Emitter, loop: ir.Operation, dropped: Sequence[int], unread: Sequence[ir.Operation]) -> bool:
    """Let a copy of the loop count, and the loop run as often. The copy does without the values carried as `dropped` and the ops `unread`,
    which alone read them."""
    body = loop.regions[0].blocks[0]
    *inside, last = [view.operation for view in body.operations]
    kept = [k for k in range(len(loop.results)) if k not in dropped]
    number, *entering = body.arguments
    with e.before(loop):
        e.location = loop.location
        types = [*(loop.results[k].type for k in kept), number.type]
        inits = [loop.operands[2 + k] for k in kept]
        copy = e.create("torch.prim.Loop", types, [loop.operands[0], loop.operands[1], *inits, e.value(0)], regions=1)
        types = [number.type, *(entering[k].type for k in kept), number.type]
        block = copy.regions[0].blocks.append(*types, arg_locs=[loop.location] * len(types))
        now = dict(zip([number, *(entering[k] for k in kept)], list(block.arguments)[:-1], strict=True))
        with e.inside(block):
            for op in inside:
                if op not in unread:
                    twin = op.clone(e.ip).operation
                    read_others([twin], now)
                    now.update(zip(op.results, twin.results, strict=True))
            more = e.call("aten.add.int", block.arguments[0], 1, type_="!torch.int")
            handed = [now.get(v, v) for v in (last.operands[0], *(last.operands[1 + k] for k in kept))]
            e.create("torch.prim.Loop.condition", [], [*handed, more])
        loop.operands[0], loop.operands[1] = copy.results[len(kept)], e.value(True)
    with e.before(last):
        last.operands[0] = e.value(True)
    return True
