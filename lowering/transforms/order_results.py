"""tierup-order-results: results of a program of PyTorch's lie in memory as eager mode has them, where that is known (`layouts.py`).

    func.func @f(%x: ...) attributes {tierup.source = "fx", tierup.results = [{dtype = "f32", kind = "buffer", sizes = [3, 4]}]}
      %0 = torch.aten.t %x : ...
      %1 = torch.aten.relu %0 : ...
      return %1

becomes, since relu gives what lies as its operand does,

    func.func @f(%x: ...) attributes {..., tierup.results = [{dtype = "f32", kind = "buffer", order = [1, 0], sizes = [3, 4]}]}

In other programs a fresh result is row-major.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.abi import ResultKind, ResultSpec
from tierup.lowering.analysis.layouts import order_in_memory
from tierup.lowering.analysis.signature import argument_views, inference_of, terminator
from tierup.lowering.analysis.stated import RESULTS, attribute, guards, records

SOURCE = "tierup.source"
_TORCHS = ("torchscript", "fx")


@register
@dataclass(frozen=True)
class OrderResults(Pass):
    """Say in which order the dims of results lie in memory."""

    name = "tierup-order-results"
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        attributes = function.attributes
        if RESULTS not in attributes or SOURCE not in attributes or ir.StringAttr(attributes[SOURCE]).value not in _TORCHS:
            return
        inference, roots = inference_of(function), argument_views(function.regions[0].blocks[0], guards(function))
        results = tuple(
            replace(spec, order=order_in_memory(value, roots, inference)) if spec.kind is ResultKind.BUFFER else spec
            for value, spec in zip(terminator(function).operands, records(ResultSpec, function, RESULTS), strict=True)
        )
        attributes[RESULTS] = attribute(results)
