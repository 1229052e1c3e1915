"""In-place ops: each the twin of a functional one, whose row says what it computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect import optable
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import at_least
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.kernels.axes import name_of
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Op, Promotion, ShapeError
from tierup.dialect.optable.padding import check_element

# Every op of the torch dialect that writes operand 0 and has a functional twin of the same operands.
_TWINS = """
    abs_ absolute_ acos_ acosh_ add_.Scalar add_.Tensor addcdiv_ addcmul_ asin_ asinh_ atan2_ atan_ atanh_ baddbmm_
    bitwise_and_.Scalar bitwise_and_.Tensor bitwise_left_shift_.Tensor bitwise_not_ bitwise_or_.Tensor bitwise_right_shift_.Tensor
    bitwise_xor_.Tensor ceil_ celu_ clamp_ clamp_.Tensor clamp_max_ clamp_max_.Tensor clamp_min_ clamp_min_.Tensor copysign_.Tensor
    cos_ cosh_ div_.Scalar div_.Scalar_mode div_.Tensor div_.Tensor_mode elu_ eq_.Scalar eq_.Tensor erf_ exp2_ exp_ expm1_ fix_
    floor_ fmod_.Scalar frac_ ge_.Scalar ge_.Tensor gt_.Scalar gt_.Tensor hardsigmoid_ hardswish_ hardtanh_ heaviside_ le_.Scalar
    le_.Tensor leaky_relu_ lerp_.Scalar lerp_.Tensor log10_ log1p_ log2_ log_ logical_and_ logical_not_ logical_or_ logical_xor_
    logit_ lt_.Scalar lt_.Tensor masked_fill_.Scalar masked_fill_.Tensor masked_scatter_ mul_.Scalar mul_.Tensor ne_.Scalar
    ne_.Tensor neg_ reciprocal_ relu6_ relu_ round_ round_.decimals rsqrt_ selu_ sgn_ sigmoid_ sign_ silu_ sin_ sinh_ sqrt_ square_
    sub_.Scalar sub_.Tensor tan_ tanh_ threshold_ tril_ triu_ trunc_
""".split()  # noqa: SIM905 - a list of words

# Those that write a part of operand 0 only: their kernels do so directly.
_PARTIAL = {
    "scatter_.src": ("indexing:scatter_", None),
    "scatter_.value": ("indexing:scatter_value_", None),
    "scatter_add_": ("indexing:scatter_add_", None),
    "index_put_": ("indexing:index_put_", "indexing:index_put_under_numpy_"),
    "index_put_.hacked_twin": ("indexing:index_put_", "indexing:index_put_under_numpy_"),
}

# On an aten.copy that stands for the write of an in-place op: "same_kind" (NumPy's casting rule) or "can_cast" (torch's). The copy raises
# where the in-place op would: a dtype that the rule does not convert, a shape that is not the written tensor's.
INPLACE = "tierup.inplace"
COPIES = {"can_cast": "inplace.copy_if_can_cast", "same_kind": "numpy_inplace.copy_if_same_kind"}  # such a copy's kernel

_FAMILIES = ("arithmetic", "division", "elementary", "activations", "selection", "comparison", "padding", "indexing", "products")
_FUNCTIONAL = {op.name: op for family in _FAMILIES for op in optable.rows_of(family)}


def functional_name(name: str) -> str:
    """add_.Tensor -> aten.add.Tensor."""
    base, dot, overload = name.partition(".")
    return f"aten.{base.removesuffix('_')}{dot}{overload}"


def _check_dtype(ctx: Infer, result: DType | None, target: DType | None) -> None:
    """What an in-place op may not convert: another category in torch, beyond the same kind in NumPy."""
    if result is None or target is None:
        return
    if ctx.promotion is Promotion.NUMPY:
        if not np.can_cast(result.numpy, target.numpy, "same_kind"):
            raise TypeError(f"Cannot cast output from {result.numpy} to {target.numpy} with casting rule 'same_kind'")
    elif result.category > target.category:
        raise TypeError(f"result type {name_of(result.numpy)} can't be cast to the desired output type {name_of(target.numpy)}")


def _check_shape(ctx: Infer, result: Shape | None, target: Shape | None) -> None:
    """The result has operand 0's shape: it is not enlarged by broadcasting."""
    if result is None or target is None:
        return
    what = "output's shape doesn't match the broadcast shape"
    if len(result) != len(target):
        raise ShapeError(what)
    for found, wanted in zip(result, target, strict=True):
        if wanted == 1 and at_least(found, 2):
            raise ShapeError(what)
        ctx.equal(found, wanted, what)


def _written(ctx: Infer, x: Value, result: Value) -> Tensor:
    target = read.whole(x)
    if isinstance(result, Tensor):
        _check_dtype(ctx, result.dtype, target.dtype)
        _check_shape(ctx, result.shape, target.shape)
    return target


def check_copy(ctx: Infer, rule: str, operands: Sequence[Value]) -> None:
    """What an aten.copy with the attribute INPLACE refuses. Raises TypeError for its dtype, ShapeError for its shape."""
    ctx.promotion = Promotion.NUMPY if rule == "same_kind" else Promotion.TORCH
    _written(ctx, operands[0], operands[1])


def converts(op: Op) -> bool:
    """Whether the functional twin of an in-place op may give another dtype or shape than operand 0's."""
    return op.name.removeprefix("aten.") in _TWINS


def twin_keeps_layout(op: Op) -> bool:
    """Whether the functional twin of an op that writes a part gives the layout of operand 0: PyTorch's scatters give a row-major tensor."""
    return "scatter" not in op.name


def _twin_rule(functional: str) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        row = optable.lookup(functional)
        assert row is not None  # _twin found it
        result = row.infer(ctx, operands)
        assert not isinstance(result, tuple)
        return _written(ctx, operands[0], result)

    return infer


def _copy(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    target, source = read.whole(operands[0]), read.whole(operands[1])
    if target.shape is not None and source.shape is not None:
        sizes = source.shape
        if ctx.promotion is Promotion.NUMPY:
            while len(sizes) > len(target.shape) and sizes[0] == 1:  # an assignment drops leading ones
                sizes = sizes[1:]
        _check_shape(ctx, ctx.broadcast([target.shape, sizes]), target.shape)
    return target


@read.or_unknown
def _check_assigned(value: Value, dtype: DType | None) -> None:
    """NumPy's `x[...] = value`: integers refuse a Python number that they cannot hold, NaN too."""
    number = read.number(value)
    if dtype is not None:
        try:
            with np.errstate(all="ignore"):
                np.zeros((), dtype.numpy)[...] = number
        except (OverflowError, ValueError) as e:
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


def _twin(name: str) -> Op:
    functional = functional_name(name)
    of = _FUNCTIONAL[functional]
    kernel = f"inplace.{name.replace('.', '_')}"
    return Op(
        f"aten.{name}", of.kind, kernel, _twin_rule(functional), aliasing=Aliasing.SELF, functional=functional,
        numpy=f"numpy_{kernel}" if of.numpy else None, native=of.native, tolerance=of.tolerance,
        raises=of.raises, note=of.note,
    )  # fmt: skip


def _partial(name: str, kernel: str, numpy: str | None) -> Op:
    functional = functional_name(name)
    of = _FUNCTIONAL[functional]
    return Op(
        f"aten.{name}", of.kind, kernel, of.infer, aliasing=Aliasing.SELF, functional=functional,
        numpy=numpy, native=of.native, tolerance=of.tolerance, raises=of.raises, note=of.note,
    )  # fmt: skip


def _assignment(name: str, kernel: str, infer: InferRule, functional: str, numpy: bool = True) -> Op:
    return Op(
        f"aten.{name}", Kind.MOVEMENT, f"inplace.{kernel}", infer, aliasing=Aliasing.SELF, functional=functional,
        numpy=f"numpy_inplace.{kernel}" if numpy else None, tolerance=EXACT, note="converts to operand 0's dtype, whatever that loses",
    )  # fmt: skip


ROWS = (
    *map(_twin, _TWINS),
    *(_partial(name, *kernels) for name, kernels in _PARTIAL.items()),
    _assignment("copy_", "copy_", _copy, "aten.copy"),
    _assignment("fill_.Scalar", "fill_", _fill, "aten.fill.Scalar"),
    _assignment("fill_.Tensor", "fill_", _fill, "aten.fill.Tensor"),
    _assignment("zero_", "zero_", lambda ctx, operands: read.whole(operands[0]), "aten.zero", numpy=False),
)
