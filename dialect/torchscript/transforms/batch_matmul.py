"""tierup-batch-matmul: many small matrix products become one batched op.

Trees: a sum of at least `min-tree` products.

    %0 = torch.aten.mm %a, %b          %1 = torch.aten.mm %c, %d          %2 = torch.aten.mm %e, %f          %3 = torch.aten.mm %g, %h
    %4 = torch.aten.add.Tensor %0, %1, %int1
    %5 = torch.aten.add.Tensor %4, %2, %int1
    %6 = torch.aten.add.Tensor %5, %3, %int1

becomes

    %6 = "tierup.batched_mm_tree"(%a, %c, %e, %g, %b, %d, %f, %h) {max_elements = 65536 : i64}

Sides: at least `min-side` independent products with a common left, or right, operand.

    %0 = torch.aten.mm %x, %w          ...          %7 = torch.aten.mm %z, %w

becomes

    %0:8 = "tierup.batched_mm_side"(%w, %x, ..., %z) {max_elements = 65536 : i64, side = "right"}

Needs no types. The op looks at the matrices: contiguous ones of equal shapes and dtypes, of no more than `max-elements` together, are
multiplied as one batch, others one by one; either way to the bit what the products and sums give. It broadcasts and raises as
they do, though at the place of the first product, and a sum adds what it can before it raises.

* A sum adds from left to right, so a tree is taken when every addition in it has a product on one side. An addition with an
  alpha other than 1 is none. With `reassociate` trees of any shape are; it is off since floats then change beyond any bound where
  terms cancel.
* The transposes of all products of a tree become one of the sum. With `reassociate` trees may be mixed, (AB)^T then being B^T A^T.
* A product of a matrix that anyone writes stays, as does one that would pass a side effect; only these do. Ops under NumPy's rules stay.

Native code computes the products one by one (tierup-expand-to-torch): this is for what tier 0 runs, where a product of 32x32 costs
little more than its call, and 32 of them as a batch a quarter. Above some 65536 elements there is nothing to be gained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, i64
from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.fusion.product_sides import Batch, batches
from tierup.dialect.passes.fusion.product_trees import PRODUCT, TRANSPOSE, Leaf, Tree, trees
from tierup.dialect.passes.registry import AtLeast, Pass, register


@register
class BatchMatmul(Pass):
    min_tree: Annotated[int, AtLeast(2)] = 4
    min_side: Annotated[int, AtLeast(2)] = 8
    max_elements: Annotated[int, AtLeast(0)] = 65536
    reassociate: bool = False

    def run_on_function(self, func: ir.Operation) -> None:
        if sum(op.name == PRODUCT for op in walk(func)) < min(self.min_tree, self.min_side):
            return
        self._trees(func, AliasAnalysis(func))
        self._sides(func, AliasAnalysis(func))

    def _trees(self, func: ir.Operation, aliases: AliasAnalysis) -> None:
        rows = [(row, _products(row, aliases)) for row in _rows(func, aliases)]
        for tree in [tree for row, products in rows for tree in trees(row, products, self.min_tree, self.reassociate)]:
            self._build_tree(tree)

    def _sides(self, func: ir.Operation, aliases: AliasAnalysis) -> None:
        rows = [(row, _products(row, aliases)) for row in _rows(func, aliases)]
        replaced: list[ir.Operation] = []
        for row, products in rows:
            for batch in batches(row, products, self.min_side, aliases):
                self._build_side(batch, row, aliases)
                replaced += batch.products
        for op in replaced:
            op.erase()

    def _build_tree(self, tree: Tree) -> None:
        root, leaves = tree.root, tree.leaves()
        ip = ir.InsertionPoint(root)
        whole = tree.transposed == tree.count
        pairs = [list(leaf.product.operands) if whole else _factors(leaf, ip) for leaf in leaves]
        matrices = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        type_ = _transposed(root.results[0].type) if whole else root.results[0].type
        location = ir.Location.fused([op.location for op in reversed(tree.ops())], context=root.context)
        found = ops.create("batched_mm_tree", matrices, [type_], self._attributes(), loc=location, ip=ip).results[0]
        root.results[0].replace_all_uses_with(_transpose(found, root.results[0].type, root, ip) if whole else found)
        for op in tree.ops():
            op.erase()

    def _build_side(self, batch: Batch, row: list[ir.Operation], aliases: AliasAnalysis) -> None:
        last = batch.products[-1]
        others = [op.operands[1 if batch.side == "left" else 0] for op in batch.products]
        types = [op.results[0].type for op in batch.products]
        attributes = {**self._attributes(), "side": ir.StringAttr.get(batch.side)}
        location = ir.Location.fused([op.location for op in batch.products], context=last.context)
        made = ops.create("batched_mm_side", [batch.common, *others], types, attributes, loc=location, ip=ir.InsertionPoint(last))
        for op, result in zip(batch.products, made.results, strict=True):
            aliases.adopt(op.results[0], result)
            op.results[0].replace_all_uses_with(result)
        point = made
        for op in batch.late:
            op.move_after(point)
            point = op
        gone, start = {*batch.products, *batch.late}, row.index(batch.products[0])
        end = row.index(last) + 1
        row[start:end] = [*(op for op in row[start:end] if op not in gone), made, *batch.late]

    def _attributes(self) -> dict[str, ir.Attribute]:
        return {"max_elements": i64(self.max_elements)}


def _rows(op: ir.Operation, aliases: AliasAnalysis) -> Iterator[list[ir.Operation]]:
    """The ops of each block inside `op`, cut at those with side effects, which stand in no row."""
    for block in blocks(op):
        row: list[ir.Operation] = []
        for view in list(block.operations)[:-1]:
            inner = view.operation
            if aliases.has_side_effects(inner):
                yield row
                row = []
            else:
                row.append(inner)
            yield from _rows(inner, aliases)
        yield row


def _products(row: list[ir.Operation], aliases: AliasAnalysis) -> list[ir.Operation]:
    """The products that may move: nobody writes their operands."""
    found = [op for op in row if op.name == PRODUCT and PROMOTION not in op.attributes]
    return [op for op in found if not any(aliases.has_writers(v) for v in op.operands)]


def _factors(leaf: Leaf, ip: ir.InsertionPoint) -> list[ir.Value]:
    """A and B of a product AB; B^T and A^T of its transpose."""
    left, right = leaf.product.operands
    if leaf.transposed is None:
        return [left, right]
    return [_transpose(v, _transposed(v.type), leaf.transposed, ip) for v in (right, left)]


def _transpose(value: ir.Value, type_: ir.Type, like: ir.Operation, ip: ir.InsertionPoint) -> ir.Value:
    return ir.Operation.create(TRANSPOSE, [type_], [value], loc=like.location, ip=ip).operation.results[0]


def _transposed(type_: ir.Type) -> ir.Type:
    """The type of the transpose of a matrix."""
    sizes, dtype = torch_types.parse_tensor(str(type_))
    shape = None if sizes is None else tuple(symbol("unknown") if size is None else size for size in reversed(sizes))
    return torch_types.tensor_type(Tensor(dtype, shape), value_semantics=torch_types.is_value_tensor(type_), context=type_.context)
