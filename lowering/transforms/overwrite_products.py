"""tierup-overwrite-products: a matrix product that starts from zeros overwrites its buffer instead.

    %f = linalg.fill ins(%zero) outs(%d)
    %p = linalg.matmul ins(%x, %w) outs(%f)
becomes
    %p = linalg.matmul ins(%x, %w) outs(%d) {tierup.overwrites}

Here, on tensors, and last: once there are buffers, CSE shares fills, and a product that must start from zero would start from
what another one left; and before this no pass may rewrite a product that is not the sum of its operand and the products (folding
unit dims makes a linalg.generic of it, without the attribute). What is not folded here stays right: it adds to zeros. Only products
that tierup-products-to-blas takes over are marked, because to all other passes a product adds to what its buffer holds. A product over
no elements (a size that is known to be 0) keeps its zeros: MLIR erases it from buffers as an op that does nothing.
"""

from __future__ import annotations

import math

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import known
from tierup.lowering.building.generics import OVERWRITES
from tierup.lowering.ops.products.contractions import is_blas_product


@register
class OverwriteProducts(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for product in b.unerased(op for op in b.walk(function) if is_blas_product(op)):
            start = product.operands[2]
            made = b.defining_op(start)
            reshaped = made is not None and made.name == "tensor.expand_shape"  # zeros of which unit dims were folded away
            fill = b.defining_op(made.operands[0]) if made is not None and reshaped else made
            if fill is None or not fills_with_zero(fill) or _is_empty(product):
                continue
            if reshaped:
                with product.location, ir.InsertionPoint(product):
                    product.operands[2] = b.value("tensor.empty", b.dynamic_sizes(start), start.type)
                product.attributes[OVERWRITES] = ir.UnitAttr.get()
                continue
            product.operands[2] = list(fill.operands)[-1]
            product.attributes[OVERWRITES] = ir.UnitAttr.get()
            if next(iter(fill.results[0].uses), None) is None:  # counting the uses of a fill that all share would be quadratic
                fill.erase()


def _is_empty(product: ir.Operation) -> bool:
    return any(0 in b.shape_of(v.type) for v in product.operands)


def fills_with_zero(op: ir.Operation) -> bool:
    """linalg.fill, or a linalg.generic without inputs that yields a number from outside."""
    if op.name == "linalg.fill":
        return _is_zero(op.operands[0])
    if op.name != "linalg.generic" or len(op.operands) != 1:
        return False
    body = list(op.regions[0].blocks[0].operations)
    return len(body) == 1 and _is_zero(body[0].operation.operands[0])


def _is_zero(value: ir.Value) -> bool:
    made = b.defining_op(value)
    if made is not None and made.name == "complex.create":
        return all(map(_is_zero, made.operands))
    if made is not None and made.name == "complex.constant":
        return all(_is_positive_zero(ir.FloatAttr(part).value) for part in ir.ArrayAttr(made.attributes["value"]))
    return _is_positive_zero(known(value))


def _is_positive_zero(number: object) -> bool:
    return isinstance(number, float) and number == 0.0 and math.copysign(1.0, number) > 0  # -0.0 + -0.0 is not 0.0
