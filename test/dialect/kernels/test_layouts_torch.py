"""How what stands in for a write is laid out: as the tensor that is written, in tier 0 as in PyTorch. Whether it can be viewed depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import kernel  # noqa: E402

from tierup.dialect import optable  # noqa: E402
from tierup.dialect.optable.core import Aliasing  # noqa: E402

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


_WIDE = np.arange(12, dtype=np.float32).reshape(2, 1, 6)[:, :, :4] - 3.5
SHOWN = {
    "columns": X.T, "permuted": LAYOUTS["permuted"], "steps": np.tile(X, 2)[:, ::2], "one row": np.broadcast_to(X[:1], (3, 4)),
    "one column": np.broadcast_to(X[:, :1], (3, 4)), "one of the middle": np.broadcast_to(_WIDE, (2, 3, 4)),
    "turned": np.broadcast_to(_WIDE, (2, 3, 4)).transpose(1, 0, 2), "ones": _WIDE.transpose(1, 0, 2),
}  # fmt: skip
# of these PyTorch makes rows, where tier 0 and native code go by the operand; or the other way round
OTHERS = {"aten.log_sigmoid", "aten.lift_fresh_copy", "aten.argsort", "aten.argsort.stable"}


def arguments_for(packet: Any, x: np.ndarray) -> list[Any] | None:
    """What an op of one tensor and numbers is called with; None for another."""
    plain: dict[str, Any] = {"Tensor": x, "number": 2, "int": 1, "float": 1.0, "bool": False}
    first, *rest = packet._schema.arguments
    if str(first.type) != "Tensor" or any(not a.has_default_value() and str(a.type) not in plain for a in rest):
        return None
    return [a.default_value if a.has_default_value() else plain[str(a.type)] for a in rest]


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_new_lies_as_torchs_whatever_the_operand_shows_and_shares_nothing_with_it(shown: str) -> None:
    x, seen = SHOWN[shown], 0
    for row in optable.table().values():
        try:
            packet = theirs(row.name)
        except AttributeError:
            continue
        packet = getattr(packet, "default", packet)
        rest = None if row.writes or row.random or row.aliasing is not Aliasing.FRESH or row.name in OTHERS else arguments_for(packet, x)
        if rest is None:
            continue
        names = {a.name: v for a, v in zip(packet._schema.arguments[1:], rest, strict=True) if a.kwarg_only}
        try:
            want = packet(torch.from_numpy(x), *map(as_torch, rest[: len(rest) - len(names)]), **names)
            got = kernel(row.name)(x, *rest)
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
            continue  # no op for these operands
        if isinstance(want, torch.Tensor) and isinstance(got, np.ndarray):
            seen += 1
            apart = [n > 1 for n in want.shape]  # of others strides say nothing
            assert [s for s, n in zip(strides(got), apart, strict=True) if n] == [s for s, n in zip(want.stride(), apart, strict=True) if n], row.name
            assert not np.shares_memory(got, x), row.name
    assert seen > 100
