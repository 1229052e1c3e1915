"""What may run on a product's numbers while they are in registers: the elementwise op that reads the result next."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS, VIEWS, base, may_alias
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import is_identity
from tierup.lowering.cuda.products.product import Product

_PURE = ("memref.dim", *ALLOCATIONS, *VIEWS)


def epilogue_of(product: Product) -> Structured | None:
    """The op after a product that reads its result element by element, with its loops in the order of the result's axes, and writes nothing
    that the product reads. Between the two may stand what touches no memory."""
    op = product.op.op
    for view in b.around(op)[1]:
        if view.name in _PURE or view.name.startswith("arith."):
            continue
        after = Structured.of(view)
        return after if after is not None and _fits(product, after) else None
    return None


def _fits(product: Product, after: Structured) -> bool:
    result = product.op.buffers[2]
    if after.op.name != "linalg.generic" or not after.is_parallel or len(after.iterators) != ir.ShapedType(result.type).rank:
        return False
    reads = [map_ for buffer, map_ in zip(after.buffers, after.maps, strict=True) if buffer == result]
    if not reads or not all(map(is_identity, (*reads, *after.maps[after.reads :]))):
        return False
    if any(inner.name == "memref.load" for inner in b.walk(after.op)):
        return False
    others = [v for v in after.buffers if v != result]
    if any(may_alias(base(v), base(result)) for v in others):
        return False  # a view of the result: it would see what is not written yet
    operands = [base(v) for v in product.op.buffers[:2]]
    return not any(may_alias(base(v), x) for v in after.buffers[after.reads :] if v != result for x in operands)
