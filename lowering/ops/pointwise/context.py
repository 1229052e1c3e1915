"""What a formula works with: an op of the torch dialect seen from inside its loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import READERS
from tierup.dialect.mlir import ir, passmanager
from tierup.dialect.optable.kernels.promotion import SCALARS, Strength
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.building.arith import Scalar, constant, element_type

_NATIVE = {int: dtypes.i64, float: dtypes.f64, bool: dtypes.bool_}

Parameter = Any  # an operand that came as it is: a Python value, or a Scalar when the program computes it
Recipe = Callable[["Context"], Scalar]  # the native body of an op that types its operands in a way of its own


class NotHandled(Exception):
    """The op is left to the passes that come after."""


@dataclass(frozen=True)
class Known:
    """A tensor operand's type."""

    dtype: DType
    sizes: tuple[int | None, ...]


def tensor_type(type_: ir.Type) -> Known:
    """Raises NotHandled when rank or dtype is not known."""
    sizes, dtype = torch_types.parse_tensor(str(type_))
    if sizes is None or dtype is None:
        raise NotHandled
    return Known(dtype, sizes)


def load_casts(context: ir.Context) -> None:
    """Make the ops of `torch_c`, casts between torch's types and MLIR's, known to a context. The dialect is in no registry:
    it comes with the passes that need it."""
    if not context.is_registered_operation("torch_c.to_builtin_tensor"):
        with context, ir.Location.unknown():
            module = ir.Module.create()
            passmanager.PassManager.parse("builtin.module(torch-func-backend-type-conversion)").run(module.operation)


def builtin_tensor(value: ir.Value) -> ir.Value:
    """A torch tensor as a builtin one, at the insertion point."""
    made = b.defining_op(value, "torch_c.from_builtin_tensor")
    return made.operands[0] if made is not None else b.value("torch_c.to_builtin_tensor", [value], builtin_type(tensor_type(value.type)))


def to_builtin(value: ir.Value) -> ir.Value:
    """A torch tensor or number as a builtin one, at the insertion point. Raises NotHandled for another type."""
    if torch_types.is_value_tensor(value.type):
        return builtin_tensor(value)
    type_ = native_type(value.type)
    made = b.defining_op(value, f"torch_c.from_{type_}")
    return made.operands[0] if made is not None else b.value(f"torch_c.to_{type_}", [value], type_)


def to_torch(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A builtin value as one of a type of the torch dialect."""
    return b.value(f"torch_c.from_{value.type if str(type_) in t.NUMBERS else 'builtin_tensor'}", [value], type_)


def native(type_: ir.Type) -> DType:
    """The dtype of a number of the torch dialect. Raises NotHandled for another type."""
    if str(type_) not in t.NUMBERS:
        raise NotHandled
    return _NATIVE[t.NUMBERS[str(type_)]]


def native_type(type_: ir.Type) -> ir.Type:
    """The builtin type of a torch tensor or number. Raises NotHandled for another one."""
    return builtin_type(tensor_type(type_)) if torch_types.is_value_tensor(type_) else element_type(native(type_))


def builtin_type(known: Known) -> ir.Type:
    """The builtin tensor type of a known dtype and sizes."""
    sizes = [ir.ShapedType.get_dynamic_size() if size is None else size for size in known.sizes]
    return ir.RankedTensorType.get(sizes, element_type(known.dtype))


def parameter(value: ir.Value) -> Parameter:
    """The Python value of a constant; a Scalar for a number that the program computes. Raises NotHandled for anything else."""
    if str(value.type) in ("!torch.none", "!torch.Device"):  # there is one device
        return None
    op = b.defining_op(value)
    if op is not None:
        if op.name == "torch.derefine":
            return parameter(op.operands[0])
        if op.name in READERS:
            return READERS[op.name](op)
    dtype = native(value.type)
    return Scalar(to_builtin(value), dtype)


def number(value: ir.Value) -> Scalar:
    """A number, known or computed, as i64, f64 or i1. Raises NotHandled for anything else."""
    found = parameter(value)
    if isinstance(found, Scalar):
        return found
    if type(found) not in _NATIVE:
        raise NotHandled
    return constant(found, _NATIVE[type(found)])


def candidate(value: ir.Value) -> tuple[DType, Strength] | None:
    """The part of an operand in promotion; None for none."""
    if torch_types.is_tensor(value.type):
        known = tensor_type(value.type)
        return known.dtype, Strength.DIMENSIONED if known.sizes else Strength.RANK_0
    kind = t.NUMBERS.get(str(value.type))
    return None if kind is None else (SCALARS[kind], Strength.NUMBER)


def widened(dtype: DType) -> DType:
    """The dtype that elements are computed, and sums kept, in: f32 for the halves (ATen/OpMathType.h)."""
    return dtypes.f32 if dtype in (dtypes.f16, dtypes.bf16) else dtype


@dataclass(frozen=True)
class Context:
    """`tensors`: the elements of tensor operands, by operand number. `parameters`: all other operands, read before the loop.
    `rank_0`: the tensor operands without dimensions."""

    tensors: Mapping[int, Scalar]
    parameters: Mapping[int, Parameter]
    result: DType
    rank_0: Collection[int] = ()

    def __len__(self) -> int:
        return len(self.tensors) + len(self.parameters)

    def own(self, i: int) -> Scalar:
        """A tensor operand's element in its own dtype."""
        return self.tensors[i]

    def operand(self, i: int, dtype: DType) -> Scalar | None:
        """Operand i in `dtype`, tensor or number; None for none."""
        if i in self.tensors:
            return self.tensors[i].cast(dtype)
        value = self.parameters[i]
        if value is None:
            return None
        return value.cast(dtype) if isinstance(value, Scalar) else constant(value, dtype)

    def computed(self, i: int, common: DType, exact_second: bool = False) -> Scalar | None:
        """Operand i rounded to the common dtype, in the dtype that is computed in: f32 for the halves. `exact_second` as in Typing."""
        compute = widened(common)
        if exact_second and i == 1 and (i in self.parameters or i in self.rank_0):
            return self.operand(i, compute)
        value = self.operand(i, common)
        return None if value is None else value.cast(compute)

    def parameter(self, i: int) -> Parameter:
        """Operand i as it came; None when the op has fewer."""
        return self.tensors[i] if i in self.tensors else self.parameters.get(i)
