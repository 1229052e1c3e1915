"""tierup-constant-propagation: run ops on constants now instead of in every run.

    %0 = torch.aten.add.int %int2, %int3 : !torch.int, !torch.int -> !torch.int
    %1 = torch.aten.lt.int %0, %int4 : !torch.int, !torch.int -> !torch.bool
    %2 = torch.prim.If %1 -> (!torch.int) { ... yield %a } else { ... yield %b }
    %3:2 = torch.prim.Loop %int0, %true, init(%x, %y) { ... }

becomes

    // ... of the second arm, %b for %2, %x and %y for %3

* An op whose operands are constants (numbers, strings, None, tensor literals, lists and tuples of such that nobody changes) is run by tier
  0's kernel, for its own promotion, and replaced by constants. It stays when the kernel raises, when it reads or makes more than
  `max-elements` elements, when it draws random numbers or writes, when somebody writes its result (as `np.zeros(3)` that is filled later),
  and when its result shares memory that the caller would see shared no longer. Literals and lists that somebody writes are no constants.
* A branch whose condition is known becomes the arm that is taken; the other arm is never looked at. Of another branch a result goes that
  is one value, or the same number or string, in both arms.
* A loop that does not run (a trip count of 0 or less, a condition that starts false) becomes what it starts from. In another loop a
  carried value that no round changes becomes what the loop starts from.
* What that leaves unused goes, as tierup-dce has it.

MLIR's `sccp` and `canonicalize` fold what torch's ops fold by themselves, which is few numbers and no tensors, by rules that are not tier
0's; sccp does not follow torch's branches and loops, and canonicalize drops `tierup.promotion` and ops that raise.
"""

from __future__ import annotations

import re
from typing import Annotated

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.liveness import IF, LOOP, eliminate_dead_code
from tierup.dialect.analysis.points_to import CONSTRUCTS, Holds
from tierup.dialect.ir.structure import blocks, handed_over, is_used, move_out, take_place
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.dialect.rewriting import folding
from tierup.dialect.rewriting.folding import NOTHING, Known, NotFolded

_OBJECTS = re.compile("<(list|tuple|v?tensor)")  # in a type: a container of tensors or containers
_SAME_VALUE = frozenset({"torch.derefine", "torch.prim.unchecked_cast"})


@register
class ConstantPropagation(Pass):
    max_elements: Annotated[int, AtLeast(0)] = 16384  # ops that read or make more elements than this stay

    def run_on_function(self, func: ir.Operation) -> None:
        propagate_constants(func, self.max_elements)


def propagate_constants(func: ir.Operation, max_elements: int) -> bool:
    """Propagate constants through one function; whether anything was."""
    propagation = _Propagation(AliasAnalysis(func), max_elements)
    propagation.block(func.regions[0].blocks[0])
    if propagation.changed:
        eliminate_dead_code(func)
    return propagation.changed


class _Propagation:
    def __init__(self, aliases: AliasAnalysis, max_elements: int) -> None:
        self.aliases = aliases
        self.max_elements = max_elements
        self.known = Known()
        self.changed = False

    def block(self, block: ir.Block) -> None:
        for op in ops_of(block):
            if op.name == IF:
                self._if(op)
            elif op.name == LOOP:
                self._loop(op)
            elif len(op.regions):
                for inner in blocks(op):
                    self.block(inner)
            else:
                self._op(op)

    # --- one op ---

    def _op(self, op: ir.Operation) -> None:
        if op.name in CONSTRUCTS:
            self._container(op)
            return
        value = folding.read_constant(op)
        if value is not NOTHING:
            written = op.name == "torch.tensor.literal" and self.aliases.has_writers(op.results[0])
            self.known.set(op.results[0], NOTHING if written else value)
            return
        if op.name in _SAME_VALUE:
            self.known.set(op.results[0], self.known.get(op.operands[0]))
            return
        row = row_of(op)
        if row is not None and self._may_fold(op, row):
            self._fold(op, row)

    def _container(self, op: ir.Operation) -> None:
        items = self.known.all_of(op.operands)
        if items is not None and not self.aliases.has_writers(op.results[0]):
            self.known.set(op.results[0], items if op.name == "torch.prim.ListConstruct" else tuple(items))

    def _may_fold(self, op: ir.Operation, row: Op) -> bool:
        if row.random or row.writes or row.results == 0 or any(self.known.get(v) is NOTHING for v in op.operands):
            return False
        if all(self.aliases.points_to.holds(r.type) is Holds.NOTHING for r in op.results):
            return True
        if any(self.aliases.has_writers(r) for r in op.results):
            return False
        if row.kind is Kind.SCALAR and any(_OBJECTS.search(str(v.type)) for v in op.operands):
            return False  # a tensor or list out of a list is that one, no other
        return row.aliasing is Aliasing.FRESH or not any(self.aliases.returned(r) for r in op.results)

    def _fold(self, op: ir.Operation, row: Op) -> None:
        operands = self.known.all_of(op.operands)
        assert operands is not None  # _may_fold saw to it
        try:
            values = folding.evaluate(op, row, operands, self.max_elements)
            for value, result in zip(values, op.results, strict=True):
                folding.check_constant(value, result.type)
        except NotFolded:
            return
        for value, result in zip(values, op.results, strict=True):
            result.replace_all_uses_with(folding.materialise(value, result.type, op, self.known))
        op.erase()
        self.changed = True

    # --- branches ---

    def _if(self, op: ir.Operation) -> None:
        condition = self.known.get(op.operands[0])
        if condition is not NOTHING:
            arm = op.regions[0 if condition else 1].blocks[0]
            self.block(arm)
            self._splice(op, arm)
            return
        arms = [region.blocks[0] for region in op.regions]
        for arm in arms:
            self.block(arm)
        yielded = [handed_over(arm) for arm in arms]
        for result, a, b in zip(op.results, *yielded, strict=True):
            self._join(op, result, a, b)

    def _splice(self, op: ir.Operation, arm: ir.Block) -> None:
        take_place(op, move_out(arm, op))
        self.changed = True

    def _join(self, op: ir.Operation, result: ir.Value, a: ir.Value, b: ir.Value) -> None:
        """A result that is the same whichever way the branch goes. A value of both arms stands before the branch."""
        if not is_used(result):
            return
        if a == b:
            self._becomes(result, a)
        elif folding.same_constant(self.known.get(a), self.known.get(b)):
            self._becomes(result, folding.materialise(self.known.get(a), result.type, op, self.known))

    def _becomes(self, old: ir.Value, new: ir.Value) -> None:
        old.replace_all_uses_with(new)
        self.changed = True

    # --- loops ---

    def _loop(self, op: ir.Operation) -> None:
        trip, condition = self.known.get(op.operands[0]), self.known.get(op.operands[1])
        if condition is False or (trip is not NOTHING and trip <= 0):
            take_place(op, list(op.operands)[2:])
            self.changed = True
            return
        body = op.regions[0].blocks[0]
        while self._invariants(op, body):  # each makes at least one more carried value a value from outside
            pass
        self.block(body)
        while self._invariants(op, body):
            self.block(body)

    def _invariants(self, op: ir.Operation, body: ir.Block) -> bool:
        """Carried values that no round changes become what the loop starts from; whether there were any that someone used."""
        found = False
        after = handed_over(body)[1:]
        for init, argument, yielded, result in zip(list(op.operands)[2:], list(body.arguments)[1:], after, op.results, strict=True):
            same = yielded in (argument, init) or folding.same_constant(self.known.get(yielded), self.known.get(init))
            if not same or not (is_used(argument) or is_used(result)):
                continue
            argument.replace_all_uses_with(init)
            result.replace_all_uses_with(init)
            self.changed = found = True
        return found
