"""Cases of extremes, variances, norms, softmax, and products with vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gradient_harness import Case, array, case
from gradient_operands import EMPTY, LETTERS, POINT, ROW, X

VIEW = array(4, 3, 4, seed=6).transpose(2, 1, 0)[::2]  # 2x3x4, not contiguous
NO_ROWS, NO_COLUMNS = array(0, 3, 4), array(2, 0, 4)
DIMS: list[Any] = [([0], False), ([1, 2], True), ([-1, -3], False), ([0, -1], True)]


def over_dims(op: str, before: tuple[Any, ...] = (), behind: tuple[Any, ...] = (), *, whole: Any = None, **settings: Any) -> list[Case]:
    """A reduction whose operands are a tensor, `before`, dims, the first of `behind`, keepdim and the rest of `behind`."""
    tried = [*((LETTERS, *d) for d in DIMS), (VIEW, [1], False), (POINT, whole, False), (NO_ROWS, [1], True), (X, whole, False), (X, whole, True)]
    return [case(op, x, *before, d, *behind[:1], keep, *behind[1:], **settings) for x, d, keep in tried]


EXTREMES = [
    *(c for op in ("amax", "amin") for c in over_dims(f"aten.{op}", whole=[])),
    *(case(f"aten.{op}", x, numpy=numpy) for op in ("max", "min") for x in (X, VIEW, POINT) for numpy in (False, True)),
    *(case("aten.aminmax", x, dim, keep, of=of) for x, dim, keep in ((LETTERS, 1, False), (VIEW, -1, True), (X, None, False), (POINT, None, True))
      for of in (0, 1)),
]  # fmt: skip

VARIANCES = [
    *(case(f"aten.{op}", x, unbiased, of=of) for op, results in (("var", 1), ("std", 1), ("var_mean", 2)) for of in range(results)
      for x in (X, VIEW) for unbiased in (False, True)),
    *(case(f"aten.{op}.dim", x, [1, 2], True, keep, of=of) for op, results in (("var", 1), ("std", 1), ("var_mean", 2)) for of in range(results)
      for x, keep in ((LETTERS, False), (VIEW, True), (NO_ROWS, False))),
    *(c for op, of in (("var", 0), ("std", 0), ("var_mean", 0), ("var_mean", 1)) for correction in (None, 0, 1.5)
      for c in over_dims(f"aten.{op}.correction", behind=(correction,), of=of)[:: 2 if correction is None else 3]),
    *(case(f"aten.{op}.correction", X, [0], 0, False, numpy=True) for op in ("var", "std")),
]  # fmt: skip


def _vector_norms(p: float) -> list[Case]:
    return [case(c.op, *c.operands, None) for c in over_dims("aten.linalg_vector_norm", (p,))]


NORMS = [
    *(case("aten.norm.Scalar", x, p) for x in (X, VIEW, POINT) for p in (2, 1, 3.5)),
    *(c for p in (2, 0, 1, 0.5, 1.5, 3, math.inf, -math.inf) for c in _vector_norms(p)[:: 1 if p == 2 else 3]),
    *(c for p in (None, 2.5) for c in over_dims("aten.norm.ScalarOpt_dim", (p,), whole=[])[::3]),
    *over_dims("aten.frobenius_norm.dim", whole=[])[1::2],
]  # fmt: skip

SOFTMAX = [
    *(case(f"aten.{op}", x, dim, None, numpy=numpy) for op in ("softmax.int", "log_softmax.int", "_safe_softmax")
      for x, dim, numpy in ((LETTERS, -1, False), (VIEW, 1, False), (VIEW, 0, True), (EMPTY, 0, False), (EMPTY, 1, False), (ROW, 0, False))),
    *(case(f"aten.{op}", x, dim, False) for op in ("_softmax", "_log_softmax") for x, dim in ((LETTERS, -1), (VIEW, 1), (EMPTY, 0))),
    *(case("aten.logsumexp", x, dims, keep) for x, dims, keep in ((LETTERS, [1], False), (VIEW, [0, -1], True), (EMPTY, [1], False), (X, [0, 1], False))),
]  # fmt: skip

PRODUCTS = [
    *(case("aten.trace", x) for x in (X, array(3, 2), EMPTY)), case("aten.trace", X, numpy=True),
    *(case("aten.dot", a, b) for a, b in ((ROW, array(3, seed=5)), (array(0), array(0)))),
    *(case("aten.mv", a, b) for a, b in ((X, ROW), (array(3, 2).T, ROW), (EMPTY, ROW))),
    *(case("aten.outer", a, b) for a, b in ((ROW, array(2)), (array(0), ROW))),
    *(case("aten.baddbmm", bias, LETTERS, array(2, 4, 2), beta, alpha)
      for bias, beta, alpha in ((array(2, 3, 2), 1, 1), (array(2, 1, 2), 0.5, 2), (array(2), 2, 1))),
]  # fmt: skip

CASES = [*EXTREMES, *VARIANCES, *NORMS, *SOFTMAX, *PRODUCTS]

TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-1.0, 0.0, -1.0]])
NAN = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 1.0]])
_ROWS = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, -4.0]])
_INFINITE = np.array([[-np.inf, -np.inf], [-np.inf, 1.0], [np.inf, 0.0]])

CORNERS = [
    *(case(f"aten.{op}", x, dims, False) for op in ("amax", "amin") for x in (TIES, NAN) for dims in ([1], [0], [])),
    *(case(f"aten.{op}", x) for op in ("max", "min") for x in (TIES, NAN)),
    *(case("aten.aminmax", TIES, dim, False, of=of) for dim in (None, 1) for of in (0, 1)),
    *(case("aten.linalg_vector_norm", _ROWS, p, [1], False, None) for p in (2, 0, 1, 0.5, 1.5, 3, math.inf, -math.inf)),
    *(case("aten.norm.Scalar", np.zeros(3), p) for p in (1, 2, 3)),
    *(case(f"aten.{op}.correction", _ROWS, [1], c, False) for op in ("std", "var") for c in (0, 1)),
    *(case(f"aten.{op}", np.ones(3), True) for op in ("std", "var")), case("aten.var", np.ones(1), True),
    case("aten.var.correction", np.ones((2, 1)), [1], 1, False),
    case("aten.softmax.int", _INFINITE[1:2], 1, None), case("aten.log_softmax.int", _INFINITE[1:2], 1, None),
    case("aten._safe_softmax", _INFINITE[:2], 1, None), case("aten.logsumexp", _INFINITE[1:2], [1], False),
]  # fmt: skip
