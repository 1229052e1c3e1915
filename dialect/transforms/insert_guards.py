"""tierup-insert-guards: turn what runs recorded into guards that the program may rely on; the profiling goes.

    %0 = torch.aten.sort ...
    %1 = "tierup.profile"(%0) {slot = 0 : i64, profiled = #tierup.profiled<f32[2,?] strides=[4,1] device=cpu defined>} : ...
    %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
    "tierup.count_run"() : () -> ()

becomes

    %0 = torch.aten.sort ...
    %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[2,?]>} : (!torch.vtensor) -> !torch.vtensor<[2,?],f32>
    %2 = torch.aten.tanh %1 : !torch.vtensor<[2,?],f32> -> !torch.vtensor

A guard asks for what types can say, dtype and sizes; with `all-facts` also for strides, device and whether a gradient is required, as
recorded; with `gradients` for the last alone. With `scalars`, a number that always was the same is assumed, too. A slot that recorded
nothing, because its branch never ran or because no two runs agreed on anything, becomes no guard: its uses keep their type. Nor does one
that saw an undefined tensor.

Run it right after the profiled runs: a pass between that moves or merges code would guard what was never recorded there. Tensors that
may be written are an error: functionalize first.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.inference.refined_types import refined_type, replace_uses, value_of_fact
from tierup.dialect.facts.profiled import TOP, Fact, ProfiledScalar
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class InsertGuards(Pass):
    scalars: bool = False  # also speculate on numbers that always had one value
    all_facts: bool = False  # also ask for strides, device and requires_grad
    gradients: bool = False  # also ask whether a gradient is required

    def run_on_function(self, func: ir.Operation) -> None:
        for op in unerased(walk(func)):
            if op.name == "tierup.profile":
                self._replace(op)
            elif op.name == "tierup.count_run":
                op.erase()

    def _replace(self, op: ir.Operation) -> None:
        value, result = op.operands[0], op.results[0]
        if torch_types.is_tensor(value.type) and not torch_types.is_value_tensor(value.type):
            raise PassFailure(op, "watches a tensor that may be written: tierup-functionalize comes before guards")
        fact = self._assumed(facts_of(op.attributes["profiled"])) if "profiled" in op.attributes else None
        if fact is not None:
            known = value_of_fact(fact)
            try:
                type_ = refined_type(op, value.type, known) if isinstance(known, Tensor) else value.type
            except InferenceError as e:
                raise PassFailure(op, f"was profiled on other values than its types allow: {e}") from e
            value = ops.guard(value, fact, type_, loc=op.location, ip=ir.InsertionPoint(op))
        replace_uses(result, value, result.type)
        op.erase()

    def _assumed(self, fact: Fact) -> Fact | None:
        """What of a record a guard asks for; None when that is nothing."""
        if isinstance(fact, ProfiledScalar):
            return fact if self.scalars and fact.value is not None else None
        if fact.defined is False:
            return None  # no guard lets None through
        gradient = fact.requires_grad if self.gradients else None
        wanted = fact if self.all_facts else replace(fact, strides=None, device=None, requires_grad=gradient, defined=None)
        return None if wanted == TOP else wanted
