"""Sums of matrix products that are one batched op: the analysis behind the trees of `tierup-batch-matmul`.

A tree is additions (alpha 1) over products, or over transposed products, of which each inner result has one use. Adding is
commutative but not associative, so a tree is taken as it stands when every addition has a product on one side: then it is a sum
from left to right. `reassociate` takes trees of any shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of

PRODUCT = "torch.aten.mm"
ADD = "torch.aten.add.Tensor"
TRANSPOSE = "torch.aten.t"


@dataclass(frozen=True, eq=False)
class Leaf:
    """A product of the sum, `transposed` by an op above it or not."""

    product: ir.Operation
    transposed: ir.Operation | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """A sum: an addition of what stands left of what is added to it. `count`: how many products, `transposed`: how many of them are."""

    root: ir.Operation
    left: Tree | Leaf
    right: Tree | Leaf
    count: int = field(init=False)
    transposed: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", _count(self.left) + _count(self.right))
        object.__setattr__(self, "transposed", _transposed(self.left) + _transposed(self.right))

    def leaves(self) -> list[Leaf]:
        """The products in the order in which they are added."""
        return [node for node in self._nodes() if isinstance(node, Leaf)]

    def ops(self) -> list[ir.Operation]:
        """All ops of the tree, users before what they use."""
        found: list[ir.Operation] = []
        for node in self._nodes():
            found += [node.root] if isinstance(node, Tree) else [op for op in (node.transposed, node.product) if op is not None]
        return found

    def _nodes(self) -> Iterator[Tree | Leaf]:
        stack: list[Tree | Leaf] = [self]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, Tree):
                stack += [node.right, node.left]


def _count(node: Tree | Leaf) -> int:
    return node.count if isinstance(node, Tree) else 1


def _transposed(node: Tree | Leaf) -> int:
    return node.transposed if isinstance(node, Tree) else int(node.transposed is not None)


def trees(ops: list[ir.Operation], products: Collection[ir.Operation], min_size: int, reassociate: bool) -> list[Tree]:
    """The largest trees among the ops of one block that stand between two side effects. `products`: those that may be taken."""
    inside, allowed = set(ops), set(products)
    found: dict[ir.Operation, Tree] = {}
    for op in ops:
        sides = [_summand(v, inside, allowed, found) for v in list(op.operands)[:2]] if _is_plain_sum(op) else []
        tree = _sum(op, sides, reassociate)
        if tree is not None:
            found[op] = tree
    taken: set[ir.Operation] = set()
    chosen = []
    for op in reversed(ops):  # roots first
        if op in found and op not in taken and found[op].count >= min_size:
            taken.update(found[op].ops())
            chosen.append(found[op])
    return chosen


def _sum(op: ir.Operation, sides: list[Tree | Leaf | None], reassociate: bool) -> Tree | None:
    if len(sides) != 2 or sides[0] is None or sides[1] is None or sides[0] is sides[1]:
        return None
    left, right = sides[0], sides[1]
    if isinstance(left, Leaf) and isinstance(right, Tree):
        left, right = right, left
    tree = Tree(op, left, right)
    if not reassociate and (isinstance(right, Tree) or tree.transposed not in (0, tree.count)):
        return None
    return tree


def _summand(value: ir.Value, inside: set[ir.Operation], allowed: set[ir.Operation], found: dict[ir.Operation, Tree]) -> Tree | Leaf | None:
    """What an operand of an addition is, if nobody else uses it."""
    op = maker(value)
    if op is None or op not in inside or not _has_one_use(value):
        return None
    if op in allowed:
        return Leaf(op)
    if op.name != TRANSPOSE or PROMOTION in op.attributes:
        return found.get(op)
    product = maker(op.operands[0])
    return Leaf(product, op) if product is not None and product in allowed and _has_one_use(op.operands[0]) else None


def _has_one_use(value: ir.Value) -> bool:
    return sum(1 for _ in value.uses) == 1


def _is_plain_sum(op: ir.Operation) -> bool:
    """Whether an op adds two tensors as they are: under torch's rules, alpha the integer 1 (1.0 is an error for integers)."""
    return op.name == ADD and PROMOTION not in op.attributes and int_of(op.operands[2]) == 1
