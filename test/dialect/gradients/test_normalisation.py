"""Gradients of batch norm by running statistics; what the gradient of a normalisation keeps."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_harness import Case, array, case, check, differentiated, program, runner

RUNNING = [array(4, seed=1), array(4, low=0.3, high=2, seed=2)]


@pytest.mark.parametrize("op", ["aten.batch_norm", "aten.native_batch_norm"])
@pytest.mark.parametrize("shape", [(3, 4, 2), (5, 4), (2, 4, 2, 2), (0, 4, 2)], ids=str)
def test_running_statistics_are_operands_like_others(op: str, shape: tuple[int, ...]) -> None:
    rest = (False,) if op == "aten.batch_norm" else ()
    for weight, bias in ((array(4, seed=3), array(4, seed=4)), (None, None), (None, array(4, seed=4))):
        check(case(op, array(*shape), weight, bias, *RUNNING, False, 0.1, 1e-2, *rest))


X = array(3, 4, 2)


@pytest.mark.parametrize("given", [
    case("aten.layer_norm", X, [4, 2], None, None, 1e-5, False), case("aten.group_norm", X, 2, None, None, 1e-5, False),
    case("aten.batch_norm", X, None, None, None, None, True, 0.1, 1e-5, False),
], ids=str)  # fmt: skip
def test_a_gradient_uses_the_statistics_that_the_forward_run_made(given: Case) -> None:
    text = differentiated(program(given), [0])
    native = given.op.replace("aten.", "aten.native_")
    assert text.count(f"torch.{native} ") == 1 and f"torch.{given.op} " not in text and "aten.rsqrt" not in text, text


def test_an_empty_batch_gives_parameters_gradients_of_zeros() -> None:
    given = case("aten.layer_norm", array(0, 4), [4], array(4), array(4, seed=1), 1e-5, False)
    for gradient in runner(differentiated(program(given), [1, 2]))(*given.arrays, np.zeros((0, 4))):
        np.testing.assert_array_equal(gradient, np.zeros(4))
