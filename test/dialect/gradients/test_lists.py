"""Gradients of lists of tensors, first and second order against central differences: lists that grow in loops, items that the run names,
lists as arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_harness import array, runner

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function
from tierup.dialect.passes.registry import PassFailure

T, L = "!torch.vtensor", "!torch.list<vtensor>"
CONSTANTS = """
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %m1 = torch.constant.int -1
  %true = torch.constant.bool true
  %none = torch.constant.none
"""

# what a loop collects is joined; sizes may differ in each iteration
COLLECTED = f"""
func.func @f(%x: {T}, %w: {T}, %n: !torch.int) -> {T} {{{CONSTANTS}
  %l = torch.prim.ListConstruct %w : ({T}) -> {L}
  %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {{
  ^bb0(%i: !torch.int, %a: {T}, %m: {L}):
    %0 = torch.aten.mul.Tensor %a, %w : {T}, {T} -> {T}
    %1 = torch.aten.sin %0 : {T} -> {T}
    %2 = torch.prim.ListConstruct %1, %0 : ({T}, {T}) -> {L}
    %3 = torch.aten.add.t %m, %2 : {L}, {L} -> {L}
    torch.prim.Loop.condition %true, iter(%1, %3 : {T}, {L})
  }} : (!torch.int, !torch.bool, {T}, {L}) -> ({T}, {L})
  %s = torch.aten.JOIN %r#1, %zero : {L}, !torch.int -> {T}
  %4 = torch.aten.mul.Tensor %s, %s : {T}, {T} -> {T}
  %5 = torch.aten.sum %4, %none : {T}, !torch.none -> {T}
  return %5 : {T}
}}"""

# the loop says which item of a list is read, from either end; one item is read in a branch
PICKED = f"""
func.func @f(%x: {T}, %w: {T}, %n: !torch.int) -> {T} {{{CONSTANTS}
  %y = torch.aten.exp %x : {T} -> {T}
  %l = torch.prim.ListConstruct %x, %w, %y : ({T}, {T}, {T}) -> {L}
  %r = torch.prim.Loop %n, %true, init(%w) {{
  ^bb0(%i: !torch.int, %a: {T}):
    %k = torch.aten.sub.int %i, %two : !torch.int, !torch.int -> !torch.int
    %0 = torch.aten.__getitem__.t %l, %k : {L}, !torch.int -> {T}
    %1 = torch.aten.mul.Tensor %a, %0 : {T}, {T} -> {T}
    %c = torch.aten.gt.int %i, %zero : !torch.int, !torch.int -> !torch.bool
    %2 = torch.prim.If %c -> ({T}) {{
      %3 = torch.aten.__getitem__.t %l, %m1 : {L}, !torch.int -> {T}
      %4 = torch.aten.mul.Tensor %1, %3 : {T}, {T} -> {T}
      torch.prim.If.yield %4 : {T}
    }} else {{
      torch.prim.If.yield %1 : {T}
    }}
    torch.prim.Loop.condition %true, iter(%2 : {T})
  }} : (!torch.int, !torch.bool, {T}) -> {T}
  %5 = torch.aten.sum %r, %none : {T}, !torch.none -> {T}
  return %5 : {T}
}}"""

# a list is carried and made anew: cut, joined, copied, repeated; a branch says which list it is
RECAST = f"""
func.func @f(%x: {T}, %w: {T}, %n: !torch.int) -> {T} {{{CONSTANTS}
  %l = torch.prim.ListConstruct %x, %w, %x : ({T}, {T}, {T}) -> {L}
  %a = torch.aten.slice.t %l, %none, %two, %one : {L}, !torch.none, !torch.int, !torch.int -> {L}
  %b = torch.aten.mul.left_t %a, %two : {L}, !torch.int -> {L}
  %c = torch.aten.list.t %b : {L} -> {L}
  %q = torch.aten.gt.int %n, %one : !torch.int, !torch.int -> !torch.bool
  %d = torch.prim.If %q -> ({L}) {{
    %0 = torch.aten.__getitem__.t %c, %m1 : {L}, !torch.int -> {T}
    %1 = torch.aten.tanh %0 : {T} -> {T}
    %2 = torch.prim.ListConstruct %1 : ({T}) -> {L}
    %3 = torch.aten.add.t %2, %c : {L}, {L} -> {L}
    torch.prim.If.yield %3 : {L}
  }} else {{
    torch.prim.If.yield %l : {L}
  }}
  %r = torch.prim.Loop %n, %true, init(%d) {{
  ^bb0(%i: !torch.int, %m: {L}):
    %4 = torch.aten.__getitem__.t %m, %i : {L}, !torch.int -> {T}
    %5 = torch.aten.__getitem__.t %m, %m1 : {L}, !torch.int -> {T}
    %6 = torch.aten.mul.Tensor %4, %5 : {T}, {T} -> {T}
    %7 = torch.prim.ListConstruct %6 : ({T}) -> {L}
    %8 = torch.aten.add.t %m, %7 : {L}, {L} -> {L}
    torch.prim.Loop.condition %true, iter(%8 : {L})
  }} : (!torch.int, !torch.bool, {L}) -> {L}
  %s = torch.aten.stack %r, %zero : {L}, !torch.int -> {T}
  %t = torch.aten.sum %s, %none : {T}, !torch.none -> {T}
  return %t : {T}
}}"""


def gradients(text: str, times: int) -> str:
    """@f with the gradients of %x and %w; at the second time of the sum of its results, each times a cotangent."""
    module = parse_module(text)
    gradient_of_function(module, "f", (0, 1))
    if times == 2:
        gradient_of_function(module, "f", (0, 1), results=(0, 1, 2), cotangents=True)
    return str(module)


def slopes(f: Callable[..., list[Any]], x: np.ndarray, w: np.ndarray, cotangents: list[np.ndarray]) -> list[np.ndarray]:
    """Central differences of the sum of results times cotangents."""
    found = [np.zeros_like(x), np.zeros_like(w)]
    for k, values in enumerate((x, w)):
        for at in np.ndindex(values.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [x.copy(), w.copy()]
                moved[k][at] += step
                sides.append(sum(float(np.sum(v * c)) for v, c in zip(f(*moved), cotangents, strict=False)))
            found[k][at] = (sides[0] - sides[1]) / 2e-6
    return found


PROGRAMS = {"stack": COLLECTED.replace("JOIN", "stack"), "cat": COLLECTED.replace("JOIN", "cat"), "picked": PICKED, "recast": RECAST}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_gradients_of_both_orders_through_lists(program: str, n: int) -> None:
    text = PROGRAMS[program]
    x, w = array(2, low=0.3, high=1.2), array(2, low=0.4, high=0.9, seed=1)
    forward, first, second = runner(text), runner(gradients(text, 1)), runner(gradients(text, 2))
    value, *found = first(x, w, n)
    np.testing.assert_array_equal(value, forward(x, w, n)[0])
    for got, want in zip(found, slopes(lambda *a: forward(*a, n), x, w, [np.ones(())]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)
    cotangents = [np.array(0.7), array(2, seed=5), array(2, seed=6)]
    *_, dx, dw = second(x, w, n, *cotangents)
    for got, want in zip((dx, dw), slopes(lambda *a: first(*a, n), x, w, cotangents), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


def test_joined_items_get_gradients_of_their_own_dtypes() -> None:
    text = COLLECTED.replace("JOIN", "cat")
    x, w = array(2, low=0.3, high=1.2).astype(np.float32), array(2, low=0.4, high=0.9, seed=1)
    _, dx, dw = runner(gradients(text, 1))(x, w, 2)
    _, wide, _ = runner(gradients(text, 1))(x.astype(np.float64), w, 2)
    assert dx.dtype == np.float32 and dw.dtype == np.float64
    np.testing.assert_allclose(dx, wide, rtol=1e-6)


# a list comes in, a list goes out
LISTS = f"""
func.func @f(%l: {L}, %w: {T}) -> {L} {{{CONSTANTS}
  %n = torch.aten.len.t %l : {L} -> !torch.int
  %empty = torch.prim.ListConstruct : () -> {L}
  %r:2 = torch.prim.Loop %n, %true, init(%empty, %w) {{
  ^bb0(%i: !torch.int, %m: {L}, %a: {T}):
    %0 = torch.aten.__getitem__.t %l, %i : {L}, !torch.int -> {T}
    %1 = torch.aten.mul.Tensor %0, %a : {T}, {T} -> {T}
    %2 = torch.prim.ListConstruct %1 : ({T}) -> {L}
    %3 = torch.aten.add.t %m, %2 : {L}, {L} -> {L}
    torch.prim.Loop.condition %true, iter(%3, %1 : {L}, {T})
  }} : (!torch.int, !torch.bool, {L}, {T}) -> ({L}, {T})
  return %r#0 : {L}
}}"""


def test_lists_are_arguments_and_results() -> None:
    module = parse_module(LISTS)
    gradient_of_function(module, "f", (0, 1), cotangents=True)
    items, w = [array(2, low=0.3), array(3, 2, low=0.5, seed=2)], array(2, low=0.4, seed=1)
    seeds = [array(2, seed=7), array(3, 2, seed=8)]
    value, of_list, of_w = runner(str(module))(items, w, seeds)
    products = [items[0] * w, items[0] * w * items[1]]
    for got, want in zip(value, products, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    carried = (seeds[1] * items[1]).sum(0)
    np.testing.assert_allclose(of_list[0], (seeds[0] + carried) * w, rtol=1e-12)
    np.testing.assert_allclose(of_list[1], seeds[1] * products[0], rtol=1e-12)
    np.testing.assert_allclose(of_w, (seeds[0] + carried) * items[0], rtol=1e-12)
    assert runner(str(module))([], w, [])[1] == []


def test_a_list_has_no_gradient_without_cotangents() -> None:
    with pytest.raises(PassFailure, match="gives a list of tensors, which has no gradient without cotangents"):
        gradient_of_function(parse_module(LISTS), "f", (1,))
