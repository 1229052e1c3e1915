"""tierup-refine-integer-values: where a comparison has decided what number a value is, it is that number.

    %c = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
    %0 = torch.prim.If %c -> (!torch.int) {
      %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
      torch.prim.If.yield %1 : !torch.int
    } else {

becomes

    %c = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool
    %0 = torch.prim.If %c -> (!torch.int) {
      %int3_0 = torch.constant.int 3
      %1 = torch.aten.mul.int %int3_0, %m : !torch.int, !torch.int -> !torch.int
      torch.prim.If.yield %1 : !torch.int
    } else {

The arm of `!=` that is taken when it fails counts as well, `and`, `or`, `not`, the branches that short-circuit them, what follows an
assertion, and what follows a branch whose other arm raises. A branch that gives the number where the value is that number, and else
the value, gives the value:

    %0 = torch.prim.If %c -> (!torch.int) {             // 3 if n == 3 else n
      torch.prim.If.yield %int3 : !torch.int
    } else {
      torch.prim.If.yield %n : !torch.int
    }                                                   // uses of %0 become uses of %n
"""

from __future__ import annotations

from tierup.dialect.analysis.value_facts import Decision, Decisions, Facts, Scope
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import int_of, number


@register
class RefineIntegerValues(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        walk = Decisions(_decides, lambda op, scope: _visit(op, scope, walk), lambda op: _collapse(op, walk))
        walk.walk(func)


def _decides(op: ir.Operation) -> Decision | None:
    if op.name not in ("torch.aten.eq.int", "torch.aten.ne.int"):
        return None
    left, right = op.operands
    for value, other in ((left, right), (right, left)):
        known = int_of(other)
        if known is not None and int_of(value) is None:
            return Decision(value, known, op.name == "torch.aten.eq.int")
    return None


def _visit(op: ir.Operation, scope: Scope, walk: Decisions) -> None:
    if op.name == "torch.prim.If":
        _collapse(op, walk)  # before its condition is rewritten; once more behind its arms, whose own branches collapse, too
    for i, value in enumerate(op.operands):
        known = scope.facts.get(value)
        if known is not None and str(value.type) == "!torch.int":
            if known not in scope.constants:
                scope.constants[known] = number(op, known)
            op.operands[i] = scope.constants[known]


def _collapse(op: ir.Operation, walk: Decisions) -> None:
    condition = op.operands[0]
    when = [walk.when(condition, truth) for truth in (True, False)]
    yields = [handed_over(region.blocks[0]) for region in op.regions]
    for result, then, otherwise in zip(op.results, *yields, strict=True):
        if then == otherwise or _is(when[0], then, otherwise):
            result.replace_all_uses_with(otherwise)
        elif _is(when[1], otherwise, then):
            result.replace_all_uses_with(then)


def _is(facts: Facts | None, given: ir.Value, value: ir.Value) -> bool:
    """Whether `given` is the number that `value` is known to be in this arm."""
    known = (facts or {}).get(value)
    return known is not None and int_of(given) == known
