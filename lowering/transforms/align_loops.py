"""tierup-align-loops: a loop that ends by a condition carries arrays in the same places before and behind it.

    scf.while (%i = 0, %go = true, %t = %x) : (i64, i1, tensor<8xf64>) -> (i64, tensor<8xf64>) {
      scf.condition(%go) %i, %t

becomes

    scf.while (%t = %x, %i = 0, %go = true) : (tensor<8xf64>, i64, i1) -> (tensor<8xf64>, i64) {
      scf.condition(%go) %t, %i

Bufferization takes what a condition hands on for the array that came in only where both have one number, and copies the whole array in each
round elsewhere. MLIR's canonicaliser drops values that the body does not read, so numbers differ. Last before buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.structure import attributes_of, hand_over, handed_over, move_into, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b


@register
class AlignLoops(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for loop in [op for op in b.walk(function) if op.name == "scf.while"]:
            before, _ = (region.blocks[0] for region in loop.regions)
            given, taken = handed_over(before)[1:], list(before.arguments)
            pairs = [(taken.index(v), i) for i, v in enumerate(given) if isinstance(v.type, ir.RankedTensorType) and v in taken]
            pairs = [(t, i) for n, (t, i) in enumerate(pairs) if t not in {earlier for earlier, _ in pairs[:n]}]
            if any(t != i for t, i in pairs):
                _reorder(loop, _first([t for t, _ in pairs], len(taken)), _first([i for _, i in pairs], len(given)))


def _first(numbers: Sequence[int], count: int) -> list[int]:
    """The numbers below `count`, these first."""
    return [*numbers, *(n for n in range(count) if n not in numbers)]


def _reorder(loop: ir.Operation, taken: Sequence[int], given: Sequence[int]) -> None:
    """Number what a loop takes and what its condition gives anew: the old numbers, in the new order."""
    made = ir.Operation.create(
        loop.name, [loop.results[i].type for i in given], [loop.operands[i] for i in taken], attributes_of(loop),
        regions=2, loc=loop.location, ip=ir.InsertionPoint(loop),
    ).operation  # fmt: skip
    for old_region, new_region, order in zip(loop.regions, made.regions, (taken, given), strict=True):
        old = old_region.blocks[0]
        new = new_region.blocks.append(*(old.arguments[i].type for i in order), arg_locs=[loop.location] * len(order))
        for argument, number in zip(new.arguments, order, strict=True):
            old.arguments[number].replace_all_uses_with(argument)
        move_into(old, new)
    before, after = (region.blocks[0] for region in made.regions)
    condition, *values = handed_over(before)
    hand_over(before, [condition, *(values[i] for i in given)])
    values = handed_over(after)
    hand_over(after, [values[i] for i in taken])
    take_place(loop, [made.results[given.index(i)] for i in range(len(given))])
