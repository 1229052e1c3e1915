"""What is written into a tensor: which dtypes and shapes fit there.

`aten.copy` with the attribute INPLACE stands for the write of an in-place op in a graph of values: "same_kind" (NumPy's casting rule) or
"can_cast" (torch's). It raises where the in-place op would: for a dtype that the rule does not convert, a shape that is not the written
tensor's. "out" stands for what a ufunc writes into the array that it is given for its result: to its shape results are broadcast, any dtype
is converted.

The functional twin of an op under NumPy's rules carries WRITTEN_BY, the in-place op's name, where its operands may not fit one another:
the dtype that does not go into operand 0 is refused before their shapes. It raises where that op would, so nothing behind it has to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect.base.dtypes import DType, scalar_type
from tierup.dialect.facts.dims import at_least
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import Infer, Promotion, ShapeError

INPLACE = "tierup.inplace"
WRITTEN_BY = "tierup.written_by"
COPIES = {"can_cast": "inplace:copy_if_can_cast", "same_kind": "inplace:copy_if_same_kind", "out": "inplace:copy_output"}  # its kernel
WRITE = "inplace:write_output"  # that of an aten.copy_ with the attribute, which is "out" there


def check_same_kind(result: DType | None, target: DType | None) -> None:
    """What NumPy's operators do not convert: beyond the same kind."""
    if result is not None and target is not None and not np.can_cast(result.numpy, target.numpy, "same_kind"):
        raise TypeError(f"Cannot cast output from {result.numpy} to {target.numpy} with casting rule 'same_kind'")


def check_category(result: DType | None, target: DType | None) -> None:
    """What torch's in-place ops do not convert, to another category: c10/core/ScalarType.h: canCast."""
    if result is not None and target is not None and result.category > target.category:
        raise TypeError(f"result type {scalar_type(result.numpy)} can't be cast to the desired output type {scalar_type(target.numpy)}")


def check_shape(ctx: Infer, result: Shape | None, target: Shape | None) -> None:
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


def fitting(ctx: Infer, x: Value, result: Value) -> Tensor:
    """Operand 0 after the write of a result. Raises TypeError and ShapeError for one that does not fit: of one that fits in neither way
    NumPy refuses the dtype, torch the shape."""
    target = read.whole(x)
    if isinstance(result, Tensor):
        if ctx.promotion is Promotion.NUMPY:
            check_same_kind(result.dtype, target.dtype)
        check_shape(ctx, result.shape, target.shape)
        if ctx.promotion is Promotion.TORCH:
            check_category(result.dtype, target.dtype)
    return target


def check_copy(ctx: Infer, rule: str, operands: Sequence[Value]) -> None:
    """What an aten.copy with the attribute INPLACE refuses. Raises TypeError for its dtype, ShapeError for its shape."""
    if rule == "out":
        target, source = read.whole(operands[0]).shape, read.whole(operands[1]).shape
        if target is not None and source is not None:
            check_shape(ctx, ctx.broadcast([target, source]), target)
        return
    ctx.promotion = Promotion.NUMPY if rule == "same_kind" else Promotion.TORCH
    fitting(ctx, operands[0], operands[1])
