"""Gradients of convolutions and pooling whose parameters are drawn at random, against PyTorch's autograd: first and second order."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import test_rules_torch  # noqa: E402
from gradient_harness import Case, array, case  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch_oracle import run, run_torch, to_torch  # noqa: E402

pytestmark = pytest.mark.torch
FEW = settings(max_examples=settings().max_examples if settings().max_examples > 100 else 12)


def _pair(draw: st.DrawFn, low: int, high: int) -> list[int]:
    return [draw(st.integers(low, high)), draw(st.integers(low, high))]


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    groups, transposed = draw(st.sampled_from((1, 1, 2, 3))), draw(st.booleans())
    entering, leaving = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    stride, dilation, padding = _pair(draw, 1, 3), _pair(draw, 1, 2), _pair(draw, 0, 2)
    kernel = _pair(draw, 1, 3)
    x = array(draw(st.integers(0, 2)), entering, *_pair(draw, 2, 6))
    weight = array(*((entering, leaving // groups) if transposed else (leaving, entering // groups)), *kernel, seed=1)
    bias = array(leaving, seed=2) if draw(st.booleans()) else None
    extra = [draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)] if transposed else [0, 0]
    return case("aten.convolution", x, weight, bias, stride, padding, dilation, transposed, extra, groups)


@st.composite
def pools(draw: st.DrawFn) -> Case:
    x = array(draw(st.integers(0, 2)), 2, *_pair(draw, 2, 6))
    kernel, stride, ceil = _pair(draw, 1, 3), draw(st.sampled_from(([], [1], [2, 3]))), draw(st.booleans())
    padding = [draw(st.integers(0, k // 2)) for k in kernel]
    if draw(st.booleans()):
        return case("aten.max_pool2d", x, kernel, stride, padding, _pair(draw, 1, 2), ceil)
    return case("aten.avg_pool2d", x, kernel, stride, padding, ceil, draw(st.booleans()), draw(st.sampled_from((None, 3))))


def _agree(given: Case) -> None:
    if run(run_torch, given.op, tuple(map(to_torch, given.operands)))[1] is None:  # else windows that do not fit
        test_rules_torch.test_gradients_of_both_orders_are_pytorchs(given)


@FEW
@given(sample=convolutions())
def test_convolutions(sample: Case) -> None:
    _agree(sample)


@FEW
@given(sample=pools())
def test_pooling(sample: Case) -> None:
    _agree(sample)
