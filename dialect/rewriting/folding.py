"""Running single ops of a program while it is compiled: which values are known, what an op gives for them, constants for that.

The kernels are tier 0's, by the op table, so what is folded is what a run computes, to the bit. Nothing here raises: an op whose kernel
raises is left, and raises when the program runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.values import List, Tensor, Value
from tierup.dialect.ir import literals, torch_types
from tierup.dialect.ir.attributes import PROMOTION, READERS, TYPES, constant
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import NUMPYS_STEPS, Kind, Op, Promotion
from tierup.dialect.optable.operands import lifted
from tierup.dialect.optable.rows import kernel_of
from tierup.dialect.optable.written import COPIES, INPLACE

NOTHING = object()  # "not known": None is a value
_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


class NotFolded(Exception):
    """The op stays as it is."""


class Known:
    """The values of a program that are the same in every run, as Python and NumPy values. Arrays are shared: nobody writes them."""

    def __init__(self) -> None:
        self._values: dict[ir.Value, Any] = Notes()

    def get(self, value: ir.Value) -> Any:
        """The value, or NOTHING."""
        return self._values.get(value, NOTHING)

    def set(self, value: ir.Value, known: Any) -> None:
        """Note what a value is in every run."""
        self._values[value] = known

    def all_of(self, values: Sequence[ir.Value]) -> list[Any] | None:
        """All the values, or None when one is not known."""
        found = [self.get(v) for v in values]
        return None if any(v is NOTHING for v in found) else found


def read_constant(op: ir.Operation) -> Any:
    """The value of a constant or tensor literal; NOTHING for another op."""
    if op.name in READERS:
        return READERS[op.name](op)
    if op.name in ("torch.vtensor.literal", "torch.tensor.literal"):
        try:
            array = literals.decode(op)
        except literals.UnreadableLiteral:
            return NOTHING  # tier 0 says so when it comes to it
        array.flags.writeable = False
        return array
    return NOTHING


def evaluate(op: ir.Operation, row: Op, operands: Sequence[Any], max_elements: int) -> tuple[Any, ...]:
    """What the op gives, one value per result. Raises NotFolded where its kernel raises, or where it would read or make more than
    `max_elements` elements."""
    promotion = Promotion.NUMPY if PROMOTION in op.attributes or NUMPYS_STEPS in op.attributes else Promotion.TORCH
    if any(_size(v) > max_elements for v in operands) or not _is_small(row, operands, promotion, max_elements):
        raise NotFolded
    copies = INPLACE in op.attributes
    kernel = kernels.resolve(COPIES[ir.StringAttr(op.attributes[INPLACE]).value] if copies else kernel_of(op, row))
    try:
        with np.errstate(all="ignore"):
            found = kernel(*operands)
    except Exception as e:  # whatever it is, it is for the run to raise
        raise NotFolded from e
    results = (found,) if row.results == 1 else tuple(found)
    if len(results) != len(op.results):
        raise NotFolded
    return results


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    return sum(map(_size, value)) + len(value) if isinstance(value, (list, tuple)) else 0


def _is_small(row: Op, operands: Sequence[Any], promotion: Promotion, limit: int) -> bool:
    """Whether the rule finds that the results are of a known size within the limit: asked before anything of that size is made."""
    if row.kind is Kind.SCALAR and any(isinstance(v, list) for v in operands):  # a list repeated
        factor = max((v for v in operands if type(v) is int), default=1)
        if row.name == "aten.mul.left_t" and factor * sum(map(_size, operands)) > limit:
            return False
    answer = row.answer([lifted(v) for v in operands], promotion)
    return answer is not None and all(_is_within(v, limit) for v in answer[0])


def _is_within(value: Value, limit: int) -> bool:
    if isinstance(value, Tensor):
        if value.shape is None or not all(isinstance(d, int) for d in value.shape):
            return False
        return math.prod(d for d in value.shape if isinstance(d, int)) <= limit
    if isinstance(value, List):
        return value.items is not None and len(value.items) <= limit and all(_is_within(v, limit) for v in value.items)
    return True


def materialise(value: Any, type_: ir.Type, op: ir.Operation, known: Known) -> ir.Value:
    """A constant before `op` for a value that `check_constant` passed, as a `type_`."""
    if isinstance(value, (list, tuple)):
        items = [materialise(v, t, op, known) for v, t in zip(value, _item_types(value, type_), strict=True)]
        name = "torch.prim.ListConstruct" if isinstance(value, list) else "torch.prim.TupleConstruct"
        made = _create(name, type_, {}, op, items)
    elif isinstance(value, np.ndarray):
        full = _literal_type(value, type_)
        attribute = literals.encode(value, dtypes.BY_MLIR[_dtype_of(full)], op.context)
        name = "torch.vtensor.literal" if torch_types.is_value_tensor(type_) else "torch.tensor.literal"
        made = _create(name, full, {"value": attribute}, op)
    else:
        made = constant(value, ir.InsertionPoint(op), op.location)
    result = cast(made, type_, ir.InsertionPoint(op))
    for one in (made, result):
        known.set(one, value)
    return result


def check_constant(value: Any, type_: ir.Type) -> None:
    """Raises NotFolded where no constant of a `type_` says the value."""
    if isinstance(value, (list, tuple)):
        for item, item_type in zip(value, _item_types(value, type_), strict=True):
            check_constant(item, item_type)
    elif isinstance(value, np.ndarray):
        if not _forgets(_literal_type(value, type_), type_):
            raise NotFolded
    else:
        if type(value) not in TYPES or (type(value) is int and not _LOW <= value <= _HIGH):
            raise NotFolded
        made, wanted = TYPES[type(value)], str(type_)
        numbers = made in ("!torch.int", "!torch.float") and wanted == "!torch.number"
        optional = wanted.startswith("!torch.optional<") and (value is None or torch_types.elements(wanted)[0] == made)
        if made != wanted and not numbers and not optional:
            raise NotFolded


def _item_types(items: Sequence[Any], type_: ir.Type) -> list[ir.Type]:
    text = str(type_)
    if not text.startswith("!torch.list<" if isinstance(items, list) else "!torch.tuple<"):
        raise NotFolded
    types = [ir.Type.parse(t, type_.context) for t in torch_types.elements(text)]
    types = types * len(items) if isinstance(items, list) else types
    if len(types) != len(items):
        raise NotFolded
    return types


def _literal_type(array: np.ndarray, type_: ir.Type) -> ir.Type:
    """All that is known of an array: as a constant, or as a new tensor each time where it may be written."""
    dtype = dtypes.from_numpy(array.dtype)
    if dtype is None or not torch_types.is_tensor(type_):
        raise NotFolded
    shared = torch_types.is_value_tensor(type_)
    return torch_types.tensor_type(Tensor(dtype, tuple(array.shape)), value_semantics=shared, context=type_.context)


def _dtype_of(type_: ir.Type) -> str:
    dtype = torch_types.parse_tensor(str(type_))[1]
    assert dtype is not None  # of a literal's type
    return dtype.mlir


def _forgets(type_: ir.Type, wanted: ir.Type) -> bool:
    """Whether `wanted` states nothing that a literal's type does not."""
    (sizes, dtype), (wanted_sizes, wanted_dtype) = (torch_types.parse_tensor(str(t)) for t in (type_, wanted))
    if wanted_dtype not in (None, dtype):
        return False
    if wanted_sizes is None or sizes is None:
        return wanted_sizes is None
    return len(wanted_sizes) == len(sizes) and all(w in (None, s) for w, s in zip(wanted_sizes, sizes, strict=True))


def _create(
    name: str, type_: ir.Type, attributes: dict[str, ir.Attribute], op: ir.Operation, operands: Sequence[ir.Value] = ()
) -> ir.Value:
    made = ir.Operation.create(name, [type_], list(operands), attributes, loc=op.location, ip=ir.InsertionPoint(op))
    return made.operation.results[0]


def same_constant(a: Any, b: Any) -> bool:
    """Whether two known numbers, strings or Nones are one: of one type, the same bits. Nothing else is: arrays and lists are objects."""
    if a is NOTHING or b is NOTHING or type(a) is not type(b) or not isinstance(a, (bool, int, float, str, type(None))):
        return False
    return np.float64(a).tobytes() == np.float64(b).tobytes() if isinstance(a, float) else bool(a == b)
