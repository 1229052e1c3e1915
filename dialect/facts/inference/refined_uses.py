"""Letting users of a value see the same thing with a more refined type."""

from __future__ import annotations

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of

_TAKE_ANY = frozenset({"tierup.bailout", "tierup.check", "tierup.check_shapes", "tierup.guard", "tierup.profile"})


def takes_any_refinement(op: ir.Operation) -> bool:
    """Whether an op may have operands of more refined types than it was built with: rows of the op table, guards. MLIR wants the
    types along edges of control flow, of calls and of containers to be equal."""
    return op.name in _TAKE_ANY or (op.name not in STRUCTURE and row_of(op) is not None)


def replace_uses(old: ir.Value, new: ir.Value, type_: ir.Type) -> None:
    """Users of `old`, but for the op that makes `new`, see `new`; those that need the type they had, `type_`, see it through a cast."""
    for use in list(old.uses):
        user = use.owner.operation
        if isinstance(new, ir.OpResult) and user == new.owner.operation:
            continue
        seen = new if new.type == type_ or takes_any_refinement(user) else cast(new, type_, ir.InsertionPoint(user))
        user.operands[use.operand_number] = seen
