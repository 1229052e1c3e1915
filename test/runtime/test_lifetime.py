"""Machine code goes with its last user: at an eviction, a reset, when a function is dropped.

That a call in flight is a user too is the tables' affair: test/lowering/entry/test_both_lifetimes.py.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import tierup
from tierup.lowering.artifacts import load

ENTRIES = pytest.mark.parametrize("entry", ["native", "python"])


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    gc.collect()
    before = load.count()
    yield
    gc.collect()
    assert load.count() == before


def compiled(entry: str, **options: object):
    @tierup.jit(entry=entry, level=1, **options)
    def f(x):
        return np.tanh(x) * 2

    for _ in range(3):
        np.testing.assert_allclose(f(np.ones(4)), np.tanh(np.ones(4)) * 2)
    assert f.stats().hits == 2
    return f, weakref.ref(f.versions[0].compiled.code)


@ENTRIES
def test_a_dropped_function_frees_its_code(entry: str) -> None:
    f, code = compiled(entry)
    del f
    gc.collect()
    assert code() is None


@ENTRIES
def test_reset_frees_the_code(entry: str) -> None:
    f, code = compiled(entry)
    f.reset()
    gc.collect()
    assert code() is None and f.versions == ()


@ENTRIES
def test_an_evicted_version_frees_its_code_at_once(entry: str) -> None:
    f, code = compiled(entry, max_versions=1)
    for _ in range(2):
        f(np.ones(5))
    assert len(f.versions) == 1 and code() is None


@ENTRIES
def test_a_split_program_frees_its_regions(entry: str) -> None:
    before = load.count()

    @tierup.jit(entry=entry, level=1)
    def ranks(x):
        return np.exp(np.argpartition(np.tanh(x) * 2, -1, axis=1)) - 1

    for _ in range(4):
        ranks(np.ones((2, 3)))
    assert load.count() == before + 2
    ranks.reset()
    gc.collect()
    assert load.count() == before


@pytest.mark.parametrize("options", [{}, {"executor": "specializing"}])
def test_a_version_that_went_meanwhile_has_no_hits(options: dict[str, str]) -> None:
    """Another thread's reset comes between the list of versions and the question."""

    @tierup.jit(**options)
    def f(x):
        return np.tanh(x) * 2

    for _ in range(3):
        f(np.ones(4))
    (executor,) = f._all_executors
    (version,) = executor.versions
    assert executor.hits(version) > 0
    f.reset()
    assert executor.hits(version) == 0
