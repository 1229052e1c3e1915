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
from dataclasses import dataclass

from tierup.dialect import ops
from tierup.dialect.analysis.requires_grad import RequiresGrad, argument_states
from tierup.dialect.autodiff.differentiable import PROFILE, groups, undo
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.structure import is_used, last_of
from tierup.dialect.ir.walking import function_names, ops_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, functions, register

CHECK = "tierup.check_requires_grad"


@register
@dataclass(frozen=True)
class GuardDifferentiable(Pass):
    """Guard each differentiable group with a check of requires_grad, with its forward ops as a fallback."""

    name = "tierup-guard-differentiable"

    def run(self, module: ir.Module) -> None:
        callees = function_names(module)
        for func in functions(module.operation):
            for group in groups(func):
                if not any(_is_checked(v) for v in group.operands):
                    _guard(func, group, callees)


def _is_checked(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == CHECK


def _guard(func: ir.Operation, group: ir.Operation, callees: Mapping[str, ir.Operation]) -> None:
    sure, likely = RequiresGrad(func, callees), RequiresGrad(func, callees, profiles=True)
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
    found = [use.owner.operation for use in value.uses if use.owner.operation.name == PROFILE]
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == PROFILE:
        found.append(value.owner.operation)
        value = value.owner.operation.operands[0]
    facts = [facts_of(op.attributes["profiled"]) for op in found if "profiled" in op.attributes]
    return [fact for fact in facts if isinstance(fact, Profiled) and fact.defined is not False]


def _branch(group: ir.Operation, expected: Mapping[int, bool]) -> None:
    originals, loc, ip = list(group.operands), group.location, ir.InsertionPoint(group)
    values = [originals[i] for i in expected]
    wanted = ir.ArrayAttr.get([ir.BoolAttr.get(state) for state in expected.values()])
    types = [*(v.type for v in values), ir.Type.parse("!torch.bool")]
    check = ops.create("check_requires_grad", values, types, {"requires_grad": wanted}, loc=loc, ip=ip)
    results = [r.type for r in group.results]
    ok = check.results[len(values)]
    branch = ir.Operation.create("torch.prim.If", results=results, operands=[ok], regions=2, loc=loc, ip=ip).operation
    then, otherwise = (region.blocks.append() for region in branch.regions)
    for result, new in zip(group.results, branch.results, strict=True):
        result.replace_all_uses_with(new)
    slow = _forward_alone(group, otherwise)
    then.append(group)
    for i, value in zip(expected, check.results, strict=False):
        group.operands[i] = value
    for block, made in ((then, group), (otherwise, slow)):
        ir.Operation.create("torch.prim.If.yield", operands=list(made.results), loc=loc, ip=ir.InsertionPoint(block))


def _forward_alone(group: ir.Operation, block: ir.Block) -> ir.Operation:
    """A fallback in `block` that computes the group's results, without temporaries and profiles: it will have a profile of its own."""
    types = [r.type for r in group.results]
    made = ops.fallback(list(group.operands), types, loc=group.location, ip=ir.InsertionPoint(block))
    twin = group.clone(ir.InsertionPoint(made)).operation
    old, new = twin.regions[0].blocks[0], made.regions[0].blocks[0]
    for argument, replacement in zip(old.arguments, new.arguments, strict=True):
        argument.replace_all_uses_with(replacement)
    for each in ops_of(old):
        new.append(each)
    last = last_of(new)
    ops.yield_(list(last.operands)[: len(types)], loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    for op in unerased(op for op in walk(made) if op.name == PROFILE):
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()
    twin.erase()
    return made
