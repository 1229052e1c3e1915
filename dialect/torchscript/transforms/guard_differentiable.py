"""tierup-guard-differentiable: run a differentiable group only on values that require gradients as the profiled ones did.

    %0 = "tierup.differentiable"(%x, %w) ({...}, {...}) {...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor

becomes

    %v:2, %ok = "tierup.check_requires_grad"(%x, %w) {requires_grad = [false, true]} : ... -> (!torch.vtensor, !torch.vtensor, !torch.bool)
    %0 = torch.prim.If %ok -> (!torch.vtensor) {
      %1 = "tierup.differentiable"(%v#0, %v#1) ({...}, {...}) {...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
      torch.prim.If.yield %1 : !torch.vtensor
    } else {
      %1 = "tierup.fallback"(%x, %w) ({...}, {}) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor     the forward ops alone
      torch.prim.If.yield %1 : !torch.vtensor
    }

What is expected of an operand is what profiles of it recorded, or what follows for it from what profiles recorded of others. An operand
that sometimes required a gradient is expected to. What is certain is not checked: a `tierup.requires_grad` of an argument, a tensor of
integers. A group with an operand of which nothing was recorded is undone: an assumption of it would be a guess. An operand that the group
does not use is passed on, and not checked. A group that takes checked values is left.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.analysis.requires_grad import RequiresGrad, argument_states
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.structure import if_, is_used, maker, users, yield_
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiable import PROFILE, groups, undo
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.speculation.two_versions import as_fallback
from tierup.dialect.torchscript.transforms.remove_profiling import remove_profiles

CHECK = "tierup.check_requires_grad"


@register
class GuardDifferentiable(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for group in groups(func):
            if not any(maker(v, CHECK) is not None for v in group.operands):
                _guard(func, group)


def _guard(func: ir.Operation, group: ir.Operation) -> None:
    sure, likely = RequiresGrad(func), RequiresGrad(func, profiles=True)
    expected: dict[int, bool] = {}
    for i, value in enumerate(group.operands):
        argument = group.regions[0].blocks[0].arguments[i]
        if not torch_types.is_tensor(value.type) or not is_used(argument) or _is_certain(func, value, sure):
            continue
        records = _records(value) + _records(argument)
        seen = {fact.requires_grad for fact in records}
        if len(seen) == 1 and None not in seen:
            expected[i] = seen == {True}
        elif seen:
            expected[i] = True  # now this, now that
        elif (follows := likely[value]) is not None:
            expected[i] = follows
        else:
            undo(group)
            return
    if expected:
        _branch(group, expected)


def _is_certain(func: ir.Operation, value: ir.Value, sure: RequiresGrad) -> bool:
    if not sure.may(value):
        return True
    arguments = list(func.regions[0].blocks[0].arguments)
    return value in arguments and argument_states(func)[arguments.index(value)] is not None


def _records(value: ir.Value) -> list[Profiled]:
    """What profiles recorded of a value: those that gave it, and those that take it."""
    found = [op for op in users(value) if op.name == PROFILE]
    while (op := maker(value, PROFILE)) is not None:
        found.append(op)
        value = op.operands[0]
    facts = [facts_of(op.attributes["profiled"]) for op in found if "profiled" in op.attributes]
    return [fact for fact in facts if isinstance(fact, Profiled) and fact.defined is not False]


def _branch(group: ir.Operation, expected: Mapping[int, bool]) -> None:
    originals, loc, ip = list(group.operands), group.location, ir.InsertionPoint(group)
    values = [originals[i] for i in expected]
    wanted = ir.ArrayAttr.get([ir.BoolAttr.get(state) for state in expected.values()])
    types = [*(v.type for v in values), ir.Type.parse("!torch.bool")]
    check = ops.create("check_requires_grad", values, types, {"requires_grad": wanted}, loc=loc, ip=ip)
    results = [r.type for r in group.results]
    branch, then, otherwise = if_(check.results[len(values)], results, loc, ip)
    for result, new in zip(group.results, branch.results, strict=True):
        result.replace_all_uses_with(new)
    slow = as_fallback(group.clone(ip).operation, originals, results, ir.InsertionPoint(otherwise))  # without the temporaries
    remove_profiles(slow)  # it will have a profile of its own
    then.append(group)
    for i, value in zip(expected, check.results, strict=False):
        group.operands[i] = value
    for block, made in ((then, group), (otherwise, slow)):
        yield_(block, made.results)
