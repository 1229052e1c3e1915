"""In tier 0 the result of an elementwise op lies in memory in the order that its operands do, as PyTorch's: `view` asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pointwise_samples import OPS  # noqa: E402

from tierup.dialect import optable
from tierup.dialect.optable import kernels  # noqa: E402

pytestmark = pytest.mark.torch

CONTIGUOUS = {"aten.log_sigmoid"}  # row-major in PyTorch, whatever its operand
RNG = np.random.default_rng(0)


def permuted(dtype: type) -> np.ndarray:
    x = RNG.uniform(0.2, 0.8, (4, 1, 3, 2))
    return (x > 0.5 if dtype is np.bool_ else (x * 10).astype(dtype)).transpose(3, 2, 1, 0)


def eager(name: str, operands: list[Any]) -> Any:
    base, _, overload = name.removeprefix("aten.").partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    named = {a.name: v for a, v in zip(op._schema.arguments, operands, strict=False) if a.kwarg_only}
    return op(*operands[: len(operands) - len(named)], **named)


def strides(sizes: Any, found: Any) -> list[int]:
    """Of the dims with more than one element: of others PyTorch and NumPy say what they like."""
    return [step for size, step in zip(sizes, found, strict=True) if size > 1]


@pytest.mark.parametrize("name", sorted(n for n in OPS if n not in CONTIGUOUS and (row := optable.lookup(n)) and not row.writes))
def test_an_elementwise_op_keeps_the_order_of_its_operands(name: str) -> None:
    row, op = optable.lookup(name), OPS[name]
    assert row is not None
    kernel, seen = kernels.resolve(row.kernel), 0
    for dtype in (np.float32, np.int64, np.bool_):
        for rest in op.rest:
            operands = [permuted(dtype) for _ in range(op.tensors)]
            try:
                expected = eager(name, [*map(torch.from_numpy, operands), *rest])
            except (RuntimeError, TypeError):  # a dtype that the op refuses
                continue
            found, seen = kernel(*operands, *rest), seen + 1
            ours = strides(found.shape, [s // found.itemsize for s in found.strides])
            assert ours == strides(expected.shape, expected.stride()), (np.dtype(dtype).name, rest)
    assert seen, "no sample that PyTorch takes"


def test_joined_tensors_lie_as_pytorchs_do():
    """Channels behind the other dims stay there, in images whose parts all lie so; any other order becomes row-major."""
    chance = np.random.default_rng(0)
    for _ in range(500):
        rank = int(chance.integers(3, 6))
        sizes = chance.integers(1, 4, rank)
        given = []
        for _ in range(2):
            orders = [np.arange(rank), np.array([0, *range(2, rank), 1]), chance.permutation(rank)]
            order = orders[chance.integers(3)]
            given.append(torch.randn(*(int(n) for n in sizes[order])).permute(*np.argsort(order).tolist()))
        dim = int(chance.integers(rank))
        wanted = torch.cat(given, dim)
        made = optable.lookup("aten.cat").tier0([t.numpy() for t in given], dim)
        for size, stride, got in zip(wanted.shape, wanted.stride(), made.strides, strict=True):
            assert size == 1 or stride * made.itemsize == got, (sizes, dim, [t.stride() for t in given])
