"""Programs that have no native code as a whole: native regions, each with versions of its own, and tier 0 between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.base.errors import NotOptimized
from tierup.runtime.programs.publication import Publication

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def ranked(x, w):  # np.argpartition has no native code
    y = np.tanh(x @ w) * 2.0
    z = np.argpartition(y + x, -1, axis=1)
    return np.exp(z) - 1.0


def split_of(f: Any) -> Any:
    (executor,) = f._executors
    (split,) = executor.splits
    return split


def warm(f: Callable[..., Any], *args: Any, calls: int = 3) -> Any:
    for _ in range(calls):
        result = f(*args)
    return result


def assert_close(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_has_native_code_runs_natively_around_an_op_that_has_none() -> None:
    f = tierup.jit(ranked)
    x, w = floats(8, 8), floats(8, 8)
    for call in range(5):
        assert_close(f(x, w), ranked(x, w))
        assert len(f.versions) == (call >= 2)
    split = split_of(f)
    assert [region.stats().hits for region in split.regions] == [3, 3]
    assert [op for op, _ in split.code.left] == ["tierup.argpartition"]
    stats = f.stats()
    assert (stats.profiled_runs, stats.hits, stats.fallbacks, stats.compiles, stats.interpreted) == (2, 3, 0, 2, 0)


def test_an_op_that_torch_mlir_has_no_class_for_stands_in_a_region_as_others_do() -> None:
    def lengths(x, y):
        z = np.argpartition(np.hypot(np.tanh(x), y), -1, axis=1)
        return np.exp(np.hypot(z, y))

    f = tierup.jit(lengths)
    x, y = floats(8, 8), floats(1, 8)
    assert_close(warm(f, x, y, calls=4), lengths(x, y))
    split = split_of(f)
    assert [op for op, _ in split.code.left] == ["tierup.argpartition"]
    assert [region.stats().hits for region in split.regions] == [2, 2]
    with pytest.raises(ValueError, match="shape|size"):
        f(x, floats(3, 8))
    assert_close(f(x[:5], y), lengths(x[:5], y))


def alone(x):
    y = x + 1
    z = np.argpartition(y, -1)
    return np.argpartition(z * 2, -1)


def between(x):
    y = np.argpartition(x + 1, -1)
    z = np.tanh(y) * 2
    return np.argpartition(z, -1)


def test_explain_says_of_ops_with_native_code_why_they_stand_in_no_region() -> None:
    f = tierup.jit(alone)
    warm(f, floats(8))
    row = " ".join(f.explain().split())
    assert "not compiled: too few ops" in row
    assert "np.add and other ops with native code stand alone; put what does not need np.argpartition on one side of it" in row
    assert f"test_regions.py:{alone.__code__.co_firstlineno + 1}" in row
    g = tierup.jit(between)
    warm(g, floats(8))
    (row,) = [row for row in g.explain().splitlines() if row.startswith("    in tier 0: np.add")]
    assert "is alone" in row and f"test_regions.py:{between.__code__.co_firstlineno + 1}" in row


def test_explain_names_the_op_in_tier_0_and_its_line() -> None:
    f = tierup.jit(ranked)
    warm(f, floats(8, 8), floats(8, 8))
    text = f.explain()
    line = ranked.__code__.co_firstlineno + 2
    assert "2 native regions" in text
    assert any("in tier 0: np.argpartition" in row and f"test_regions.py:{line}" in row for row in text.splitlines())


def test_a_new_size_runs_in_the_regions_twins_and_then_in_versions_beside_the_first() -> None:
    f = tierup.jit(ranked)
    warm(f, floats(8, 8), floats(8, 8))
    split = split_of(f)
    for rows in (5, 6, 7, 9):
        x, w = floats(rows, 8), floats(8, 8)
        for _ in range(2):
            assert_close(f(x, w), ranked(x, w))
    assert f.stats().fallbacks > 0
    assert all(len(region.versions) >= 2 for region in split.regions)
    before = [region.stats().hits for region in split.regions]
    assert_close(f(floats(33, 8), w), f(floats(33, 8), w)) if False else f(floats(33, 8), w)
    assert [region.stats().hits - b for region, b in zip(split.regions, before, strict=True)] == [1, 1]
    assert split_of(f) is split


def test_another_dtype_is_cut_anew() -> None:
    f = tierup.jit(ranked)
    warm(f, floats(8, 8), floats(8, 8))
    x, w = floats(8, 8).astype(np.float64), floats(8, 8).astype(np.float64)
    for _ in range(4):
        assert_close(f(x, w), ranked(x, w))
    assert len(f.versions) == 2


def test_a_region_in_a_loop_that_tier_0_runs_keeps_one_table() -> None:
    def program(x, n: int):
        for i in range(n):
            x = np.tanh(np.argpartition(x, -1)) * 0.5 + i
        return x

    f = tierup.jit(program)
    x = floats(16)
    for _ in range(4):
        assert_close(f(x, 3), program(x, 3))
    (region,) = split_of(f).regions
    assert (len(region.versions), region.stats().hits) == (1, 6)
    assert_close(f(x, 0), program(x, 0))


def test_a_returned_view_of_an_argument_stays_a_view() -> None:
    def program(x):
        t = x.T
        return t, np.argpartition(np.exp(t) * 2.0, -1), x[1:]

    f = tierup.jit(program)
    x = floats(4, 4)
    for _ in range(4):
        t, s, tail = f(x)
        assert np.shares_memory(t, x) and np.shares_memory(tail, x) and not np.shares_memory(s, x)
        assert_close(s, program(x)[1])
    assert split_of(f).hits == 2


def test_results_that_share_memory_share_it_in_every_tier() -> None:
    def program(x):
        y = np.exp(x) * 2.0
        return y, y.T, np.argpartition(y, -1)

    f = tierup.jit(program)
    x = floats(4, 4)
    for _ in range(4):
        y, t, _s = f(x)
        assert np.shares_memory(y, t)
        assert_close(t, program(x)[1])
    assert split_of(f).hits == 2


def writes(x, y):
    x += np.argpartition(y * 2.0 + 1.0, -1)
    y[0] = np.exp(x[0]) * 0.5
    return x


def test_written_arguments_are_written_once_the_run_is_through() -> None:
    f = tierup.jit(writes)
    for _ in range(4):
        x, y = floats(6), floats(6)
        want_x, want_y = x.copy(), y.copy()
        writes(want_x, want_y)
        assert f(x, y) is x
        assert_close(x, want_x)
        assert_close(y, want_y)
    assert split_of(f).hits == 2


def test_written_arguments_that_overlap_run_in_tier_0() -> None:
    f = tierup.jit(writes)
    warm(f, floats(6), floats(6), calls=4)
    base = floats(9)
    want = base.copy()
    writes(want[:6], want[3:])
    f(base[:6], base[3:])
    assert_close(base, want)
    assert split_of(f).hits == 2 and f.stats().interpreted == 1


def test_a_read_only_argument_raises_in_every_tier() -> None:
    f = tierup.jit(writes)
    messages = []
    for call in range(4):
        x = floats(6)
        if call % 2:
            x.setflags(write=False)
            with pytest.raises(ValueError, match="read-only") as e:
                f(x, floats(6))
            messages.append(str(e.value))
        else:
            f(x, floats(6))
    assert len(set(messages)) == 1


def test_values_that_swap_between_written_arguments() -> None:
    def swap(a, b):
        t = np.argpartition(a * 1.0 + 0.0, -1)
        old = a.copy()
        a[:] = b
        b[:] = old
        return t

    f = tierup.jit(swap)
    for _ in range(5):
        a, b = floats(6), floats(6)
        want_a, want_b = b.copy(), a.copy()
        f(a, b)
        assert_close(a, want_a)
        assert_close(b, want_b)


def test_an_error_after_a_write_leaves_what_numpy_leaves() -> None:
    def program(x, i: int):
        x += np.argpartition(np.exp(x) + 1.0, -1)
        x[0] = x[i]
        return x

    f = tierup.jit(program)
    for _ in range(4):
        f(floats(6), 2)
    hits = split_of(f).hits
    x = floats(6)
    want = x.copy()
    with pytest.raises(IndexError):
        program(want, 9)
    with pytest.raises(IndexError, match="test_regions.py"):
        f(x, 9)
    np.testing.assert_allclose(x, want, rtol=1e-6)
    assert split_of(f).hits == hits + 1 and f.stats().bailouts == 1
    f(floats(6), 1)
    assert split_of(f).hits == hits + 2


def test_a_partial_write_in_a_loop_of_tier_0_is_not_split_and_explained() -> None:
    def program(x):
        out = np.zeros(x.shape, np.float32)
        for i in range(x.shape[0]):
            out[i] = np.argpartition(np.exp(x[i]) * 2.0, -1)
        return out

    f = tierup.jit(program)
    x = floats(4, 8)
    for _ in range(5):
        assert_close(f(x), program(x))
    assert not f.versions
    assert "np.argpartition: has no native code" in f.explain() and "writes parts of an array; split, it would copy the array" in f.explain()
    assert "could not be turned into a value" not in f.explain()


def test_strict_raises_in_every_call_and_names_the_op() -> None:
    f = tierup.jit(ranked, strict=True, num_profiled_runs=0)
    for _ in range(3):
        with pytest.raises(NotOptimized, match="np.argpartition"):
            f(floats(8, 8), floats(8, 8))


def test_assert_optimized_fails_alike_before_and_after_the_program_was_split() -> None:
    f = tierup.jit(ranked)
    x, w = floats(8, 8), floats(8, 8)
    for _ in range(4):
        with pytest.raises(tierup.NotOptimized, match="np.argpartition"), tierup.assert_optimized():
            f(x, w)
        f(x, w)
    g = tierup.jit(lambda a: np.exp(a) * 2.0) if False else tierup.jit(doubled)
    for _ in range(3):
        with tierup.assert_optimized():
            assert_close(g(x), doubled(x))
    assert g.stats().hits == 3


def doubled(a):
    return np.exp(a) * 2.0


def test_a_program_of_one_op_is_left_alone() -> None:
    f = tierup.jit(lonely)
    for _ in range(4):
        np.testing.assert_array_equal(f(np.array([3.0, 1.0, 2.0])), [1, 2, 0])
    assert not f.versions and "no op of the program has native code" in f.explain()


def lonely(x):
    return np.argpartition(x, -1)


def test_reset_forgets_the_regions() -> None:
    f = tierup.jit(ranked)
    x, w = floats(8, 8), floats(8, 8)
    warm(f, x, w, calls=4)
    f.reset()
    assert not f.versions and f.stats().calls == 0
    assert_close(f(x, w), ranked(x, w))


def test_the_guarded_stage_shows_checks_regions_and_fallbacks() -> None:
    f = tierup.jit(ranked)
    warm(f, floats(8, 8), floats(8, 8))
    assert "tierup.profile" in f.plan("profiled")
    text = f.plan("guarded")
    assert text.count("tierup.check") == 2 and text.count("tierup.fusion_group") == 2 and "_fallback_1" in text


def accumulated(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i : i + 2] += x[i]
    return y


def test_an_update_of_a_slice_that_only_the_run_knows_is_native_in_a_loop() -> None:
    f, x = tierup.jit(accumulated), np.arange(6.0)
    for n in (6, 6, 6, 3):
        assert_close(f(x, n), accumulated(x, n))
    assert f.stats().hits == 3


def test_an_arm_that_raises_for_these_types_keeps_no_program_from_native_code() -> None:
    def sometimes(x, y, limit):
        z = np.tanh(x) * 2
        if z[0] > limit:
            z = z + y
        return z * 3

    f, x, y = tierup.jit(sometimes), floats(3), floats(4)
    for _ in range(3):
        assert_close(f(x, y, 9.0), sometimes(x, y, 9.0))
    assert f.stats().hits == 2
    with pytest.raises(ValueError, match="could not be broadcast"):
        f(x, y, -9.0)
    assert f.stats().bailouts == 1
    assert_close(f(x, y, 9.0), sometimes(x, y, 9.0))


def test_results_that_the_program_makes_afresh_share_no_memory_with_arguments_or_each_other() -> None:
    x, y, z = floats(4), floats(4), floats(4)
    publish = Publication(4, (), ("fresh", "fresh", "argument:0", "view:0"))
    fresh, second, argument, view = publish.results((x,), (x, y, x, x[:2]))
    assert not np.shares_memory(fresh, x) and second is y and argument is x and np.shares_memory(view, x)
    one, other = Publication(2, (), ("fresh", "fresh")).results((x,), (z, z))
    assert one is z and not np.shares_memory(other, z)
    (kept,) = Publication(1, (0,), ("fresh",)).results((x,), (x, y))
    np.testing.assert_array_equal(x, y)
    assert not np.shares_memory(kept, x) and not np.shares_memory(kept, y)


def turned_when_large(x):
    y = np.argpartition(x * 2, -1)
    if y.size > 4:
        z = y.T
    else:
        z = y
    return np.exp(-z) + 1


@pytest.mark.parametrize("shape", [(2, 3, 6), (1, 1, 3)])
def test_an_arm_that_sizes_rule_out_may_give_another_shape(shape) -> None:
    f = tierup.jit(turned_when_large)
    for _ in range(4):
        x = floats(*shape)
        np.testing.assert_allclose(f(x), turned_when_large(x), rtol=1e-6)
    assert f.stats().hits == 2 and f.stats().fallbacks == 0, f.explain()


def test_an_arm_that_raises_for_these_sizes_stays_in_a_split_program():
    """It may never run, and other sizes may let it: the program is cut all the same, and the arm raises when it is taken."""

    def padded(x, w, limit):
        y = np.tanh(x @ w) * 2
        z = np.argpartition(y, -1, axis=1)
        if z.sum() > limit:
            z = z * limit + np.ones(7)
        return np.exp(z) - 1

    jitted, x = tierup.jit(padded), np.ones((4, 8))
    for width, limits in ((8, [1e9] * 5), (7, [1e9, -1.0] * 3)):
        w = np.full((8, width), 0.1)
        for limit in limits:
            np.testing.assert_allclose(jitted(x, w, limit), padded(x, w, limit), rtol=1e-6)
        if width == 8:
            assert jitted.stats().hits == 3 and jitted.stats().interpreted == 0
            with pytest.raises(ValueError, match="could not be broadcast"):
                jitted(x, w, -1.0)


def test_regions_that_are_alike_are_compiled_once() -> None:
    def layer(x):
        return np.argpartition(np.tanh(x * 2.0 + 1.0) * 3.0, 1)

    def layers(x):
        x = layer(x)
        x = layer(x)
        x = layer(x)
        x = layer(x)
        return x

    f, x = tierup.jit(layers), floats(6)
    assert_close(warm(f, x), layers(x))
    assert [region.versions[0].compiled.from_disk for region in split_of(f).regions] == [False, False, True, True]  # of floats, then of ints
