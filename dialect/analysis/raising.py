"""Which ops may raise: what must not be dropped though nobody uses its results, since an error is a result too.

    %0 = torch.aten.add.Tensor %x, %y, %one     raises for shapes that do not broadcast: may raise, unless both types are known
    %1 = torch.aten.tanh %x                     takes every array: never
    %2 = torch.aten.select.int %x, %0, %i       may, unless the size and the index are known numbers that fit

An op is cleared by its row's rule: run on what inference knows of the operands it must find all of the result, tie no sizes and refuse
nothing; or, for an op of one tensor, it must take arrays of every dtype and of ranks 0 to 3. Whatever is not cleared may raise. (Running
out of memory is not looked at.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import inf, nan, prod
from typing import Any

from tierup.dialect import optable
from tierup.dialect.analysis.points_to import BODIES
from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import at_least
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function, promotion
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Str, Tensor, Tuple, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import CHECKS, blocks
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import REFUSALS, Aliasing, Infer, Kind, Op, Promotion
from tierup.dialect.optable.rows import row_of
from tierup.dialect.optable.written import INPLACE, check_copy
from tierup.dialect.rewriting.core import int_of

# Ops that are no rows and never raise; those of the tierup dialect that do not compute among them.
_SAFE = CHECKS | {
    "func.return", "tierup.autograd_zero", "tierup.bailout", "tierup.check_shapes", "tierup.count_run", "tierup.guard",
    "tierup.if_then_else", "tierup.profile", "tierup.yield", "tierup.all_nonzero", "tierup.all_zero", "tierup.any_nonzero",
    "torch.aten.append.t", "torch.aten.insert.t", "torch.bind_symbolic_shape", "torch.copy.to_tensor", "torch.copy.to_vtensor",
    "torch.derefine", "torch.prim.If.yield", "torch.prim.Loop.condition", "torch.prim.Uninitialized", "torch.prim.unchecked_cast",
    "torch.symbolic_int", "torch.tensor.literal", "torch.vtensor.literal",
}  # fmt: skip
_GATHER = frozenset({"prim.ListConstruct", "prim.TupleConstruct", "prim.TupleUnpack"})
_WITH_REGIONS = BODIES | {"torch.prim.If", "torch.prim.Loop", "tierup.grad_of", "func.func"}
_ASSIGNMENTS = frozenset({"aten.fill.Tensor", "aten.fill_.Tensor"})  # of a NumPy scalar, which integers may refuse
# What rules are asked about in the place of a number that is not known: signs, what no dim reaches, what narrow integers refuse.
_NUMBERS: dict[type, tuple[float, ...]] = {
    Int: (0, 1, -1, 2, -2, 7, -100, 300, -(1 << 40), 1 << 40), Float: (0.0, 1.5, -1.5, inf, nan, 1e300), Bool: (False, True),
}  # fmt: skip
_MOST_TRIALS = 200
# Kinds whose rules are as sure of symbolic sizes as of numbers.
_SYMBOLIC = frozenset({Kind.POINTWISE, Kind.PRODUCT, Kind.NORMALISATION})


class Raising:
    """The answers for one function, from the types of its arguments."""

    def __init__(self, func: ir.Operation) -> None:
        try:
            self._inference = infer_function(func)
        except InferenceError:
            self._inference = Inference()  # it raises for all such arguments: nothing is known of any op

    def may_raise(self, op: ir.Operation) -> bool:
        """Whether the op, or one in its regions, may raise on operands of these types."""
        name = op.name
        if name in _SAFE or name.startswith("torch.constant."):
            return False
        if name in _WITH_REGIONS:
            return any(self.may_raise(view.operation) for block in blocks(op) for view in block.operations)
        if name == "torch.tensor_static_info_cast":
            return not _forgets(op)
        row = row_of(op)
        return row is None or self._row_may_raise(op, row)

    def _value(self, value: ir.Value) -> Value:
        return self._inference.values.get(value) or torch_types.value_of(value.type)

    def _row_may_raise(self, op: ir.Operation, row: Op) -> bool:
        if row.results == 0 or row.acts or row.strided:
            return True
        operands = [self._value(v) for v in op.operands]
        rules = promotion(op)
        tensors = sum(_tensors_in(v) for v in operands)
        if row.name in _ASSIGNMENTS and rules is Promotion.NUMPY and _refuses_some(*operands):
            return True
        if row.writes and rules is Promotion.TORCH and any(_may_overlap(op.operands[0], v) for v in list(op.operands)[1:]):
            return True
        if row.kind is Kind.SCALAR and not tensors:
            partial = row.raises or row.refuses_some or (rules is Promotion.NUMPY and row.numpy_form != "ints")  # ints have any size
            return partial and not _cleared(op, row, operands, rules)
        if row.numpy_form == "ints" and rules is Promotion.NUMPY and tensors and not _holds_ints(operands[0]):
            return True  # no int is NaN or infinite
        if row.name in _GATHER:
            return False
        raises = raises_for_values(op, row, self._inference)
        if not raises and tensors == 1 and all(isinstance(v, Tensor) or _known(v) for v in operands):
            if takes_every_array(row.name, tuple(None if isinstance(v, Tensor) else v for v in operands), rules):
                return False
        if raises and (row.kind is not Kind.VIEW or tensors != 1) and row.kind is not Kind.SCALAR:
            return True
        return not _cleared(op, row, operands, rules)


def _holds_ints(value: Value) -> bool:
    return isinstance(value, Tensor) and value.dtype is not None and not value.dtype.is_float


def _may_overlap(written: ir.Value, read: ir.Value) -> bool:
    """Whether PyTorch may refuse a write for what is read there: a part of the same memory. The very tensor it takes."""
    if not torch_types.is_tensor(read.type) or read == written:
        return False
    one, other = _memory(written), _memory(read)
    return one == other or not (_is_new(one) or _is_new(other))


def _memory(value: ir.Value) -> ir.Value:
    """The value of which one is a view, as far as its makers say."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        row = row_of(op)
        if op.name != "torch.tensor_static_info_cast" and (row is None or (row.aliasing is Aliasing.FRESH and not row.writes)):
            break
        value = op.operands[0]
    return value


def _is_new(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and (row := row_of(value.owner.operation)) is not None and row.aliasing is Aliasing.FRESH


def raises_for_values(op: ir.Operation, row: Op, inference: Inference | None = None) -> bool:
    """Whether what is in an op's tensors may make it raise. A pointwise op that does, for a divisor or an exponent, gives integers then."""
    if not row.raises or row.kind is not Kind.POINTWISE:
        return row.raises
    result = inference.values.get(op.results[0]) if inference is not None else None
    known = result or torch_types.value_of(op.results[0].type)
    return not (isinstance(known, Tensor) and known.dtype is not None and known.dtype.is_float)


def _cleared(op: ir.Operation, row: Op, operands: list[Value], rules: Promotion) -> bool:
    """Whether the rule, knowing all of the operands, finds all of the results and asks for nothing."""
    if not all(_known(v, symbolic=row.kind in _SYMBOLIC or isinstance(v, List)) for v in operands):  # no op refuses items for what they are
        return False
    ctx = Infer()
    ctx.promotion = rules
    try:
        found = row.infer(ctx, operands)
        if INPLACE in op.attributes:
            check_copy(ctx, ir.StringAttr(op.attributes[INPLACE]).value, operands)
    except REFUSALS:
        return False
    results = found if isinstance(found, tuple) else (found,)
    if ctx.ties or len(results) != len(op.results):
        return False
    reads_tensors = any(isinstance(v, Tensor) for v in operands)  # which number it is then only the run can tell
    return all(_known(r, symbolic=True) or (reads_tensors and isinstance(r, (Int, Float, Bool))) for r in results)


def hangs_on_numbers(op: ir.Operation, row: Op, inference: Inference | None = None) -> bool:
    """Whether an op takes a size, an axis, a count or a list of them that only the run knows, which it may refuse. `inference`: what is
    known of values; without it, what types say."""
    if row.kind is Kind.POINTWISE or (row.kind is Kind.SCALAR and not row.refuses_some):
        return False
    computed = [v for v in op.operands if _is_computed(v)]
    if not computed and row.kind is not Kind.SCALAR:
        return False
    values = inference.values if inference is not None else {}
    operands = [values.get(v) or _of_constant(v) or torch_types.value_of(v.type) for v in op.operands]
    rules = promotion(op)
    if row.kind is Kind.SCALAR:
        return not _cleared(op, row, operands, rules)
    lists = any(isinstance(v, List) and not _known(v) for v in operands)
    return lists or not takes_every_number(row.name, tuple(map(_sampled, operands)), rules)


def hangs_on_kinds(op: ir.Operation, row: Op, inference: Inference | None = None) -> bool:
    """Whether an op may refuse a tensor whose rank or dtype only the run knows, since the path taken decides on it. `inference`: what is
    known of values; without it, what types say."""
    values = inference.values if inference is not None else {}
    operands = [values.get(v) or _of_constant(v) or torch_types.value_of(v.type) for v in op.operands]
    if row.name in _GATHER or not any(map(_is_open, operands)):
        return False
    if len([v for v in operands if isinstance(v, Tensor)]) != 1 or not all(isinstance(v, Tensor) or _known(v) for v in operands):
        return True
    return not takes_every_array(row.name, tuple(None if isinstance(v, Tensor) else v for v in operands), promotion(op))


def _is_open(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.shape is None or value.dtype is None
    if isinstance(value, (List, Tuple)) and value.items is not None:
        return any(map(_is_open, value.items))
    return isinstance(value, List) and isinstance(value.element, Tensor)


def _of_constant(value: ir.Value) -> Value | None:
    number = int_of(value)
    return None if number is None else Int(number)


def _sampled(value: Value) -> Value:
    """A number of which no more than a formula is known is any number."""
    return Int() if isinstance(value, Int) and not isinstance(value.value, int) else value


def _is_computed(value: ir.Value) -> bool:
    type_ = str(value.type)
    if type_ not in ("!torch.int", "!torch.list<int>"):
        return False
    if isinstance(value.owner, ir.Block):
        return True
    made = value.owner.operation
    return any(map(_is_computed, made.operands)) if made.name == "torch.prim.ListConstruct" else made.name != "torch.constant.int"


def refuses_none(op: ir.Operation, row: Op, inference: Inference) -> bool:
    """Whether an op refuses operands without elements, of tensors that may have none."""
    values = [inference.values.get(v) or torch_types.value_of(v.type) for v in op.operands]
    emptied = [_emptied(v) for v in values]
    if emptied == values:
        return False
    return row.answer(emptied, promotion(op)) is None


def _emptied(value: Value) -> Value:
    if not isinstance(value, Tensor) or value.shape is None:
        return value
    return Tensor(value.dtype, tuple(d if at_least(d, 1) else 0 for d in value.shape))


def _refuses_some(target: Value, source: Value) -> bool:
    if not (isinstance(target, Tensor) and isinstance(source, Tensor)) or target.dtype is None or source.dtype is None:
        return True
    return dtypes.refuses_some(target.dtype, source.dtype, weak=False)


def _known(value: Value, *, symbolic: bool = False) -> bool:
    """Whether all that a rule may ask is known of a value."""
    if isinstance(value, Tensor):
        return value.dtype is not None and value.shape is not None and (symbolic or all(isinstance(d, int) for d in value.shape))
    if isinstance(value, (List, Tuple)):
        return value.items is not None and all(_known(v, symbolic=symbolic) for v in value.items)
    if isinstance(value, Int):
        return isinstance(value.value, int) or (symbolic and value.value is not None)
    if isinstance(value, (Bool, Float, Str)):
        return value.value is not None
    return isinstance(value, NoneValue)


def _tensors_in(value: Value) -> int:
    """How many tensors a rule may look at; 2 for a list of which that is not known."""
    if isinstance(value, Tensor):
        return 1
    if isinstance(value, (List, Tuple)) and value.items is not None:
        return sum(map(_tensors_in, value.items))
    return 2 if isinstance(value, List) and isinstance(value.element, Tensor) else 0


def _forgets(op: ir.Operation) -> bool:
    """Whether a cast's result type states no more than the operand's: nothing is checked then."""
    (known_sizes, known_dtype), (sizes, dtype) = (torch_types.parse_tensor(str(v.type)) for v in (op.operands[0], op.results[0]))
    return (sizes is None or sizes == known_sizes) and (dtype is None or dtype == known_dtype)


@lru_cache(maxsize=4096)
def takes_every_array(name: str, operands: tuple[Value | None, ...], rules: Promotion) -> bool:
    """Whether an op of one tensor (None in `operands`) runs on arrays of every dtype and rank: its rule is asked."""
    row = optable.lookup(name)
    assert row is not None
    tensors = (Tensor(dtype, shape) for dtype in dtypes.ALL for shape in ((), (1,), (3,), (0,), (2, 3), (2, 1, 3)))
    return all(row.answer([x if v is None else v for v in operands], rules) is not None for x in tensors)


@lru_cache(maxsize=4096)
def takes_every_number(name: str, operands: tuple[Value, ...], rules: Promotion) -> bool:
    """Whether an op runs whatever the numbers are that are not known among its operands, all else being known: its rule is asked."""
    row = optable.lookup(name)
    assert row is not None
    open_ = [i for i, v in enumerate(operands) if type(v) in _NUMBERS and not _known(v)]
    if not all(_known(v) for i, v in enumerate(operands) if i not in open_):
        return False
    choices = [_NUMBERS[type(operands[i])] for i in open_]
    if prod(map(len, choices)) > _MOST_TRIALS:
        return False
    kinds: list[Callable[[Any], Value]] = [type(operands[i]) for i in open_]
    for numbers in product(*choices):
        chosen = {i: kind(number) for i, kind, number in zip(open_, kinds, numbers, strict=True)}
        answer = row.answer([chosen.get(i, v) for i, v in enumerate(operands)], rules)
        if answer is None or answer[1]:
            return False
    return True
