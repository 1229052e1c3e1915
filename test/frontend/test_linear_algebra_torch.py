"""Gradients of numpy.linalg against torch.linalg's autograd."""

import numpy as np
import pytest

import tierup
from test.frontend.test_linear_algebra import PSEUDO_INVERTED

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("kind", PSEUDO_INVERTED)
def test_the_gradient_of_a_pseudo_inverse_is_torchs(kind):
    a = PSEUDO_INVERTED[kind]
    weights = np.cos(np.arange(a.size).reshape(*a.shape[:-2], a.shape[-1], a.shape[-2]))
    given = torch.tensor(a, requires_grad=True)
    (torch.linalg.pinv(given) * torch.tensor(weights)).sum().backward()
    compiled = tierup.grad(lambda a: (np.linalg.pinv(a) * weights).sum())
    for _ in range(3):
        assert np.allclose(compiled(a), given.grad.numpy(), rtol=1e-9, atol=1e-9)
    assert compiled.stats().hits >= 1
