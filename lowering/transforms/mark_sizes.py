"""tierup-mark-sizes: what inference knows of sizes in an entry is marked, for the checks and for control flow. Arms never taken go.

    %0 = torch.aten.view %x, %sizes : ...              all sizes are known to inference, in terms of the arguments'
    %1 = torch.aten.index_select %x, %dim, %i : ...    %x may have no elements
    %2 = torch.aten.gather %x, %dim, %i, %false : ...  %i is no larger than %x beside the dim
    %3 = torch.prim.Loop ...                           what it carries keeps its sizes, round after round
    %4 = torch.aten.select_scatter %y, %v, %dim, %i    %y has elements
    %5 = torch.aten.select.int %x, %dim, %i            %i is inside %x
    %6 = torch.aten.select.int %x, %dim, %j            %j is not negative, and perhaps beyond %x
    %7 = torch.aten.remainder.int %i, %n               %n is positive, and %i not negative
    %8 = torch.aten.eq.int %n, %zero

becomes

    %0 = torch.aten.view %x, %sizes {tierup.tied} : ...
    %1 = torch.aten.index_select %x, %dim, %i {tierup.may_be_empty} : ...
    %2 = torch.aten.gather %x, %dim, %i, %false {tierup.fits} : ...
    %3 = torch.prim.Loop ... {tierup.steady}
    %4 = torch.aten.select_scatter %y, %v, %dim, %i {tierup.has_elements}
    %5 = torch.aten.select.int %x, %dim, %i {tierup.inside = "from_start"}
    %6 = torch.aten.select.int %x, %dim, %j {tierup.not_negative}
    %7 = torch.aten.remainder.int %i, %n {tierup.not_negative, tierup.positive_divisor}
    %8 = torch.constant.bool false

An op with a size that may be negative is `tierup.known` instead of `tierup.tied`; `tierup.certain` numbers the sizes that are not. Where
sizes hang on int arguments that symbols stand for, `tierup.limits` says of the entry what must hold for there not to be too many elements.
The location of a loop says where it ends after a few rounds whatever the numbers are: such loops are not polled in.
"""

from __future__ import annotations

from math import prod

from tierup.dialect.analysis.ints.conditions import LOOP
from tierup.dialect.analysis.ints.positions import INSIDE, NOT_NEGATIVE, Positions
from tierup.dialect.analysis.ints.short_loops import has_few_rounds
from tierup.dialect.facts.dims import Dim, Symbol, at_least, atom, maximum, minimum, substitute
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Bool, Tensor, Value
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable import operands
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import int_of
from tierup.lowering.analysis.signature import inference_of
from tierup.lowering.analysis.stated import ENTRY, LIMITS, attribute, guards
from tierup.lowering.base.abi import INT64_MAX, MOST_BY_NAME
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.building.origins import tag_short
from tierup.lowering.building.refused import Refused
from tierup.lowering.ops.call import HAS_ELEMENTS
from tierup.lowering.ops.scalars import DIVISIONS, POSITIVE_DIVISOR
from tierup.lowering.transforms.insert_bounds_checks import FITS, MAY_BE_EMPTY, bounds_of_index, position_of, reads_positions
from tierup.lowering.transforms.insert_size_checks import CERTAIN, KNOWN, TIED, fills, sizes_given
from tierup.lowering.transforms.lower_control_flow import STEADY

MOST_STATIC = 1 << 43  # elements, of up to 16 bytes, of sizes that are numbers: addresses have 47 bits


@register
class MarkSizes(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY in function.attributes:
            inference = inference_of(function)
            _refuse_what_no_memory_holds(function, inference)
            _mark_tied(function, inference)
            _mark_empty(function, inference)
            _mark_fitting(function, inference)
            _mark_ints(function, inference)
            _mark_steady(function, inference)


def _refuse_what_no_memory_holds(function: ir.Operation, inference: Inference) -> None:
    """Sizes that are numbers are not looked at in a run, so that the bytes of what has too many would overflow."""
    for op in b.walk(function):
        for value in op.results:
            x = inference.values.get(value)
            if isinstance(x, Tensor) and x.shape is not None and prod(d for d in x.shape if isinstance(d, int)) > MOST_STATIC:
                raise Refused(op, "an array of more elements than memory has")


def _mark_tied(function: ir.Operation, inference: Inference) -> None:
    """What sizes the inference knows: that they fit, it has said in ties; that they are not negative, it has not. Those of int arguments
    must not be too many, either."""
    names = {spec.value for spec in guards(function) if isinstance(spec.value, str)}
    limits: dict[tuple[Dim, Dim], None] = {}
    for op in b.walk(function):
        listed = [inference.values.get(v) for v in sizes_given(op)]
        sizes = [s for v in listed for s in (operands.or_unknown(operands.sizes_or_none)(v) if v is not None else None) or (None,)]
        if not listed:
            continue
        known, certain = [size for size in sizes if size is not None], [s is not None and at_least(s, 0) for s in sizes]
        if len(known) == len(sizes):
            limits |= dict.fromkeys(_limits(op, known, inference, names))
            op.attributes[TIED if all(certain) else KNOWN] = ir.UnitAttr.get(op.context)
        if any(certain) and not all(certain):
            op.attributes[CERTAIN] = ir.DenseI64ArrayAttr.get([i for i, holds in enumerate(certain) if holds], op.context)
    if limits:
        with function.context:
            function.attributes[LIMITS] = attribute(tuple(limits))


def _limits(op: ir.Operation, sizes: list[Dim], inference: Inference, names: set[str]) -> list[tuple[Dim, Dim]]:
    """What must be equal for an op to make no more than `MOST_BY_NAME` elements of sizes with `names`, the symbols of ints, in them: unlike
    an array's sizes, these say of no memory that it is there. Raises Refused where the check itself might overflow."""
    made = inference.values.get(op.results[0])
    if fills(op):
        sizes = [size for size in sizes if size != -1]
    elif isinstance(made, Tensor) and made.shape is not None:
        sizes = list(made.shape)
    total = operands.product(tuple(sizes))
    if isinstance(total, int) or not any(symbol.name in names for symbol in total.symbols()):
        return []
    plain = all(isinstance(a, Symbol) for monomial, _ in total.terms for _, a, _ in monomial)
    if not plain or sum(abs(c) * MOST_BY_NAME ** sum(power for *_, power in m) for m, c in total.terms) > INT64_MAX:
        raise Refused(op, f"how many elements {total} are does not fit 64 bits for all ints", blames=False)
    bounded = {symbol.name: minimum(atom(symbol), MOST_BY_NAME) for symbol in total.symbols()}
    return [(maximum(substitute(total, bounded), MOST_BY_NAME), MOST_BY_NAME)]


def _mark_empty(function: ir.Operation, inference: Inference) -> None:
    """What is read at positions and may have no elements, where positions are outside whatever they are; what is written in a part and has
    some, so that a position that is kept inside is one of them."""
    for op in b.walk(function):
        row, reads = row_of(op), reads_positions(op)
        x = inference.values.get(op.operands[0]) if reads or row is not None and row.puts else None
        if isinstance(x, Tensor) and reads is not (x.shape is not None and all(at_least(size, 1) for size in x.shape)):
            op.attributes[MAY_BE_EMPTY if reads else HAS_ELEMENTS] = ir.UnitAttr.get(op.context)


def _mark_fitting(function: ir.Operation, inference: Inference) -> None:
    """Indices of a tensor's rank that are no larger than what they are for."""

    def size(value: ir.Value, axis: int) -> Dim | None:
        found = inference.values.get(value)
        return found.shape[axis] if isinstance(found, Tensor) and found.shape is not None else None

    for op in b.walk(function):
        pairs = [(size(op.operands[i], axis), size(op.operands[2], axis)) for i, axis in bounds_of_index(op)]
        if all(most is not None and n is not None and at_least(most - n, 0) for most, n in pairs) and pairs:
            op.attributes[FITS] = ir.UnitAttr.get(op.context)


def _mark_ints(function: ir.Operation, inference: Inference) -> None:
    """One position of an axis that surely is there, and from which end it is counted; divisors that are positive; loops of a few rounds.
    Comparisons of which all runs decide alike are constants."""
    found = Positions(inference)
    decided: list[tuple[ir.Operation, bool]] = []
    for op in b.walk(function):
        if (truth := found.decides(op)) is not None:
            decided.append((op, truth))
        elif torch_name(op) in DIVISIONS:
            dividend, divisor = found.used(op)
            if divisor.is_at_least(1):
                op.attributes[POSITIVE_DIVISOR] = ir.UnitAttr.get(op.context)
                if dividend.is_at_least(0):
                    op.attributes[NOT_NEGATIVE] = ir.UnitAttr.get(op.context)
        elif op.name == LOOP and has_few_rounds(op, found):
            tag_short(op)
        slot = position_of(op)
        known = inference.values.get(op.operands[0]) if slot else None
        axis = int_of(op.operands[slot - 1]) if slot else None
        if axis is not None and isinstance(known, Tensor) and known.shape:
            where = found.where(op.operands[slot], known.shape[axis % len(known.shape)], op)
            if where:
                op.attributes[INSIDE] = ir.StringAttr.get(where, op.context)
            elif found.is_not_negative(op.operands[slot], op):
                op.attributes[NOT_NEGATIVE] = ir.UnitAttr.get(op.context)
    for op, truth in decided:
        with op.location, ir.InsertionPoint(op):
            constant = t.constant(truth)
        op.results[0].replace_all_uses_with(constant)
        inference.values[constant] = Bool(truth)


def _mark_steady(function: ir.Operation, inference: Inference) -> None:
    """Loops in which every tensor that is carried has the sizes that it came with, round after round."""
    tied = {frozenset((tie.left, tie.right)) for tie in inference.ties}

    def same(before: Value | None, after: Value | None) -> bool:
        if not isinstance(before, Tensor):
            return True
        if not isinstance(after, Tensor) or before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
            return False
        return all(a == b or frozenset((a, b)) in tied for a, b in zip(before.shape, after.shape, strict=True))

    for op in b.walk(function):
        if op.name == "torch.prim.Loop":
            body = op.regions[0].blocks[0]
            given = handed_over(body)[1:]
            pairs = zip(list(body.arguments)[1:], given, strict=True)
            if all(same(inference.values.get(x), inference.values.get(y)) for x, y in pairs):
                op.attributes[STEADY] = ir.UnitAttr.get(op.context)
