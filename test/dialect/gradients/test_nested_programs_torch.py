"""Branches in loops in branches: gradients of both orders of random programs are those of PyTorch's autograd, run eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradient_harness import array, runner  # noqa: E402
from hypothesis import HealthCheck, example, given, settings  # noqa: E402
from nested_programs import Branch, Repeat, Step, function, programs, text  # noqa: E402

from tierup.dialect.language.text import parse_module  # noqa: E402
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function  # noqa: E402

pytestmark = pytest.mark.torch

DEEP = (
    Branch(0, -1.1, (
        (Step("exp", 0, 1), Repeat(3, None, 0.0, (
            Step("picked", 2, 0), Branch(1, 0.21, ((Step("mul", 1, 2),), (Step("sin", 1, 0), Repeat(2, 1, -0.3, (Step("outer", 1, 2), Step("mul", 0, 1)))))),
            Step("joined", 0, 1),
        ))),
        (Step("flipped", 1, 2),),
    )),
    Step("mul", 0, 2),
)  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
@example(DEEP)
def test_gradients_through_branches_in_loops_in_branches_are_pytorchs(program: tuple[Any, ...]) -> None:
    arrays = [array(3, low=0.2, high=1.1, seed=k) for k in range(3)]
    leaves = [torch.from_numpy(a).requires_grad_() for a in arrays]
    value = function(program, torch)(*leaves)
    first = torch.autograd.grad(value, leaves, create_graph=True, materialize_grads=True)

    source = text(program)
    module = parse_module(source)
    gradient_of_function(module, "f", (0, 1, 2))
    got, *gradients = runner(str(module))(*arrays)
    _same([got, *gradients], [value, *first], source)

    seeds = [array(3, low=-1, high=1, seed=k + 5) for k in range(3)]
    linear = [(g, s) for g, s in zip(first, seeds, strict=True) if g.requires_grad]
    total = sum((g * torch.from_numpy(s)).sum() for g, s in linear)
    second = torch.autograd.grad(total, leaves, materialize_grads=True) if linear else [torch.zeros(3)] * 3
    gradient_of_function(module, "f", (0, 1, 2), results=(1, 2, 3), cotangents=True, keep_results=False)
    _same(runner(str(module))(*arrays, *seeds), second, source)


def _same(found: list[Any], wanted: Any, source: str) -> None:
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-9, atol=1e-9, err_msg=source)
