"""Operands for the tests of gradients, and cases of whole kinds of ops: one line per op is a table of all that its rule must stand.

    CASES = [*unary("aten.tanh"), *unary("aten.log", low=0.2), *binary("aten.atan2"), case("aten.clamp", X, -0.5, None)]

Keep operands away from where the op has no derivative: central differences say nothing there. Such points are `CORNERS`, which only
PyTorch's autograd judges (`test_rules_torch.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gradient_harness import Case, array, case

X, Y, ROW, COLUMN, POINT, EMPTY = array(2, 3), array(2, 3, seed=1), array(3, seed=2), array(2, 1, seed=3), array(seed=4), array(0, 3)
POSITIVE = array(2, 3, low=0.2, high=3)
INTS = np.arange(6).reshape(2, 3) - 2
MASK = INTS > 0
LETTERS = array(2, 3, 4, seed=5)

Range = tuple[float, float]


def unary(op: str, *rest: Any, low: float = -2.0, high: float = 2.0, **settings: Any) -> list[Case]:
    """An op of one tensor of numbers between two bounds, and of `rest`: 2x3, a transposed view, rank 0, empty; under NumPy's rules."""
    within: dict[str, Any] = {"low": low, "high": high}
    full = array(2, 3, **within)
    return [
        *(case(op, x, *rest, **settings) for x in (full, array(3, 2, seed=1, **within).T, array(seed=4, **within), array(0, 3))),
        case(op, full, *rest, numpy=True, **settings),
    ]


def binary(
    op: str, *rest: Any, left: Range = (-2.0, 2.0), right: Range = (-1.7, 2.4), ints: tuple[Any, Any] | None = (INTS, INTS + 3), **settings: Any
) -> list[Case]:
    """An op of two tensors that broadcast, each of numbers within its bounds, and of `rest`: equal sizes, each side broadcast, both, views,
    rank 0, empty; with integers on either side (`ints`: those for the left and for the right, 2x3; None: the op takes none), and under
    NumPy's rules."""
    (a, b), (c, d) = left, right

    def x(*shape: int, seed: int = 0) -> np.ndarray:
        return array(*shape, low=a, high=b, seed=seed)

    def y(*shape: int, seed: int = 1) -> np.ndarray:
        return array(*shape, low=c, high=d, seed=seed)

    pairs = [
        (x(2, 3), y(2, 3)), (x(2, 3), y(3)), (x(2, 1), y(3)), (x(), y(2, 3)), (x(2, 3), y()), (x(), y()),
        (x(3, 2).T, y(2, 6)[:, ::2]), (x(0, 3), y(3)), (x(3), y(0, 3)),
    ]  # fmt: skip
    mixed = [] if ints is None else [(x(2, 3), ints[1]), (ints[0], y(3))]
    return [
        *(case(op, p, q, *rest, **settings) for p, q in (*pairs, *mixed)),
        *(case(op, p, q, *rest, numpy=True, **settings) for p, q in (pairs[1], pairs[3], pairs[4], *mixed)),
    ]
