"""tierup-products-to-tiles: a matrix product becomes a kernel whose blocks compute tiles of the result from tiles of the operands.

    linalg.matmul {tierup.overwrites} ins(%x : memref<?x?xf32>, %y : memref<?x?xf32>) outs(%z : memref<?x?xf32>)
    linalg.generic {parallel, parallel} ins(%z, %bias) outs(%r)                       // nobody else reads %z
becomes
    gpu.launch blocks(%tile, 1, %batch) ... threads (256) {
      for each 16 of k: the threads put 64 x 16 of %x and 16 x 64 of %y into shared memory,
                        and each adds 16 outer products of 4 by 4 to its 16 numbers
      the elementwise op on these numbers; %z is never written
    }

What reads the result right after, element by element, is the kernel's epilogue. Operands lie as they lie: plain, transposed, strided, in
batches; threads read along the axis in which neighbours are neighbours in memory. Tiles at the edges read nothing beyond: they take zeros.
Products of f16 and bf16 with f32 sums run on the tensor cores where the module's `tierup.target` has them,
those of f32 too where the module has the attribute `tierup.tf32`, which lets operands be rounded to 10 bits of mantissa;
for symbolic sizes there are such kernels for large results and for small ones, and where only the rows are symbolic (a batch) for few rows;
the host takes one.
A product with one row or one column is a reduction, and left to tierup-reductions-to-blocks.

The kernels: lowering/cuda/products/register_tiles.py and tensor_tiles.py; which sizes of tiles: schemes.py.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building.loops import either
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.module_target import of_function, takes_tf32
from tierup.lowering.cuda.products import register_tiles, tensor_tiles
from tierup.lowering.cuda.products.epilogues import epilogue_of
from tierup.lowering.cuda.products.product import Product, product_of
from tierup.lowering.cuda.products.schemes import (
    FEW_ROWS,
    LARGE,
    SMALL,
    Scheme,
    has_few_rows,
    has_symbolic_tiles,
    large_is_worth,
    may_have_few_rows,
    multiplies_on_tensor_cores,
    register_scheme_of,
    scheme_of,
)


@register
class ProductsToTiles(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        target = of_function(function)
        ops = [op for op in gpu.host_ops(function) if op.name.startswith("linalg.")]
        gone: set[int] = set()  # epilogues: their places in the list
        for i, op in enumerate(ops):
            product = product_of(op) if i not in gone else None
            if product is None:
                continue
            after = epilogue_of(product)
            if after is not None:
                gone.add(next(j for j in range(i + 1, len(ops)) if j not in gone and ops[j] == after.op))
            place = op if after is None else after.op
            with op.location, ir.InsertionPoint(place):
                if multiplies_on_tensor_cores(product, target, tf32=takes_tf32(function)):
                    _launch_on_tensor_cores(product, after)
                else:
                    register_tiles.launch(product, after, register_scheme_of(product))
            op.erase()
            if after is not None:
                after.op.erase()


def _launch_on_tensor_cores(product: Product, after: Structured | None) -> None:
    """One launch; where it hangs on symbolic sizes which tiles are best, one for each kind, of which the host takes one."""
    straight = [layout.is_straight() for layout in tensor_tiles.layouts(product, SMALL)]
    scheme = scheme_of(product, straight=straight == [True, True])

    def launch(scheme: Scheme, lies: list[ir.Value | bool]) -> list[ir.Value]:
        tensor_tiles.launch(product, after, scheme, lies)
        return []

    def large_or_small() -> list[ir.Value]:
        if False in straight or not has_symbolic_tiles(product):
            return launch(SMALL, straight)
        condition = large_is_worth(product)
        for lies in straight:
            if lies is not True:
                condition = condition & lies
        return either(condition, [], lambda: launch(LARGE, [True, True]), lambda: launch(SMALL, straight))

    if scheme is not SMALL:
        launch(scheme, straight)
    elif may_have_few_rows(product):
        either(has_few_rows(product), [], lambda: launch(FEW_ROWS, straight), large_or_small)
    else:
        large_or_small()
