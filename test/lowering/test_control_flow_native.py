"""Branches and loops inside one native function."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import build, call, symbolic

X = (np.arange(12, dtype=np.float32).reshape(3, 4) - 5) / 4

IF = """
  %c = torch.aten.gt.int %a1, %a2 : !torch.int, !torch.int -> !torch.bool
  %r:2 = torch.prim.If %c -> (!torch.vtensor, !torch.int) {
    %0 = torch.aten.neg %a0 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %0, %a1 : !torch.vtensor, !torch.int
  } else {
    torch.prim.If.yield %a0, %a2 : !torch.vtensor, !torch.int
  }
  %one = torch.constant.int 1
  %s = torch.aten.add.Scalar %r#0, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %s, %r#1, %c : !torch.vtensor, !torch.int, !torch.bool"""

FOR = """
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %r = torch.prim.Loop %a1, %true, init(%a0) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %0 = torch.aten.add.Scalar %v, %i, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%0 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor"""

WHILE = """
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %limit = torch.constant.float 1.000000e+02
  %n = torch.constant.int 0
  %none = torch.constant.none
  %r:2 = torch.prim.Loop %a1, %a2, init(%a0, %n) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor, %k: !torch.int):
    %0 = torch.aten.mul.Scalar %v, %two : !torch.vtensor, !torch.int -> !torch.vtensor
    %s = torch.aten.sum %0, %none : !torch.vtensor, !torch.none -> !torch.vtensor
    %f = torch.aten.Float.Tensor %s : !torch.vtensor -> !torch.float
    %c = torch.aten.lt.float %f, %limit : !torch.float, !torch.float -> !torch.bool
    %k1 = torch.aten.add.int %k, %one : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %c, iter(%0, %k1 : !torch.vtensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.int)
  return %r#0, %r#1 : !torch.vtensor, !torch.int"""

SCATTERS = """
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %none = torch.constant.none
  %w = torch.aten.mul.Scalar %a0, %zero : !torch.vtensor, !torch.int -> !torch.vtensor
  %r = torch.prim.Loop %a1, %true, init(%a0) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %x = torch.aten.mul.Scalar %a0, %i : !torch.vtensor, !torch.int -> !torch.vtensor
    %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
    %row = torch.aten.sum.dim_IntList %x, %dims, %false, %none : !torch.vtensor, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor
    %0 = torch.aten.select_scatter %w, %row, %zero, %i : !torch.vtensor, !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    %1 = torch.aten.add.Tensor %v, %0, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor"""

SIZES = pytest.mark.parametrize("with_symbols", [False, True], ids=["static", "symbolic"])


def _build(body: str, values: list, with_symbols: bool):
    return build(body, values, symbolic(values) if with_symbols else None)


@SIZES
def test_what_a_round_inserts_is_not_there_in_the_next(with_symbols: bool) -> None:
    artifact = _build(SCATTERS, [X, 3], with_symbols)
    (found,) = call(artifact, [X, 3])
    np.testing.assert_allclose(found, X + np.arange(3)[:, None] * X.sum(0), rtol=1e-6)


@SIZES
def test_both_branches(with_symbols: bool) -> None:
    artifact = _build(IF, [X, 1, 2], with_symbols)
    taken, n, c = call(artifact, [X, 5, 2])
    np.testing.assert_array_equal(taken, -X + 1)
    assert (n, c) == (5, True)
    other, n, c = call(artifact, [X, 1, 2])
    np.testing.assert_array_equal(other, X + 1)
    assert (n, c) == (2, False)


@SIZES
@pytest.mark.parametrize("count", [5, 1, 0, -3])
def test_a_counted_loop(count: int, with_symbols: bool) -> None:
    expected = X
    for i in range(count):
        expected = expected + np.float32(i)
    np.testing.assert_array_equal(call(_build(FOR, [X, 1], with_symbols), [X, count])[0], expected)


@SIZES
@pytest.mark.parametrize(("most", "go"), [(1 << 62, True), (2, True), (0, True), (9, False), (-1, True)])
def test_a_loop_ends_by_its_condition_or_its_count(most: int, go: bool, with_symbols: bool) -> None:
    start = np.abs(X)
    expected, k, more = start, 0, go
    while more and k < most:
        expected = expected * 2
        more = bool(expected.sum() < 100)
        k += 1
    values = [start, 1, True]
    found, count = call(_build(WHILE, values, with_symbols), [start, most, go])
    np.testing.assert_array_equal(found, expected)
    assert count == k


def test_loops_nest_in_branches() -> None:
    body = """
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %r = torch.prim.Loop %a1, %true, init(%a0) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %odd = torch.aten.remainder.int %i, %two : !torch.int, !torch.int -> !torch.int
    %c = torch.aten.eq.int %odd, %one : !torch.int, !torch.int -> !torch.bool
    %w = torch.prim.If %c -> (!torch.vtensor) {
      %u = torch.prim.Loop %i, %true, init(%v) {
      ^bb0(%j: !torch.int, %t: !torch.vtensor):
        %0 = torch.aten.add.Scalar %t, %j, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
        torch.prim.Loop.condition %true, iter(%0 : !torch.vtensor)
      } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
      torch.prim.If.yield %u : !torch.vtensor
    } else {
      %0 = torch.aten.neg %v : !torch.vtensor -> !torch.vtensor
      torch.prim.If.yield %0 : !torch.vtensor
    }
    torch.prim.Loop.condition %true, iter(%w : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor"""
    expected = X
    for i in range(6):
        if i % 2:
            for j in range(i):
                expected = expected + np.float32(j)
        else:
            expected = -expected
    np.testing.assert_array_equal(call(build(body, [X, 6]), [X, 6])[0], expected)
