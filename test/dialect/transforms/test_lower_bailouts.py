"""Bailouts as branches: the same assumptions are asked in the same order, and where one is lost the exit has what the continuation takes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from graph_oracle import ENTRY
from graph_stages import Refused, build
from guard_harness import BAILOUTS, Guarded, text_of
from hypothesis import HealthCheck, given, settings
from kernel_harness import spec_of
from random_graph_strategy import Program, programs
from sampling import examples
from spine_harness import assert_same

from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import PassFailure, functions, parse
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import specialise
from tierup.runtime.interpreter.tier0 import EXIT
from tierup.runtime.interpreter.translate import translate

LOWER = "tierup-lower-bailouts{force=true}"


class Lowered:
    """A program of bailouts (`text`), typed for arguments like `specimen` and lowered, in tier 0."""

    def __init__(self, text: str, entry: str, specimen: list[Any]) -> None:
        self.entry = entry
        whole = parse_module(text)
        parse("tierup-build-bailout-continuations").run(whole)
        self.whole = whole
        typed = specialise(parse_module(text).operation.get_asm(enable_debug_info=True), entry, tuple(map(spec_of, specimen)))
        module = parse_module(typed)
        self.bailouts = translate(module, entry, fail=True)
        parse(LOWER).run(module)
        once = str(module)
        parse(LOWER).run(module)
        assert str(module) == once
        assert not any(op.name == "tierup.bailout" for func in functions(module.operation) for op in walk(func))
        self.tier0 = translate(module, entry, record=True, fail=True)

    def asked(self, arguments: list[Any]) -> list[tuple[str, int]]:
        """The bailouts that a run with bailouts meets, none lost on purpose."""
        seen: list[tuple[str, int]] = []
        try:
            self.bailouts.call(*copy.deepcopy(arguments), fail=lambda site, at: seen.append((site, at)) or False)
        except Exception:  # noqa: BLE001, S110 - an assumption that fails, or the program's own: what was asked was asked
            pass
        return seen

    def outcome(self, arguments: list[Any], lost: tuple[str, int] | None) -> tuple[Any, list[tuple[str, int]], list[tuple[int, list[Any]]]]:
        """What the call gives in the end, which assumptions were asked, and the exits."""
        seen: list[tuple[str, int]] = []
        exits: list[tuple[int, list[Any]]] = []

        def fail(site: str, at: int) -> bool:
            seen.append((site, at))
            return (site, at) == lost

        def record(slot: int, value: Any) -> None:
            assert slot == EXIT
            exits.append(value)

        try:
            found = self.tier0.call(*copy.deepcopy(arguments), fail=fail, record=record)
            if exits:
                index, live = exits[0]
                found = translate(self.whole, f"{self.entry}_continuation_{index}").call(*live)
        except Exception as e:  # noqa: BLE001 - the plain program must raise it too
            found = e
        return found, seen, exits

    def assert_same(self, arguments: list[Any], want: Any, *, most: int = 1000) -> int:
        """Keep every assumption, and lose each of the first `most` at each evaluation; how often one was lost."""
        got, seen, exits = self.outcome(arguments, None)
        assert seen == self.asked(arguments)
        assert len(exits) <= 1
        assert_same(got, want, "nothing forced", rounding=True)
        for lost in seen[:most]:
            got, asked, exits = self.outcome(arguments, lost)
            assert asked[-1] == lost, f"after {lost} was lost, {asked[-1]} was asked"
            ((index, _),) = exits
            assert lost[0] == f"{self.entry}:{index}"
            assert_same(got, want, f"lost {lost}", rounding=True)
        return len(seen[:most])


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


def loops(x, n, m):
    total = x * 0
    k = 0
    while k < n:
        y = x + k
        for j in range(m + k):
            y = y * 0.5 + j
            if y.sum() > k:
                total = total + y
            else:
                total = total - y
                if j == 1:
                    break
        total = total * 1.5
        k = k + 1
    return total + k, k


def masks(x, n):
    total = x * 0
    for i in range(n):
        kept = x[x > i]
        total = total + kept.sum()
        x = x - 0.5
    return total


@pytest.mark.parametrize(("function", "arguments"), [(loops, [f32(4), 3, 1]), (loops, [f32(4), 0, 1]), (masks, [np.abs(f32(4)) + 9, 3])])
def test_every_assumption_kept_and_lost(function: Any, arguments: list[Any]) -> None:
    text, entry = text_of(function, *arguments)
    program = Guarded(text, entry, [arguments])
    module = parse_module(program.guarded)
    parse("tierup-insert-bailouts").run(module)
    lowered = Lowered(str(module), entry, arguments)
    assert lowered.assert_same(arguments, program.wanted(arguments)) > 2


def test_an_assumption_that_a_value_loses_leaves_there() -> None:
    good = [np.array([9, 10, 11, 12], np.float32), 3]
    text, entry = text_of(masks, *good)
    program = Guarded(text, entry, [good])
    module = parse_module(program.guarded)
    parse("tierup-insert-bailouts").run(module)
    lowered = Lowered(str(module), entry, good)
    bad = [np.array([9, 10, 1, 12], np.float32), 3]  # 0.5 is not above 1, in iteration 1
    got, seen, exits = lowered.outcome(bad, None)
    assert len(exits) == 1 and seen[-1][1] == 1
    assert_same(got, program.wanted(bad), "lost", rounding=True)
    np.testing.assert_allclose(got, masks(*bad), rtol=1e-5)


def test_random_programs() -> None:
    lost = 0

    @settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(program=programs())
    def on_programs(program: Program) -> None:
        nonlocal lost
        try:
            text = build(program, "bailouts")
        except Refused:
            return
        for arguments in program.calls()[:1]:
            if not all(type(v) in (np.ndarray, int, float, bool) for v in arguments):
                return
            with np.errstate(all="ignore"):
                try:
                    lowered = Lowered(text, ENTRY, arguments)
                except (NotCompiled, PassFailure, KeyError):
                    return  # a program that raises for such arguments, a list that is written, a dtype that has no guards
                lost += lowered.assert_same(arguments, _plain(text, arguments), most=12)

    on_programs()
    assert lost > 20


def _plain(text: str, arguments: list[Any]) -> Any:
    module = parse_module(text)
    parse(BAILOUTS.partition(",")[2]).run(module)
    try:
        return translate(module, ENTRY, fail=True).call(*copy.deepcopy(arguments), fail=lambda site, at: False)
    except Exception as e:  # noqa: BLE001
        return e
