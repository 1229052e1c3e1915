"""Lowering op by op with a table: what several passes do alike."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled, load_casts

_IN_NO_TABLE = ("torch.constant.", "torch.prim.ListConstruct")


@cache
def _table(modules: tuple[str, ...]) -> dict[str, Lowering]:
    return {name: f for module in modules for name, f in import_module(f"tierup.lowering.ops.{module}").LOWERINGS.items()}


def lower(function: ir.Operation, *modules: str) -> None:
    """Replace every torch op of the function that is in LOWERINGS of these modules, which are imported when an op is left that may be. One
    that raises NotHandled stays: another pass may have it, or tierup-verify-lowered names it. Results get the sizes that inference found:
    it may know one that arithmetic on sizes only gives in the run."""
    load_casts(function.context)
    for op in b.walk_unfused(function):
        if not op.name.startswith("torch.") or op.name.startswith(_IN_NO_TABLE):
            continue
        lowering = _table(modules).get(torch_name(op))
        if lowering is None or PROMOTION in op.attributes:
            continue
        try:
            with op.location, ir.InsertionPoint(op):
                call = Call(op)
                made = lowering(call)
                results = enumerate(made if isinstance(made, list) else [made])
                replacements = [m.with_sizes(call.sizes(i)).to_torch(op.results[i].type) for i, m in results]
        except NotHandled:
            b.discard_before(op)
            continue
        for result, replacement in zip(op.results, replacements, strict=True):
            result.replace_all_uses_with(replacement)
        op.erase()
