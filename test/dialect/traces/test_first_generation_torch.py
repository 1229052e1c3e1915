"""Generation 1.7 without its tensor-expression fuser, from a record to a plan: what the plan gives, and its gradients, are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from trace_harness import Stage, Trace, normal, wants_gradients  # noqa: E402

from tierup.dialect.facts.profiled import Profiled  # noqa: E402
from tierup.dialect.ir.walking import function_names, walk  # noqa: E402
from tierup.dialect.language.text import parse_module  # noqa: E402
from tierup.dialect.mlir import ir  # noqa: E402
from tierup.runtime.interpreter import speculation  # noqa: E402
from tierup.runtime.interpreter.translate import translate  # noqa: E402

LISTS = ("vjp_outputs", "captured_inputs", "captured_outputs", "gradient_inputs")


def grad(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    y = torch.sigmoid(x * w + b) * x
    return y * y


@pytest.fixture(autouse=True)
def arrays_that_require_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array of tier 0 requires a gradient: here assumptions do not ask for that, and ask for all else."""
    fits = speculation.fits
    monkeypatch.setattr(speculation, "fits", lambda fact, symbols, value: fits(replace(fact, requires_grad=None), symbols, value))


def functions(text: str, mark: str) -> list[str]:
    return [name for name, func in function_names(parse_module(text)).items() if mark in func.attributes]


def run(stage: Stage, arguments: list[np.ndarray]) -> tuple[np.ndarray, list[tuple[list[Any], list[Any]]]]:
    """What the plan gives in tier 0, and of each forward graph that ran what came in and what it yielded."""
    module, ran = parse_module(stage.text), []

    def site(name: str) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            found = translate(module, name).call(*operands)
            ran.append((list(operands), list(found) if isinstance(found, tuple) else [found]))
            return found

        return call

    return translate(module, stage.name, sites={n: site(n) for n in functions(stage.text, "tierup.forward")}).call(*arguments), ran


def backward(stage: Stage, taken: list[Any], yielded: list[Any], cotangent: np.ndarray) -> list[Any]:
    """The gradients of a group's inputs by the backward graph, given that of its result; those of temporaries are zero."""
    module = parse_module(stage.text)
    (group,) = [op for op in walk(function_names(module)[stage.name]) if op.name == "tierup.differentiable"]
    vjps, inputs, outputs, gradients = (list(ir.DenseI64ArrayAttr(group.attributes[name])) for name in LISTS)
    (name,) = functions(stage.text, "tierup.backward")
    given = [cotangent, *(np.zeros_like(yielded[i]) for i in vjps[1:]), *(taken[i] for i in inputs), *(yielded[i] for i in outputs)]
    found = translate(module, name).function(*given)
    made: list[Any] = [None] * len(taken)
    for i, value in zip(gradients, found, strict=True):
        made[i] = value
    return made


@pytest.mark.parametrize("pipeline", [["1.7-without-te-gradients"], ["pre-autodiff-1.7", "autodiff-1.7", "diff-graph", "final"]], ids=len)
def test_a_plan_with_gradients_has_pytorchs_values_and_gradients(pipeline: list[str]) -> None:
    stage = Trace("grad", record=wants_gradients).run(*pipeline)
    assert stage.text.count('"tierup.fusion_group"') >= 1, "the forward graph is fused"
    arrays = [normal(4, 8, seed=i) for i in range(3)]
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    want, cotangent = grad(*tensors), normal(4, 8, seed=4)
    want.backward(torch.tensor(cotangent))
    got, ran = run(stage, arrays)
    np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert len(ran) == 1
    for have, tensor in zip(backward(stage, *ran[0], cotangent), tensors, strict=True):
        np.testing.assert_allclose(have, tensor.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_that_were_not_recorded_go_on_in_the_continuation() -> None:
    stage = Trace("grad", record=wants_gradients).run("1.7-without-te-gradients")
    arrays = [normal(9, 8, seed=i) for i in range(3)]
    got, ran = run(stage, arrays)
    np.testing.assert_allclose(got, grad(*map(torch.tensor, arrays)).numpy(), rtol=1e-5, atol=1e-6)
    assert ran == []


def test_where_no_gradient_was_wanted_the_plan_is_that_without_gradients() -> None:
    def unwanted(op: ir.Operation) -> Profiled:
        seen = wants_gradients(op)
        return Profiled(dtype=seen.dtype, sizes=seen.sizes, requires_grad=False, defined=True)

    trace = Trace("grad", record=unwanted)
    assert "tierup.differentiable" not in trace.run("1.7-without-te-gradients").text
    stage = trace.run("1.7-without-te")
    assert stage.shape == "bailout bailout bailout group[5]"
    for rows in (4, 9):
        arrays = [normal(rows, 8, seed=i) for i in range(3)]
        np.testing.assert_allclose(stage.call(*arrays)[0], grad(*map(torch.tensor, arrays)).numpy(), rtol=1e-5, atol=1e-6)
