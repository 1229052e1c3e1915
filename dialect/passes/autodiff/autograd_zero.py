"""What gradients that may be undefined are in one version of a backward graph: defined, undefined, or either.

`Simplify(block, known)` rewrites the ops of a block for what is known of some values: sums with an undefined gradient, branches on
definedness, gradients of nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, constant
from tierup.dialect.ir.structure import HANDED_ON, blocks, handed_over, is_used, move_out
from tierup.dialect.ir.walking import backwards, torch_name
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import bool_of, erase, is_none

Defined = bool | None  # whether a gradient, or an optional value, is there

SUM_TO_SIZE = "aten._grad_sum_to_size"  # sums over what broadcasting repeated; no size: as it is
_QUESTIONS = frozenset({"tierup.any_nonzero", "tierup.all_nonzero", "tierup.all_zero"})


def depends_on_definedness(op: ir.Operation) -> bool:
    """Whether what the op does depends on whether a gradient is there."""
    return op.name in _QUESTIONS or op.name in ("tierup.autograd_add", "tierup.grad_of") or is_sum_to_size(op)


def is_sum_to_size(op: ir.Operation) -> bool:
    """Whether an op is aten._grad_sum_to_size."""
    return op.name == "torch.operator" and torch_name(op) == SUM_TO_SIZE


class Simplify:
    """Rewrites a block in place. `known`: what is there and what is not; nothing is said of other values from outside."""

    def __init__(self, block: ir.Block, known: Mapping[ir.Value, Defined]) -> None:
        self.known = dict(known)
        self.block(block)

    def block(self, block: ir.Block) -> None:
        """Rewrite the ops of a block, in order; questions and undefined gradients that nobody uses then are erased."""
        self.run([view.operation for view in block.operations])
        for op in backwards(block):
            if (op.name in _QUESTIONS or op.name == "tierup.autograd_zero") and not is_used(op.results[0]):
                self.known.pop(op.results[0], None)
                op.erase()

    def run(self, inside: Iterable[ir.Operation]) -> None:
        """Rewrite these ops, in order."""
        for op in inside:
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        """Rewrite one op and what is in it, and note which of its results are known to be there or not."""
        name = op.name
        if name in HANDED_ON:
            for operand, result in zip(op.operands, op.results, strict=False):
                self.known[result] = self.known.get(operand)
        elif name == "tierup.autograd_zero":
            self.known[op.results[0]] = False
        elif name in _QUESTIONS:
            self.question(op)
        elif name == "tierup.autograd_add":
            self.add(op)
        elif name == "tierup.grad_of":
            self.grad_of(op)
        elif name == "torch.prim.If":
            self.branch(op)
        elif is_sum_to_size(op):
            self.sum_to_size(op)
        elif len(op.regions):
            for inner in blocks(op):
                self.block(inner)
        else:
            row = row_of(op)
            made = name.endswith(".literal") or (row is not None and row.kind is not Kind.SCALAR)
            for result in op.results:
                if made and torch_types.is_tensor(result.type):
                    self.known[result] = True  # an op on an undefined tensor raises

    # --- rewrites ------------------------------------------------------------------------------------------------------

    def replace(self, op: ir.Operation, values: Iterable[ir.Value]) -> None:
        """Values in place of an op's results; the op goes, and constants that only it used."""
        ip = ir.InsertionPoint(op)
        for result, value in zip(op.results, values, strict=True):
            made, state = cast(value, result.type, ip), self.known.get(value)
            self.known.pop(result, None)
            self.known[made] = state
            result.replace_all_uses_with(made)
        erase(op)

    def question(self, op: ir.Operation) -> None:
        """A constant in place of a question whether gradients are defined, where the answer is known."""
        states = [self.known.get(v) for v in op.operands]
        asked = op.name.removeprefix("tierup.")
        answer: bool | None = None
        if asked == "any_nonzero":
            answer = True if True in states else None if None in states else False
        elif asked == "all_nonzero":
            answer = False if False in states else None if None in states else True
        else:
            answer = False if True in states else None if None in states else True
        if answer is not None and str(op.results[0].type) == "!torch.bool":
            self.replace(op, [constant(answer, ir.InsertionPoint(op))])

    def add(self, op: ir.Operation) -> None:
        """Of a sum of two gradients the other one where one is undefined; a plain addition where both are defined."""
        left, right = op.operands
        a, b = self.known.get(left), self.known.get(right)
        if a is False or b is False:
            self.replace(op, [right if a is False else left])
        elif a is True and b is True:
            ip, loc = ir.InsertionPoint(op), op.location
            one = constant(1, ip)
            marks = {PROMOTION: op.attributes[PROMOTION]} if PROMOTION in op.attributes else {}
            made = ir.Operation.create("torch.aten.add.Tensor", [op.results[0].type], [left, right, one], marks, loc=loc, ip=ip).results[0]
            self.known[made] = True
            self.replace(op, [made])
        elif a is True or b is True:
            self.known[op.results[0]] = True

    def grad_of(self, op: ir.Operation) -> None:
        """In place of a gradient formula its ops, where a gradient that it takes is defined; undefined gradients, where none is."""
        states = [self.known.get(v) for v in op.operands]
        tensors = all(torch_types.is_tensor(r.type) for r in op.results)
        if True in states:
            self.splice(op, op.regions[0].blocks[0])
        elif None not in states and tensors:
            ip = ir.InsertionPoint(op)
            zeros = [ops.create("autograd_zero", [], [r.type], loc=op.location, ip=ip).results[0] for r in op.results]
            self.known.update(dict.fromkeys(zeros, False))
            self.replace(op, zeros)
        else:
            self.block(op.regions[0].blocks[0])

    def splice(self, op: ir.Operation, taken: ir.Block) -> None:
        """A block of an op in the op's place."""
        inner = [view.operation for view in taken.operations][:-1]
        values = move_out(taken, op)
        self.run(inner)
        self.replace(op, values)

    def branch(self, op: ir.Operation) -> None:
        """The taken arm in place of a branch whose condition is known; else both arms are rewritten, and what they agree on is noted."""
        condition = bool_of(op.operands[0])
        arms = [region.blocks[0] for region in op.regions]
        if condition is not None:
            self.splice(op, arms[0 if condition else 1])
            return
        for arm in arms:
            self.block(arm)
        yields = [handed_over(arm) for arm in arms]
        for result, values in zip(op.results, zip(*yields, strict=True), strict=True):
            states = {self.known.get(v) for v in values}
            self.known[result] = states.pop() if len(states) == 1 else None

    def sum_to_size(self, op: ir.Operation) -> None:
        """The gradient as it is, where the op has no size to sum it to."""
        gradient, size = op.operands
        if is_none(size) or self.known.get(size) is False:
            self.replace(op, [gradient])
        elif torch_types.is_tensor(op.results[0].type):
            self.known[op.results[0]] = True
