"""Building ops of the torch dialect in our passes, at the insertion point, with full types."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.rewriting import int_of
from tierup.dialect.mlir import ir
from tierup.lowering import builders as b

SizesOrUnknown = Sequence["int | None"]
known_int = int_of


def tensor_type(sizes: SizesOrUnknown, dtype: DType) -> ir.Type:
    text = ",".join("?" if size is None else str(size) for size in sizes)
    return ir.Type.parse(f"!torch.vtensor<[{text}],{dtype.mlir}>")


def int_type() -> ir.Type:
    return ir.Type.parse("!torch.int")


def bool_type() -> ir.Type:
    return ir.Type.parse("!torch.bool")


def integer(number: int) -> ir.Value:
    return b.value("torch.constant.int", [], int_type(), value=ir.IntegerAttr.get(b.integer_type(64), number))


def sizes_of(tensor: ir.Value) -> tuple[tuple[int | None, ...], DType] | None:
    """Sizes and dtype of a tensor's type, None when they are not known."""
    sizes, dtype = torch_types.parse_tensor(str(tensor.type))
    return None if sizes is None or dtype is None else (sizes, dtype)


def size(tensor: ir.Value, axis: int) -> ir.Value:
    """A size, as a constant when it is static."""
    known = sizes_of(tensor)
    if known is not None and known[0][axis] is not None:
        return integer(known[0][axis] or 0)
    return b.value("torch.aten.size.int", [tensor, integer(axis)], int_type())


def elementwise_bool(name: str, operands: Sequence[ir.Value], like: ir.Value) -> ir.Value:
    """A pointwise op that gives a bool for each element of `like`."""
    known = sizes_of(like)
    assert known is not None
    return b.value(f"torch.aten.{name}", operands, tensor_type(known[0], dtypes.bool_))


def check_all(condition: ir.Value, message: str) -> None:
    """Assert that every element of a bool tensor is true."""
    every = b.value("torch.aten.all", [condition], tensor_type((), dtypes.bool_))
    check(b.value("torch.aten.Bool.Tensor", [every], bool_type()), message)


def check(condition: ir.Value, message: str) -> None:
    b.op("torch.runtime.assert", [condition], message=ir.StringAttr.get(message))
