"""tierup-specialize-autograd-zero: a version of a backward graph for the gradients that were there when it was profiled.

    func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
      %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : ...
      %1 = "tierup.profile"(%h) {slot = 1 : i64, profiled = #tierup.profiled<?[*] undefined>} : ...
      %2 = "tierup.autograd_add"(%0, %1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
      return %2 : !torch.vtensor
    }

becomes

    func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
      %a = "tierup.all_nonzero"(%g) : (!torch.vtensor) -> !torch.bool
      %b = "tierup.all_zero"(%h) : (!torch.vtensor) -> !torch.bool
      %ok = torch.aten.__and__.bool %a, %b : !torch.bool, !torch.bool -> !torch.bool
      %r = torch.prim.If %ok -> (!torch.vtensor) {
        %0 = "tierup.profile"(%g) {slot = 0 : i64, ...} : ...
        %1 = "tierup.profile"(%h) {slot = 1 : i64, ...} : ...
        torch.prim.If.yield %0 : !torch.vtensor                          a sum with nothing
      } else {
        %1 = "tierup.fallback"(%g, %h) ({ ... the graph as it was, without profiles ... }, {}) : ...
        torch.prim.If.yield %1 : !torch.vtensor
      }
      return %r : !torch.vtensor
    }

An argument that was always there, or never, is an assumption; an optional list that never was is one on `is None`. In the version, sums
with an undefined gradient are the other one, sums of two defined ones plain; branches on definedness, and gradients (`tierup.grad_of`), are
decided; `aten._grad_sum_to_size` without a size goes. Results of torch's ops are defined: they raise on undefined operands. A function in
which nothing depends on definedness, or of whose tensors nothing was recorded, is left.

With `checks=false` the function itself becomes the version: its callers see to it that gradients are there as recorded, since that is
what they chose it by, as the older executor chooses a plan by its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierup.dialect import ops
from tierup.dialect.autodiff.autograd_zero import Defined, Simplify, depends_on_definedness
from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact, Profiled
from tierup.dialect.facts.values import NoneValue
from tierup.dialect.inference.refined_types import constant
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.structure import last_of
from tierup.dialect.ir.walking import ops_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, PassFailure, register

_OUTSIDE = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape", "tierup.count_run", "func.return"})


@register
@dataclass(frozen=True)
class SpecializeAutogradZero(Pass):
    """Version backward graphs by which gradients are defined."""

    name = "tierup-specialize-autograd-zero"
    checks: bool = True

    def run_on_function(self, func: ir.Operation) -> None:
        block = func.regions[0].blocks[0]
        assumed = _assumed(block)
        if not any(torch_types.is_tensor(v.type) for v in assumed) or not any(depends_on_definedness(op) for op in walk(func)):
            return
        if not self.checks:
            Simplify(block, assumed)
            return
        last = last_of(block)
        if last.name != "func.return":
            raise PassFailure(func, f"ends with {last.name}: only a graph that returns at its end has versions")
        twin = func.clone(ir.InsertionPoint(func)).operation  # before anything is decided
        body = [view.operation for view in block.operations if view.operation.name not in _OUTSIDE]
        at = [view.operation for view in block.operations if view.operation.name in ("tierup.count_run", "func.return")][0]
        ok = _conjunction(assumed, at)
        types, loc = [v.type for v in last.operands], func.location
        branch = ir.Operation.create("torch.prim.If", results=types, operands=[ok], regions=2, loc=loc, ip=ir.InsertionPoint(at)).operation
        then, otherwise = (region.blocks.append() for region in branch.regions)
        for op in body:
            then.append(op)
        ir.Operation.create("torch.prim.If.yield", operands=list(last.operands), loc=loc, ip=ir.InsertionPoint(then))
        for i, result in enumerate(branch.results):
            last.operands[i] = result
        slow = _as_it_was(twin, list(block.arguments), types, otherwise)
        ir.Operation.create("torch.prim.If.yield", operands=list(slow.results), loc=loc, ip=ir.InsertionPoint(otherwise))
        Simplify(then, assumed)


def _assumed(block: ir.Block) -> dict[ir.Value, Defined]:
    """The arguments that were always there, or never; of optionals only those that never were."""
    arguments = list(block.arguments)
    facts: dict[ir.Value, Fact | None] = {}
    for view in block.operations:
        op = view.operation
        if op.name == "tierup.profile" and op.operands[0] in arguments and "profiled" in op.attributes:
            fact = facts_of(op.attributes["profiled"])
            before = facts.get(op.operands[0], fact)
            facts[op.operands[0]] = None if before is None else profiled.join(before, fact)
    known = {v: f.defined for v, f in facts.items() if isinstance(f, Profiled) and f.defined is not None}
    return {v: known[v] for v in arguments if v in known and (torch_types.is_tensor(v.type) or known[v] is False)}


def _conjunction(assumed: Mapping[ir.Value, Defined], before: ir.Operation) -> ir.Value:
    """Whether all assumptions hold."""
    ip, loc, bool_ = ir.InsertionPoint(before), before.location, ir.Type.parse("!torch.bool")
    answers = []
    for question, state in (("all_nonzero", True), ("all_zero", False)):
        asked = [v for v, s in assumed.items() if s is state and torch_types.is_tensor(v.type)]
        if asked:
            answers.append(ops.create(question, asked, [bool_], loc=loc, ip=ip).results[0])
    absent = [v for v in assumed if not torch_types.is_tensor(v.type)]
    none = constant(NoneValue(), ip) if absent else None
    answers += [ir.Operation.create("torch.aten.__is__", [bool_], [v, none], loc=loc, ip=ip).results[0] for v in absent]
    ok = answers[0]
    for answer in answers[1:]:
        ok = ir.Operation.create("torch.aten.__and__.bool", [bool_], [ok, answer], loc=loc, ip=ip).results[0]
    return ok


def _as_it_was(twin: ir.Operation, arguments: list[ir.Value], types: list[ir.Type], block: ir.Block) -> ir.Operation:
    """A fallback in `block` that does what the function did; `twin`, a copy of it, goes."""
    slow = ops.fallback(arguments, types, loc=twin.location, ip=ir.InsertionPoint(block))
    old, new = twin.regions[0].blocks[0], slow.regions[0].blocks[0]
    for argument, replacement in zip(old.arguments, new.arguments, strict=True):
        argument.replace_all_uses_with(replacement)
    for each in ops_of(old):
        new.append(each)
    last = last_of(new)
    ops.yield_(list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    for op in unerased(walk(slow)):
        if op.name == "tierup.profile":
            op.results[0].replace_all_uses_with(op.operands[0])
        if op.name in ("tierup.profile", "tierup.count_run"):
            op.erase()
    twin.erase()
    return slow
