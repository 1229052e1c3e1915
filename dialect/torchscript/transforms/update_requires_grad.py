"""tierup-update-requires-grad: say of what profiles saw that it required a gradient, or did not, or that it is not known.

    "tierup.differentiable"(%x) ({
    ^bb0(%a: !torch.vtensor):
      %1 = "tierup.profile"(%a) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : ...

becomes

      %1 = "tierup.profile"(%a) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : ...

The forward graph of a group runs on detached tensors, so inside of groups `to=false`, the default, is the truth. `to=unknown` is for
graphs whose groups are undone. With `everywhere`, all profiles of the function change, and `tierup.requires_grad` of its tensor arguments.
A record of an undefined tensor stays: there is nothing of it to say.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.analysis.requires_grad import State, set_argument_states
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiable import groups, update_records
from tierup.dialect.passes.registry import OneOf, Pass, register

_STATES: dict[str, State] = {"true": True, "false": False, "unknown": None}


@register
class UpdateRequiresGrad(Pass):
    to: Annotated[str, OneOf(_STATES)] = "false"
    everywhere: bool = False

    def run_on_function(self, func: ir.Operation) -> None:
        state = _STATES[self.to]
        if self.everywhere:
            update_records(func.regions[0], state)
            arguments = func.regions[0].blocks[0].arguments
            set_argument_states(func, [state if torch_types.is_tensor(a.type) else None for a in arguments])
        for group in groups(func):
            update_records(group.regions[0], state)
