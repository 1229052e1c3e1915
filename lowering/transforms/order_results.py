"""tierup-order-results: results lie in memory as PyTorch's eager mode, or NumPy, has them, where that is known (`layouts.py`).

    func.func @f(%x: ...) attributes {tierup.source = "fx", tierup.results = [{dtype = "f32", kind = "buffer", sizes = [3, 4]}]}
      %0 = torch.aten.t %x : ...
      %1 = torch.aten.relu %0 : ...
      return %1

becomes, since relu gives what lies as its operand does,

    func.func @f(%x: ...) attributes {..., tierup.results = [{dtype = "f32", kind = "buffer", order = [1, 0], sizes = [3, 4]}]}

In programs of the tierup dialect alone a fresh result is row-major. Of PyTorch's programs the orders are noted before results are decided,
since folding forgets them: of values a copy in another memory format is the value. That one is row-major is noted,
too; [] is the note where nothing is known.

    tierup.orders = [[1, 0], [0, 1], []]

A region of PyTorch's between ops of tier 0 (`tierup.fallback`) is refused where it gives what was written in place, which lies as it did
before, and nothing says how that is: tier 0 may ask whether all of it is one row in memory.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.transforms.outline_fallbacks import FALLBACK
from tierup.lowering.analysis.layouts import is_written_unknown, order_in_memory, row_major
from tierup.lowering.analysis.signature import argument_views, inference_of, terminator
from tierup.lowering.analysis.stated import ENTRY, RESULTS, attribute, guards, records
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.building.refused import Refused

SOURCE = "tierup.source"
ORDERS = "tierup.orders"
_TORCHS = ("torchscript", "fx")
_NUMPYS = "jit"


@register
class OrderResults(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        attributes = function.attributes
        source = ir.StringAttr(attributes[SOURCE]).value if SOURCE in attributes else ""
        if ENTRY not in attributes or not (source in _TORCHS or source == _NUMPYS and RESULTS in attributes):
            return
        inference, roots = inference_of(function), argument_views(function.regions[0].blocks[0], guards(function))
        if source in _TORCHS and FALLBACK in attributes and ORDERS not in attributes:
            for value in terminator(function).operands:
                if is_tensor(value.type) and is_written_unknown(value, roots, inference):
                    raise Refused(value.owner.operation, "how what is written lies in memory is known at run time only")
        found = [is_tensor(v.type) and order_in_memory(v, roots, inference) or () for v in terminator(function).operands]
        if ORDERS in attributes:
            noted = [tuple(ir.IntegerAttr(d).value for d in order) for order in attributes[ORDERS]]
            found = [before or now for before, now in zip(noted, found, strict=True)]
        if RESULTS not in attributes:
            attributes[ORDERS] = attribute(tuple(found))
            return
        orders = [() if order == row_major(len(order)) else order for order in found]
        specs = zip(records(ResultSpec, function, RESULTS), orders, strict=True)
        attributes[RESULTS] = attribute(tuple(replace(s, order=order) if s.kind is ResultKind.BUFFER else s for s, order in specs))
