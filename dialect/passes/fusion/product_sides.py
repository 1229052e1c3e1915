"""Independent matrix products with a common side: the analysis behind the sides of `tierup-batch-matmul`.

Products are independent when none needs, on any path, what another gives. The ops around a batch split in two: those that need a
product of it, or must stay behind one that does, come after it; all others stand before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierup.dialect.analysis.alias import AliasAnalysis, Effects
from tierup.dialect.ir.structure import external_operands
from tierup.dialect.mlir import ir

SIDES = ("left", "right")  # operand 0 and operand 1 of a product


@dataclass(frozen=True)
class Batch:
    """Products with one common matrix on `side`, in program order; `late`: the ops between them that come after all of them."""

    common: ir.Value
    side: str
    products: list[ir.Operation]
    late: list[ir.Operation]


def batches(row: list[ir.Operation], products: Sequence[ir.Operation], min_size: int, aliases: AliasAnalysis) -> Iterator[Batch]:
    """Batches, the largest first, among the ops of one block that stand between two side effects. `products`: those that may be taken.

    Who asks for the next one has put the batch into `row` in place of its products, which are not erased yet, and told `aliases`.
    """
    allowed = {op.results[0] for op in products}  # not the ops: their hash changes with their operands
    shared: dict[tuple[ir.Value, str], list[ir.Operation]] = {}
    for op in products:
        for value, side in zip(op.operands, SIDES, strict=True):
            shared.setdefault((value, side), []).append(op)
    for (_, side), users in sorted(shared.items(), key=lambda item: -len(item[1])):
        left = [op for op in users if op.results[0] in allowed]
        for level in _levels(row, left) if len(left) >= min_size else ():
            if len(level) >= min_size:
                allowed.difference_update(op.results[0] for op in level)
                yield Batch(level[0].operands[SIDES.index(side)], side, level, _late(row, level, aliases))


def _levels(row: list[ir.Operation], products: list[ir.Operation]) -> list[list[ir.Operation]]:
    """The products by how many others stand on the longest path to each: those of one level are independent."""
    wanted = set(products)
    depth: dict[ir.Value, int] = {}
    levels: dict[int, list[ir.Operation]] = {}
    for op in row:
        below = max((depth.get(v, 0) for v in external_operands(op)), default=0)
        if op in wanted:
            levels.setdefault(below, []).append(op)
        if op in wanted or below:
            depth.update(dict.fromkeys(op.results, below + (op in wanted)))
    return list(levels.values())


def _late(row: list[ir.Operation], products: list[ir.Operation], aliases: AliasAnalysis) -> list[ir.Operation]:
    """The ops between independent products that come after all of them: they need one, or must stay behind one that does."""
    late: list[ir.Operation] = []
    results = {op.results[0] for op in products}  # and those of late ops
    effects = Effects()  # of all late ops
    wanted = set(products)
    for op in row[row.index(products[0]) : row.index(products[-1])]:
        if op in wanted:
            continue  # it reads what nobody writes, and has no effects
        if any(v in results for v in external_operands(op)) or aliases.conflicting(effects, aliases.effects(op)):
            late.append(op)
            effects |= aliases.effects(op)
            results.update(op.results)
    return late
