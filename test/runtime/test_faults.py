"""`tierup.testing.faults`: each kind of fault comes to pass where it was asked for, and the program stays right. The oracle is the
undecorated function."""

import json
import threading

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base import faults as stages
from tierup.runtime.base.events import EventKind
from tierup.runtime.faults import faults as injector


def scale(x):
    return np.tanh(x) * 2 + 1


def add(x, y):
    return x * 2 + y


def ranks(x, n):
    total = x * 0
    for i in range(n):
        y = np.argpartition(x + i, -1)
        total = total + np.tanh(y) * 2
    return total


def counted(x, n):
    y = np.tanh(x) * 2
    for i in range(n):
        if y[0] > -9:
            y = y * 0.5 + i
        else:
            y = y - 1
    return y


X = np.linspace(-1, 1, 6, dtype=np.float32)


def hot(function, *arguments, **options):
    """A function that is optimised for its arguments."""
    f = tierup.jit(function, **options)
    for _ in range(5):
        f(*arguments)
    assert f.is_optimized
    return f


def check(f, *arguments):
    np.testing.assert_allclose(f(*arguments), f.__tierup_function__(*arguments), rtol=1e-5)


# --- guards -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1])
def test_an_entry_guard_that_holds_is_lost_once_and_tier_0_answers(k):
    f = hot(add, X, X)
    before = f.stats()
    with tierup.testing.faults(guard=k) as injected:
        check(f, X, X)
        lost = f.stats()
        check(f, X, X)
    assert injected.fired == [f"add:argument{k}, evaluation 0"]
    assert (lost.hits - before.hits, lost.misses - before.misses) == (0, 1)
    assert (f.stats().hits - lost.hits, f.stats().misses - lost.misses) == (1, 0)


def test_always_loses_the_guard_in_every_call_until_the_block_ends():
    f = hot(scale, X)
    before = f.stats()
    with tierup.testing.faults(guard="scale:argument0", always=True) as injected:
        for _ in range(3):
            check(f, X)
    assert len(injected.fired) == 3 and f.stats().misses - before.misses == 3
    check(f, X)
    assert f.stats().hits - before.hits == 1


@pytest.mark.parametrize("n", range(4))
def test_a_regions_check_is_lost_at_the_iteration_that_is_asked_for(n):
    f = hot(ranks, X, 3)
    with tierup.testing.faults() as seen:
        check(f, X, 3)
    site = next(site for site, count in seen.sites.items() if ", region " in site and count == 3)
    before = f.stats()
    with tierup.testing.faults(guard=site, evaluation=n) as injected:
        check(f, X, 3)
    assert injected.fired == ([f"{site}, evaluation {n}"] if n < 3 else [])
    assert f.stats().fallbacks - before.fallbacks == (n < 3)


@pytest.mark.parametrize("n", range(4))
def test_an_assumption_in_native_code_is_lost_at_the_iteration_that_is_asked_for(n):
    with tierup.testing.faults() as seen:
        f = hot(counted, X, 3, speculate="bailout")
    site = next(site for site in seen.sites if ":bailout" in site)
    assert not hasattr(f.versions[0], "regions"), "whole in native code"
    before = f.stats()
    with tierup.testing.faults(guard=site, evaluation=n) as injected:
        check(f, X, 3)
    assert injected.fired == ([f"{site}, evaluation {n}"] if n < 3 else [])
    assert f.stats().bailouts - before.bailouts == (n < 3)


def test_code_made_outside_of_a_block_is_never_forced_and_stays_in_use():
    f = hot(counted, X, 3, speculate="bailout")
    before = f.stats()
    check(f, X, 3)
    assert f.stats().hits == before.hits + 1
    assert not f.versions[0].record.keepalive.forcible


# --- the compiler --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [*stages.STAGES, "crash"])
def test_a_compiler_that_fails_leaves_the_program_in_tier_0_with_an_event_and_a_reproducer(stage, monkeypatch, tmp_path):
    monkeypatch.setenv("TIERUP_DUMP_DIR", str(tmp_path))
    f, events = tierup.jit(scale), []
    with tierup.testing.faults(compiler=stage) as injected, tierup.events.subscribe(events.append):
        for _ in range(4):
            check(f, X)
    assert injected.fired == [f"compiler: {stage}"]
    gave_up = [e for e in events if e.kind is EventKind.GAVE_UP]
    assert [e.reason for e in gave_up] == [Reason.COMPILE_FAILED]
    assert not f.versions and f.stats().interpreted == 3 and not any(e.kind is EventKind.COMPILED for e in events)
    (found,) = tmp_path.glob("*/reproducer.mlir")
    assert "mlir_reproducer" in found.read_text() and str(found) in gave_up[0].action
    assert json.loads((found.parent / "request.json").read_text())["outcome"] == "failed"


def test_what_did_not_compile_for_one_size_compiles_for_another():
    f = tierup.jit(scale)
    with tierup.testing.faults(compiler="llvm"):
        check(f, X), check(f, X)
    for _ in range(3):
        check(f, X[:4])
    assert [v.guards for v in f.versions] == ["x: f32[4]"]


@pytest.mark.parametrize("stage", ["torch", "crash"])
def test_a_compiler_that_fails_in_the_background(stage):
    f, events = tierup.jit(scale, compile="background"), []
    with tierup.events.subscribe(events.append):
        with tierup.testing.faults(compiler=stage) as injected:
            check(f, X), check(f, X)
        assert f.wait(200)
    check(f, X)
    assert injected.fired == [f"compiler: {stage}"]
    assert [e.reason for e in events if e.kind is EventKind.GAVE_UP] == [Reason.COMPILE_FAILED] and not f.versions


def test_a_compile_takes_as_much_longer_as_asked():
    f, events = tierup.jit(scale), []
    with tierup.testing.faults(delay=0.3) as injected, tierup.events.subscribe(events.append):
        check(f, X), check(f, X)
    assert injected.fired == ["delay"] and len(f.versions) == 1
    assert max(e.milliseconds for e in events if e.kind is EventKind.COMPILED) >= 300


def test_nothing_is_kept_on_disk_of_a_compile_with_faults(monkeypatch, tmp_path):
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    with tierup.testing.faults(delay=1e-6):
        hot(scale, X)
    assert not list(tmp_path.glob("*.artifact"))


# --- memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["native", "python"])
def test_an_allocation_of_a_result_that_fails_is_a_memory_error_in_both_entries(entry):
    f = hot(scale, X, entry=entry)
    before = f.stats()
    with tierup.testing.faults(allocation=0) as injected:
        with pytest.raises(MemoryError):
            f(X)
        check(f, X)
    assert injected.fired == ["allocation 0"]
    assert f.stats().hits - before.hits == 2 and f.stats().interpreted == before.interpreted
    check(f, X)


def test_every_allocation_of_a_call_may_fail_in_tier_0():
    f = tierup.jit(scale, optimize=False)
    n = 0
    while True:
        with tierup.testing.faults(allocation=n) as injected:
            try:
                check(f, X)
            except MemoryError:
                pass
        if not injected.fired:
            break
        n += 1
    assert n >= 3


def test_memory_that_was_not_had_leaves_a_written_argument_as_it_was():
    def bump(x):
        x += np.tanh(x)
        return x * 2

    def columns():
        return np.repeat(X, 2, axis=-1)[..., ::2]  # what is contiguous native code writes without memory of its own

    f = tierup.jit(bump)
    for _ in range(3):
        f(columns())
    assert f.versions
    for n in range(2):
        x = columns()
        with tierup.testing.faults(allocation=n) as injected, pytest.raises(MemoryError):
            f(x)
        assert injected.fired
        np.testing.assert_array_equal(x, X)


# --- blocks -----------------------------------------------------------------------------------------------------------------


def test_faults_are_this_threads_alone_unless_they_are_everywhere():
    f = hot(scale, X)

    def other():
        check(f, X)

    for everywhere in (False, True):
        with tierup.testing.faults(guard=0, everywhere=everywhere) as injected:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert len(injected.fired) == everywhere


def test_blocks_nest_and_all_their_faults_are_in_force():
    f = hot(add, X, X)
    with tierup.testing.faults(guard=0) as outer, tierup.testing.faults(guard=1, evaluation=0) as inner:
        check(f, X, X)
    assert (outer.fired, inner.fired) == (["add:argument0, evaluation 0"], ["add:argument1, evaluation 0"])


def test_when_no_block_is_in_force_calls_go_to_the_dispatcher_again():
    f = hot(scale, X)
    direct = f.__native_table__
    with tierup.testing.faults():
        assert direct is not None and f.__native_table__ is None
    assert f.__native_table__ is direct and not injector.active and stages.hook is None


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"compiler": "parsing"}, ValueError, "no stage 'parsing' of compiling: choose from specialize"),
        ({"compiler": "LLVM"}, ValueError, "no stage 'LLVM'"),
        ({"compiler": 3}, TypeError, "compiler: expected the name of a stage, got 3"),
        ({"compiler": None}, TypeError, "compiler"),
        ({"delay": -1}, ValueError, "delay: expected 0 to"),
        ({"delay": float("nan")}, ValueError, "delay: expected 0 to"),
        ({"delay": float("inf")}, ValueError, "delay: expected 0 to"),
        ({"delay": "1"}, TypeError, "delay: expected seconds, got '1'"),
        ({"delay": True}, TypeError, "delay: expected seconds"),
        ({"allocation": -1}, ValueError, "allocation counts from 0"),
        ({"allocation": 1.5}, TypeError, "allocation: expected a whole number, or None, got 1.5"),
        ({"guard": 3.5}, TypeError, "guard: expected a whole number, or a string, got 3.5"),
        ({"guard": None}, TypeError, "guard: expected a whole number, or a string, got None"),
        ({"guard": True}, TypeError, "guard: expected"),
        ({"guard": -1}, ValueError, "guard counts from 0"),
        ({"guard": 0, "evaluation": -1}, ValueError, "evaluation counts from 0"),
        ({"guard": 0, "evaluation": 0.5}, TypeError, "evaluation: expected a whole number, or None, got 0.5"),
        ({"guard": 0, "evaluation": False}, TypeError, "evaluation: expected"),
        ({"evaluation": 0}, ValueError, "give guard as well"),
        ({"evaluation": None, "compiler": "llvm"}, ValueError, "give guard as well"),
        ({"always": True}, ValueError, "give guard, compiler, delay or allocation as well"),
        ({"guard": 0, "always": 1}, TypeError, "always: expected True or False, got 1"),
        ({"everywhere": "yes"}, TypeError, "everywhere: expected True or False"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        with tierup.testing.faults(**wrong):
            raise AssertionError("not reached")
    assert not injector.active
