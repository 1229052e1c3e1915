"""tierup-remove-redundant-profiles: one profile where several say the same of one value.

    %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %2 = "tierup.profile"(%1) {slot = 2 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %3 = torch.aten.mul.Tensor %0, %2 ...

becomes

    %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %3 = torch.aten.mul.Tensor %0, %0 ...

A profile goes when one that dominates it watches the same value, directly or through other profiles, and recorded the same facts.
Records that differ stay: the use in one arm of a branch may have seen less than the other. Of profiles that have recorded nothing yet
only those in one block are one: in an inner block nothing recorded will mean that it never ran.
"""

from __future__ import annotations

from tierup.dialect.facts.profiled import Fact
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.dominance import Order
from tierup.dialect.ir.structure import unprofiled
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class RemoveRedundantProfiles(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        order = Order(func)
        kept: dict[ir.Value, list[ir.Operation]] = {}
        twins: list[tuple[ir.Operation, ir.Operation]] = []
        for op in unerased(op for op in walk(func) if op.name == "tierup.profile"):
            others = kept.setdefault(unprofiled(op.operands[0]), [])
            same = next((other for other in order.dominating(op, others) if _say_the_same(other, op)), None)
            if same is None:
                others.append(op)
            else:
                twins.append((op, same))
        for op, same in twins:
            op.results[0].replace_all_uses_with(same.results[0])
        for op, _ in twins:
            op.erase()


def _say_the_same(a: ir.Operation, b: ir.Operation) -> bool:
    seen = _record(a)
    return seen == _record(b) and (seen is not None or a.block == b.block)


def _record(op: ir.Operation) -> Fact | None:
    return facts_of(op.attributes["profiled"]) if "profiled" in op.attributes else None
