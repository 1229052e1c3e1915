"""Ops that are made of others have gradients beside other results: their shape rules are asked before any size is known."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import tierup  # noqa: E402

pytestmark = pytest.mark.torch


def test_cosine_similarity_has_a_gradient_beside_another_result() -> None:
    def program(x):
        return F.cosine_similarity(x, x + 1), F.normalize(x)

    ours = tierup.torch.from_torchscript(torch.jit.trace(program, torch.rand(3, 4)), gradients="error")
    for _ in range(3):
        x = torch.rand(3, 4, requires_grad=True)
        (wanted,) = torch.autograd.grad([r.sum() for r in program(x)], x)
        (found,) = torch.autograd.grad([r.sum() for r in ours(x)], x)
        torch.testing.assert_close(found, wanted)
    assert ours.stats().fallbacks == 0
