"""Pointwise kernels against PyTorch: values, dtypes, shapes, exceptions, and the inference rules against the kernels.

A float may differ from PyTorch's own float32 by rounding, so it is right when it is near what PyTorch gives in the same
dtype, or near what it gives in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pointwise_samples import OPS, dtype_pairs, full_range, shapes  # noqa: E402
from torch_oracle import EPSILON, EXPECTED, Sample, check_rule, from_torch, kernel, run, run_torch  # noqa: E402

from tierup.dialect import optable
from tierup.dialect.base import dtypes  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch.set_num_threads(1)  # tiny arrays: threads only wait for each other
# PyTorch's own results cancel: right is what is near them on the scale of the largest term. Accuracy: test_accuracy.py.
CANCELS = {"aten.gelu", "aten.logaddexp", "aten.logaddexp2", "aten.addcmul", "aten.addcdiv", "aten.add.Tensor", "aten.sub.Tensor", "aten.lerp.Tensor", "aten.lerp.Scalar"}


def ulps(actual: np.ndarray, expected: np.ndarray, dtype: dtypes.DType) -> np.ndarray:
    """How many units in the last place of `dtype` lie between two arrays of float64; 0 for the same infinity, NaN or zero."""
    bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[dtype.name]
    least = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}[dtype.name]
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(np.where(np.isfinite(expected), expected, 1.0))[1] - 1, least)
        distance = np.abs(actual - expected) / np.ldexp(1.0, exponent - bits)
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


def widened(operands: tuple) -> tuple:
    return tuple(o.astype(np.float64) if isinstance(o, np.ndarray) and o.dtype != np.bool_ else o for o in operands)


def compare(sample: Sample, actual: np.ndarray, expected: np.ndarray) -> None:
    assert isinstance(actual, np.ndarray), f"{sample!r}: {type(actual)}"
    assert actual.dtype == expected.dtype, f"{sample!r}: dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{sample!r}: shape {actual.shape}, not {expected.shape}"
    dtype = dtypes.from_numpy(actual.dtype)
    row = optable.lookup(sample.op)
    if not dtype.is_float:
        np.testing.assert_array_equal(actual, expected, err_msg=repr(sample))
        return
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    distance = ulps(a, e, dtype)
    bound = row.tolerance.ulp
    if (distance > bound).any():
        with np.errstate(all="ignore"):
            truth, failure = run(run_torch, sample.op, widened(sample.operands))
            if failure is None:
                truth = from_torch(truth).astype(dtype.numpy).astype(np.float64)
                distance = np.minimum(distance, ulps(a, truth, dtype))
    wrong = distance > bound
    if sample.op in CANCELS:
        arrays = [np.abs(o.astype(np.float64)) for o in sample.operands if isinstance(o, np.ndarray)]
        with np.errstate(all="ignore"):
            scale = np.broadcast_arrays(*arrays, e)
            wrong &= ~(np.abs(a - e) <= 8 * EPSILON[dtype.name] * np.max(scale, axis=0))
    if wrong.any():
        inputs = [np.broadcast_to(o, actual.shape)[wrong][:4] for o in sample.operands if isinstance(o, np.ndarray)]
        pytest.fail(f"{sample!r}: {a[wrong][:4]} is not {e[wrong][:4]} for {inputs}, {distance[wrong][:4]} ulp")


def check(name: str, operands: tuple) -> None:
    sample = Sample(name, operands)
    expected, failure = run(run_torch, name, operands)
    before = [o.copy() if isinstance(o, np.ndarray) else o for o in operands]
    with np.errstate(all="raise"):
        actual, raised = run(kernel(name), *operands)
    if failure is not None or raised is not None:
        assert raised is not None, f"{sample!r}: PyTorch raises {failure!r}, tier 0 gives {actual!r}"
        assert failure is not None, f"{sample!r}: tier 0 raises {raised!r}, PyTorch gives {expected!r}"
        assert isinstance(failure, EXPECTED[type(raised)]), f"{sample!r}: {raised!r} for PyTorch's {failure!r}"
    else:
        compare(sample, actual, from_torch(expected))
        for operand, was in zip(operands, before, strict=True):
            if isinstance(operand, np.ndarray):
                assert not np.shares_memory(operand, actual), f"{sample!r} shares memory"
                assert operand.tobytes() == was.tobytes(), f"{sample!r} changed an operand"
    check_rule(sample, actual, raised)


@pytest.mark.parametrize("name", OPS)
def test_every_dtype_agrees_with_torch(name: str) -> None:
    for kinds in dtype_pairs(OPS[name].tensors):
        for operands in full_range(name, kinds):
            check(name, operands)


@pytest.mark.parametrize("name", OPS)
def test_every_shape_and_layout_agrees_with_torch(name: str) -> None:
    for dtype in (dtypes.f32, dtypes.bf16, dtypes.i32):
        for operands in shapes(name, dtype):
            check(name, operands)


def test_of_operands_that_neither_fit_nor_are_of_a_dtype_for_it_the_shapes_are_named() -> None:
    _, failure = run(run_torch, "aten.bitwise_or.Tensor", (np.ones(4), np.ones(2)))
    _, raised = run(kernel("aten.bitwise_or.Tensor"), np.ones(4), np.ones(2))
    assert "must match the size" in str(failure)
    assert type(raised) is ValueError
