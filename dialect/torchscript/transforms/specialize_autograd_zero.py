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

from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import if_, last_of, yield_
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.autograd_zero import Defined, Simplify, depends_on_definedness
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.speculation.two_versions import as_fallback
from tierup.dialect.torchscript.transforms.remove_profiling import remove_profiles
from tierup.dialect.transforms.specialize_types import joined_records

_OUTSIDE = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape", "tierup.count_run", "func.return"})


@register
class SpecializeAutogradZero(Pass):
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
        branch, then, otherwise = if_(ok, types, loc, ir.InsertionPoint(at))
        for op in body:
            then.append(op)
        yield_(then, last.operands)
        for i, result in enumerate(branch.results):
            last.operands[i] = result
        slow = as_fallback(twin, list(block.arguments), types, ir.InsertionPoint(otherwise))
        remove_profiles(slow)
        yield_(otherwise, slow.results)
        Simplify(then, assumed)


def _assumed(block: ir.Block) -> dict[ir.Value, Defined]:
    """The arguments that were always there, or never; of optionals only those that never were."""
    arguments = list(block.arguments)
    facts = joined_records(view.operation for view in block.operations)
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
    none = constant(None, ip) if absent else None
    answers += [ir.Operation.create("torch.aten.__is__", [bool_], [v, none], loc=loc, ip=ip).results[0] for v in absent]
    ok = answers[0]
    for answer in answers[1:]:
        ok = ir.Operation.create("torch.aten.__and__.bool", [bool_], [ok, answer], loc=loc, ip=ip).results[0]
    return ok
