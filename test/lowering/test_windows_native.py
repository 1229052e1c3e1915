"""Convolutions and pooling in native code, over their parameters drawn at random and over batches and sizes that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from single_op import difference, flat, native, tier0

import tierup

FEW = settings(max_examples=examples(6))


def _whole(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Small whole numbers: sums are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(np.float32)


def _agree(op: str, operands: tuple[Any, ...], results: int, symbolic: bool) -> None:
    try:
        expected = flat(tier0(op, operands))
    except ValueError:
        return  # windows that do not fit
    actual = native(op, operands, results, symbolic=symbolic)
    for a, e in zip(actual, expected, strict=True):
        assert difference(a, e, 4.0) == "", operands[2:]


def pair(draw: st.DrawFn, low: int, high: int) -> list[int]:
    return [draw(st.integers(low, high)), draw(st.integers(low, high))]


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Any, ...]:
    groups, transposed = draw(st.sampled_from((1, 1, 2, 3))), draw(st.booleans())
    entering, leaving = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    stride, dilation = pair(draw, 1, 3), pair(draw, 1, 2)
    kernel, batch = (draw(st.integers(1, 3)), draw(st.integers(1, 4))), draw(st.sampled_from((0, 1, 2, 5)))
    x = _whole((batch, entering, *pair(draw, 3, 9)), 1)
    weight = _whole((entering, leaving // groups, *kernel) if transposed else (leaving, entering // groups, *kernel), 2)
    bias = _whole((leaving,), 3) if draw(st.booleans()) else None
    extra = [draw(st.integers(0, s - 1)) for s in stride] if transposed else [0, 0]
    return x, weight, bias, stride, pair(draw, 0, 2), dilation, transposed, extra, groups


@FEW
@given(operands=convolutions(), symbolic=st.booleans())
def test_convolutions_are_tier_0s(operands: tuple[Any, ...], symbolic: bool) -> None:
    _agree("aten.convolution", operands, 1, symbolic)


def test_sizes_that_cancel_are_known() -> None:
    """As many places in the window as there are positions: the result's sizes are numbers, whatever the input's."""
    x, weight = _whole((3, 2, 6, 5), 1), _whole((4, 2, 6, 5), 2)
    for padding, transposed in (([1, 1], False), ([0, 0], False), ([5, 4], True)):
        _agree("aten.convolution", (x, weight if not transposed else weight[:2], None, [1, 1], padding, [1, 1], transposed, [0, 0], 1), 1, True)


@pytest.mark.parametrize("size", [(4, 4), (4, 7), (7, 4)], ids=str)
def test_what_one_window_leaves_over_is_not_read(size: tuple[int, int]) -> None:
    """One position along an axis, in an input that is longer than the window: full, depthwise, and one row of weights for each group."""
    for weight, stride, dilation, groups in (
        (_whole((4, 2, 3, 3), 2), [2, 2], [1, 1], 1),
        (_whole((2, 1, 3, 3), 2), [3, 3], [1, 1], 2),
        (_whole((1, 2, 3, 3), 2), [2, 2], [1, 1], 1),
        (_whole((4, 1, 2, 2), 2), [2, 2], [2, 2], 2),
        (_whole((2, 1, 3, 3), 2), [2, 2], [1, 1], 2),
    ):
        for symbolic in (False, True):
            _agree("aten.convolution", (_whole((2, 2, *size), 1), weight, None, stride, [0, 0], dilation, False, [0, 0], groups), 1, symbolic)


def test_what_one_large_pool_leaves_over_is_not_read() -> None:
    for size in ((8, 8), (8, 12)):
        x = _whole((2, 2, *size), 4) + np.float32(0.5)
        _agree("aten.max_pool2d_with_indices", (x, [7, 7], [3, 3], [0, 0], [1, 1], False), 2, False)
        _agree("aten.avg_pool2d", (x, [7, 7], [3, 3], [0, 0], False, True, None), 1, False)


@st.composite
def pooling(draw: st.DrawFn) -> tuple[str, tuple[Any, ...], int]:
    x = _whole((draw(st.sampled_from((0, 1, 3))), 2, *pair(draw, 2, 9)), 4) + np.float32(0.5)  # no zeros, whose sign nobody promises
    kernel, stride, dilation, ceil = pair(draw, 1, 4), pair(draw, 1, 3), pair(draw, 1, 2), draw(st.booleans())
    padding = [draw(st.integers(0, k // 2)) for k in kernel]
    if draw(st.booleans()):
        return "aten.max_pool2d_with_indices", (x, kernel, stride, padding, dilation, ceil), 2
    return "aten.avg_pool2d", (x, kernel, stride, padding, ceil, draw(st.booleans()), draw(st.sampled_from((None, 4)))), 1


@FEW
@given(sample=pooling(), symbolic=st.booleans())
def test_pooling_is_tier_0s(sample: tuple[str, tuple[Any, ...], int], symbolic: bool) -> None:
    _agree(*sample, symbolic=symbolic)


def _program(tmp_path: Path) -> Any:
    (tmp_path / "f.mlir").write_text(
        """
func.func @f(%x: !torch.vtensor, %w: !torch.vtensor) -> !torch.vtensor {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %ones = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %twos = torch.prim.ListConstruct %2, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %c = torch.aten.conv2d %x, %w, %none, %twos, %ones, %ones, %1 : !torch.vtensor, !torch.vtensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor
  %r = torch.aten.relu %c : !torch.vtensor -> !torch.vtensor
  %p = torch.aten.max_pool2d %r, %twos, %ones, %zeros, %ones, %false : !torch.vtensor, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor
  return %p : !torch.vtensor
}"""
    )
    return tierup.load(tmp_path / "f.mlir")


def _expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    convolved = tier0("aten.conv2d", (x, w, None, [2, 2], [1, 1], [1, 1], 1))
    return tier0("aten.max_pool2d", (np.maximum(convolved, 0), [2, 2], [1, 1], [0, 0], [1, 1], False))


def test_one_version_takes_every_batch(tmp_path: Path) -> None:
    f, w = _program(tmp_path), _whole((4, 3, 3, 3), 5)
    for batch in (2, 2, 3, 3, 5, 20, 7, 40):
        x = _whole((batch, 3, 7, 8), 6)
        np.testing.assert_array_equal(f(x, w), _expected(x, w))
    assert f.versions[-1].speculation.kind == "dynamic" and f.stats().hits >= 3
    hits = f.stats().hits
    f(_whole((11, 3, 7, 8), 6), w)
    assert f.stats().hits == hits + 1


@pytest.mark.parametrize("kernel", [5, 14])
def test_an_input_too_small_for_the_window_raises_as_in_tier_0(kernel: int, tmp_path: Path) -> None:
    """A version for any height asks for what the window needs before it does anything, and leaves the call to tier 0."""
    f, w = _program(tmp_path), _whole((4, 3, kernel, 3), 5)
    for height in (19, 19, 20, 20, 22, 23, 27):
        x = _whole((2, 3, height, 8), 6)
        np.testing.assert_array_equal(f(x, w), _expected(x, w))
    assert f.versions[-1].speculation.kind == "dynamic"
    answered = f.stats().hits - f.stats().bailouts
    for height, message in ((2, "Kernel size can't be greater"), (kernel - 2, "Output size is too small")):
        with pytest.raises(ValueError, match=message):
            f(_whole((2, 3, height, 8), 6), w)
    assert f.stats().hits - f.stats().bailouts == answered
