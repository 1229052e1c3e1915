"""Gradients of losses against PyTorch's where it has only some: of inputs and targets beside weights, of first order."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cases_losses import INSIDE, POSITIVE, SIGNS, TARGET  # noqa: E402
from gradient_harness import Case, array, case, differentiated, program, runner  # noqa: E402
from gradient_operands import X  # noqa: E402
from test_losses import WEIGHTED  # noqa: E402
from torch_oracle import run_torch, to_torch  # noqa: E402

pytestmark = pytest.mark.torch

CASES = [
    *(given for given in WEIGHTED if not given.of),
    *(case("aten.binary_cross_entropy", INSIDE, TARGET, w, reduction) for w in (None, POSITIVE) for reduction in (0, 1, 2)),
    *(case("aten.soft_margin_loss", X, SIGNS.astype(np.float64), reduction) for reduction in (0, 1, 2)),
]


@pytest.mark.parametrize("given", CASES, ids=str)
def test_the_gradient_of_the_input_is_pytorchs(given: Case) -> None:
    leaves = [to_torch(v) if isinstance(v, np.ndarray) else v for v in given.operands]
    leaves[0] = to_torch(given.operands[0].copy()).requires_grad_()
    result = run_torch(given.op, tuple(leaves))
    result = result[0] if isinstance(result, tuple) else result
    cotangent = array(*result.shape, low=-1, high=1.5, seed=3)
    (wanted,) = torch.autograd.grad(result, [leaves[0]], to_torch(cotangent))
    (found,) = runner(differentiated(program(given), [0]))(*given.arrays, cotangent)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-12, atol=1e-12)
