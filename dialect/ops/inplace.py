"""In-place ops: each the twin of a functional one, whose row says what it computes. That is written into operand 0, which is returned.

Errors besides the functional op's: TypeError where the result's category does not fit into operand 0's dtype (float into int, int into
bool; in NumPy's Python beyond the same kind), ValueError where its shape is not operand 0's, operand 0 is read-only, or its memory is such
as PyTorch refuses to write (kernels/overlap.py). Of dtype and shape PyTorch refuses the shape first, NumPy the dtype. Nothing is written
when an error is raised.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ops.movement.padding import check_element
from tierup.dialect.ops.pointwise.casts import copy
from tierup.dialect.ops.scalars.facts import check_output
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Op, Promotion, ShapeError, TakesComplex
from tierup.dialect.optable.define import DefinedOp, Kernel, op
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import Number, cast, element
from tierup.dialect.optable.written import check_category, check_same_kind, check_shape, fitting

# Every op that writes operand 0 and has a functional twin of the same operands in the table, and matmul_, which NumPy alone has.
_TWINS = """
    abs_ absolute_ acos_ acosh_ add_.Scalar add_.Tensor addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ asin_ asinh_ atan2_ atan_ atanh_
    baddbmm_ bitwise_and_.Scalar bitwise_and_.Tensor bitwise_left_shift_.Tensor bitwise_not_ bitwise_or_.Scalar bitwise_or_.Tensor
    bitwise_right_shift_.Tensor bitwise_xor_.Scalar bitwise_xor_.Tensor ceil_ celu_ clamp_ clamp_.Tensor clamp_max_ clamp_max_.Tensor
    clamp_min_ clamp_min_.Tensor copysign_.Tensor cos_ cosh_ cumprod_ cumsum_ deg2rad_ digamma_ div_.Scalar div_.Scalar_mode div_.Tensor
    div_.Tensor_mode elu_ eq_.Scalar eq_.Tensor erf_ erfc_ erfinv_ exp2_ exp_ expm1_ fix_ floor_ floor_divide_.Scalar floor_divide_.Tensor
    fmod_.Scalar fmod_.Tensor frac_ ge_.Scalar ge_.Tensor gelu_ gt_.Scalar gt_.Tensor hardsigmoid_ hardswish_ hardtanh_ heaviside_ hypot_
    index_add_ index_copy_ index_fill_.int_Scalar le_.Scalar le_.Tensor leaky_relu_ lerp_.Scalar lerp_.Tensor lgamma_ log10_ log1p_ log2_
    log_ logical_and_ logical_not_ logical_or_ logical_xor_ logit_ lt_.Scalar lt_.Tensor masked_fill_.Scalar masked_fill_.Tensor
    masked_scatter_ matmul_ mish_ mul_.Scalar mul_.Tensor nan_to_num_ ne_.Scalar ne_.Tensor neg_ pow_.Scalar pow_.Tensor rad2deg_
    reciprocal_ relu6_ relu_ remainder_.Scalar remainder_.Tensor round_ round_.decimals rsqrt_ scatter_.reduce scatter_reduce_.two selu_
    sgn_ sigmoid_ sign_ silu_ sin_ sinc_ sinh_ sqrt_ square_ sub_.Scalar sub_.Tensor tan_ tanh_ threshold_ tril_ triu_ trunc_
    xlogy_.Tensor
""".split()  # noqa: SIM905 - a list of words

# Those that write a part of operand 0 only: their kernels do so directly.
_PARTIAL = {
    "scatter_.src": ("indexing.scatters:scatter_", None),
    "scatter_.value": ("indexing.scatters:scatter_value_", None),
    "scatter_add_": ("indexing.scatters:scatter_add_", None),
    "index_put_": ("indexing.by_tensors:index_put_", "indexing.by_tensors:index_put_under_numpy_"),
    "index_put_.hacked_twin": ("indexing.by_tensors:index_put_", "indexing.by_tensors:index_put_under_numpy_"),
}

_FAMILIES = (
    "pointwise.arithmetic", "pointwise.division", "pointwise.elementary", "pointwise.activations", "pointwise.selection",
    "pointwise.comparison", "pointwise.gamma", "movement.padding", "indexing.by_tensors", "indexing.scatters",
    "indexing.scatter_reductions", "indexing.masks", "reductions.scans", "products", "formulas",
)  # fmt: skip
_FUNCTIONAL: dict[str, Any] = {op.name: op for family in _FAMILIES for op in optable.rows_of(family)}


_OTHERWISE = {"pow_.Scalar": "aten.pow.Tensor_Scalar", "pow_.Tensor": "aten.pow.Tensor_Tensor", "floor_divide_.Tensor": "aten.floor_divide"}


def functional_name(name: str) -> str:
    """add_.Tensor -> aten.add.Tensor."""
    base, dot, overload = name.partition(".")
    if name in _OTHERWISE:
        return _OTHERWISE[name]
    return f"aten.{base.removesuffix('_')}{dot}{overload}"


def converts(op: Op) -> bool:
    """Whether the functional twin of an in-place op may give another dtype or shape than operand 0's."""
    return op.name.removeprefix("aten.") in _TWINS


def twin_keeps_layout(op: Op, promotion: Promotion) -> bool:
    """Whether the functional twin of an op gives the layout of operand 0, gaps in memory included: of PyTorch's `copy` alone does."""
    return op.functional == "aten.copy" or (promotion is Promotion.NUMPY and "scatter" not in op.name)


# --- tier 0 ------------------------------------------------------------------------------------------------------------


def _check_shape_of_array(shape: tuple[int, ...], target: np.ndarray) -> None:
    if shape != target.shape:
        raise ValueError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


def copy_if_can_cast(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """What x would hold after an in-place op whose functional twin gives source, fresh. Raises as the in-place op does."""
    _check_shape_of_array(source.shape, x)
    check_category(dtypes.from_numpy(source.dtype), dtypes.from_numpy(x.dtype))
    return copy(x, source)


# One value goes to some elements, and the others stay: PyTorch takes tensors for it that show elements more than once.
_FILLING = frozenset({"index_fill_.int_Scalar", "masked_fill_.Scalar", "masked_fill_.Tensor", "threshold_", "tril_", "triu_"})

_BY_INDEX = frozenset({*_PARTIAL, "index_add_", "index_copy_", "scatter_.reduce", "scatter_reduce_.two"})


def writes_by_index(op: Op) -> bool:
    """Whether an op writes where an index says, while it reads: PyTorch refuses to read what it writes."""
    return op.name.removeprefix("aten.") in _BY_INDEX


def _written(functional: Kernel, name: str) -> Kernel:
    fills = name in _FILLING

    def tier0(x: np.ndarray, *rest: Any) -> np.ndarray:
        if not fills:
            overlap.refuse(x, *rest)
        if name in _BY_INDEX:
            overlap.refuse_shared(x, *rest)
        result = functional(x, *rest)
        _check_shape_of_array(result.shape, x)
        check_category(dtypes.from_numpy(result.dtype), dtypes.from_numpy(x.dtype))
        result = cast(result, x.dtype)
        bits = np.dtype(f"u{x.itemsize}")
        np.copyto(x, result, where=result.view(bits) != x.view(bits) if fills else True)  # what stays must not undo what is filled
        return x

    return tier0


def copy_if_same_kind(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """The same under NumPy's rules."""
    written: np.ndarray = _written_by_numpy(lambda x: source)(x.copy(order="K"))
    return written


def write_output(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """Write a ufunc's result into the array that it was given as `out`."""
    check_output(x, source)
    np.copyto(x, source, casting="unsafe")
    return x


def copy_output(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """What x holds then."""
    return write_output(x.copy(order="K"), source)


def _written_by_numpy(functional: Kernel) -> Kernel:
    def tier0(x: np.ndarray, *rest: Any) -> np.ndarray:
        if not x.flags.writeable:
            raise ValueError("output array is read-only")
        result = functional(x, *rest)
        check_same_kind(dtypes.from_numpy(result.dtype), dtypes.from_numpy(x.dtype))
        if result.shape != x.shape:
            raise ValueError(f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast shape {result.shape}")
        np.copyto(x, result, casting="same_kind")
        return x

    return tier0


_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "fmod": np.fmod,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "pow": np.power,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip
_ROUNDED = {"floor": np.floor_divide, None: np.true_divide}


def _by_numpy(functional: DefinedOp[Any]) -> Kernel:
    """What `x += y` does, casting errors (UFuncTypeError) included: a ufunc with `out=x` where NumPy has one for the op."""
    base, _, overload = functional.name.removeprefix("aten.").partition(".")
    otherwise = _written_by_numpy(functional.numpy_tier0)
    if overload.endswith("_mode"):
        return lambda x, y, mode: _ROUNDED[mode](x, y, out=x) if mode in _ROUNDED else otherwise(x, y, mode)
    if base == "matmul":
        return operator.imatmul  # which words what does not fit in another way than the ufunc
    if base not in _UFUNCS:
        return otherwise
    ufunc = _UFUNCS[base]
    return lambda x, y, alpha=1: ufunc(x, y if alpha == 1 else np.multiply(y, alpha), out=x)


def _value_by_numpy(writes: Kernel, functional: Kernel) -> Kernel:
    def tier0(x: np.ndarray, *rest: Any) -> np.ndarray:
        try:
            result: np.ndarray = functional(x, *rest)
        except ValueError:
            writes(x.copy(), *rest)  # which looks at dtypes before shapes
            raise
        if result.shape != x.shape or not np.can_cast(result.dtype, x.dtype, "same_kind"):
            writes(x.copy(), *rest)  # it raises here, as inference says: nobody may read the copy behind it
        return result

    return tier0


# --- the ops -----------------------------------------------------------------------------------------------------------


def _rule(of: DefinedOp[Any]) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        result = of.infer(ctx, operands)
        assert not isinstance(result, tuple)
        return fitting(ctx, operands[0], result)

    return infer


def _in_place(name: str, infer: InferRule, kernel: str, numpy: str | None) -> DefinedOp[Any]:
    of = _FUNCTIONAL[functional_name(name)]
    return DefinedOp(
        f"aten.{name}", of.kind, kernel, infer, aliasing=Aliasing.SELF, functional=of.name, numpy=numpy, native=of.native,
        tolerance=of.tolerance, raises=of.raises, note=of.note, operands=of.operands, takes_complex=_of_twin(of),
    )  # fmt: skip


def _of_twin(of: Op) -> TakesComplex:
    """What the functional op takes; of complex numbers that become real ones NumPy warns, or refuses them."""
    return of.complex_operands if of.complex_operands is TakesComplex.NONE else TakesComplex.KEPT


def _twin(name: str) -> DefinedOp[Any]:
    of = _FUNCTIONAL[functional_name(name)]
    place = f"inplace:{name.replace('.', '_')}"
    made = _in_place(name, _rule(of), f"{place}.tier0", f"{place}.numpy_tier0" if of.numpy else None)
    made.tier0 = _written(of.tier0, name)
    if of.numpy:
        made.numpy_tier0 = _by_numpy(of)
        made.numpy_value = _value_by_numpy(made.numpy_tier0, of.numpy_tier0)
    return made


def _of_part(name: str, kernel: str, numpy: str | None) -> DefinedOp[Any]:
    return _in_place(name, _FUNCTIONAL[functional_name(name)].infer, kernel, numpy)


_assignment = partial(
    op, kind=Kind.MOVEMENT, aliasing=Aliasing.SELF, overwrites=True, tolerance=EXACT, takes_complex=TakesComplex.KEPT,
    note="converts to operand 0's dtype, whatever that loses",
)  # fmt: skip


def _copy(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    target, source = read.whole(operands[0]), read.whole(operands[1])
    if target.shape is not None and source.shape is not None:
        sizes = source.shape
        if ctx.promotion is Promotion.NUMPY:
            while len(sizes) > len(target.shape) and sizes[0] == 1:  # an assignment drops leading ones
                sizes = sizes[1:]
        check_shape(ctx, ctx.broadcast([target.shape, sizes]), target.shape)
    return target


@_assignment("aten.copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", infer=_copy, functional="aten.copy")
def copy_(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """source broadcast to x's shape and converted to its dtype, whatever that loses. A copy to itself is left."""
    if source is x:
        return x
    try:
        shape = np.broadcast_shapes(x.shape, source.shape)
    except ValueError:
        raise ValueError(
            f"The size of tensor a {list(x.shape)} must match the size of tensor b {list(source.shape)} at non-singleton dimensions"
        ) from None
    _check_shape_of_array(shape, x)
    overlap.refuse(x, source)
    x[...] = cast(source, x.dtype)
    return x


@copy_.under_numpy(form="")
def _(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    x[...] = source
    return x


@read.or_unknown
def _check_assigned(value: Value, dtype: DType | None) -> None:
    """NumPy's `x[...] = value`: integers refuse a Python number that they cannot hold, NaN too."""
    number = read.number(value)
    if dtype is not None:
        try:
            with np.errstate(all="ignore"):
                np.zeros((), dtype.numpy)[...] = number
        except ValueError as e:
            raise ShapeError(str(e)) from None


def _fill(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, value = operands
    if not isinstance(value, Tensor):
        if ctx.promotion is Promotion.NUMPY:
            _check_assigned(value, read.dtype_of(x))
        else:
            check_element(value, read.dtype_of(x))
    elif value.rank and ctx.promotion is Promotion.TORCH:
        raise ShapeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.rank} dimensions.")
    elif value.rank:
        return _copy(ctx, operands)
    return read.whole(x)


@_assignment("aten.fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", infer=_fill, functional="aten.fill.Scalar")
def fill_(x: np.ndarray, value: Number) -> np.ndarray:
    """ValueError where the dtype cannot hold the value."""
    x[...] = element(value, x.dtype)
    return x


@_assignment("aten.fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", infer=_fill, functional="aten.fill.Tensor")
def fill_with_tensor_(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The value of a rank-0 tensor, of which PyTorch makes a copy_."""
    fill_with_tensor_.checked(x, value)
    overlap.refuse_repeats(x)
    x[...] = cast(value, x.dtype)
    return x


@fill_.under_numpy(form="")
@fill_with_tensor_.under_numpy(form="")
def _(x: np.ndarray, value: Any) -> np.ndarray:
    """x[...] = value, a number or, of rank 0, a NumPy scalar. Integers refuse what they cannot hold: OverflowError, ValueError for NaN."""
    x[...] = value[()] if isinstance(value, np.ndarray) else value
    return x


@_assignment("aten.zero_(Tensor(a!) self) -> Tensor(a!)", infer=lambda ctx, operands: read.whole(operands[0]), functional="aten.zero")
def zero_(x: np.ndarray) -> np.ndarray:
    x[...] = 0
    return x


for _name in _TWINS:
    globals()[_name.replace(".", "_")] = _twin(_name)

ROWS = (*(globals()[name.replace(".", "_")] for name in _TWINS), *(_of_part(name, *kernels) for name, kernels in _PARTIAL.items()),
        copy_, fill_, fill_with_tensor_, zero_)  # fmt: skip
