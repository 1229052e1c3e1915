"""If, Loop and calls, nested and with carried values, against the same thing in Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from interpreter_programs import main, program

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_if_takes_the_arm_of_its_condition() -> None:
    f = main("(%x: !t, %c: !b) -> !t", """
      %r = torch.prim.If %c -> (!t) {
        %a = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t
        torch.prim.If.yield %a : !t
      } else {
        %a = torch.aten.mul.Tensor %x, %x : !t, !t -> !t
        torch.prim.If.yield %a : !t
      }
      return %r : !t""")
    np.testing.assert_array_equal(f(X, True), X + X)
    np.testing.assert_array_equal(f(X, False), X * X)


def test_if_with_several_results_may_swap_them() -> None:
    f = main("(%x: !t, %y: !t, %c: !b) -> (!t, !t, !i)", """
      %r:3 = torch.prim.If %c -> (!t, !t, !i) {
        torch.prim.If.yield %x, %y, %c1 : !t, !t, !i
      } else {
        torch.prim.If.yield %y, %x, %c2 : !t, !t, !i
      }
      return %r#0, %r#1, %r#2 : !t, !t, !i""")
    y = X + 1
    a, b, n = f(X, y, True)
    assert a is X and b is y and n == 1
    a, b, n = f(X, y, False)
    assert a is y and b is X and n == 2


def test_if_without_results_and_with_an_empty_arm_runs_only_the_other() -> None:
    f = main("(%x: !m, %c: !b) -> !n", """
      torch.prim.If %c -> () {
        torch.prim.If.yield
      } else {
        %u = torch.aten.add_.Tensor %x, %x, %c1 : !m, !m, !i -> !m
        torch.prim.If.yield
      }
      return %none : !n""")
    x = X.copy()
    assert f(x, True) is None
    np.testing.assert_array_equal(x, X)
    f(x, False)
    np.testing.assert_array_equal(x, X + X)


def test_nested_ifs_hand_their_results_outward() -> None:
    f = main("(%x: !t, %c: !b, %d: !b) -> !t", """
      %r = torch.prim.If %c -> (!t) {
        %s = torch.prim.If %d -> (!t) {
          %a = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t
          torch.prim.If.yield %a : !t
        } else {
          torch.prim.If.yield %x : !t
        }
        %p = torch.aten.mul.Tensor %s, %s : !t, !t -> !t
        torch.prim.If.yield %p : !t
      } else {
        %q = torch.prim.If %d -> (!t) {
          torch.prim.If.yield %x : !t
        } else {
          %a = torch.aten.sub.Tensor %x, %x, %c1 : !t, !t, !i -> !t
          torch.prim.If.yield %a : !t
        }
        torch.prim.If.yield %q : !t
      }
      return %r : !t""")
    for c in (True, False):
        for d in (True, False):
            expected = ((X + X if d else X) ** 2) if c else (X if d else X - X)
            np.testing.assert_array_equal(f(X, c, d), expected)


@pytest.mark.parametrize("trips", [-3, 0, 1, 5])
def test_for_loop_runs_its_trip_count(trips: int) -> None:
    f = main("(%x: !t, %n: !i) -> !t", """
      %r = torch.prim.Loop %n, %true, init(%x) {
      ^bb0(%i: !i, %a: !t):
        %b = torch.aten.add.Tensor %a, %x, %i : !t, !t, !i -> !t
        torch.prim.Loop.condition %true, iter(%b : !t)
      } : (!i, !b, !t) -> !t
      return %r : !t""")
    expected = X.copy()
    for i in range(trips):
        expected = expected + i * X
    np.testing.assert_array_equal(f(X, trips), expected)


def test_loop_without_carried_values_runs_for_its_effect() -> None:
    f = main("(%x: !m, %n: !i) -> !n", """
      torch.prim.Loop %n, %true, init() {
      ^bb0(%i: !i):
        %u = torch.aten.add_.Scalar %x, %i, %c1 : !m, !i, !i -> !m
        torch.prim.Loop.condition %true, iter()
      } : (!i, !b) -> ()
      return %none : !n""")
    x = X.copy()
    f(x, 4)
    np.testing.assert_array_equal(x, X + 6)


def test_loop_swaps_its_carried_values_at_once() -> None:
    f = main("(%x: !t, %y: !t, %n: !i) -> (!t, !t)", """
      %r:2 = torch.prim.Loop %n, %true, init(%x, %y) {
      ^bb0(%i: !i, %a: !t, %b: !t):
        %s = torch.aten.add.Tensor %a, %b, %c1 : !t, !t, !i -> !t
        torch.prim.Loop.condition %true, iter(%b, %s : !t, !t)
      } : (!i, !b, !t, !t) -> (!t, !t)
      return %r#0, %r#1 : !t, !t""")
    a, b = X, X + 1
    for _ in range(7):
        a, b = b, a + b
    got = f(X, X + 1, 7)
    np.testing.assert_array_equal(got[0], a)
    np.testing.assert_array_equal(got[1], b)


def test_loop_hands_one_value_on_twice() -> None:
    f = main("(%x: !t, %n: !i) -> (!t, !t)", """
      %r:2 = torch.prim.Loop %n, %true, init(%x, %x) {
      ^bb0(%i: !i, %a: !t, %b: !t):
        %s = torch.aten.add.Tensor %a, %b, %c1 : !t, !t, !i -> !t
        torch.prim.Loop.condition %true, iter(%s, %s : !t, !t)
      } : (!i, !b, !t, !t) -> (!t, !t)
      return %r#0, %r#1 : !t, !t""")
    a, b = f(X, 3)
    np.testing.assert_array_equal(a, X * 8)
    np.testing.assert_array_equal(b, X * 8)


def test_while_loop_stops_when_its_condition_turns() -> None:
    f = main("(%n: !i) -> (!i, !i)", """
      %go = torch.aten.ne.int %n, %c1 : !i, !i -> !b
      %r:2 = torch.prim.Loop %forever, %go, init(%n, %c0) {
      ^bb0(%i: !i, %k: !i, %steps: !i):
        %rest = torch.aten.remainder.int %k, %c2 : !i, !i -> !i
        %even = torch.aten.eq.int %rest, %c0 : !i, !i -> !b
        %next = torch.prim.If %even -> (!i) {
          %h = torch.aten.floordiv.int %k, %c2 : !i, !i -> !i
          torch.prim.If.yield %h : !i
        } else {
          %t = torch.aten.mul.int %k, %c3 : !i, !i -> !i
          %u = torch.aten.add.int %t, %c1 : !i, !i -> !i
          torch.prim.If.yield %u : !i
        }
        %s = torch.aten.add.int %steps, %c1 : !i, !i -> !i
        %more = torch.aten.ne.int %next, %c1 : !i, !i -> !b
        torch.prim.Loop.condition %more, iter(%next, %s : !i, !i)
      } : (!i, !b, !i, !i) -> (!i, !i)
      return %r#0, %r#1 : !i, !i""")
    assert f(27) == (1, 111)  # Collatz
    assert f(1) == (1, 0)
    assert "break" in f.source


@pytest.mark.parametrize(("trips", "limit"), [(10, 3), (2, 100), (0, 5), (5, -1)])
def test_loop_with_both_count_and_condition_obeys_both(trips: int, limit: int) -> None:
    f = main("(%n: !i, %limit: !i) -> (!i, !i)", """
      %go = torch.aten.lt.int %c0, %limit : !i, !i -> !b
      %r:2 = torch.prim.Loop %n, %go, init(%c0, %c0) {
      ^bb0(%i: !i, %sum: !i, %last: !i):
        %s = torch.aten.add.int %sum, %i : !i, !i -> !i
        %more = torch.aten.lt.int %s, %limit : !i, !i -> !b
        torch.prim.Loop.condition %more, iter(%s, %i : !i, !i)
      } : (!i, !b, !i, !i) -> (!i, !i)
      return %r#0, %r#1 : !i, !i""")
    total = last = i = 0
    go = limit > 0
    while i < trips and go:
        total, last = total + i, i
        go = total < limit
        i += 1
    assert f(trips, limit) == (total, last)


def test_while_loop_that_uses_its_counter() -> None:
    f = main("(%limit: !i) -> !i", """
      %r = torch.prim.Loop %forever, %true, init(%c0) {
      ^bb0(%i: !i, %last: !i):
        %more = torch.aten.lt.int %i, %limit : !i, !i -> !b
        torch.prim.Loop.condition %more, iter(%i : !i)
      } : (!i, !b, !i) -> !i
      return %r : !i""")
    assert f(4) == 4


def test_loop_whose_condition_starts_false_does_not_run() -> None:
    f = main("(%x: !t) -> !t", """
      %r = torch.prim.Loop %c3, %false, init(%x) {
      ^bb0(%i: !i, %a: !t):
        %b = torch.aten.add.Tensor %a, %a, %c1 : !t, !t, !i -> !t
        torch.prim.Loop.condition %true, iter(%b : !t)
      } : (!i, !b, !t) -> !t
      return %r : !t""")
    assert f(X) is X


def test_nested_loops_use_both_counters() -> None:
    f = main("(%n: !i) -> !i", """
      %r = torch.prim.Loop %n, %true, init(%c0) {
      ^bb0(%i: !i, %a: !i):
        %q = torch.prim.Loop %i, %true, init(%a) {
        ^bb1(%j: !i, %b: !i):
          %p = torch.aten.mul.int %i, %j : !i, !i -> !i
          %s = torch.aten.add.int %b, %p : !i, !i -> !i
          torch.prim.Loop.condition %true, iter(%s : !i)
        } : (!i, !b, !i) -> !i
        torch.prim.Loop.condition %true, iter(%q : !i)
      } : (!i, !b, !i) -> !i
      return %r : !i""")
    assert f(6) == sum(i * j for i in range(6) for j in range(i))


def test_loop_in_an_arm_and_if_in_a_loop() -> None:
    f = main("(%x: !t, %n: !i, %c: !b) -> !t", """
      %r = torch.prim.If %c -> (!t) {
        %l = torch.prim.Loop %n, %true, init(%x) {
        ^bb0(%i: !i, %a: !t):
          %rest = torch.aten.remainder.int %i, %c2 : !i, !i -> !i
          %odd = torch.aten.eq.int %rest, %c1 : !i, !i -> !b
          %b = torch.prim.If %odd -> (!t) {
            %s = torch.aten.add.Tensor %a, %x, %c1 : !t, !t, !i -> !t
            torch.prim.If.yield %s : !t
          } else {
            %s = torch.aten.mul.Tensor %a, %x : !t, !t -> !t
            torch.prim.If.yield %s : !t
          }
          torch.prim.Loop.condition %true, iter(%b : !t)
        } : (!i, !b, !t) -> !t
        torch.prim.If.yield %l : !t
      } else {
        torch.prim.If.yield %x : !t
      }
      return %r : !t""")
    expected = X
    for i in range(5):
        expected = expected + X if i % 2 else expected * X
    np.testing.assert_array_equal(f(X, 5, True), expected)
    assert f(X, 5, False) is X


def test_arm_reads_the_carried_value_after_making_the_next_one() -> None:
    f = main("(%x: !t, %y: !t, %c: !b) -> (!t, !t)", """
      %r:2 = torch.prim.Loop %c3, %true, init(%x, %y) {
      ^bb0(%i: !i, %a: !t, %b: !t):
        %n:2 = torch.prim.If %c -> (!t, !t) {
          %v = torch.aten.mul.Tensor %b, %y : !t, !t -> !t
          %w = torch.aten.add.Tensor %a, %v, %c1 : !t, !t, !i -> !t
          torch.prim.If.yield %v, %w : !t, !t
        } else {
          torch.prim.If.yield %a, %b : !t, !t
        }
        torch.prim.Loop.condition %true, iter(%n#0, %n#1 : !t, !t)
      } : (!i, !b, !t, !t) -> (!t, !t)
      return %r#0, %r#1 : !t, !t""")
    a, b = X, X + 2
    for _ in range(3):
        v = b * (X + 2)
        a, b = v, a + v
    got = f(X, X + 2, True)
    np.testing.assert_array_equal(got[0], a)
    np.testing.assert_array_equal(got[1], b)


def test_call_returns_one_result_several_or_none() -> None:
    f = program("""
      func.func @main(%x: !t) -> (!t, !t) {
        func.call @touch(%x) : (!t) -> ()
        %a = func.call @double(%x) : (!t) -> !t
        %b:2 = func.call @pair(%a, %x) : (!t, !t) -> (!t, !t)
        return %b#0, %b#1 : !t, !t
      }
      func.func private @touch(%x: !t) { return }
      func.func private @double(%x: !t) -> !t {
        %c1 = torch.constant.int 1
        %y = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t
        return %y : !t
      }
      func.func private @pair(%x: !t, %y: !t) -> (!t, !t) { return %y, %x : !t, !t }""")
    a, b = f(X)
    assert a is X
    np.testing.assert_array_equal(b, X + X)


def test_recursion_works_up_to_pythons_limit() -> None:
    f = program("""
      func.func @factorial(%n: !i) -> !i {
        %c1 = torch.constant.int 1
        %small = torch.aten.le.int %n, %c1 : !i, !i -> !b
        %r = torch.prim.If %small -> (!i) {
          torch.prim.If.yield %c1 : !i
        } else {
          %m = torch.aten.sub.int %n, %c1 : !i, !i -> !i
          %f = func.call @factorial(%m) : (!i) -> !i
          %p = torch.aten.mul.int %n, %f : !i, !i -> !i
          torch.prim.If.yield %p : !i
        }
        return %r : !i
      }""")
    assert f(10) == 3628800
    with pytest.raises(RecursionError, match=r"\nat "):
        f(sys.getrecursionlimit() + 10)


def test_deep_nesting_of_branches_is_refused_with_a_reason() -> None:
    from tierup.runtime.base.errors import UnsupportedOp

    body = "torch.prim.If %c -> () {" * 120 + "torch.prim.If.yield } else { torch.prim.If.yield }" + " torch.prim.If.yield } else { torch.prim.If.yield }" * 119
    with pytest.raises(UnsupportedOp, match="nested deeper than"):
        main("(%c: !b) -> !n", f"{body}\n return %none : !n")


def test_a_loop_that_goes_on_with_a_carried_name_keeps_it_while_its_result_is_read() -> None:
    """The inner loop's result takes over the name of what it began with, so the next value may have it only once that is read."""
    f = main("(%x: !t, %n: !i) -> (!t, !t)", """
      %r:2 = torch.prim.Loop %n, %true, init(%x, %x) {
      ^bb0(%i: !i, %a: !t, %sum: !t):
        %inner = torch.prim.Loop %c2, %true, init(%a) {
        ^bb1(%j: !i, %b: !t):
          %s = torch.aten.sin %b : !t -> !t
          torch.prim.Loop.condition %true, iter(%s : !t)
        } : (!i, !b, !t) -> !t
        %next = torch.aten.exp %inner : !t -> !t
        %more = torch.aten.mul.Tensor %sum, %inner : !t, !t -> !t
        torch.prim.Loop.condition %true, iter(%next, %more : !t, !t)
      } : (!i, !b, !t, !t) -> (!t, !t)
      return %r#0, %r#1 : !t, !t""")
    a = more = X.astype(np.float64)
    for _ in range(3):
        inner = np.sin(np.sin(a))
        a, more = np.exp(inner), more * inner
    for got, want in zip(f(X.astype(np.float64), 3), (a, more), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_loop_in_an_arm_may_start_two_values_from_one_that_nobody_reads_later() -> None:
    f = main("(%x: !t, %c: !b) -> !t", """
      %y = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t
      %r = torch.prim.If %c -> (!t) {
        %l:2 = torch.prim.Loop %c2, %true, init(%y, %y) {
        ^bb0(%i: !i, %a: !t, %b: !t):
          %d = torch.aten.mul.Tensor %a, %x : !t, !t -> !t
          torch.prim.Loop.condition %true, iter(%d, %b : !t, !t)
        } : (!i, !b, !t, !t) -> (!t, !t)
        torch.prim.If.yield %l#0 : !t
      } else {
        torch.prim.If.yield %y : !t
      }
      return %r : !t""")
    np.testing.assert_array_equal(f(X, True), 2 * X**3)
    np.testing.assert_array_equal(f(X, False), X + X)
