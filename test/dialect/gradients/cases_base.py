"""Cases of the first rules: arithmetic, elementary functions, sums, products, views, movement, casts."""

from __future__ import annotations

import numpy as np
from gradient_harness import Case, array, case
from gradient_operands import COLUMN, EMPTY, INTS, LETTERS, MASK, POINT, POSITIVE, ROW, X, Y

ARITHMETIC: list[Case] = [
    *(case(f"aten.{op}.Tensor", a, b, *rest) for op, *rest in (("add", 2), ("add", 1), ("sub", 1), ("sub", 0.5), ("mul",))
      for a, b in ((X, Y), (X, ROW), (COLUMN, ROW), (POINT, X), (X, INTS), (EMPTY, ROW), (POINT, array(seed=6, low=1)))),
    *(case("aten.div.Tensor", a, b) for a, b in ((X, POSITIVE), (COLUMN, POSITIVE), (X, POSITIVE[0]), (POINT, POSITIVE), (X, INTS + 7))),
    *(case(f"aten.{op}.Scalar", X, 1.5, *rest) for op, *rest in (("add", 1), ("sub", 2), ("rsub", 2), ("mul",), ("div",))),
    case("aten.neg", X),
    *(case("aten.pow.Tensor_Scalar", x, e) for x, e in ((X, 2), (X, 3), (X, 1), (X, 0), (POSITIVE, 0.5), (POSITIVE, -1.5), (POINT, 2.0))),
    *(case("aten.pow.Tensor_Tensor", x, e) for x, e in ((POSITIVE, Y), (POSITIVE, ROW), (POSITIVE, POINT), (X, INTS + 3))),
    case("aten.pow.Scalar", 1.7, X),
]  # fmt: skip

ELEMENTARY: list[Case] = [
    *(case(f"aten.{op}", x) for op in ("exp", "tanh", "sigmoid", "sin", "cos") for x in (X, POINT, EMPTY)),
    *(case(f"aten.{op}", x) for op in ("log", "sqrt", "rsqrt") for x in (POSITIVE, np.array(0.7), EMPTY)),
]

SELECTION: list[Case] = [
    *(case("aten.relu", x) for x in (X, POINT, EMPTY)),
    *(case("aten.where.self", m, a, b) for m, a, b in ((MASK, X, Y), (MASK, ROW, X), (MASK[:1], X, POINT))),
    case("aten.where.ScalarOther", MASK, ROW, 1.5),
    case("aten.where.ScalarSelf", MASK, 1.5, COLUMN),
    *(case(f"aten.{op}", a, b) for op in ("maximum", "minimum") for a, b in ((X, Y + 0.1), (X, ROW + 0.05), (COLUMN, POINT))),
]

REDUCTIONS: list[Case] = [
    *(case(f"aten.{op}", x, None) for op in ("sum", "mean") for x in (X, POINT, LETTERS)),
    case("aten.sum", EMPTY, None),
    *(case(f"aten.{op}", LETTERS, dims, keep, None) for op in ("sum.dim_IntList", "mean.dim") for keep in (False, True)
      for dims in ([0], [1], [-1], [0, 2], [-1, -3], [0, -1], [2, -3], [-2, 2], [], None)),
    *(case(f"aten.{op}", POINT, dims, keep, None) for op in ("sum.dim_IntList", "mean.dim") for dims, keep in (([], False), (None, True))),
    *(case("aten._grad_sum_to_size", LETTERS, size) for size in ([3, 1], [2, 3, 4], [1, 1, 4], [])),
]  # fmt: skip

PRODUCTS: list[Case] = [
    case("aten.mm", X, array(3, 4)),
    case("aten.mm", array(2, 0), array(0, 3)),
    case("aten.bmm", LETTERS, array(2, 4, 2)),
    *(case("aten.matmul", a, b) for a, b in (
        (X, array(3, 4)), (X, ROW), (COLUMN[:, 0], X), (ROW, ROW + 1), (LETTERS, array(4, 2)), (LETTERS, array(4)), (ROW, LETTERS),
        (LETTERS, array(1, 4, 2)), (X, array(2, 3, 2)), (array(2, 1, 2, 3), array(3, 3, 2)),
    )),
    *(case("aten.addmm", bias, X, array(3, 4), beta, alpha) for bias, beta, alpha in ((array(4), 1, 1), (array(2, 1), 0.5, 2), (POINT, 2, 1))),
    *(case("aten.linear", x, array(4, 3), bias) for x in (X, ROW, array(2, 2, 3)) for bias in (None, array(4, seed=9))),
    *(case("aten.linear", x, ROW, None) for x in (X, array(3, seed=4), array(2, 2, 3))),
]  # fmt: skip

VIEWS: list[Case] = [
    *(case(f"aten.{op}", LETTERS, [4, -1]) for op in ("view", "reshape", "_unsafe_view")),
    case("aten.reshape", POINT, [1, 1]),
    *(case("aten.expand", x, size, False) for x, size in ((COLUMN, [4, 2, 3]), (X, [2, -1]), (POINT, [2, 2]))),
    case("aten.broadcast_to", ROW, [2, 3]),
    *(case("aten.unsqueeze", x, d) for x, d in ((X, 0), (X, -1), (POINT, 0), (EMPTY, 1))),
    case("aten.squeeze", COLUMN), case("aten.squeeze.dim", COLUMN, -1), case("aten.squeeze.dim", X, 0),
    *(case("aten.t", x) for x in (X, ROW, EMPTY)),
    case("aten.transpose.int", LETTERS, 0, -1),
    case("aten.numpy_T", LETTERS),
    *(case("aten.permute", LETTERS, dims) for dims in ([2, 0, 1], [-1, 0, -2])),
    *(case("aten.slice.Tensor", LETTERS, *where) for where in ((0, 0, 1, 1), (1, 1, None, 1), (-1, 0, 4, 2), (2, -3, -1, 1), (0, 2, 2, 1))),
    *(case("aten.select.int", LETTERS, *where) for where in ((0, 1), (-1, -2))),
    *(case("aten.flatten.using_ints", LETTERS, *where) for where in ((0, -1), (1, 2))),
]  # fmt: skip

MOVEMENT: list[Case] = [
    case("aten.cat", [X, Y], 0), case("aten.cat", [X, COLUMN, EMPTY.reshape(2, 0)], -1), case("aten.cat", [ROW], 0),
    *(case("aten.slice_scatter", LETTERS, src, *where) for src, where in ((array(2, 2, 4), (1, 0, 2, 1)), (array(2, 3, 2), (2, 0, 4, 2)))),
    case("aten.select_scatter", LETTERS, array(2, 4), 1, -1),
]  # fmt: skip

CASTS: list[Case] = [
    case("aten.to.dtype", X, 7, False, False, None), case("aten.clone", X, None), case("aten.contiguous", X, 0),
    case("aten.type_as", X, Y), case("aten.to.other", X, Y, False, False, None), case("aten.copy", X, ROW, False),
]  # fmt: skip

CASES = [*ARITHMETIC, *ELEMENTARY, *SELECTION, *REDUCTIONS, *PRODUCTS, *VIEWS, *MOVEMENT, *CASTS]

# where central differences see no derivative: ties, the corners of relu, 0 to a power, infinite slopes
CORNERS = [
    case("aten.maximum", X, Y), case("aten.minimum", X, X.copy()), case("aten.relu", np.array([-1.0, 0.0, 2.0])),
    case("aten.pow.Tensor_Scalar", np.array([0.0, 1.0, -2.0]), 1.5), case("aten.pow.Tensor_Scalar", np.array([0.0, -1.0]), 2),
    case("aten.pow.Tensor_Tensor", np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, 0.0])), case("aten.sqrt", np.array([0.0, 4.0])),
    case("aten.pow.Scalar", 0.0, np.array([0.0, 1.0, 2.0])), case("aten.log", np.array([0.0, 1.0])),
    case("aten.maximum", np.array([np.nan, 1.0]), np.array([1.0, np.nan])), case("aten.div.Tensor", X, np.zeros((2, 3))),
]  # fmt: skip

UNKNOWN_TO_TORCH = ("aten.copy",)
