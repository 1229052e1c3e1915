"""Gradients of movement where the rules are NumPy's, where PyTorch's own are wrong or missing, and where they raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_harness import Case, array, case, check, differentiated, program, runner
from gradient_operands import COLUMN, LETTERS, MASK, ROW, X

VECTOR = array(5, seed=8)


def ints(*items: Any, dtype: Any = np.int64) -> np.ndarray:
    return np.array(items, dtype=dtype)


NUMPY: list[Case] = [
    *(case("aten.index_select", x, d, i, numpy=True) for x, d, i in (
        (X, 0, ints(-1, 0, -1)), (LETTERS, -2, ints([1, 1], [-1, 0])), (LETTERS, 1, np.array(-1)), (VECTOR, -1, ints(4, 1, dtype=np.uint8)),
        (LETTERS, -1, ints([[0, 3]])),
    )),
    *(case("aten.embedding", x, i, -1, False, False, numpy=True) for x, i in ((LETTERS, ints(-1, 1, -1)), (VECTOR, ints([4, -1, 0])))),
    *(case("aten.gather", x, d, i, False, numpy=True) for x, d, i in (
        (X, 1, ints([-1, 0, -1, 2], [0, 0, 0, 0])), (X, 0, ints([-1, 0, 1])), (ROW.reshape(1, 3), 1, ints([1, -1], [0, 0])),
        (LETTERS, -1, ints([[-1], [2], [0]], dtype=np.int8)),
    )),
    *(case("aten.index.Tensor", x, i, numpy=True) for x, i in (
        (X, [ints(1, 0, 1, dtype=np.uint8)]), (LETTERS, [None, ints([2], [-1], dtype=np.int16)]), (X, [MASK]), (X, [np.array(1)]),
    )),
    *(case("aten.index_put", x, i, v, adds, numpy=True) for x, i, v, adds in (
        (VECTOR, [ints(1, -1, 1)], ROW, False), (VECTOR, [ints(1, -1, 1)], ROW, True), (X, [ints(0, 1, 0, dtype=np.uint8)], COLUMN[:1, 0], False),
        (X, [MASK], array(3, seed=9), False), (LETTERS, [None, ints([0, 0], [1, 0])], array(2, 2, 1, seed=9), False),
    )),
    *(case(f"aten.{op}", x, k, numpy=True) for op in ("tril", "triu") for x, k in ((X, 1), (ROW, 0), (VECTOR, -2))),
    *(case("aten.roll", x, n, d, numpy=True) for x, n, d in ((X, [1], []), (LETTERS, [1, 2], [0, 0]))),
    case("aten.tile", X, [2, 1, 2], numpy=True), case("aten.flip", LETTERS, [0, 2], numpy=True),
    *(case("aten.slice.Tensor", LETTERS, *where, numpy=True) for where in ((0, None, None, -1), (2, None, 0, -2), (1, -1, -4, -2), (2, 3, 9, -1))),
]  # fmt: skip

# PyTorch's gradient of replicated borders is wrong where a side is cut off; its own of an index without elements raises
OURS: list[Case] = [
    case("aten.pad", LETTERS, [1, 1, -1, 2], "replicate", None), case("aten.pad", LETTERS, [-1, 2, 1, 0], "reflect", None),
    case("aten.embedding", X, ints().reshape(2, 0), -1, False, False),
    case("aten.scatter.src", X, 0, ints([1, 0]), array(2, 3, seed=6)), case("aten.scatter_add", X, 1, ints([1], [1]), array(3, 2, seed=6)),
]  # fmt: skip


@pytest.mark.parametrize("given", NUMPY, ids=str)
@pytest.mark.parametrize("typed", [False, True], ids=["", "typed"])
def test_gradients_under_numpys_rules_are_central_differences(given: Case, typed: bool) -> None:
    if not (typed and any(a.dtype.kind == "u" for a in given.arrays)):  # the harness writes no such type
        check(given, typed=typed)


@pytest.mark.parametrize("given", OURS, ids=str)
def test_gradients_that_pytorch_does_not_give_are_central_differences(given: Case) -> None:
    check(given, typed=True)


def test_rows_that_are_taken_often_count_less_when_that_is_asked_for() -> None:
    where, grad = ints([1, 0, 1], [1, 2, 0]), array(2, 3, 4, seed=3)
    text = program(case("aten.embedding", array(3, 4), where, 2, True, False))
    (found,) = runner(differentiated(text, [0]))(array(3, 4), where, grad)
    wanted = np.zeros((3, 4))
    np.add.at(wanted, where, grad)
    np.testing.assert_allclose(found, wanted / np.array([[2], [3], [np.inf]]), rtol=1e-12)
    twice = differentiated(differentiated(text, [0]), [2])
    (back,) = runner(twice)(array(3, 4), where, grad, array(3, 4, seed=5))
    counts = np.array([2.0, 3.0, np.inf])[where]
    np.testing.assert_allclose(back, array(3, 4, seed=5)[where] / counts[..., None], rtol=1e-12)


def test_a_source_of_which_a_part_is_read_needs_a_known_rank() -> None:
    """Where nothing is known of it, the run says so and gives no wrong gradient."""
    text = program(case("aten.scatter.src", X, 0, ints([1, 0]), array(2, 3, seed=6)))
    with pytest.raises(ValueError, match="shape"):
        runner(differentiated(text, [2]))(X, ints([1, 0]), array(2, 3, seed=6), array(2, 3))
