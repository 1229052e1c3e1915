"""Dominance in structured control flow, where every region has one block."""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir


class Order:
    """The ops of one function by the order of the text.

    For a function that stands still: besides moving and making ops, giving one other operands makes it out of date, since the bindings
    hash an op by its name, operands and attributes.
    """

    def __init__(self, func: ir.Operation) -> None:
        self._path: dict[ir.Operation, tuple[tuple[ir.Block, int], ...]] = Notes()
        for block in blocks(func):
            self._visit(block, ())

    def _visit(self, block: ir.Block, above: tuple[tuple[ir.Block, int], ...]) -> None:
        for i, view in enumerate(block.operations):
            op = view.operation
            self._path[op] = (*above, (block, i))
            for inner in blocks(op):
                self._visit(inner, self._path[op])

    def dominates(self, a: ir.Operation, b: ir.Operation) -> bool:
        """Whether every run that reaches `b` has passed `a` before, in the same execution of the block that `a` stands in."""
        block, i = self._path[a][-1]
        at_b = self._path[b]
        depth = len(self._path[a]) - 1
        return depth < len(at_b) and at_b[depth][0] == block and i < at_b[depth][1]

    def dominating(self, a: ir.Operation, others: list[ir.Operation]) -> Iterator[ir.Operation]:
        """Those of `others` that dominate `a`, in their order."""
        return (other for other in others if self.dominates(other, a))
