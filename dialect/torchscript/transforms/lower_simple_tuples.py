"""tierup-lower-simple-tuples: what is taken out of a tuple made in the graph is what was put in.

    %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
    %0:2 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
    %1 = torch.prim.TupleIndex %t, %int-1 : !torch.tuple<vtensor, int>, !torch.int -> !torch.int

becomes uses of %x and %n. A TupleIndex needs a constant position that the tuple has, counted from the end when it is negative.
Tuples that are still used stay: arguments, results, what branches and loops hand over (see tierup-lower-all-tuples); the others go.
A tuple of tuples is taken apart from the outside in. Where the tuple's type said less of an element, a cast says the same.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import erase, int_of

CONSTRUCT, UNPACK, INDEX = "torch.prim.TupleConstruct", "torch.prim.TupleUnpack", "torch.prim.TupleIndex"


@register
class LowerSimpleTuples(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in unerased(walk(func)):
            elements = _elements(op)
            if elements is None:
                continue
            for result, element in zip(op.results, elements, strict=True):
                result.replace_all_uses_with(cast(element, result.type, ir.InsertionPoint(op)))
            erase(op)
        for op in reversed([op for op in walk(func) if op.name == CONSTRUCT]):
            if not any(True for _ in op.results[0].uses):
                op.erase()


def _elements(op: ir.Operation) -> list[ir.Value] | None:
    """What the results of an unpacking op are; None for any other op, and where the tuple comes from elsewhere."""
    made = maker(op.operands[0], CONSTRUCT) if op.name in (UNPACK, INDEX) else None
    if made is None:
        return None
    elements = list(made.operands)
    if op.name == UNPACK:
        return elements
    position = int_of(op.operands[1])
    if position is None or not -len(elements) <= position < len(elements):
        return None
    return [elements[position]]
