"""`with torch.no_grad():` in TorchScript: what ops give there has no gradient.

    %m = prim::CreateObject()      (a no_grad)         %y = torch.aten.mul %x, ...
    prim::Enter(%m)                               ->   %y0 = torch.aten.detach %y
    %y = aten::mul(%x, ...)
    prim::Exit(%m)

What is written in such a block keeps the gradient that it had; what is added to it is a constant. Other writes there, to what may require
a gradient, and ops that may give an operand itself, have no counterpart: then the program's gradients are PyTorch's (`refused`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.emit import Emitter

_ADDS = ("aten.add_.", "aten.sub_.")
_MAY_BE_OPERAND = ("aten.contiguous", "aten.to.", "aten.type_as", "aten.expand_as")


def is_no_grad(type_: Any) -> bool:
    """Whether a TorchScript class is torch.no_grad."""
    return bool(type_.kind() == "ClassType" and type_.qualified_name().endswith("torch.autograd.grad_mode.no_grad"))


class GradMode:
    """Where a graph in the making is: in how many no_grad blocks. `refused`: why a gradient would be another than PyTorch's, or None."""

    def __init__(self, em: Emitter, where: Callable[[], str]) -> None:
        self._em, self._where, self._depth = em, where, 0
        self.refused: str | None = None
        self.refused_of: dict[ir.Value, str] = {}  # arguments of the graph that may not require a gradient for the same reason

    def deepen(self, by: int) -> None:
        """A block begins (1) or ends (-1)."""
        self._depth += by
        self._em.has_gradients = self._depth == 0

    def operands(self, name: str, given: Sequence[ir.Value]) -> list[ir.Value]:
        """The operands of an op of the op table's name: of one that writes here, all but what it writes are constants."""
        if self._em.has_gradients or not _writes(name):
            return list(given)
        if not name.startswith(_ADDS):
            what = f"{name} writes in a no_grad block"
            arguments: list[ir.Value] = []
            if _is_constant(given[0], arguments):
                self.refused_of.update(dict.fromkeys(arguments, f"{what} ({self._where()})"))
            else:
                self.refuse(what)
        return [given[0], *self._em.given(given[1:])]

    def results(self, name: str, made: Sequence[ir.Value]) -> list[ir.Value]:
        """What an op gives: in a no_grad block without a gradient; where that cannot be had, PyTorch makes the program's gradients."""
        if self._em.has_gradients or _writes(name) or not name.startswith("aten."):
            return list(made)
        if any(str(v.type).startswith("!torch.list<tensor") for v in made):
            self.refuse(f"{name} gives a list in a no_grad block")
        if name.startswith(_MAY_BE_OPERAND):
            self.refuse(f"{name} may give its operand in a no_grad block")
        if name.startswith("aten.__getitem__"):  # of a list: what is in it stays what it is
            return list(made)
        return list(self._em.given(made))

    def refuse(self, what: str) -> None:
        """Leave the program's gradients to PyTorch."""
        self.refused = self.refused or f"{what} ({self._where()})"


def _is_constant(value: ir.Value, arguments: list[ir.Value]) -> bool:
    """Whether a value has no gradient where none of some arguments, which are appended, has one: it was made in such a block, or of
    numbers."""
    if isinstance(value.owner, ir.Block):
        arguments.append(value)
        return isinstance(value.owner.owner, ir.Operation | ir.OpView) and value.owner.owner.operation.name == "func.func"
    op = value.owner.operation
    if op.name == "torch.aten.detach":
        return True
    if op.name == "torch.prim.If":
        yields = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
        number = list(op.results).index(value)
        return all(_is_constant(y.operands[number], arguments) for y in yields)
    if _writes(torch_name(op)):
        return _is_constant(op.operands[0], arguments)
    return not any("tensor" in str(v.type) for v in op.operands)


def _writes(name: str) -> bool:
    row = optable.lookup(name)
    return row is not None and row.writes
