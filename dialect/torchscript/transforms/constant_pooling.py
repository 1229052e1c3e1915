"""tierup-constant-pooling: every constant once, at the start of the function.

    %0 = torch.prim.If %c -> (!torch.int) {
      %1 = torch.constant.int 1
      torch.prim.If.yield %1 : !torch.int
    } else {
      %2 = torch.constant.int 1
      %3 = torch.aten.add.int %2, %n : ...
      torch.prim.If.yield %3 : !torch.int
    }

becomes

    %1 = torch.constant.int 1
    %0 = torch.prim.If %c -> (!torch.int) {
      torch.prim.If.yield %1 : !torch.int
    } else {
      %3 = torch.aten.add.int %1, %n : ...
      torch.prim.If.yield %3 : !torch.int
    }

Constants stand in the order in which they were met; those of a group, which sees nothing from outside, at the start of its body. Equal are
those of one type and the same bits: 1 and true, 0.0 and -0.0, a tensor of 2.0 and one of 2 stay apart. Two tensor literals of which the
caller gets both stay two objects, and one that the caller gets from each round of a loop stays in the loop. A `torch.tensor.literal` is no
constant: it makes a new tensor, which may be written, each time.

MLIR's `canonicalize` hoists and merges constants too, but drops unused ops, with the exceptions that they raise, and `tierup.promotion`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.analysis.alias import AliasAnalysis, loops_around
from tierup.dialect.analysis.points_to import BODIES
from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class ConstantPooling(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        pool_constants(func, AliasAnalysis(func))


def pool_constants(func: ir.Operation, aliases: AliasAnalysis) -> None:
    """Pool the constants of one function. `aliases` is that function's, and stays valid."""
    body = func.regions[0].blocks[0]
    for block in (body, *_bodies(body)):
        _pool(block, aliases)


def is_constant(op: ir.Operation) -> bool:
    """Whether an op is a constant or a literal."""
    return bool(op.name.startswith("torch.constant.") or op.name == "torch.vtensor.literal")


def _pool(block: ir.Block, aliases: AliasAnalysis) -> None:
    found = list(_constants(block))
    start = next(view.operation for view in block.operations if not is_constant(view.operation))
    pool: dict[object, ir.Value] = {}
    for op in found:
        if _differs_by_round(op, aliases):
            continue
        key = (op.name, op.results[0].type, tuple((name, op.attributes[name]) for name in op.attributes))
        known = pool.get(key)
        if known is not None and aliases.replace(op.results[0], known):
            op.erase()
        else:
            pool.setdefault(key, op.results[0])
            op.move_before(start)


def _differs_by_round(op: ir.Operation, aliases: AliasAnalysis) -> bool:
    """Whether the caller gets a tensor of each round of a loop: hoisted, it would be one object for all rounds."""
    return op.name == "torch.vtensor.literal" and aliases.returned(op.results[0]) and bool(loops_around(op.results[0]))


def _constants(block: ir.Block) -> Iterator[ir.Operation]:
    """The constants of a block and of the regions in it that see its values, in order."""
    for op in ops_of(block):
        if is_constant(op):
            yield op
        elif op.name not in BODIES:
            for inner in blocks(op):
                yield from _constants(inner)


def _bodies(block: ir.Block) -> Iterator[ir.Block]:
    """The bodies inside a block that see only their arguments."""
    for view in block.operations:
        for inner in blocks(view.operation):
            if view.operation.name in BODIES:
                yield inner
            yield from _bodies(inner)
