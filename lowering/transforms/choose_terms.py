"""tierup-choose-terms: what a round of a loop adds to a sum is chosen, not whether it adds.

    scf.for ... iter_args(%s = %c0) -> (f64) {
      %r = scf.if %p -> (f64) {
        %a = arith.addf %s, %x
        scf.yield %a
      } else {
        scf.yield %s
      }
      scf.yield %r

becomes

      %t = scf.if %p -> (f64) {
        scf.yield %x
      } else {
        scf.yield %c-0
      }
      %r = arith.addf %s, %t

Each round waits for the one before: before for the sum and for the choice behind it, now for the sum alone. No bit of a result is another:
whatever %s is, %s + -0.0, %s - 0.0 and %s * 1.0 are %s (of NaN the quiet one). LLVM does so for integers, and for floats that are known not
to be NaN. Arms that do more than LLVM computes ahead of a choice anyway stay as they are, since it leaves them where they are not taken.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import attributes_of, hand_over, handed_over, maker, users
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import constant, dtype_of

_NEUTRAL = {"arith.addf": -0.0, "arith.subf": 0.0, "arith.mulf": 1.0}
_LOOPS = ("scf.for", "scf.while")
_MOST_OPS = 3  # of an arm, its yield not counted


@register
class ChooseTerms(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name == "scf.if" and len(op.results):
                for number in range(len(op.results)):
                    _choose(op, number)


def _choose(op: ir.Operation, number: int) -> None:
    """Where a result of an `scf.if` is a sum with what a loop carries, or that as it is."""
    arms = [region.blocks[0] for region in op.regions]
    yielded = [handed_over(arm)[number] for arm in arms]
    for adds, (arm, value, carried) in enumerate(zip(arms, yielded, reversed(yielded), strict=True)):
        made = maker(value)
        if made is None or made.name not in _NEUTRAL or made.block != arm or not _is_carried(carried) or not _is_cheap(arm):
            continue
        places = (0,) if made.name == "arith.subf" else (0, 1)
        place = next((n for n in places if made.operands[n] == carried and made.operands[1 - n] != carried), None)
        if place is None or len(users(value)) > 1:
            continue
        with op.location, ir.InsertionPoint(op):
            neutral = constant(_NEUTRAL[made.name], dtype_of(value.type))
        for n, other in enumerate(arms):
            given = handed_over(other)
            given[number] = made.operands[1 - place] if n == adds else neutral
            hand_over(other, given)
        operands = [carried, op.results[number]] if place == 0 else [op.results[number], carried]
        total = ir.Operation.create(
            made.name, [value.type], operands, attributes_of(made), loc=made.location, ip=ir.InsertionPoint.after(op)
        )  # fmt: skip
        op.results[number].replace_all_uses_except(total.results[0], [total])
        made.erase()
        return


def _is_carried(value: ir.Value) -> bool:
    """Whether each round of a loop gets a float from the one before."""
    return isinstance(value.type, ir.FloatType) and isinstance(value.owner, ir.Block) and value.owner.owner.name in _LOOPS


def _is_cheap(arm: ir.Block) -> bool:
    ops = [op.operation for op in arm.operations][:-1]
    return len(ops) <= _MOST_OPS and all(op.name.startswith("arith.") for op in ops)
