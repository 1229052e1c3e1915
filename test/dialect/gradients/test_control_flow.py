"""Gradients through branches and loops that data decide, against central differences, in tier 0 and in native code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gradient_harness import array, differences, runner

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function

T = "!torch.vtensor"

BRANCH = f"""
func.func @f(%x: {T}, %y: {T}, %n: !torch.int) -> {T} {{
  %one = torch.constant.int 1
  %none = torch.constant.none
  %s = torch.aten.sum %x, %none : {T}, !torch.none -> {T}
  %c = torch.aten.Bool.Tensor %b : {T} -> !torch.bool
  %m = torch.aten.gt.int %n, %one : !torch.int, !torch.int -> !torch.bool
  %z = torch.aten.mul.Tensor %x, %y : {T}, {T} -> {T}
  %0:2 = torch.prim.If %c -> ({T}, {T}) {{
    %1 = torch.aten.exp %z : {T} -> {T}
    %2 = torch.prim.If %m -> ({T}) {{
      %3 = torch.aten.mul.Tensor %1, %1 : {T}, {T} -> {T}
      torch.prim.If.yield %3 : {T}
    }} else {{
      %3 = torch.aten.sin %x : {T} -> {T}
      torch.prim.If.yield %3 : {T}
    }}
    torch.prim.If.yield %1, %2 : {T}, {T}
  }} else {{
    torch.prim.If.yield %x, %z : {T}, {T}
  }}
  %4 = torch.aten.mul.Tensor %0#0, %0#1 : {T}, {T} -> {T}
  %5 = torch.aten.mul.Tensor %4, %z : {T}, {T} -> {T}
  %6 = torch.aten.sum %5, %none : {T}, !torch.none -> {T}
  return %6 : {T}
}}""".replace("  %c =", f"  %zero = torch.constant.int 0\n  %b = torch.aten.gt.Scalar %s, %zero : {T}, !torch.int -> {T}\n  %c =")

# for and while, one in the other; sizes change in the first iteration; a number is carried; the loop may not run at all
LOOP = f"""
func.func @f(%x: {T}, %w: {T}, %n: !torch.int) -> {T} {{
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %max = torch.constant.int 9223372036854775807
  %true = torch.constant.bool true
  %none = torch.constant.none
  %half = torch.constant.float 0.5
  %0:2 = torch.prim.Loop %n, %true, init(%x, %half) {{
  ^bb0(%i: !torch.int, %a: {T}, %h: !torch.float):
    %1 = torch.aten.mul.Tensor %a, %w : {T}, {T} -> {T}
    %2 = torch.aten.sin %1 : {T} -> {T}
    %c = torch.aten.gt.int %i, %zero : !torch.int, !torch.int -> !torch.bool
    %3:2 = torch.prim.Loop %max, %c, init(%2, %i) {{
    ^bb1(%j: !torch.int, %b: {T}, %k: !torch.int):
      %4 = torch.aten.mul.Tensor %b, %1 : {T}, {T} -> {T}
      %5 = torch.aten.add.Scalar %4, %h, %one : {T}, !torch.float, !torch.int -> {T}
      %6 = torch.aten.sub.int %k, %one : !torch.int, !torch.int -> !torch.int
      %d = torch.aten.gt.int %6, %zero : !torch.int, !torch.int -> !torch.bool
      torch.prim.Loop.condition %d, iter(%5, %6 : {T}, !torch.int)
    }} : (!torch.int, !torch.bool, {T}, !torch.int) -> ({T}, !torch.int)
    %7 = torch.aten.mul.float %h, %h : !torch.float, !torch.float -> !torch.float
    %8 = torch.aten.mul.Scalar %3#0, %7 : {T}, !torch.float -> {T}
    torch.prim.Loop.condition %true, iter(%8, %7 : {T}, !torch.float)
  }} : (!torch.int, !torch.bool, {T}, !torch.float) -> ({T}, !torch.float)
  %9 = torch.aten.tanh %0#0 : {T} -> {T}
  %10 = torch.aten.mul.Tensor %9, %w : {T}, {T} -> {T}
  %11 = torch.aten.sum %10, %none : {T}, !torch.none -> {T}
  return %11 : {T}
}}"""


def differentiated(text: str, times: int = 1) -> str:
    """@f with gradients of its two tensors; at the second time of the sum of all elements of the gradients so far."""
    module = parse_module(text)
    gradient_of_function(module, "f", (0, 1))
    if times == 2:
        gradient_of_function(module, "f", (0, 1), results=(0, 1, 2), cotangents=True)
    return str(module)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_through_the_branch_that_is_taken(sign: int, n: int) -> None:
    x, y = sign * array(2, 3, low=0.1, high=1), array(3, seed=3)
    forward, backward = runner(BRANCH), runner(differentiated(BRANCH))
    value, *gradients = backward(x, y, n)
    np.testing.assert_array_equal(value, forward(x, y, n)[0])
    for i, gradient in enumerate(gradients):
        np.testing.assert_allclose(gradient, differences(lambda *a: forward(*a, n), [x, y], i, [np.float64(1)], 1e-6), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 4])
def test_gradients_through_as_many_iterations_as_there_are(n: int) -> None:
    x, w = array(3, low=0.2, high=1), array(2, 1, seed=3)
    forward, backward = runner(LOOP), runner(differentiated(LOOP))
    value, *gradients = backward(x, w, n)
    np.testing.assert_array_equal(value, forward(x, w, n)[0])
    for i, gradient in enumerate(gradients):
        assert gradient.shape == (x, w)[i].shape
        np.testing.assert_allclose(gradient, differences(lambda *a: forward(*a, n), [x, w], i, [np.float64(1)], 1e-6), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sign", [1, -1])
def test_second_derivatives_through_branches(sign: int) -> None:
    x, y = sign * array(2, 3, low=0.1, high=1), array(3, seed=3)
    cotangents = [np.float64(0.7) * np.ones(()), array(2, 3, seed=5), array(3, seed=6)]
    first, second = runner(differentiated(BRANCH)), runner(differentiated(BRANCH, 2))
    *_, dx, dy = second(x, y, 3, *cotangents)
    for i, gradient in enumerate((dx, dy)):
        wanted = differences(lambda *a: first(*a, 3), [x, y], i, cotangents, 1e-6)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 4])
def test_second_derivatives_through_loops_that_save(n: int) -> None:
    x, w = array(3, low=0.2, high=1), array(2, 1, seed=3)
    cotangents = [np.float64(0.7) * np.ones(()), array(3, seed=5), array(2, 1, seed=6)]
    first, second = runner(differentiated(LOOP)), runner(differentiated(LOOP, 2))
    *_, dx, dw = second(x, w, n, *cotangents)
    for i, gradient in enumerate((dx, dw)):
        wanted = differences(lambda *a: first(*a, n), [x, w], i, cotangents, 1e-6)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_with_its_gradient_is_native(sign: int, tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(differentiated(BRANCH))
    f = tierup.load(tmp_path / "f.mlir")
    x, y = (sign * array(2, 3, low=0.1, high=1)).astype(np.float32), array(3, seed=3).astype(np.float32)
    wanted = runner(differentiated(BRANCH))(x, y, 3)
    for _ in range(3):
        for got, want in zip(f(x, y, 3), wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert f.stats().hits and "in tier 0:" not in f.explain(), f.explain()


# a loop whose carried sizes stand still, in a loop; the inner one runs as often as the outer one says
ROUNDS = f"""
func.func @f(%x: {T}, %w: {T}, %n: !torch.int) -> {T} {{
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %none = torch.constant.none
  %0 = torch.prim.Loop %n, %true, init(%x) {{
  ^bb0(%i: !torch.int, %a: {T}):
    %1 = torch.aten.mul.Tensor %a, %w : {T}, {T} -> {T}
    %2 = torch.prim.Loop %i, %true, init(%1) {{
    ^bb1(%j: !torch.int, %b: {T}):
      %3 = torch.aten.sin %b : {T} -> {T}
      %4 = torch.aten.mul.Tensor %3, %x : {T}, {T} -> {T}
      torch.prim.Loop.condition %true, iter(%4 : {T})
    }} : (!torch.int, !torch.bool, {T}) -> {T}
    torch.prim.Loop.condition %true, iter(%2 : {T})
  }} : (!torch.int, !torch.bool, {T}) -> {T}
  %5 = torch.aten.tanh %0 : {T} -> {T}
  %6 = torch.aten.sum %5, %none : {T}, !torch.none -> {T}
  return %6 : {T}
}}"""


def test_a_counted_loop_with_its_gradient_is_native(tmp_path: Path) -> None:
    text = differentiated(ROUNDS)
    (tmp_path / "f.mlir").write_text(text)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(text)
    for rows in (2, 2, 2, 3, 3, 4, 5, 6):
        for n in (4, 0, 1, 2):
            x, w = array(rows, 3, low=0.5, high=1.5).astype(np.float32), array(3, seed=3).astype(np.float32)
            for got, want in zip(f(x, w, n), tier0(x, w, n), strict=True):
                assert got.dtype == want.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert "in tier 0: " not in f.explain().replace("ran in tier 0: ", ""), f.explain()
    assert f.stats().hits and any(v.speculation.kind != "static" for v in f.versions)


# both loops end by what data say; neither runs as often as the other
UNTIL = f"""
func.func @f(%x: {T}, %w: {T}) -> {T} {{
  %max = torch.constant.int 9223372036854775807
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %none = torch.constant.none
  %limit = torch.constant.float 2.0
  %0:2 = torch.prim.Loop %max, %true, init(%x, %one) {{
  ^bb0(%i: !torch.int, %a: {T}, %k: !torch.int):
    %1 = torch.aten.mul.Tensor %a, %w : {T}, {T} -> {T}
    %2 = torch.aten.sin %1 : {T} -> {T}
    %3 = torch.aten.add.Tensor %a, %2, %one : {T}, {T}, !torch.int -> {T}
    %4 = torch.aten.sum %3, %none : {T}, !torch.none -> {T}
    %5 = torch.aten.lt.Scalar %4, %limit : {T}, !torch.float -> {T}
    %c = torch.aten.Bool.Tensor %5 : {T} -> !torch.bool
    %6 = torch.aten.add.int %k, %one : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %c, iter(%3, %6 : {T}, !torch.int)
  }} : (!torch.int, !torch.bool, {T}, !torch.int) -> ({T}, !torch.int)
  %d = torch.aten.gt.int %0#1, %one : !torch.int, !torch.int -> !torch.bool
  %7:2 = torch.prim.Loop %max, %d, init(%0#0, %0#1) {{
  ^bb1(%j: !torch.int, %b: {T}, %m: !torch.int):
    %8 = torch.aten.tanh %b : {T} -> {T}
    %9 = torch.aten.mul.Tensor %8, %x : {T}, {T} -> {T}
    %10 = torch.aten.sub.int %m, %one : !torch.int, !torch.int -> !torch.int
    %e = torch.aten.gt.int %10, %zero : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %e, iter(%9, %10 : {T}, !torch.int)
  }} : (!torch.int, !torch.bool, {T}, !torch.int) -> ({T}, !torch.int)
  %11 = torch.aten.sum %7#0, %none : {T}, !torch.none -> {T}
  return %11 : {T}
}}"""


def test_loops_that_end_by_their_condition_are_native_with_their_gradients(tmp_path: Path) -> None:
    text = differentiated(UNTIL)
    (tmp_path / "f.mlir").write_text(text)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(text)
    for size in (3, 4, 4, 5, 6):
        for scale in (0.02, 0.2, 1.0):
            x, w = scale * array(size, low=0.3, high=0.9), array(size, low=0.5, high=0.9, seed=1)
            for got, want in zip(f(x, w), tier0(x, w), strict=True):
                assert got.dtype == want.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert "in tier 0: " not in f.explain().replace("ran in tier 0: ", ""), f.explain()
    assert f.stats().hits and any(v.speculation.kind != "static" for v in f.versions)


@pytest.mark.parametrize("program", ["counted", "until"])
def test_second_derivatives_through_loops_are_native_at_known_sizes(program: str, tmp_path: Path) -> None:
    text = differentiated({"counted": ROUNDS, "until": UNTIL}[program], 2)
    (tmp_path / "f.mlir").write_text(text)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(text)
    for k in (3, 3, 3, 0, 1, 2):
        x, w = array(3, low=0.5, high=1.5) * (1 if program == "counted" else 0.04 * (k + 1)), array(3, low=0.5, high=0.9, seed=3)
        arguments = (x, w, *((k,) if program == "counted" else ()), np.array(0.7), np.cos(x), np.sin(w))
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert "in tier 0: " not in f.explain().replace("ran in tier 0: ", ""), f.explain()
    assert f.stats().hits >= 4


def test_why_a_loop_that_saves_runs_in_tier_0_is_said_where_it_is(tmp_path: Path) -> None:
    """The sizes of what LOOP carries change in its first iteration."""
    (tmp_path / "f.mlir").write_text(differentiated(LOOP))
    f = tierup.load(tmp_path / "f.mlir")
    for _ in range(3):
        f(array(3, low=0.2, high=1), array(2, 1, seed=3), 2)
    assert "prim.Loop: it carries a list of tensors" in f.explain(), f.explain()
