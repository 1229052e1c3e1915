"""Unrolled and peeled loops run as many rounds as before, whatever the count, with the same counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewrite_harness import assert_kept

COUNTED = """
func.func @f(%n: !torch.int, %x: !torch.vtensor) -> (!torch.vtensor, !torch.int) {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %0:2 = torch.prim.Loop %n, %true, init(%x, %one) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor, %s: !torch.int):
    %1 = torch.aten.mul.int %s, %three : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.add.int %1, %i : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.add.Scalar %a, %s, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%3, %2 : !torch.vtensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.int)
  return %0#0, %0#1 : !torch.vtensor, !torch.int
}
"""

# the counter's sum until the values swap away from each other: ends by its condition, or by its count
WHILE = """
func.func @f(%n: !torch.int, %limit: !torch.int, %go: !torch.bool) -> (!torch.int, !torch.int, !torch.int) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0:3 = torch.prim.Loop %n, %go, init(%zero, %one, %zero) {
  ^bb0(%i: !torch.int, %s: !torch.int, %a: !torch.int, %b: !torch.int):
    %1 = torch.aten.add.int %s, %i : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.lt.int %1, %limit : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %2, iter(%1, %b, %a : !torch.int, !torch.int, !torch.int)
  } : (!torch.int, !torch.bool, !torch.int, !torch.int, !torch.int) -> (!torch.int, !torch.int, !torch.int)
  return %0#0, %0#1, %0#2 : !torch.int, !torch.int, !torch.int
}
"""

LEAST = -(1 << 63)


def counted_calls(*numbers: int) -> list[list[Any]]:
    return [[n, np.arange(3, dtype=np.int64)] for n in numbers]


@pytest.mark.parametrize("factor", [2, 3, 8])
def test_a_loop_unrolled_by_a_factor_runs_every_round_once(factor: int) -> None:
    new = assert_kept(COUNTED, f"tierup-unroll-loops{{factor={factor}}}", counted_calls(*range(-9, 27), LEAST))
    assert new.count("torch.prim.Loop %") == 2
    assert new.count("aten.add.Scalar") == factor + 1


@pytest.mark.parametrize("trips", [LEAST, -3, 0, 1, 2, 7, 8, 9, 63, 64, 65, 100])
@pytest.mark.parametrize("passes", ["tierup-unroll-loops", "tierup-unroll-constant-loops", "tierup-peel-loops{count=5}"])
def test_a_known_count_is_respected(trips: int, passes: str) -> None:
    text = COUNTED.replace("%true = ", f"%k = torch.constant.int {trips}\n  %true = ").replace("Loop %n", "Loop %k")
    new = assert_kept(text, passes, counted_calls(0))
    if "unroll" in passes and trips < 64:
        assert "torch.prim.Loop" not in new
        assert new.count("aten.add.Scalar") == max(trips, 0)
    elif "constant" in passes:
        assert new.count("aten.add.Scalar") == 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_peeled_counted_loop_runs_every_round_once(count: int) -> None:
    new = assert_kept(COUNTED, f"tierup-peel-loops{{count={count}}}", counted_calls(*range(-3, 12), LEAST))
    assert new.count("torch.prim.Loop %") == 2


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_condition_that_ends_a_peeled_loop_ends_the_rest_as_well(count: int) -> None:
    calls: list[list[Any]] = [[n, limit, go] for n in (-1, 0, 1, 3, 9, (1 << 63) - 1) for limit in (0, 1, 3, 7, 20) for go in (True, False)]
    assert_kept(WHILE, f"tierup-peel-loops{{count={count}}}", calls)


def test_an_endless_trip_count_stays_endless() -> None:
    text = WHILE.replace("%zero = ", f"%k = torch.constant.int {(1 << 63) - 1}\n  %zero = ").replace("Loop %n", "Loop %k")
    new = assert_kept(text, "tierup-peel-loops", [[0, limit, True] for limit in (0, 5)])
    assert "9223372036854775806" not in new


@pytest.mark.parametrize("passes", ["tierup-unroll-loops", "tierup-unroll-constant-loops"])
def test_a_loop_that_a_condition_ends_is_not_unrolled(passes: str) -> None:
    assert assert_kept(WHILE, passes, [[4, 3, True]]).count("torch.prim.Loop %") == 1
