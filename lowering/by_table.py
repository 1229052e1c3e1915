"""Lowering op by op with a table: what several passes do alike."""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.inference.infer import PROMOTION
from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering.call import Call, Lowering
from tierup.lowering.pointwise.context import NotHandled, load_casts


def lower(function: ir.Operation, table: Mapping[str, Lowering]) -> None:
    """Replace every torch op of the function that the table has. One that raises NotHandled stays: another pass may have it, or
    tierup-verify-lowered names it."""
    load_casts(function.context)
    for op in b.walk_unfused(function):
        lowering = table.get(op.name.removeprefix("torch."))
        if lowering is None or PROMOTION in op.attributes:
            continue
        try:
            with op.location, ir.InsertionPoint(op):
                made = lowering(Call(op))
                results = made if isinstance(made, list) else [made]
                replacements = [m.to_torch(r.type) for m, r in zip(results, op.results, strict=True)]
        except NotHandled:
            b.discard_before(op)
            continue
        for result, replacement in zip(op.results, replacements, strict=True):
            result.replace_all_uses_with(replacement)
        op.erase()
