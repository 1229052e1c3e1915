"""Cases of products, running sums, and elements that are found and taken along a dim."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases_reductions import NAN, NO_ROWS, TIES, VIEW
from gradient_harness import Case, array, case
from gradient_operands import EMPTY, LETTERS, POINT, X


def one_dim(op: str, *rest: Any, **settings: Any) -> list[Case]:
    """A reduction whose operands are a tensor, one dim, keepdim and `rest`."""
    tried = ((LETTERS, 0, True), (LETTERS, -1, False), (LETTERS, 1, False), (VIEW, -2, True), (NO_ROWS, 1, False), (X, -1, True))
    return [case(op, x, dim, keep, *rest, **settings) for x, dim, keep in tried]


TAKEN = [
    *(c for op in ("max", "min") for c in one_dim(f"aten.{op}.dim")),
    *(case("aten.sort", x, dim, down) for x, dim, down in ((LETTERS, -1, False), (VIEW, 0, True), (EMPTY, 0, False))),
    *(case("tierup.sort", x, dim, stable) for x, dim, stable in ((LETTERS, -1, False), (VIEW, 0, True), (EMPTY, 0, False))),
    *(case("aten.median", x) for x in (LETTERS, VIEW, POINT)),
    case("tierup.partition", LETTERS, -1, [1]), case("tierup.partition", VIEW, 0, [0]),
    *(case("aten.topk", x, 2, dim, largest, True) for x, dim, largest in ((LETTERS, -1, True), (VIEW, 1, False), (NO_ROWS, 1, True))),
]  # fmt: skip

_ZERO, _ZEROS = array(2, 3, 4), array(2, 3, 4)
_ZERO[1, 2, 0] = _ZERO[0, 1, 3] = _ZEROS[0, 0, :] = _ZEROS[1, 1, 2] = 0

PRODUCTS = [
    *(case("aten.prod", x, None, numpy=numpy) for x, numpy in ((X, False), (VIEW[:, :2, :2], False), (POINT, False), (EMPTY, False), (X, True))),
    *(case("aten.prod", np.array(x), None) for x in ([2.0, 0.0, 3.0], [[0.0, 0.0], [2.0, 3.0]], 0.0, [0.0])),
    *(c for x in (LETTERS, _ZERO, _ZEROS) for c in (case("aten.prod.dim_int", x, d, keep, None) for d, keep in ((0, True), (1, False), (-1, False)))),
    *one_dim("aten.prod.dim_int", None)[::3],
    *(case("aten.cumprod", x, dim, None) for x in (LETTERS, VIEW, _ZERO, _ZEROS) for dim in (0, -1)), case("aten.cumprod", EMPTY, 0, None),
    *(case("aten.cumsum", x, dim, None) for x in (LETTERS, VIEW, EMPTY) for dim in (0, -1)),
    *(case(f"aten.{op}", POINT, 0, None) for op in ("cumsum", "cumprod")),
    *(case("aten.logcumsumexp", x, dim) for x in (LETTERS, VIEW, EMPTY) for dim in (0, -1)), case("aten.logcumsumexp", POINT, 0),
]  # fmt: skip

CASES = [*TAKEN, *PRODUCTS]
UNKNOWN_TO_TORCH = ("tierup.sort", "tierup.partition")

CORNERS = [
    *(case(f"aten.{op}.dim", x, dim, False) for op in ("max", "min") for x in (TIES, NAN) for dim in (0, 1)),
    *(case("aten.sort", x, 1, down) for x in (TIES, NAN) for down in (False, True)),
    *(case("aten.topk", TIES, 2, 1, largest, True) for largest in (False, True)), case("aten.median", TIES), case("aten.median", NAN),
]  # fmt: skip
