"""tierup-products-to-library: large matrix products are left to NVIDIA's library where it is installed, and are our kernel elsewhere.

    linalg.matmul {tierup.overwrites} ins(%x, %y) outs(%z)
    linalg.generic {parallel, parallel} ins(%z, %bias) outs(%r)       // nobody else reads %z
becomes
    %fits = "tierup.library_fits"(%x, %y) {equation = "ab,bc->ac", least_work = 134217728, least_depth = 128}
    scf.if %fits {
      %t = memref.alloc
      "tierup.library_product"(%x, %y, %t) {equation = "ab,bc->ac"}
      linalg.generic ins(%t, %bias) outs(%r)
    } else {
      the two ops, which tierup-products-to-tiles makes one kernel
    }

Whether the library is there, and for sizes that are symbols whether it pays, the host asks at launch: code is the same on all machines.
An op on the result that only rounds it to the operands' type is the library's own last step, and needs no kernel.

When it pays is estimated, not measured. From 2**27 multiplications on a product takes some ten microseconds, and the choice of a kernel by
its sizes, which the library has, begins to matter. An op of its own behind it moves the result to memory and back: 8 bytes for each
element, which is worth it only if as much is saved on the multiplications behind that element. With half the time saved that takes a
depth of some 1500 on tensor cores (312 TFLOP/s and 1.6 TB/s: NVIDIA A100 datasheet), half of it for tf32, and of some 100 without them
(19.5 TFLOP/s).
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.structure import users
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import is_allocation
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.artifacts.host_steps import ADDS, TF32
from tierup.lowering.building import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.module_target import takes_tf32
from tierup.lowering.cuda.products.epilogues import epilogue_of
from tierup.lowering.cuda.products.product import Product, length, product_of

FITS, PRODUCT = "tierup.library_fits", "tierup.library_product"
LEAST_WORK = 1 << 27
# With an op of its own behind the product, by the operands' type.
_LEAST_DEPTH = {"f16": 2048, "bf16": 2048, "f32": 128, "tf32": 1024, "f64": 128}
_TAKEN = {("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64")}  # types of operands and sums
_LETTERS = 26


@register
class ProductsToLibrary(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in [op for op in gpu.host_ops(function) if op.name.startswith("linalg.")]:
            product = product_of(op)
            if product is not None and _is_taken(product) and not _is_chosen(op):
                with op.location:
                    _choose(product, tf32=takes_tf32(function) and str(ir.ShapedType(op.operands[0].type).element_type) == "f32")


def _is_taken(product: Product) -> bool:
    """Whether the library has the types, and the sizes may be large enough."""
    op = product.op
    x, y, out = (str(ir.ShapedType(buffer.type).element_type) for buffer in op.buffers)
    if x != y or (x, out) not in _TAKEN or len(op.iterators) > _LETTERS:
        return False
    work = length(op, tuple(range(len(op.iterators))))
    return work is None or work >= LEAST_WORK


def _is_chosen(op: ir.Operation) -> bool:
    """Whether the op is the other choice already."""
    branch = op.parent.operation
    return branch.name == "scf.if" and any(view.operation.name == PRODUCT for view in branch.regions[0].blocks[0].operations)


def _choose(product: Product, *, tf32: bool) -> None:
    op, after = product.op, epilogue_of(product)
    ops = [op.op] if after is None else [op.op, after.op]
    x, y, out = op.buffers
    held = _allocation_between(ops, out)
    with ir.InsertionPoint(ops[-1]):
        rounded = _rounded(product, after) if held is not None else None
        into = rounded if rounded is not None else None if held is not None else out
        depth = 0 if after is None or rounded is not None else _LEAST_DEPTH["tf32" if tf32 else str(ir.ShapedType(x.type).element_type)]
        equation = {"equation": ir.StringAttr.get(_equation(op))}
        long = b.integer_type(64)
        fits = b.value(
            FITS, [x, y] if into is None else [x, y, into], b.integer_type(1), **equation,
            least_work=ir.IntegerAttr.get(long, LEAST_WORK), least_depth=ir.IntegerAttr.get(long, depth),
        )  # fmt: skip
        branch = b.op("scf.if", [fits], regions=2)
        library, kernel = (region.blocks.append() for region in branch.regions)
    with ir.InsertionPoint(kernel):
        last = b.op("scf.yield")
    for each in (*([held] if held is not None else []), *ops):
        each.move_before(last)
    with ir.InsertionPoint(library):
        if into is None:
            assert held is not None
            into = held.clone().results[0]
        flags = {flag: ir.UnitAttr.get() for flag, is_set in ((ADDS, not op.overwrites), (TF32, tf32)) if is_set}
        b.op(PRODUCT, [x, y, into], **equation, **flags)
        if after is not None and rounded is None:
            clone = after.op.clone()
            for i, operand in enumerate(clone.operands):
                if operand == out:
                    clone.operands[i] = into
        if held is not None and rounded is None:
            b.op("memref.dealloc", [into])
        b.op("scf.yield")


def _allocation_between(ops: Sequence[ir.Operation], buffer: ir.Value) -> ir.Operation | None:
    """What allocates a product's result, where the product overwrites it and the op behind it alone looks at it."""
    made = b.defining_op(buffer) if is_allocation(buffer) else None
    found = users(buffer)
    return made if made is not None and len(ops) == 2 and len(found) == 2 and all(user in ops for user in found) else None


def _rounded(product: Product, after: Structured | None) -> ir.Value | None:
    """Where the op behind a product of halves puts the result, if all that it does is to round it to halves again."""
    if after is None or not product.op.overwrites or len(after.buffers) != 2:
        return None
    *body, last = [view.operation for view in after.op.regions[0].blocks[0].operations]
    operand, result = product.op.buffers[0], after.buffers[1]
    if [op.name for op in body] != ["arith.truncf"] or last.operands[0] != body[0].results[0]:
        return None
    return result if ir.ShapedType(result.type).element_type == ir.ShapedType(operand.type).element_type else None


def _equation(op: Structured) -> str:
    """A letter for each loop, in the order of the axes that they index."""
    terms = ["".join(chr(ord("a") + ir.AffineDimExpr(e).position) for e in map_.results) for map_ in op.maps]
    return f"{terms[0]},{terms[1]}->{terms[2]}"
