"""tierup-specialize-types: what profiles have recorded becomes the arguments' types; the profiling goes.

Facts of an argument become its type, and its symbols are declared and bound; an argument that always had one value becomes a
constant. A value that several slots watched has the facts that all of them agree on; a slot that recorded nothing says
nothing. `tierup-infer-types` carries the types on from there.

What was seen of a value inside the program is an assumption until a guard checks it, so it is dropped; with `mid-program`, for a
program whose guards follow, it becomes the type of a `torch.tensor_static_info_cast`. A function that others call keeps its
argument types.

    func.func @f(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
      %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[s0,4]>} : (!torch.vtensor) -> !torch.vtensor
      %1 = "tierup.profile"(%n) {slot = 1 : i64, profiled = #tierup.profiled<int=1>} : (!torch.int) -> !torch.int
      %2 = torch.aten.sum.dim_IntList %0, ...

becomes

    func.func @f(%x: !torch.vtensor<[?,4],f32>, %n: !torch.int) -> !torch.vtensor {
      %s0 = torch.symbolic_int "s0" {...}
      torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
      %int1 = torch.constant.int 1
      %2 = torch.aten.sum.dim_IntList %x, ...
"""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.facts import profiled
from tierup.dialect.facts.inference import refine
from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.inference.refined_types import cast, refined_type, value_of_fact
from tierup.dialect.facts.profiled import Fact, ProfiledScalar
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.structure import set_signature, unprofiled
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class SpecializeTypes(Pass):
    mid_program: bool = False
    numbers: bool = True  # an argument that always had one value becomes a constant, which only entry guards can check

    def run_on_function(self, func: ir.Operation) -> None:
        profiles = [op for op in walk(func) if op.name == "tierup.profile"]
        seen = joined_records(profiles)
        block = func.regions[0].blocks[0]
        arguments = list(block.arguments)
        try:
            for op in profiles:
                self._drop(op, seen, arguments)
            for op in unerased(op for op in walk(func) if op.name == "tierup.count_run"):
                op.erase()
            if not refine.is_called(func):
                _specialise(func, [self._assumed(seen.get(argument)) for argument in arguments])
        except InferenceError as e:
            raise PassFailure(e.op, f"was profiled on other values than its types allow: {e}") from e

    def _assumed(self, fact: Fact | None) -> Fact | None:
        return ProfiledScalar(fact.kind) if isinstance(fact, ProfiledScalar) and not self.numbers else fact

    def _drop(self, op: ir.Operation, seen: dict[ir.Value, Fact | None], arguments: list[ir.Value]) -> None:
        value = op.operands[0]
        if self.mid_program and value not in arguments:
            known = value_of_fact(seen.get(unprofiled(value)))
            if isinstance(known, Tensor) and torch_types.is_tensor(value.type):
                value = cast(value, refined_type(op, value.type, known), ir.InsertionPoint(op))
        op.results[0].replace_all_uses_with(value)
        op.erase()


def joined_records(ops: Iterable[ir.Operation]) -> dict[ir.Value, Fact | None]:
    """The facts of each value that profiles among these ops watch; None where two do not even agree that it is a tensor."""
    seen: dict[ir.Value, Fact | None] = {}
    for op in ops:
        if op.name == "tierup.profile" and "profiled" in op.attributes:
            value, fact = unprofiled(op.operands[0]), facts_of(op.attributes["profiled"])
            before = seen.get(value, fact)
            seen[value] = None if before is None else profiled.join(before, fact)
    return seen


def _specialise(func: ir.Operation, facts: list[Fact | None]) -> None:
    block = func.regions[0].blocks[0]
    known = {argument: value_of_fact(fact) for argument, fact in zip(block.arguments, facts, strict=True)}
    stated = {argument: value for argument, value in known.items() if value is not None}
    for argument, value in stated.items():
        refine.fix(argument, value)
        refine.type_argument(func, argument, value)
    refine.match_edges(list(walk(func)))
    refine.bind(block, [stated.get(argument, Tensor()) for argument in block.arguments])
    set_signature(func)
