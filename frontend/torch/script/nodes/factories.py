"""Tensors that a TorchScript program makes of numbers and lists of them: what the list's type says of their dtype, leaves of autograd's.

    aten::tensor(%l, %none, ...)  of a %l : int[]    is    aten::tensor(%l, int64, ...)      where %l may be empty
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, is_none, under_casts
from tierup.frontend.torch.script.builder import Builder

_OF_INTS = {"IntType": dtypes.i64, "BoolType": dtypes.bool_}


def of_tensor(builder: Builder, node: Any, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """The operands of `torch.tensor` with the dtype that it has where the program names none. Raises LeftToPyTorch for what is a leaf."""
    data, dtype, device, leaf = operands
    if bool_of(leaf) is not False:
        builder.attributes.leave("a tensor that the program makes requires a gradient")
    element = next(node.inputs()).type()
    while element.kind() == "ListType":
        element = element.getElementType()
    if is_none(under_casts(dtype)) and element.kind() in _OF_INTS:
        dtype = builder.em.int(_OF_INTS[element.kind()].code)
    return [data, dtype, device, leaf]
