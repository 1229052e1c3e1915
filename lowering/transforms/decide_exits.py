"""tierup-decide-exits: how each value that lives on at an exit reaches the caller. The kernel hands over what the caller has not.

    "tierup.exit"(%x, %0) {index = 0 : i64} : ...          // %x is an argument

becomes

    "tierup.exit"(%0) {index = 0 : i64} : ...

and the function gets

    tierup.exit_sites = [{index = 0, live = [{argument = 0, kind = "alias"}, {dtype = "f32", kind = "allocated", sizes = [0]}], ...}]
    tierup.exits = array<i64: 5, 0>

`tierup.exits` says how many live words the exits need at most, and how many bailouts ask whether a test wants them lost. Guards that a
check stands before have said to inference what symbols are, and become casts. See `lowering/analysis/live_values.py`.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.live_values import hand_over
from tierup.lowering.analysis.signature import inference_of
from tierup.lowering.analysis.stated import ENTRY, EXIT_SITES, attribute, guards
from tierup.lowering.base.abi import ERROR_BASE, EXIT_BASE, live_words
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused
from tierup.lowering.transforms.outline_exits import EXITS

_MOST = ERROR_BASE - EXIT_BASE


@register
class DecideExits(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes or EXIT_SITES in function.attributes:
            return
        found = list(b.walk(function))
        asked = sum(op.name == "tierup.forced" for op in found)
        for op in found:
            if op.name == "tierup.exit" and ir.IntegerAttr(op.attributes["index"]).value >= _MOST:
                raise Refused(op, f"has no status: indices are below {_MOST}")
        if any(op.name == "tierup.exit" for op in found):
            sites = hand_over(function, guards(function), inference_of(function))
            function.attributes[EXIT_SITES] = attribute(sites)
            function.attributes[EXITS] = ir.DenseI64ArrayAttr.get([live_words(sites), asked], function.context)
        for op in b.walk(function):
            if op.name == "tierup.guard":
                with op.location, ir.InsertionPoint(op):
                    take_place(op, [b.value("torch.tensor_static_info_cast", [op.operands[0]], op.results[0].type)])
