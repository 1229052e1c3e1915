"""Gradients of reductions beyond one result of one op: both results at once, NumPy's sums of rank 0, PyTorch's blind spots."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_harness import T, array, case, check, differences, differentiated, program, runner
from gradient_operands import LETTERS, X

TWO = """
func.func @f(%x: {T}) -> {T} {{
  %dim = torch.constant.int 1
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %dims = torch.prim.ListConstruct %dim : (!torch.int) -> !torch.list<int>
  %a, %b = {op} : {T}, {types} -> {T}, {T}
  %0 = torch.aten.mul.Tensor %a, %b : {T}, {T} -> {T}
  %1 = torch.aten.add.Tensor %0, %b, %one : {T}, {T}, !torch.int -> {T}
  return %1 : {T}
}}"""


@pytest.mark.parametrize(("op", "types"), [
    ("torch.aten.aminmax %x, %dim, %true", "!torch.int, !torch.bool"),
    ("torch.aten.var_mean.correction %x, %dims, %one, %true", "!torch.list<int>, !torch.int, !torch.bool"),
    ("torch.aten.var_mean.dim %x, %dims, %true, %true", "!torch.list<int>, !torch.bool, !torch.bool"),
])  # fmt: skip
def test_both_results_pass_on_gradients(op: str, types: str) -> None:
    text = TWO.format(T=T, op=op, types=types)
    forward = runner(text)
    cotangent = array(*forward(LETTERS)[0].shape, seed=3)
    (gradient,) = runner(differentiated(text, [0]))(LETTERS, cotangent)
    np.testing.assert_allclose(gradient, differences(forward, [LETTERS], 0, [cotangent], 1e-6), rtol=1e-6, atol=1e-7)


def test_numpys_running_sum_of_rank_0_is_a_vector_and_its_gradient_is_not() -> None:
    for op in ("aten.cumsum", "aten.cumprod"):
        for typed in (False, True):
            check(case(op, array(), 0, None, numpy=True), typed=typed)


@pytest.mark.parametrize(("op", "operands"), [
    ("aten.sum.dim_IntList", ([0], False, None)), ("aten.sum.dim_IntList", ([-1], False, None)), ("aten.mean.dim", ([0], False, None)),
    ("aten.mean.dim", ([-1], True, None)), ("aten.prod.dim_int", (0, False, None)), ("aten.amax", ([-1], False)),
    ("aten.var.correction", ([0], 0, False)), ("aten.var_mean.correction", ([-1], 0, False)), ("aten.logsumexp", ([0], False)),
    ("aten.linalg_vector_norm", (2, [0], False, None)),
])  # fmt: skip
def test_rank_0_is_reduced_over_a_dim_that_it_has_not_got(op: str, operands: tuple[object, ...]) -> None:
    for x in (array(), array(3), array(3, 2)):
        check(case(op, x, *operands), typed=False)
    check(case(op, array(), *operands), typed=True)


def test_an_empty_list_of_dims_is_all_of_them() -> None:
    """PyTorch's gradients of var and std take it for none."""
    for op in ("aten.var.correction", "aten.std.correction"):
        for correction in (0, 1, 1.5):
            check(case(op, X, [], correction, False))


def test_corrections_that_are_no_integers_work_where_sizes_are_not_known() -> None:
    x = array(2, 2)
    given = case("aten.var.correction", x, [1], 2.5, False)  # no degree of freedom: the variance is infinite, or NaN
    (gradient,) = runner(differentiated(program(given), [0]))(x, np.ones(2))
    assert not np.isfinite(gradient).any()


@pytest.mark.parametrize("p", [0, 1, 2, 3])
def test_a_norm_of_0_has_second_derivatives_of_0(p: float) -> None:
    x = np.zeros((2, 3))
    first = differentiated(program(case("aten.linalg_vector_norm", x, p, [1], False, None)), [0])
    for gradient in runner(differentiated(first, [0, 1]))(x, np.ones(2), np.ones((2, 3))):
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


def test_a_deviation_of_0_has_second_derivatives_of_0() -> None:
    x = np.ones((2, 3))
    first = differentiated(program(case("aten.std.correction", x, [1], 1, False)), [0])
    for gradient in runner(differentiated(first, [0, 1]))(x, np.ones(2), np.ones((2, 3))):
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


def test_softmax_keeps_only_its_result_and_large_inputs_do_no_harm() -> None:
    x = np.array([[1000.0, 0.0, -1000.0], [3e38, 3e38, 0.0]])
    for op in ("aten.softmax.int", "aten.log_softmax.int"):
        text = differentiated(program(case(op, x, 1, None)), [0])
        assert text.count("softmax") == 1, text
        (gradient,) = runner(text)(x, array(2, 3))
        assert np.isfinite(gradient).all()
