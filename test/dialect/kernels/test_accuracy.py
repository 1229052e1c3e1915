"""Accuracy of the functions that are not simply NumPy's, against the C library (Python's math) in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tierup.dialect import optable
from tierup.dialect.ops.pointwise.erf import erf64, erfc64
from tierup.dialect.optable import kernels


def sweep() -> np.ndarray:
    random = np.random.default_rng(0)
    return np.concatenate([
        random.uniform(-6.5, 6.5, 4000),
        random.uniform(-1, 1, 500) * 10.0 ** random.integers(-300, 0, 500),
        random.uniform(6, 26.5, 500),
        [0.84375, 1.25, 1 / 0.35, 6.0, 28.0, -6.0, 0.25, 5e-324],
    ])  # fmt: skip


def worst_ulp(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.max(np.abs(found.astype(np.float64) - truth) / np.spacing(np.maximum(np.abs(truth.astype(found.dtype)), np.finfo(found.dtype).tiny)).astype(np.float64)))


@pytest.mark.parametrize("function, oracle, bound", [(erf64, math.erf, 2.0), (erfc64, math.erfc, 4.0)])
def test_erf_and_erfc_are_accurate_everywhere(function: Callable, oracle: Callable, bound: float) -> None:
    x = sweep()
    assert worst_ulp(function(x), np.array([oracle(v) for v in x])) <= bound


def test_erf_of_special_values() -> None:
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_array_equal(erf64(np.array([np.nan, np.inf, -np.inf, 0.0])), [np.nan, 1.0, -1.0, 0.0])
        np.testing.assert_array_equal(erfc64(np.array([np.nan, np.inf, -np.inf, 0.0])), [np.nan, 0.0, 2.0, 1.0])
    assert math.copysign(1, erf64(np.array([-0.0]))[0]) == -1
    assert erf64(np.zeros((0, 2))).shape == (0, 2) and erf64(np.array(0.5)).shape == ()


def _gelu_tanh(x: float) -> float:
    return x / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FUNCTIONS: dict[str, tuple[tuple, Callable[[float], float]]] = {
    "aten.gelu": (("none",), lambda x: 0.5 * x * math.erfc(-x * math.sqrt(0.5))),
    "aten.erf": ((), math.erf),
    "aten.sigmoid": ((), lambda x: 1 / (1 + math.exp(-x))),
    "aten.silu": ((), lambda x: x / (1 + math.exp(-x))),
    "aten.log_sigmoid": ((), lambda x: -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))),
    "aten.mish": ((), lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    "aten.softplus": ((), lambda x: math.log1p(math.exp(x)) if x <= 20 else x),
}


def _tier0(name: str) -> Callable[..., np.ndarray]:
    op = optable.lookup(name)
    assert op is not None
    return kernels.resolve(op.kernel)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_within_the_documented_bound(name: str) -> None:
    rest, oracle = FUNCTIONS[name]
    x = np.linspace(-12, 12, 20001, dtype=np.float32)
    truth = np.array([oracle(float(v)) for v in x])
    assert worst_ulp(_tier0(name)(x, *rest), truth) <= 4


def test_gelu_tanh_does_not_cancel_for_negative_x() -> None:
    """The argument of the exponential is rounded: its error grows with the argument, 1 + tanh(u) loses everything."""
    x = np.linspace(-5, 5, 20001, dtype=np.float32)
    truth = np.array([_gelu_tanh(float(v)) for v in x])
    np.testing.assert_allclose(_tier0("aten.gelu")(x, "tanh"), truth, rtol=4e-6, atol=1e-30)
