"""Bailouts in native code: wherever a bet is lost, the live values and the continuation give what the program gives without bets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bailout_driver import Native


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


# --- forced losses: every bailout at every evaluation ------------------------------------------------------------------------


def straight(x, y):
    a = x + y
    b = x * y
    return (a - x - 1) + (b - x)


def arm(x, y):
    if x.sum() > 0:
        z = np.exp(x) - y
        w = z * 2
    else:
        w = x - 1
        z = np.tanh(w)
    return z + w * y


def nested(x, n, m):
    total = x * 0
    for i in range(n):
        y = x + i
        for j in range(m + i):
            y = y * 0.5 + j
            if y.sum() > i:
                total = total + y * j
            else:
                total = total - y
        total = total * 1.5 + i
    return total


def while_in_for_in_while(x, n):
    k = 0
    while k < n:
        for i in range(k + 1):
            inner = i
            while inner > 0:
                x = x * 0.5 + inner
                inner = inner - 1
            x = x - i
        k = k + 1
    return x + k


def breaks(x, n):
    for i in range(n):
        x = x * 1.25 + i
        if x.sum() > 20:
            break
        if i == 1:
            continue
        x = x - 0.5
    return x


def written(x, n):
    for i in range(n):
        x[i] = x[i] * 2 + i
        x += 1
    return x.sum()


def mixed(x, n, s, flag):
    flags = x > s
    total = 0.0
    for i in range(n):
        if flag:
            flags = ~flags
            total = total + s * i
        x = np.where(flags, x, -x) + total
        flag = not flag
    return x, flags, total, flag


def views(x, n):
    rest = x[1:]
    turned = x.T
    for i in range(n):
        rest = rest * 2 + turned.sum() - i
    return rest, turned


PROGRAMS = [
    (straight, [f32(4), f32(4)], 12, 0),
    (arm, [np.abs(f32(4)), f32(4)], 14, 0),
    (arm, [-np.abs(f32(4)), f32(4)], 12, 0),
    (nested, [f32(4), 2, 1], 42, 0),
    (nested, [f32(2, 3), 3, -1], 25, 0),
    (while_in_for_in_while, [f32(4), 3], 29, 0),
    (breaks, [np.abs(f32(4)), 9], 33, 1),  # in the first iteration what it carries is the argument, which may be returned
    (written, [f32(4), 3], 45, 0),
    (mixed, [f32(4), 3, 0.25, True], 25, 7),
    (views, [f32(3, 3), 3], 21, 1),
]


@pytest.mark.parametrize(("function", "arguments", "exits", "errors"), PROGRAMS, ids=[f"{f.__name__}{i}" for i, (f, *_) in enumerate(PROGRAMS)])
def test_every_bet_lost_at_every_evaluation(function: Any, arguments: list[Any], exits: int, errors: int) -> None:
    native = Native(function, [arguments], arguments)
    native.assert_same(arguments)
    assert native.losing_each(arguments) == (exits, errors)
