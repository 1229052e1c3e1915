"""The spine around regions: profiling in and out; groups, checks, fallbacks. Tier 0 before is tier 0 after, and the side that ran is the right one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spine_harness import Spine

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse

sys.path.insert(0, str(Path(__file__).parents[2] / "frontend"))
from frontend_oracle import graph


def spine(function: Callable[..., Any], *examples: tuple[Any, ...], **options: Any) -> Spine:
    built, _, _ = graph(function, *examples[0], ranks=False)
    return Spine(str(built.module), built.entry, [list(e) for e in examples], **options)


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


# --- programs ------------------------------------------------------------------------------------------------------------


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * x * x * x)))


def loop_and_branch(x, n):
    for i in range(n):
        if x.sum() > i:
            x = x * 0.5
        else:
            x = np.exp(-x)
    return x


def sort_between(x):
    y = np.tanh(x) * 2
    y = y.reshape(-1)[np.argpartition(y.reshape(-1), 1)].reshape(y.shape) * 2
    return np.exp(y) - y


def branch_on_size(x):
    if x.shape[0] > 4:
        return x.sum() * 2
    return x.sum() - 1


def promotes(a, x):
    return (a + x) * a, a / 2


def ties(x, y):
    return np.tanh(x) * y + x


def writes(x, i):
    x[i] = 3
    x += 1
    return x * 2


def takes(x, i):
    return np.exp(x)[i] * 2


ONE_ARRAY = [gelu, sort_between, branch_on_size]


@pytest.mark.parametrize("function", ONE_ARRAY)
def test_groups_run_on_what_was_recorded_and_fallbacks_on_the_rest(function: Callable[..., Any]) -> None:
    s = spine(function, (f32(4),))
    assert s.final.count("tierup.fusion_group") >= 1
    assert all(s.assert_same([f32(4)], as_recorded=True))
    for other in (f32(6), f32(4).astype(np.float64), np.arange(4), f32(1), f32(0)):
        answers = s.assert_same([other])
        assert answers
        assert not any(answers), other.dtype


@pytest.mark.parametrize("function", [gelu, sort_between])
def test_a_symbol_takes_every_size_from_two_up(function: Callable[..., Any]) -> None:
    s = spine(function, (f32(4),), (f32(6),), symbolic=True)
    assert "?" in s.final
    for size in (2, 4, 6, 9):
        assert all(s.assert_same([f32(size)], as_recorded=True))
    for other in (f32(1), f32(0), f32(4).astype(np.float16), f32(2, 2)):
        assert not any(s.assert_same([other]))


def test_numbers_are_no_assumptions() -> None:
    s = spine(loop_and_branch, (f32(4), 3))
    for n in (0, 1, 3, 7):
        assert s.assert_same([f32(4), n], as_recorded=True) == [True]
        assert s.assert_same([f32(5), n]) == [False]


def test_a_branch_that_types_decide_is_in_the_fallback_still() -> None:
    s = spine(branch_on_size, (f32(4),))
    group, _, fallback = s.final.partition("_fallback_0(%arg0: ")
    assert "torch.prim.If" in fallback
    assert "torch.prim.If" not in group.partition("tierup.fusion_group")[2].partition("tierup.yield")[0]


def test_promotion_is_decided_by_the_arrays_that_come() -> None:
    a = np.arange(4, dtype=np.int32)
    s = spine(promotes, (a, f32(4)))
    group = s.final.partition("tierup.fusion_group")[2].partition("tierup.yield")[0]
    assert "tierup.promotion" not in group
    assert "torch.aten.to.dtype" in group
    assert s.assert_same([a, f32(4)], as_recorded=True) == [True]
    for x in (a, a.astype(np.int8), f32(4).astype(np.float16), a > 1):
        assert s.assert_same([a, x]) == [False]


def test_sizes_that_a_group_needs_equal_are_one_symbol_of_its_check() -> None:
    s = spine(ties, (f32(4), f32(4)), (f32(6), f32(6)), symbolic=True)
    assert s.assert_same([f32(5), f32(5)], as_recorded=True) == [True]
    assert s.assert_same([f32(5), f32(1)]) == [False]
    assert s.assert_same([f32(5), f32(4)]) == [False]  # the fallback raises what tier 0 raises


def test_written_arguments_come_back_as_results() -> None:
    s = spine(writes, (f32(4), 1))
    assert s.assert_same([f32(4), 2], as_recorded=True) == [True]
    assert s.assert_same([f32(5), 2]) == [False]


def test_errors_are_those_of_the_program_on_both_sides() -> None:
    s = spine(takes, (f32(4), 1))
    assert isinstance(s.outcome(s.final, [f32(4), 9])[0], IndexError)
    assert s.assert_same([f32(4), 9], as_recorded=True) == [True]
    assert s.assert_same([f32(5), 9]) == [False]


@pytest.mark.parametrize("function", ONE_ARRAY)
@pytest.mark.parametrize("option", ["", "{all}"])
def test_removing_profiling_gives_the_text_back(function: Callable[..., Any], option: str) -> None:
    built, _, _ = graph(function, f32(4), ranks=False)
    module = parse_module(str(built.module))
    before = str(module)
    parse(f"tierup-insert-profiling{option},tierup-verify-profiled").run(module)
    assert str(module) != before
    parse("tierup-remove-profiling").run(module)
    assert str(module) == before
