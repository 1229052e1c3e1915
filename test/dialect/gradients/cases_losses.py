"""Cases of losses. PyTorch differentiates by no weights, nor soft_margin_loss by its target; the mean of mse_loss over what an input was
broadcast to it divides by the input's size; its second derivative of binary_cross_entropy is only near: see test_losses_torch.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from gradient_harness import Case, array, case
from gradient_operands import COLUMN, EMPTY, POINT, ROW, X

INSIDE, TARGET = array(2, 3, low=0.05, high=0.95, seed=4), array(2, 3, low=0.1, high=0.9, seed=5)
Y = array(2, 3, seed=1) + 0.05
SIGNS = np.array([[1, -1, 1], [-1, -1, 1]])
VIEW = array(3, 4, seed=8).T[::2]
PAIRS = ((X, Y, 1), (X, ROW, 0), (COLUMN, ROW, 2), (POINT, X, 2), (VIEW, Y, 0), (EMPTY, EMPTY, 2))
POSITIVE = array(3, low=0.3, high=2, seed=6)

ELEMENTWISE: list[Case] = [
    *(case(f"aten.{op}", x, y, reduction, *rest, coarse=op == "huber_loss") for op, *rest in (("mse_loss",), ("l1_loss",), ("smooth_l1_loss", 0.7), ("huber_loss", 0.7))
      for x, y, reduction in PAIRS),
    case("aten.smooth_l1_loss", X, Y, 1, 0.0),
    *(case("aten.soft_margin_loss", X, SIGNS, reduction) for reduction in (0, 1, 2)),
    *(case("aten.hinge_embedding_loss", X, SIGNS, 0.5, reduction) for reduction in (0, 1)),
    *(case("aten.margin_ranking_loss", a, b, SIGNS, 0.3, reduction) for a, b, reduction in ((X, Y, 0), (X, ROW, 1))),
    *(case("aten.kl_div", x, t, reduction, log) for x, t, reduction in ((X, TARGET, 0), (ROW, TARGET, 1)) for log in (False, True)),
    *(case("aten.poisson_nll_loss", INSIDE, t, log, full, 1e-8, reduction) for t, log, full, reduction in (
        (TARGET * 3, True, True, 0), (TARGET, False, False, 1), (TARGET * 3, False, True, 2))),
    *(case("aten.binary_cross_entropy", INSIDE, TARGET, w, reduction) for w in (None, POSITIVE) for reduction in (0, 1)),
    case("aten.binary_cross_entropy", EMPTY, EMPTY, None, 2),
    *(case("aten.binary_cross_entropy_with_logits", x, TARGET, None, None, reduction) for x, reduction in ((X, 1), (VIEW, 0), (X, 2))),
]  # fmt: skip

PLACES: tuple[tuple[Any, ...], ...] = (
    (array(4, 3, seed=1), np.array([2, 0, 1, 2]), 1), (array(3, seed=1), np.array(1), 0), (array(2, 3, 4, seed=1), np.array([[0, 1, 2, 1], [1, 1, 0, 2]]), 0),
    (array(0, 3), np.zeros(0, np.int64), 2), (array(3, 4, seed=2).T, np.array([2, 0, 1, 2]), 2),
)  # fmt: skip
PLANES = (array(2, 3, 2, 2, seed=3), np.array([[[0, 1], [2, 1]], [[0, 0], [1, 2]]]))

CLASSES: list[Case] = [
    *(case(f"aten.{op}", x, t, None, reduction, ignored) for op in ("nll_loss", "nll_loss_nd") for x, t, reduction in PLACES if x.ndim < 3 or "nd" in op
      for ignored in (-100, 1)),
    case("aten.nll_loss2d", *PLANES, None, 1, -100),
    *(case("aten.nll_loss_forward", PLACES[0][0], PLACES[0][1], None, reduction, 1) for reduction in (0, 1)),
    case("aten.nll_loss2d_forward", *PLANES, None, 2, 1),
    *(case("aten.cross_entropy_loss", x, t, None, reduction, 1, smoothing) for x, t, reduction in PLACES for smoothing in (0.0, 0.2)),
    *(case("aten.cross_entropy_loss", x, t, w, reduction, -100, smoothing, coarse=True) for x, t, reduction in (
        (array(4, 3, seed=1), array(4, 3, low=0, high=1, seed=2), 1), (array(3, seed=1), array(3, low=0, high=1, seed=2), 0),
        (array(2, 3, 2, seed=1), array(2, 3, 2, low=0, high=1, seed=2), 0)) for w, smoothing in ((None, 0.0), (POSITIVE, 0.3))),
]  # fmt: skip

_Q, _K, _V = array(2, 3, 4, seed=1), array(2, 5, 4, seed=2), array(2, 5, 3, seed=3)
_SEEN = np.array([[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]], bool)

ATTENTION: list[Case] = [
    case("aten.scaled_dot_product_attention", _Q, _K, _V, None, 0.0, causal, scale, False) for causal, scale in ((False, None), (True, 0.7))
]
TYPED_ATTENTION: list[Case] = [  # dtypes say what a mask means, and sizes how many heads there are
    *(case("aten.scaled_dot_product_attention", _Q, _K, _V, mask, 0.0, False, None, False) for mask in (_SEEN, array(3, 5, seed=4))),
    case("aten.scaled_dot_product_attention", array(1, 4, 3, 4, seed=1), _K[None], _V[None], None, 0.0, False, None, True),
]

CASES = [*ELEMENTWISE, *CLASSES, *ATTENTION]

UNKNOWN_TO_TORCH = ("aten.binary_cross_entropy",)

_ZEROS = np.zeros(3)
CORNERS = [
    *(case(f"aten.{op}", np.array([1.0, 0.0, -1.0]), _ZEROS, 1, *rest) for op, *rest in (("l1_loss",), ("smooth_l1_loss", 1.0), ("huber_loss", 1.0))),
    case("aten.nll_loss_nd", array(2, 3), np.array([1, 1]), None, 1, 1),
    case("aten.cross_entropy_loss", array(2, 3), np.array([1, 1]), None, 1, 1, 0.1),
    case("aten.kl_div", ROW, np.array([0.0, 0.5, 1.0]), 0, True),
]  # fmt: skip
