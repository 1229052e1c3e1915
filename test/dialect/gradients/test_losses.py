"""Gradients of losses with weights, against central differences; untyped programs, in which the rank of an input is for the run to say."""

from __future__ import annotations

import numpy as np
import pytest
from cases_losses import INSIDE, PLACES, POSITIVE, TARGET, TYPED_ATTENTION
from gradient_harness import Case, array, case, check, differentiated, program, runner
from gradient_operands import COLUMN, X
from sampling import drawn

WEIGHTED = [
    *(case("aten.binary_cross_entropy_with_logits", x, TARGET, w, p, reduction) for x, w, p, reduction in (
        (X, POSITIVE, None, 0), (X, COLUMN, POSITIVE, 2), (X, None, POSITIVE, 1))),
    *(case(f"aten.{op}", x, t, POSITIVE, reduction, ignored, *rest) for op, *rest in (("nll_loss_nd",), ("cross_entropy_loss", 0.0), ("cross_entropy_loss", 0.2))
      for x, t, reduction in PLACES for ignored in (-100, 1)),
    *(case("aten.nll_loss_forward", *PLACES[0][:2], POSITIVE, reduction, -100, of=of) for reduction in (1, 2) for of in (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("given", drawn("untyped", WEIGHTED, 4, kind=lambda given: given.op), ids=str)
def test_weights_are_operands_like_others(given: Case) -> None:
    check(given)


@pytest.mark.parametrize("given", drawn("typed", WEIGHTED, 8, kind=lambda given: given.op), ids=str)
def test_so_are_they_in_typed_programs(given: Case) -> None:
    check(given, typed=True)


@pytest.mark.parametrize("given", TYPED_ATTENTION, ids=str)
def test_attention_with_masks_and_shared_heads_has_a_gradient_in_typed_programs(given: Case) -> None:
    check(given, typed=True)


def test_the_mean_over_what_an_input_was_broadcast_to_is_over_all_of_it() -> None:
    for op in ("mse_loss", "l1_loss"):
        check(case(f"aten.{op}", array(), X, 1))


def test_a_probability_at_its_ends_has_a_finite_gradient() -> None:
    """As in PyTorch: the denominator is at least 1e-12."""
    x = np.array([0.0, 1.0, 0.0, 1.0])
    target = np.array([0.0, 1.0, 1.0, 0.0])
    (gradient,) = runner(differentiated(program(case("aten.binary_cross_entropy", x, target, None, 2)), [0]))(x, target, np.ones(()))
    np.testing.assert_allclose(gradient, [0, 0, -1e12, 1e12])


def test_only_the_gradient_is_computed() -> None:
    """Nothing but the value needs the logarithms, the squares, the choice of an arm."""
    for given, absent in (
        (case("aten.mse_loss", X, INSIDE, 0), ("aten.square",)), (case("aten.binary_cross_entropy", INSIDE, TARGET, None, 1), ("aten.log", "aten.ge")),
        (case("aten.cross_entropy_loss", X, np.array([0, 2]), None, 1, -100, 0.0), ("prim.If", "aten.is_floating_point")),
    ):  # fmt: skip
        text = differentiated(program(given, typed=True), [0])
        behind = text[text.index(given.op) :]
        assert not [name for name in absent if f"torch.{name}" in behind], behind
