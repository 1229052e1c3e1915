"""tierup-print-alias: remarks that say what alias analysis knows of every tensor and container.

    %row = torch.aten.select.int %x, %zero, %zero : !torch.tensor, ...      // %x is an argument
    torch.aten.add_.Scalar %row, %one, %one

gives, at the select,

    remark: 'torch.aten.select.int' op %1 is memory of arguments; written by torch.aten.add_.Scalar

A value `is memory of` the places that made what it may be: `arguments` (all `!torch.tensor` arguments, since they may overlap),
`value arguments`, `container arguments`, or values. `holds`: what may be in a container, at any depth. `returned`: the caller gets it,
a view of it or a container of it. An op in whose place a run would see something missing is said to have side effects. Nothing is
changed; arguments are reported at the op that has them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.points_to import Location, inner_ops
from tierup.dialect.ir.structure import arguments_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, register


@register
class PrintAlias(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        _Printer(func, AliasAnalysis(func)).print(func)


class _Printer:
    def __init__(self, func: ir.Operation, aliases: AliasAnalysis) -> None:
        self.aliases = aliases
        self.state = ir.AsmState(func)

    def print(self, func: ir.Operation) -> None:
        for op in inner_ops(func):
            for value in (*arguments_of(op), *op.results):
                if self.aliases.is_memory(value):
                    diagnostics.remark(op, self.describe(value))
            if op.name != "func.func" and self.aliases.has_side_effects(op):
                diagnostics.remark(op, "has side effects")

    def describe(self, value: ir.Value) -> str:
        points_to = self.aliases.points_to
        itself = points_to.of(value)
        parts = [f"{value.get_name(self.state)} is memory of {self.places(itself)}"]
        inside = points_to.reach(value) - itself
        if inside:
            parts.append(f"holds {self.places(inside)}")
        writers = self.aliases.writers(value)
        if writers:
            parts.append(f"written by {', '.join(dict.fromkeys(op.name for op in writers))}")
        if self.aliases.returned(value):
            parts.append("returned")
        return "; ".join(parts)

    def places(self, locations: Iterable[Location]) -> str:
        points_to = self.aliases.points_to
        fixed = {
            points_to.caller_tensors: "arguments",
            points_to.caller_values: "value arguments",
            points_to.caller_containers: "container arguments",
        }
        named = {fixed[loc] if loc.made_by is None else loc.made_by.get_name(self.state) for loc in locations}
        return ", ".join(sorted(named, key=lambda n: (n.startswith("%"), len(n), n))) or "nothing"
