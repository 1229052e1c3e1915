"""tierup-decide-gradient: say of each function whether a gradient of it is needed, from what was recorded.

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : ...
      ...

becomes

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.needs_gradient = false} {
      ...

`tierup-create-differentiable-subgraphs` takes the word away, and makes no group where it is false. It is true where a profile, a guard or a
bailout saw a tensor that required a gradient, or an argument says so (`tierup.requires_grad = true`); false where tensors of floating dtype
were seen, and none of them ever did. Nothing is said where nothing was seen, or now this, now that: then the states of values decide, each
group for itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.analysis.requires_grad import NEEDS_GRADIENT, State, argument_states
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class DecideGradient(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        seen = set(_seen(func))
        if True in seen or True in argument_states(func):
            func.attributes[NEEDS_GRADIENT] = ir.BoolAttr.get(True)
        elif seen == {False}:
            func.attributes[NEEDS_GRADIENT] = ir.BoolAttr.get(False)


def _seen(func: ir.Operation) -> Iterator[State]:
    """Of each floating tensor that was recorded or is assumed, whether it required a gradient."""
    for op in walk(func):
        for name in ("profiled", "expected"):
            if name in op.attributes and op.name != "tierup.check":
                fact = facts_of(op.attributes[name])
                if isinstance(fact, Profiled) and fact.defined is not False and (fact.dtype is None or fact.dtype.is_float):
                    yield fact.requires_grad
