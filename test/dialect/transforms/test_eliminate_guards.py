"""Programs with the redundant guards gone: those that are left hold all that the types say, and an assumption that fails is still no wrong result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guard_harness import Guarded, text_of
from spine_harness import assert_same
from test_bailouts import arm, breaks, counted, f32, nested, straight, written

ELIMINATE = "tierup-eliminate-guards"
PROGRAMS: list[tuple[Callable[..., Any], list[Any], int]] = [
    (straight, [f32(4), f32(4)], 2),
    (arm, [np.abs(f32(4)), f32(4)], 4),
    (counted, [f32(4), 3], 1),
    (nested, [f32(4), 2, 1], 1),
    (breaks, [np.abs(f32(4)), 9], 2),
    (written, [f32(4), 3], 2),
]
NAMES = [f.__name__ for f, _, _ in PROGRAMS]
OTHERS = [f32(6), np.ones(4), f32(2, 1), f32(1), f32(0), np.arange(4), np.ones(4, np.float16)]


@pytest.mark.parametrize(("function", "arguments", "left"), PROGRAMS, ids=NAMES)
def test_few_are_left_and_they_suffice(function: Callable[..., Any], arguments: list[Any], left: int) -> None:
    text, entry = text_of(function, *arguments)
    program = Guarded(text, entry, [arguments], steps=ELIMINATE)
    assert program.left == left < program.guards
    assert program.assert_same_wherever_lost(arguments) > 0
    x = arguments[0]
    for other in OTHERS:
        for all_arguments in (True, False):
            places = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray) and a.shape == x.shape]
            changed = [other if i in places[: None if all_arguments else 1] else a for i, a in enumerate(arguments)]
            assert_same(program.outcome(changed, lambda site, evaluation: False), program.wanted(changed), f"{other.dtype}{other.shape}")


@pytest.mark.parametrize(("function", "arguments"), [p[:2] for p in PROGRAMS], ids=NAMES)
def test_running_it_twice_changes_nothing(function: Callable[..., Any], arguments: list[Any]) -> None:
    text, entry = text_of(function, *arguments)
    once = Guarded(text, entry, [arguments], steps=ELIMINATE)
    assert Guarded(text, entry, [arguments], steps=f"{ELIMINATE},{ELIMINATE}").guarded == once.guarded


def mixed(x, y, n):
    for _ in range(n):
        x = x * y + x
    return x - y


def test_sizes_that_differed_between_runs_keep_the_guards_that_know_them() -> None:
    examples = [[f32(4), f32(4), 2], [f32(4), f32(1), 2]]
    text, entry = text_of(mixed, *examples[0])
    program = Guarded(text, entry, examples, steps=ELIMINATE, verify=False)
    for y in (f32(4), f32(1), f32(3), f32(2, 4)):
        program.assert_same_wherever_lost([f32(4), y, 2])
        program.assert_same_wherever_lost([f32(1), y, 2])
