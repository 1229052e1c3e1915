"""Tensors filled with one number: dialect/kernels/factories.py as loops. `empty` is zeros, so that every run gives the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering import tensors
from tierup.lowering.pointwise.context import NotHandled, parameter, tensor_type
from tierup.lowering.pointwise.formula import Parameter
from tierup.lowering.pointwise.scalar import Scalar, constant
from tierup.lowering.reductions.call import Call
from tierup.lowering.tensors import Tensor


def _filled(c: Call, value: Parameter, sizes: Sequence[ir.Value | int]) -> Tensor:
    """`sizes`: ints, or index values where the result's type says `?`."""
    known = tensor_type(c.op.results[0].type)
    if len(sizes) != len(known.sizes):
        raise NotHandled
    number = value.cast(known.dtype) if isinstance(value, Scalar) else constant(value, known.dtype)
    dynamic = [b.index(v) if isinstance(v, int) else v for v, size in zip(sizes, known.sizes, strict=True) if size is None]
    return Tensor(tensors.filled(known.sizes, dynamic, number), known.dtype, known.sizes)


def _listed(c: Call, i: int) -> list[ir.Value | int]:
    """Sizes given as a list of ints of the program."""
    owner = c.op.operands[i].owner
    if not isinstance(owner, (ir.Operation, ir.OpView)) or owner.operation.name != "torch.prim.ListConstruct":
        raise NotHandled
    found: list[ir.Value | int] = []
    for value in owner.operation.operands:
        one = parameter(value)
        if isinstance(one, Scalar):
            found.append(b.value("arith.index_cast", [one.cast(dtypes.i64).value], b.index_type()))
        elif type(one) is int:
            found.append(one)
        else:
            raise NotHandled
    return found


def _of_sizes(sizes: int, value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    """Operand `sizes` is a list; operand `value` the number, or `number` is."""
    return lambda c: _filled(c, number if value is None else c.parameter(value), _listed(c, sizes))


def _like(value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        return _filled(c, number if value is None else c.parameter(value), [x.size(i) for i in range(x.rank)])

    return lower


LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.zeros": _of_sizes(0, None),
    "aten.ones": _of_sizes(0, None, 1),
    "aten.empty.memory_format": _of_sizes(0, None),
    "aten.full": _of_sizes(0, 1),
    "aten.zeros_like": _like(None),
    "aten.ones_like": _like(None, 1),
    "aten.empty_like": _like(None),
    "aten.full_like": _like(1),
    "aten.new_zeros": _of_sizes(1, None),
    "aten.new_ones": _of_sizes(1, None, 1),
    "aten.new_empty": _of_sizes(1, None),
    "aten.new_full": _of_sizes(1, 2),
}
