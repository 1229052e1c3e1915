"""Operands of several dtypes, rank-0 operands and numbers, natively: PyTorch's bits, float16's and bfloat16's roundings included."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sampling import drawn  # noqa: E402
from single_op import native  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

_TORCH = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
_PAIRS = [("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float16"), ("int64", "float16"), ("bfloat16", "int32"), ("uint8", "bfloat16"),
          ("bool", "float16"), ("float64", "float16")]  # fmt: skip
_NUMBERS = (0.1, 3, -2049, 1e-7, 70000.0, 1 + 2**-11 + 2**-30)


def _values(dtype: str, seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(1 if dtype == "uint8" else -5000, 200 if dtype == "uint8" else 5000, shape).astype(dtype)
    return np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4, shape)).astype(getattr(ml_dtypes, dtype, None) or dtype)


def _to_torch(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16).reshape(x.shape)
    return torch.from_numpy(x.copy())


def _check(op: str, *operands: Any) -> None:
    name, _, overload = op.partition(".")
    scale = {"alpha": operands[2]} if len(operands) > 2 and overload == "Tensor" else {}
    want = getattr(getattr(torch.ops.aten, name), overload or "default")(*map(_to_torch, operands[:2] if scale else operands), **scale)
    (got,) = native(f"aten.{op}", operands)
    assert str(want.dtype).removeprefix("torch.") == str(got.dtype)
    bits = _to_torch(got)
    same = (bits == want) | (bits.isnan() & want.isnan())
    assert bool(same.all()), f"{op}{[getattr(o, 'dtype', o) for o in operands]}: {bits[~same][:4]}, not {want[~same][:4]}"


@pytest.mark.parametrize(
    ("op", "pair"), drawn("mixed dtypes", list(itertools.product(("add.Tensor", "mul.Tensor", "div.Tensor", "fmod.Tensor"), _PAIRS)), 4, lambda row: row[0]),
    ids=lambda v: v if isinstance(v, str) else "-".join(v),
)  # fmt: skip
def test_two_dtypes_give_pytorchs_bits(op: str, pair: tuple[str, str]) -> None:
    _check(op, _values(pair[0], 0, 5, 40), _values(pair[1], 1, 40), *([1] if op[:3] in ("add", "sub") else []))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["add.Tensor", "mul.Tensor", "div.Tensor", "maximum"])
def test_a_rank_0_operand_of_higher_precision_gives_pytorchs_bits(op: str, dtype: str) -> None:
    _check(op, _values(dtype, 0, 200), np.array(0.1, np.float32), *([1] if op == "add.Tensor" else []))


@pytest.mark.parametrize("number", _NUMBERS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_number_gives_pytorchs_bits(dtype: str, number: float) -> None:
    x = _values(dtype, 0, 200)
    for op, rest in (("add.Scalar", (1,)), ("rsub.Scalar", (1,)), ("mul.Scalar", ()), ("div.Scalar", ()), ("gt.Scalar", ())):
        _check(op, x, number, *rest)
