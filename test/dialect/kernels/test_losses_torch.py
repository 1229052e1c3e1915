"""Losses in tier 0 against PyTorch: reductions, weights, classes that are ignored, label smoothing, dtypes, sizes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from torch_oracle import Sample, check  # noqa: E402

pytestmark = pytest.mark.torch

RANDOM = np.random.default_rng(5)


def floats(*shape: int, dtype: Any = np.float32, low: float = -2, high: float = 2) -> np.ndarray:
    return np.asarray(RANDOM.uniform(low, high, shape)).astype(dtype)


X, ROW, COLUMN, POINT, EMPTY = floats(4, 3), floats(3), floats(4, 1), floats(), floats(0, 3)
SIGNS = np.where(floats(4, 3) > 0, 1, -1).astype(np.float32)
INTS = np.array([[1, 0, 2], [3, 1, 1], [0, 0, 5], [2, 2, 1]])
SPECIAL = np.array([[0.0, -0.0, np.inf], [np.nan, -np.inf, 1.0], [100.0, -100.0, 1e-30], [0.5, 1.0, -1.0]], np.float32)
SINGLE = 2.0**31  # a few units of float32, for a float64 result of which parts are float32
DISTANCES = [("mse_loss",), ("l1_loss",), ("smooth_l1_loss", 1.0), ("smooth_l1_loss", 0.3), ("smooth_l1_loss", 0.0), ("huber_loss", 0.7)]


@pytest.mark.parametrize("op", DISTANCES, ids=str)
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_distances(op: tuple[Any, ...], reduction: int) -> None:
    name, *rest = op
    halves = 64.0 if reduction else 4.0
    for x, y in ((X, floats(4, 3)), (X, ROW), (COLUMN, ROW), (POINT, X), (EMPTY, EMPTY), (SPECIAL, X), (X, X.astype(np.float64)), (X[:, ::2], X[:, 1:])):
        check(Sample(f"aten.{name}", (x, y, reduction, *rest)))
    check(Sample(f"aten.{name}", (X.astype(np.float16), floats(4, 3, dtype=np.float16), reduction, *rest), ulp=halves))
    check(Sample(f"aten.{name}", (X, floats(5), reduction, *rest)))
    check(Sample(f"aten.{name}", (X, INTS, reduction, *rest)))


def test_distances_refuse_what_pytorch_does() -> None:
    for op, *operands in (
        ("mse_loss", INTS, INTS, 1), ("smooth_l1_loss", INTS, INTS, 1, 1.0), ("huber_loss", INTS, X, 1, 1.0), ("l1_loss", INTS, INTS, 1),
        ("smooth_l1_loss", X, X, 1, -1.0), ("huber_loss", X, X, 1, 0.0), ("mse_loss", X, X, 3), ("kl_div", INTS, X, 1, False),
        ("soft_margin_loss", ROW, X, 1), ("binary_cross_entropy", X, X, None, 1), ("binary_cross_entropy_with_logits", X, COLUMN, None, None, 1),
        ("binary_cross_entropy_with_logits", X, INTS, None, None, 1),
    ):  # fmt: skip
        check(Sample(f"aten.{op}", tuple(operands)))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_margins(reduction: int) -> None:
    for x in (X, SPECIAL, X.astype(np.float64)):
        check(Sample("aten.soft_margin_loss", (x, SIGNS, reduction)))
        check(Sample("aten.hinge_embedding_loss", (x, SIGNS, 0.5, reduction), ulp=16))
        check(Sample("aten.margin_ranking_loss", (x, floats(4, 3), SIGNS, 0.3, reduction)))
    check(Sample("aten.margin_ranking_loss", (X, ROW, SIGNS[:, :1], 0.3, reduction)))
    check(Sample("aten.hinge_embedding_loss", (ROW, SIGNS, 0.5, reduction)))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_distributions(reduction: int) -> None:
    inside = floats(4, 3, low=0, high=1)
    terms = 10.0 * (X.size if reduction == 2 else 1)
    for log in (False, True):
        for x, target in ((X, inside), (ROW, inside), (X, ROW * 0), (EMPTY, EMPTY)):
            check(Sample("aten.kl_div", (x, target, reduction, log), terms=terms))
    for log in (False, True):
        for full in (False, True):
            check(Sample("aten.poisson_nll_loss", (np.abs(X), np.abs(floats(4, 3)) * 3, log, full, 1e-8, reduction), terms=terms))
            check(Sample("aten.poisson_nll_loss", (np.abs(X), INTS, log, full, 1e-8, reduction), terms=terms))
    ends = np.array([[0, 1, 0.5], [1, 0, 1e-30]], np.float32)
    for x, target, weight in ((inside, floats(4, 3, low=0, high=1), None), (inside, inside, ROW), (ends, ends[::-1].copy(), None), (EMPTY, EMPTY, None)):
        check(Sample("aten.binary_cross_entropy", (x, target, weight, reduction)))
    for x, target, weight, positive in (
        (X, inside, None, None), (X, inside, ROW, None), (X, inside, None, np.abs(ROW)), (SPECIAL, inside, COLUMN, np.abs(ROW)), (ROW, inside, None, None),
        (EMPTY, EMPTY, None, None), (X, inside.astype(np.float64), None, None),
    ):  # fmt: skip
        ulp = 8 if target.dtype == np.float32 else SINGLE
        check(Sample("aten.binary_cross_entropy_with_logits", (x, target, weight, positive, reduction), ulp=ulp))


CLASSES = np.array([2, 0, 1, 2])
WEIGHT = floats(3, low=0.2, high=2)
PLACES = [
    (X, CLASSES), (X[0], np.array(2)), (floats(2, 3, 4), np.array([[0, 1, 2, 1], [1, 1, 0, 2]])), (floats(0, 3), np.zeros(0, np.int64)),
    (X, CLASSES.astype(np.uint8)), (X.astype(np.float64), CLASSES), (floats(2, 3, 4, 2), np.array([[[0, 1], [2, 1], [0, 0], [1, 2]]] * 2)),
]  # fmt: skip


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignored", [-100, 1])
def test_likelihood(reduction: int, ignored: int) -> None:
    for x, target in PLACES:
        for weight in (None, WEIGHT.astype(x.dtype)):
            operands = (x, target, weight, reduction, ignored)
            check(Sample("aten.nll_loss_nd", operands))
            check(Sample("aten.cross_entropy_loss", (*operands, 0.0), ulp=8))
            if target.dtype != np.uint8 or weight is None:  # PyTorch has not thought of it
                check(Sample("aten.cross_entropy_loss", (*operands, 0.2), ulp=8))
            if x.ndim <= 2:
                check(Sample("aten.nll_loss", operands))
                check(Sample("aten.nll_loss_forward", operands))
            elif x.ndim == 4:
                check(Sample("aten.nll_loss2d", operands))
                check(Sample("aten.nll_loss2d_forward", operands))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_cross_entropy_of_probabilities(reduction: int) -> None:
    for x in (X, X[0], floats(2, 3, 4), floats(0, 3)):
        target = np.abs(floats(*x.shape))
        for weight in (None, WEIGHT):
            for smoothing in (0.0, 0.3):
                check(Sample("aten.cross_entropy_loss", (x, target, weight, reduction, -100, smoothing), ulp=8))
    check(Sample("aten.cross_entropy_loss", (X, np.abs(X).astype(np.float64), None, reduction, -100, 0.0), ulp=SINGLE))


def test_nothing_but_ignored_classes_has_no_mean() -> None:
    check(Sample("aten.nll_loss_forward", (X, np.full(4, -100), None, 1, -100)))
    check(Sample("aten.cross_entropy_loss", (X, np.full(4, -100), WEIGHT, 1, -100, 0.1)))


def test_classes_refuse_what_pytorch_does() -> None:
    for operands in (
        (X, np.array([0, 3, 1, 1]), None, 1, -100), (X, np.array([0, -1, 1, 1]), None, 1, -100), (X, CLASSES.astype(np.int32), None, 1, -100),
        (X, CLASSES[:3], None, 1, -100), (X, CLASSES, floats(4), 1, -100), (X, CLASSES, WEIGHT.astype(np.float64), 1, -100),
        (INTS, CLASSES, None, 1, -100), (POINT, np.array(0), None, 1, -100), (floats(2, 3, 4), np.zeros((2, 5), np.int64), None, 1, -100),
    ):  # fmt: skip
        check(Sample("aten.nll_loss_nd", operands))
        check(Sample("aten.cross_entropy_loss", (*operands, 0.0)))
    check(Sample("aten.nll_loss", (floats(2, 3, 4), np.zeros((2, 4), np.int64), None, 1, -100)))
    check(Sample("aten.nll_loss2d_forward", (floats(2, 3, 4), np.zeros((2, 4), np.int64), None, 1, -100)))
    check(Sample("aten.cross_entropy_loss", (X, CLASSES, None, 1, -100, 1.5)))
    check(Sample("aten.cross_entropy_loss", (X, INTS, None, 1, -100, 0.0)))
    check(Sample("aten.cross_entropy_loss", (X, CLASSES.astype(np.float32), None, 1, -100, 0.0)))
