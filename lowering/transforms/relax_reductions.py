"""tierup-relax-reductions: the sums of a reduction may be taken in any order, and of 0.0 and -0.0 a maximum may be either.

    linalg.generic {iterator_types = ["reduction"]} ... {
      %s = arith.addf %in, %out : f32
becomes
      %s = arith.addf %in, %out fastmath<reassoc> : f32

Without this LLVM keeps one accumulator and adds element by element; with it, it keeps a vector of them. Only the combiner of
a reduction is relaxed, so the user's own operations stay as written, and no other liberty is taken: NaN, infinities and signed
zeros come out right. The documented bound on reductions covers the order.
A maximum that orders zeros by their signs waits three times as long for the one before (x86 has no instruction for it); those of NumPy's
reductions are either zero, too.
Products whose order is free say so themselves (lowering/ops/reductions/sums.py).
"""

from __future__ import annotations

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import inputs_of, is_parallel

_LIBERTIES = {"arith.addf": "reassoc", "arith.maximumf": "nsz", "arith.minimumf": "nsz"}


@register
class RelaxReductions(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk(function):
            if op.name != "linalg.generic" or is_parallel(op):
                continue
            block = op.regions[0].blocks[0]
            for accumulator, value in zip(list(block.arguments)[inputs_of(op) :], handed_over(block), strict=True):
                combiner = b.defining_op(value)
                if combiner is None or combiner.name not in _LIBERTIES:
                    continue
                if any(operand == accumulator for operand in combiner.operands):
                    _relax(combiner, _LIBERTIES[combiner.name])


def _relax(combiner: ir.Operation, liberty: str) -> None:
    """Add a flag to what the op is allowed already. (The bindings have no class for these flags: their text says them.)"""
    allowed = str(combiner.attributes["fastmath"]) if "fastmath" in combiner.attributes else "<none>"
    flags = allowed[allowed.index("<") + 1 : -1].split(",")
    if liberty not in flags and "fast" not in flags:
        text = ",".join([liberty, *(flag for flag in flags if flag != "none")])
        combiner.attributes["fastmath"] = ir.Attribute.parse(f"#arith.fastmath<{text}>", combiner.context)
