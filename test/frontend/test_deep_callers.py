"""Calls that come from deep in others, and functions that call themselves: Python's stack has an end, which no caller may meet sooner."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason


def depth() -> int:
    frame, frames = sys._getframe(1), 0
    while (outer := frame.f_back) is not None:
        frame, frames = outer, frames + 1
    return frames


def called_from(frames: int, f: Any, x: Any) -> Any:
    return f(x) if frames == 0 else called_from(frames - 1, f, x)


def summed(x: Any) -> Any:
    y = x * 2
    for i in range(3):
        y = y + x[i]
    return y.sum()


@pytest.mark.parametrize("room", [25, 60, 200])
def test_python_answers_calls_from_so_deep_that_no_graph_can_be_built_and_native_code_the_later_ones(room: int) -> None:
    f, seen = tierup.jit(summed), list[Any]()
    with tierup.events.subscribe(seen.append):
        for k in range(10):
            x = np.arange(4.0) + k
            assert called_from(sys.getrecursionlimit() - depth() - room, f, x) == summed(x)
    assert {e.reason for e in seen if "too deep" in e.action} == {Reason.NO_RESOURCES}
    for k in range(4):
        assert f(np.arange(4.0) + k) == summed(np.arange(4.0) + k)
    assert f.stats().hits >= 2, f.explain()


def test_a_function_that_calls_itself_with_other_lists_each_time_is_pythons() -> None:
    def queens(n: int) -> int:
        def place(row: int, columns: list[int]) -> int:
            if row == n:
                return 1
            total = 0
            for c in range(n):
                if all(c != other and abs(c - other) != row - r for r, other in enumerate(columns)):
                    total += place(row + 1, [*columns, c])
            return total

        return place(0, [])

    f = tierup.jit(queens)
    assert [f(n) for n in (4, 4, 5, 5, 6)] == [2, 2, 10, 10, 4]
