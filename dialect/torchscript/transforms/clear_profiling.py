"""tierup-clear-profiling: forget all that earlier runs said of the graph: types, symbols, records.

    func.func @f(%x: !torch.vtensor<[?,4],f32> {tierup.requires_grad = true}) -> !torch.vtensor<[?,4],f32> {
      %s0 = torch.symbolic_int "s0" {...}
      torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
      %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[s0,4]>} : ...
      %1 = torch.aten.tanh %0 : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
      return %1 : !torch.vtensor<[?,4],f32>
    }

becomes

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
      %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
      return %1 : !torch.vtensor
    }

What a pass does with a type it may do only once a guard holds the value to it; so nothing is left that a pass could take for known
before the graph is instrumented. Unlike `tierup-clear-specializations`, which leaves what checks and groups ensure, this leaves only
literals typed, in the regions of all ops. `tierup.requires_grad` goes as well.
"""

from __future__ import annotations

from tierup.dialect.analysis.requires_grad import argument_states, set_argument_states
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.transforms.clear_specializations import clear_types

_RECORDS = {"tierup.profile": "profiled", "tierup.count_run": "runs"}


@register
class ClearProfiling(Pass):
    def run(self, module: ir.Module) -> None:
        clear_types(module, everywhere=True)
        for func in functions(module.operation):
            set_argument_states(func, [None] * len(argument_states(func)))
            for op in walk(func):
                record = _RECORDS.get(op.name)
                if record is not None and record in op.attributes:
                    del op.attributes[record]
