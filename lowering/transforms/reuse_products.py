"""tierup-reuse-products: what is computed of a matrix product alone, element by element, takes its place in memory.

    %e = tensor.empty() : tensor<32x64xf32>
    %p = linalg.matmul {tierup.overwrites} ins(%x, %w) outs(%d)
    %r = linalg.generic ins(%p, %bias) outs(%e) { max(p + bias, 0) }

becomes

    %p = linalg.matmul {tierup.overwrites} ins(%x, %w) outs(%d)
    %r = linalg.generic ins(%bias) outs(%p) { max(p + bias, 0) }

Passes that follow destinations then see that the product may be computed where its result goes, the caller's buffer among these:
a temporary less to allocate, to write and to read. In a training step `w - rate * (x.T @ d)` is such an op, and its temporary as large as
the weights. Only products that BLAS computes: others may yet be fused with what is computed of them. After tierup-split-kernel, which
cuts between ops; before tierup-separate-results.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import is_used, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import OVERWRITES, again, is_parallel, maps_of


@register
class ReuseProducts(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name == "linalg.generic" and len(op.results) == 1 and _is_elementwise(op):
                number = _product(op)
                if number is not None:
                    _compute_in_place(op, number)


def _is_elementwise(op: ir.Operation) -> bool:
    """Whether each element of the result is computed from elements of the inputs alone, and the destination is new memory."""
    destination = b.defining_op(op.operands[len(op.operands) - 1])
    out = list(op.regions[0].blocks[0].arguments)[-1]
    return (
        destination is not None
        and destination.name == "tensor.empty"
        and is_parallel(op)
        and not is_used(out)
    )


def _product(op: ir.Operation) -> int | None:
    """The number of an input that is a product, read by this op alone and at the very element that is written."""
    maps = maps_of(op)
    for number, value in enumerate(list(op.operands)[:-1]):
        made = b.defining_op(value)
        if made is None or OVERWRITES not in made.attributes or value.type != op.results[0].type or maps[number] != maps[-1]:
            continue
        if made.parent == op.parent and len(list(value.uses)) == 1:  # a product from outside a loop would be used up in its first round
            return number
    return None


def _compute_in_place(op: ir.Operation, number: int) -> None:
    """The op with an input for its destination."""
    operands, maps = list(op.operands), maps_of(op)
    operands[-1] = operands.pop(number)
    del maps[number]
    made, new = again(op, operands, maps)
    old = op.regions[0].blocks[0]
    kept = list(old.arguments)
    kept.pop(number).replace_all_uses_with(kept[-1])
    for argument, now in zip(kept, new.arguments, strict=True):
        argument.replace_all_uses_with(now)
    for each in b.ops_of(old):
        new.append(each)
    take_place(op, made.results)
