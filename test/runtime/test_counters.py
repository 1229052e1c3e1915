"""Counters by the ancestor's names: per function and of the process, and what they outlive."""

import gc

import numpy as np

import tierup

X = np.ones(4, np.float32)
NAMES = ["graph_executors_constructed", "graph_executor_invocations", "execution_plan_cache_hit", "execution_plan_cache_miss"]


def scale(x):
    return x * 2 + 1


def gained(before):
    gc.collect()
    return tuple(tierup.counters()[name] - before[name] for name in NAMES)


def test_a_function_counts_executors_calls_and_whether_a_plan_was_there():
    f = tierup.jit(scale)
    assert tuple(f.counters().values()) == (0, 0, 0, 0)
    for x in (X, X, X, np.ones(6, np.float32)):
        f(x)
    assert list(f.counters()) == NAMES
    assert tuple(f.counters().values()) == (1, 4, 2, 2)  # profiled, compiled and answered, hit, miss


def test_a_call_with_the_optimiser_off_neither_hits_nor_misses_a_plan():
    f = tierup.jit(scale, optimize=False)
    f(X)
    assert tuple(f.counters().values()) == (1, 1, 0, 0)


def test_reset_takes_nothing_off_the_counters():
    f = tierup.jit(scale)
    for _ in range(3):
        f(X)
    f.reset()
    assert tuple(f.counters().values()) == (1, 3, 2, 1)
    f(X)
    assert tuple(f.counters().values()) == (2, 4, 2, 2)


def test_the_process_counts_what_deleted_functions_did():
    gc.collect()
    before = tierup.counters()
    f = tierup.jit(scale)
    for _ in range(3):
        f(X)
    assert gained(before) == (1, 3, 2, 1)
    del f
    assert gained(before) == (1, 3, 2, 1)


def test_regions_of_a_split_program_are_not_counted_apart():
    def ranks(x, w):
        y = np.tanh(x @ w) * 2
        z = np.argpartition(y, -1, axis=1)
        return np.exp(z) - 1

    gc.collect()
    before, f, a = tierup.counters(), tierup.jit(ranks), np.eye(8, dtype=np.float32)
    for _ in range(4):
        f(a, a)
    assert gained(before)[:2] == (1, 4) == tuple(f.counters().values())[:2]
