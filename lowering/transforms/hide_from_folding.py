"""tierup-hide-from-folding: what MLIR's canonicaliser and CSE would change of a program's results or errors is hidden from them.

    %0 = torch.vtensor.literal(dense<0.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
    %1 = torch.aten.add.Scalar %0, %n, %one : ...
    %2 = torch.aten.eq.Tensor %x, %x : ...
    %3 = torch.aten.index_select %x, %dim, %i : ...

becomes

    %0 = torch.vtensor.literal(dense<0.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
    %h = "tierup.hidden"(%0) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
    %1 = torch.aten.add.Scalar %h, %n, %one : ...
    %g = "tierup.hidden"(%x) : ...
    %2 = torch.aten.eq.Tensor %x, %g : ...
    %3 = torch.aten.index_select %x, %dim, %i : ...
    "tierup.kept"(%3) : ...

* Constant tensors and floats, with which torch-mlir computes otherwise than tier 0 does (zeros + -1 were 2**64), and all that numbers, and
  tensors of numbers, are computed of: it divides ints as floats, folds a division by what it folds to zero, and takes the last bit of 2 for
  its truth. What constants make is computed here, by tier 0, and what types say is read off; all else that inference knows of numbers
  `tierup-fold-numbers` folds.
* Operands that single ops fold by (`_FOLDED_BY`).
* Ops that it takes for their operand by their types alone, though they may raise, or reduce: they are a `torch.operator` meanwhile. So are
  remainders of ints, which it folds as C has them.
* What may raise is used: MLIR drops a torch op whose result nobody reads, and an error is a result too.
* Copies where a result is a copy on some paths only (`lowering/analysis/copies_kept.py`).

Lists are checked to have the items that are taken out, and windows without strides get those that they mean, their own size: torch-mlir
reads beyond both. A dtype's number becomes a constant: of ui16 and ui64 torch-mlir knows none, and aborts; so does the dtype of a
conversion that asks for none. `tierup-restore-hidden` undoes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.analysis.raising import hangs_on_kinds, hangs_on_numbers, raises_for_values
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Float, Int, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, constant
from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Infer, Kind, Op, Promotion
from tierup.dialect.optable.operands import lifted
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting import folding
from tierup.dialect.rewriting.core import items_of
from tierup.lowering.analysis.copies_kept import CLOSED, HIDDEN, KEPT, hide, spell
from tierup.lowering.building import builders as b
from tierup.lowering.transforms.unpack_lists import check_items

# Operands that torch-mlir folds by: a comparison of one value with itself to true, which NaN is not; a choice between one value, whatever
# shape the condition has; sizes of which one is 1; parts without elements, which it drops, be there others or not.
_FOLDED_BY = {"torch.aten.eq.Tensor": 1, "torch.aten.where.self": 2, "torch.aten.unflatten.int": 2, "torch.aten.cat": 0}
Hidden = dict[ir.Value, ir.Value]  # what stands for a value
_REMAINDER = "torch.aten.remainder.int"
_NUMBERS = ("!torch.int", "!torch.float", "!torch.bool", "!torch.number")
_CONSTANTS = ("torch.constant.float", "torch.constant.int", "torch.constant.bool")

# Where windows have their strides, behind the kernel size. When there are none torch-mlir reads them from beyond the list's end.
_STRIDES = {
    **{f"torch.aten.{kind}_pool{n}d": 2 for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"torch.aten.max_pool{n}d_with_indices": 2 for n in (1, 2, 3)}, **{f"torch.aten.avg_pool{n}d_backward": 3 for n in (2, 3)},
}  # fmt: skip


@register
class HideFromFolding(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if b.first(function, lambda op: op.name in (HIDDEN, KEPT)) is not None:
            return  # it is hidden already
        hidden: Hidden = {}
        _merge_numbers(function)
        for op in b.unerased(b.walk(function)):
            if _folds(op):
                continue
            if op.name.startswith("torch.aten.") and not _reads_what_was_put_in(op):
                _hide_operands(op, hidden)
            if op.name == "torch.prim.dtype":
                _name_dtype(op)
                continue
            if op.name == "torch.aten.to.dtype_layout":
                _name_dtype_asked(op)
            if op.name in ("torch.prim.ListUnpack", "torch.aten.__getitem__.t"):
                check_items(op)
            strides = _STRIDES.get(op.name)
            if strides is not None and items_of(op.operands[strides]) == []:
                op.operands[strides] = op.operands[strides - 1]
            if _is_no_operand(op) or op.name == _REMAINDER:
                spell(op, CLOSED)
                continue
            if op.name in _FOLDED_BY:
                _hide(op, _FOLDED_BY[op.name])
            if _may_raise(op):
                end = ir.InsertionPoint.at_block_terminator(op.block)
                ir.Operation.create(KEPT, [], list(op.results), loc=op.location, ip=end)
        hide(function)


def _hide(op: ir.Operation, at: int) -> None:
    value = op.operands[at]
    op.operands[at] = ir.Operation.create(HIDDEN, [value.type], [value], loc=op.location, ip=ir.InsertionPoint(op)).result


def _name_dtype(op: ir.Operation) -> None:
    dtype = torch_types.parse_tensor(str(op.operands[0].type))[1]
    if dtype is not None:
        take_place(op, [constant(dtype.code, ir.InsertionPoint(op), op.location)])


def _name_dtype_asked(op: ir.Operation) -> None:
    dtype = torch_types.parse_tensor(str(op.results[0].type))[1]
    if str(op.operands[1].type) == "!torch.none" and dtype is not None:
        op.operands[1] = constant(dtype.code, ir.InsertionPoint(op), op.location)


def _is_no_operand(op: ir.Operation) -> bool:
    """Whether torch-mlir, going by types, may take an op for its operand, which it is not: a reduction, or one that may raise."""
    row = row_of(op)
    first = next(iter(op.operands), None)
    if row is None or first is None or not is_tensor(first.type) or all(first.type != r.type for r in op.results):
        return False
    if torch_types.parse_tensor(str(first.type))[0] is None:
        return False  # it goes by sizes
    return row.kind is Kind.REDUCTION or _may_refuse_values(op)


def _hide_operands(op: ir.Operation, hidden: Hidden) -> None:
    """Let an op read what torch-mlir would compute with from ops that nothing folds: one for each value, so that equal ops still merge."""
    of_numbers, operands = _is_of_numbers(op), list(op.operands)
    for i, value in enumerate(operands):
        if of_numbers and str(value.type) in _NUMBERS or _is_constant(value):
            is_again = value in operands[:i] and not (str(value.type) == "!torch.int" and str(op.results[0].type) == "!torch.bool")
            op.operands[i] = _hidden(value, {} if is_again else hidden)  # an int equals itself: such a comparison may fold


def _folds(op: ir.Operation) -> bool:
    """Put the number that an op gives in every run in its place: what tier 0 computes of constants, or what the rule says of types."""
    row = row_of(op)
    if row is None or len(op.regions) or row.acts or len(op.results) != 1 or str(op.results[0].type) not in _NUMBERS:
        return False
    constants = [folding.read_constant(made) if (made := b.defining_op(v)) is not None else folding.NOTHING for v in op.operands]
    try:
        if not any(c is folding.NOTHING for c in constants):
            (value,) = folding.evaluate(op, row, constants, 0)
        else:
            value = None if row.raises else _by_types(op, row, constants)
        folding.check_constant(value, op.results[0].type)
    except folding.NotFolded:
        return False
    take_place(op, [folding.materialise(value, op.results[0].type, op, folding.Known())])
    return True


def _by_types(op: ir.Operation, row: Op, constants: Sequence[Any]) -> object:
    """The number that an op's rule says it gives for operands of these types. Raises NotFolded where it says none."""
    rules = Infer()
    facts = [_fact(v.type, rules) if c is folding.NOTHING else lifted(c) for v, c in zip(op.operands, constants, strict=True)]
    answer = row.answer(facts, Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH)
    found = answer[0][0] if answer is not None else None
    if not isinstance(found, (Int, Float, Bool)) or not isinstance(found.value, (int, float)):
        raise folding.NotFolded
    return found.value


def _fact(type_: ir.Type, rules: Infer) -> Value:
    """What a type says of a value: of a tensor each size that is there."""
    if not is_tensor(type_):
        return torch_types.value_of(type_)
    sizes, dtype = torch_types.parse_tensor(str(type_))
    return Tensor(dtype, None if sizes is None else tuple(rules.fresh() if n is None else n for n in sizes))


def _hidden(value: ir.Value, hidden: Hidden) -> ir.Value:
    if value not in hidden:
        block = isinstance(value.owner, ir.Block)
        at = ir.InsertionPoint.at_block_begin(value.owner) if block else ir.InsertionPoint.after(value.owner.operation)
        hidden[value] = ir.Operation.create(HIDDEN, [value.type], [value], loc=value.location, ip=at).result
    return hidden[value]


def _is_constant(value: ir.Value) -> bool:
    made = b.defining_op(value)
    return made is not None and (made.name == "torch.constant.float" or _makes_a_constant(made))


def _is_of_numbers(op: ir.Operation) -> bool:
    """Whether an op computes numbers of numbers alone, or makes a tensor of them."""
    return _makes_a_constant(op) or not any("tensor" in str(v.type) or "list" in str(v.type) for v in op.operands)


def _may_refuse_values(op: ir.Operation) -> bool:
    """Whether an op may raise for elements, or for numbers that only the run knows, that fold as if it had run."""
    row = row_of(op)
    return row is not None and not len(op.regions) and (hangs_on_numbers(op, row) or raises_for_values(op, row))


def _merge_numbers(function: ir.Operation) -> None:
    """Have each constant number of a function once, where it begins: equal constants are hidden as one."""
    first: dict[tuple[str, str], ir.Operation] = {}
    for op in b.unerased(b.walk(function)):
        if op.name in _CONSTANTS:
            kept = first.setdefault((op.name, str(op.attributes["value"])), op)
            if kept == op:
                op.move_before(function.regions[0].blocks[0].operations[0])
            else:
                take_place(op, [kept.results[0]])


_READS = frozenset(f"torch.aten.{n}" for n in ("item", "Int.Tensor", "Float.Tensor", "IntImplicit", "FloatImplicit", "ScalarImplicit"))
_AS_IT_IS = {dtypes.i64: "!torch.int", dtypes.f64: "!torch.float"}


def _reads_what_was_put_in(op: ir.Operation) -> bool:
    """Whether an op gives the very number that a tensor was made of, as traces do for sizes: nothing is computed when that folds."""
    made = b.defining_op(op.operands[0]) if op.name in _READS else None
    if made is None or made.name not in ("torch.prim.NumToTensor.Scalar", "torch.vtensor.literal"):
        return False
    dtype = torch_types.parse_tensor(str(made.results[0].type))[1]
    return dtype is not None and _AS_IT_IS.get(dtype) == str(op.results[0].type)


def _makes_a_constant(op: ir.Operation) -> bool:
    """Whether an op makes a tensor of numbers alone."""
    return len(op.results) == 1 and is_tensor(op.results[0].type) and not any("tensor" in str(v.type) for v in op.operands)


def _may_raise(op: ir.Operation) -> bool:
    """Whether an op may raise though its types are inferred: for what is in its operands, or for numbers, ranks and dtypes that only the
    run knows."""
    row = row_of(op)
    if row is None or len(op.regions):
        return False
    listed = [item for v in op.operands for item in items_of(v) or ()]
    return any("?" in str(v.type) for v in (*op.operands, *listed)) or row.strided or _may_refuse_values(op) or hangs_on_kinds(op, row)

