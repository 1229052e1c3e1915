"""tierup-propagate-symbolic-shapes: say which sizes each tensor has, in the symbols of the arguments' sizes. Changes nothing.

    func.func @f(%x: !torch.vtensor<[?,4],f32>) -> !torch.vtensor {       its first size bound to s0
      %0 = torch.aten.cat ... of %x and %x ...
      remark: 'torch.aten.cat' op gives f32[2*s0,4]

Each result that is a tensor is a remark at its op, in the text of the program; `u0` is a size that only the run will tell, and what
is not known is `?`. Sizes that must be equal for the program to run are remarks at the function. An op that raises on such operands
is a remark too: where no run comes it is no error.

With `generalize`, arguments of static sizes stand for any: each size but 0 and 1 is a symbol of its own, `s<argument>_<dim>`.
Equal sizes are not taken for one symbol; which the program needs equal is what the remarks at the function say.
"""

from __future__ import annotations

from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import InferenceError, infer_function
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, register


@register
class PropagateSymbolicShapes(Pass):
    generalize: bool = False

    def run_on_function(self, func: ir.Operation) -> None:
        arguments = symbols.argument_values(func)
        if self.generalize:
            arguments = [_generalized(i, value) for i, value in enumerate(arguments)]
        inference = infer_function(func, arguments, tolerant=True)
        try:
            infer_function(func, arguments)
        except InferenceError as e:
            diagnostics.remark(e.op, f"raises on such operands: {e}")
        for op in walk(func):
            tensors = [known for r in op.results if isinstance(known := inference.values.get(r), Tensor)]
            if tensors:
                diagnostics.remark(op, f"gives {', '.join(map(_spell, tensors))}")
        for left, right in dict.fromkeys((tie.left, tie.right) for tie in inference.ties):
            diagnostics.remark(func, f"needs the sizes {left} and {right} to be equal")


def _generalized(argument: int, value: Value) -> Value:
    if not isinstance(value, Tensor) or value.shape is None:
        return value
    return Tensor(value.dtype, tuple(d if d in (0, 1) else symbol(f"s{argument}_{i}") for i, d in enumerate(value.shape)))


def _spell(value: Tensor) -> str:
    sizes = "*" if value.shape is None else ",".join(map(str, value.shape))
    return f"{'?' if value.dtype is None else value.dtype.name}[{sizes}]"
