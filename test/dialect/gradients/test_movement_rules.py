"""Gradients of movement where the rules are NumPy's, where PyTorch's own are wrong or missing, and where they raise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cases_movement
import numpy as np
import pytest
from gradient_harness import Case, array, case, check, differences, differentiated, program, runner
from gradient_operands import COLUMN, LETTERS, MASK, ROW, X
from sampling import drawn
from test_native_gradients import gradient

import tierup

VECTOR = array(5, seed=8)


def ints(*items: Any, dtype: Any = np.int64) -> np.ndarray:
    return np.array(items, dtype=dtype)


NUMPY: list[Case] = [
    *(case("aten.index_select", x, d, i, numpy=True) for x, d, i in (
        (X, 0, ints(-1, 0, -1)), (LETTERS, -2, ints([1, 1], [-1, 0])), (LETTERS, 1, np.array(-1)), (VECTOR, -1, ints(4, 1, dtype=np.uint8)),
        (LETTERS, -1, ints([[0, 3]])), (np.zeros((0, 0)), 1, np.array(0)), (np.zeros((0, 2)), 1, ints(1, 1)),
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


@pytest.mark.parametrize(
    ("given", "typed"), drawn("movement under NumPy's rules", [(given, typed) for given in NUMPY for typed in (False, True)], 2, lambda row: row[0].op), ids=str
)
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


# --- native code -------------------------------------------------------------------------------------------------------

def test_native_gradients_of_ops_on_lists_are_tier_0s(tmp_path: Path) -> None:
    """Those of ops that take no list are in test_native_rules.py."""
    first: dict[str, Case] = {}
    for given in cases_movement.CASES:
        if any(isinstance(v, list) and any(isinstance(w, np.ndarray) for w in v) for v in given.operands) and not given.parts:
            if all(a.size and a.dtype.kind != "b" for a in given.arrays):  # masks are below
                first.setdefault(given.op, given)
    cases = list(first.values())
    assert {"aten.index.Tensor", "aten.index_put", "aten.hstack", "aten.column_stack", "aten.stack"} <= set(first)
    arrays = [a for given in cases for a in given.arrays]
    text = program(*cases)
    values = runner(text)(*arrays)
    text = differentiated(text, [i for i, a in enumerate(arrays) if a.dtype.kind == "f"], range(len(values)))
    arrays = [np.ascontiguousarray(a).reshape(a.shape) for a in arrays]  # of others it decides which gradients share memory
    arguments = [*arrays, *(array(*v.shape, low=-1, high=1.5, seed=k) for k, v in enumerate(values))]
    (tmp_path / "f.mlir").write_text(text)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(text)
    for _ in range(3):
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()


def by_mask(x: Any, w: Any) -> Any:
    return np.sum(x[x > 0] ** 3 * 0.5) + np.sum(x[:, w[:3] > 0.5])


def by_index(x: Any, w: Any) -> Any:
    i = np.array([1, 0, -1, 1])
    return np.sum(np.tanh(w[i] * w[:4])) + np.sum(x[i] ** 2)


def written(x: Any, w: Any) -> Any:
    y = np.zeros((6, 3))
    y[1:4] = x[:3]
    y[0] = w[:3]
    y[-1] += w[:3] * 2
    y[y < 0.3] = 0.25
    return np.sum(y * y)


def cut(x: Any, w: Any) -> Any:
    a, b, c = np.split(x, 3, axis=1)
    return np.sum(a * b * b * w[0] + c) + np.sum(np.flip(x, 1) * np.roll(x, 1, 0))


@pytest.mark.parametrize("function", [by_mask, by_index, written, cut], ids=lambda f: f.__name__)
def test_gradients_of_functions_that_move_elements_are_native_and_right(function: Any, tmp_path: Path) -> None:
    text = gradient(function, 2)
    (tmp_path / "f.mlir").write_text(text)
    f = tierup.load(tmp_path / "f.mlir")
    for rows in (4, 4, 4, 5, 5, 5, 6, 7):
        arguments = [array(rows, 3, low=-1, seed=rows), array(rows, low=0.1, high=1)]
        value, *found = f(*arguments)
        np.testing.assert_allclose(value, function(*arguments), rtol=1e-12)
        for i, got in enumerate(found):
            wanted = differences(lambda *a: [np.asarray(function(*a))], arguments, i, [np.float64(1)], 1e-6)
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()
    assert any(v.speculation.kind != "static" for v in f.versions)


def test_a_size_that_masks_give_is_not_taken_for_that_of_another_mask() -> None:
    """One element by a mask, put to all places of another: its gradient is a sum, also where types are known."""
    vector, mask = "!torch.vtensor<[4],f64>", "!torch.vtensor<[4],i1>"
    text = f"""
func.func @f(%x: {vector}, %y: {vector}, %a: {mask}, %b: {mask}) -> !torch.vtensor {{
  %false = torch.constant.bool false
  %l = torch.prim.ListConstruct %a : ({mask}) -> !torch.list<vtensor>
  %m = torch.prim.ListConstruct %b : ({mask}) -> !torch.list<vtensor>
  %v = torch.aten.index.Tensor_hacked_twin %x, %l : {vector}, !torch.list<vtensor> -> !torch.vtensor
  %r = torch.aten.index_put.hacked_twin %y, %m, %v, %false : {vector}, !torch.list<vtensor>, !torch.vtensor, !torch.bool -> !torch.vtensor
  return %r : !torch.vtensor
}}"""
    x, y, seed = array(4), array(4, seed=1), array(4, seed=2)
    a, b = np.array([False, False, True, False]), np.array([True, False, True, True])
    dx, dy = runner(differentiated(text, [0, 1]))(x, y, a, b, seed)
    np.testing.assert_allclose(dx, np.where(a, seed[b].sum(), 0))
    np.testing.assert_allclose(dy, np.where(b, 0, seed))


def changed_by_mask(x: Any, w: Any) -> Any:
    y = x * 1.0
    y[x > 0.3] *= w[0]
    y[x < -0.2] = w[1]
    z = w * 2.0
    z[w > 0.4] = w[w > 0.4] * z[w > 0.4]
    return np.sum(y * y) + np.sum(z)


def test_the_size_that_one_mask_gives_is_one_size(tmp_path: Path) -> None:
    """So that what a mask reads, changes and writes is native with its gradient."""
    text = gradient(changed_by_mask, 2)
    (tmp_path / "f.mlir").write_text(text)
    f = tierup.load(tmp_path / "f.mlir")
    for rows in (4, 4, 4, 5, 6, 7):
        arguments = [array(rows, 3, low=-1, seed=rows), array(rows, low=0.1, high=1)]
        value, *found = f(*arguments)
        np.testing.assert_allclose(value, changed_by_mask(*arguments), rtol=1e-12)
        for i, got in enumerate(found):
            wanted = differences(lambda *a: [np.asarray(changed_by_mask(*a))], arguments, i, [np.float64(1)], 1e-6)
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()


def test_a_vector_of_size_0_joins_anything_and_has_a_gradient_of_its_own_size() -> None:
    given = case("aten.cat", [X, np.zeros(0), X + 1], 1)
    first, empty, last = runner(differentiated(program(given, typed=True), [0, 1, 2]))(*given.arrays, array(2, 6))
    assert empty.shape == (0,)
    np.testing.assert_array_equal(np.concatenate([first, last], 1), array(2, 6))
