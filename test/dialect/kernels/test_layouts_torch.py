"""How what stands in for a write is laid out: as the tensor that is written, in tier 0 as in PyTorch. Whether it can be viewed depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import kernel  # noqa: E402

pytestmark = pytest.mark.torch

X = np.arange(12, dtype=np.float32).reshape(3, 4)
LAYOUTS = {"rows": X, "columns": np.asfortranarray(X), "permuted": np.moveaxis(np.arange(24, dtype=np.float32).reshape(2, 3, 4), 0, 2)}
MASK, NUMBER, FIRST = np.array(True), np.array(2.0, np.float32), np.array([0])
TWINS: dict[str, tuple[Any, ...]] = {
    "aten.copy": (NUMBER,), "aten.zero": (), "aten.fill.Scalar": (3,), "aten.fill.Tensor": (NUMBER,), "aten.relu": (), "aten.add.Scalar": (1, 1),
    "aten.masked_fill.Scalar": (MASK, 3), "aten.scatter.value": (), "aten.index_put": ([FIRST], NUMBER, False),
    "aten.select_scatter": (np.ones(3, np.float32), 1, 0), "aten.zeros_like": (), "aten.ones_like": (), "aten.full_like": (3,),
}  # fmt: skip


def strides(x: np.ndarray) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides)


def theirs(op: str) -> Any:
    packet, _, overload = op.removeprefix("aten.").partition(".")
    found = getattr(torch.ops.aten, packet)
    return getattr(found, overload) if overload else found


def as_torch(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else [as_torch(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", TWINS)
def test_the_twin_of_a_write_is_laid_out_as_what_is_written(op: str, layout: str) -> None:
    x, rest = LAYOUTS[layout], TWINS[op]
    if op == "aten.select_scatter":
        rest = (np.ones((x.shape[0], *x.shape[2:]), np.float32), *rest[1:])
    if op == "aten.scatter.value":  # PyTorch gives rows here: this twin alone forgets how the written tensor lay
        rest = (0, FIRST.reshape((1,) * x.ndim), 2)
    assert strides(kernel(op)(x, *rest)) == theirs(op)(torch.from_numpy(x), *map(as_torch, rest)).stride()


@pytest.mark.parametrize("op", ["aten.zeros_like", "aten.ones_like", "aten.full_like"])
def test_contiguous_format_asks_for_rows(op: str) -> None:
    rest = (3,) if op == "aten.full_like" else ()
    assert strides(kernel(op)(LAYOUTS["columns"], *rest, None, None, None, None, 0)) == (4, 1)
    assert strides(kernel(op)(LAYOUTS["columns"], *rest, None, None, None, None, 1)) == (1, 3)
