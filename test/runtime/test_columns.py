"""Arrays in Fortran order have versions of their own, whose code reads memory in its order and gives results that lie so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

import tierup

SHAPES = ((3, 4), (1, 5), (5, 1), (2, 3, 4), (0, 3), (4, 4))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x, y: np.exp(-x * x) + y,
    "sums": lambda x, y: (x.sum(), x.sum(axis=0), (x * y).mean(axis=-1, keepdims=True)),
    "extremes": lambda x, y: (x.max(), x.min(axis=0), np.maximum(x, y).max(axis=1)),
    "positions": lambda x, y: (x.argmax(), y.argmin(axis=0), x.argmax(axis=-1)),
    "products in their order": lambda x, y: (x.prod(), x.prod(axis=0), np.cumsum(x, axis=0)),
    "products of matrices": lambda x, y: (x @ y.T, np.dot(x.T, y)),
    "views": lambda x, y: (x.T, x[1:], x[..., ::2], y.reshape(-1), x.ravel(order="K")),
    "moved": lambda x, y: (x.copy(), x[::-1] + y, np.concatenate([x, y]), x.swapaxes(0, 1) * 2, np.where(x > 0, x, y)),
    "elements": lambda x, y: sum(x[i, 0] for i in range(len(x))),
    "a path for each sign": lambda x, y: x * 2 if x.sum() > 0 else y,
}


def arrays(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-9, 9, shape).astype(dtype) / 2 if dtype is not np.int64 else rng.integers(-9, 9, shape) for _ in "xy")  # type: ignore[return-value]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as e:  # noqa: BLE001 - what NumPy raises, we raise
        return type(e)


def assert_alike(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        for f, w in zip(found, wanted, strict=True):
            assert_alike(f, w)
    elif isinstance(wanted, type):
        assert found is wanted
    else:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "order"), drawn("orders", [(name, order) for name in FUNCTIONS for order in ("FF", "FC", "CF", "FS")], 4))
def test_values_are_numpys_whatever_the_order_of_the_arguments(name: str, order: str) -> None:
    function = FUNCTIONS[name]
    lay = {"F": np.asfortranarray, "C": np.ascontiguousarray, "S": lambda a: np.repeat(a, 2, axis=-1)[..., ::2]}
    for shape in SHAPES:
        jitted = tierup.jit(function, compile="blocking")
        for seed in range(4):
            x, y = (lay[o](a) for o, a in zip(order, arrays(shape, seed), strict=True))
            assert_alike(outcome(jitted, x, y), outcome(function, x, y))


def test_a_version_for_fortran_order_takes_no_others_and_gives_results_that_lie_so() -> None:
    jitted = tierup.jit(lambda x: x * 2.0 + 1.0, compile="blocking")
    x = np.asfortranarray(arrays((3, 4))[0])
    results = [jitted(x) for _ in range(3)]
    assert jitted.stats().hits == 2 and "x: f64[3, 4] columns: static" in jitted.explain()
    assert all(r.flags.f_contiguous and not r.flags.c_contiguous and r.base is None for r in results)
    c, strided = np.ascontiguousarray(x), np.repeat(x, 2, axis=1)[:, ::2]
    for other, versions in ((c, 2), (strided, 3)):
        for _ in range(3):
            np.testing.assert_array_equal(jitted(other), x * 2.0 + 1.0)
        assert len(jitted.versions) == versions
    assert jitted(c).flags.c_contiguous
    hits = jitted.stats().hits
    assert jitted(x).flags.f_contiguous and jitted.stats().hits == hits + 1


def test_sizes_become_symbols() -> None:
    jitted = tierup.jit(lambda x: (x - x.mean(axis=0)) / 2, compile="blocking")
    for rows in (3, 4, 5, 6, 7, 8):
        x = np.asfortranarray(arrays((rows, 2 * rows))[0])
        np.testing.assert_allclose(jitted(x), (x - x.mean(axis=0)) / 2, rtol=1e-12, atol=1e-12)
    assert "x: f64[s0, s1] columns: dynamic" in jitted.explain() and jitted.stats().hits >= 3


def test_a_view_of_an_argument_is_one_of_its_memory() -> None:
    jitted = tierup.jit(lambda x: (x.T, x[1:, ::2], x), compile="blocking")
    x = np.asfortranarray(arrays((3, 4))[0])
    for _ in range(3):
        turned, part, same = jitted(x)
        assert same is x and np.shares_memory(turned, x) and turned.flags.c_contiguous and part.strides == x[1:, ::2].strides
        np.testing.assert_array_equal(part, x[1:, ::2])
    assert jitted.stats().hits == 2


def test_an_array_that_is_written_is_written_in_place() -> None:
    def step(x: Any, y: Any) -> Any:
        x[1:] += y[:-1]
        for i in range(x.shape[1]):
            x[0, i] = i
        return x.sum()

    jitted = tierup.jit(step, compile="blocking")
    for seed in range(4):
        given, plain = (tuple(map(np.asfortranarray, arrays((3, 4), seed))) for _ in range(2))
        assert jitted(*given) == pytest.approx(step(*plain))
        np.testing.assert_array_equal(given[0], plain[0])
    assert jitted.stats().hits == 3 and "x: f64[3, 4] strided, y: f64[3, 4] columns" in jitted.explain()


STEPS = ("v * 2", "v + x", "np.abs(v)", "v.T", "v[::-1]", "v - v.mean(axis=0)", "np.maximum(v, 0.5)", "v.reshape(v.shape[::-1])", "v[:, ::-1]", "v.cumsum(axis=-1)",
         "np.where(v > 0, v, -1)", "v.copy()", "v.max(axis=1, keepdims=True) - v", "np.roll(v, 1, 0)", "np.stack([v, v])[1]", "v.sum(axis=0) * v", "np.tanh(v)")  # fmt: skip


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), st.sampled_from([(3, 4), (2, 2), (1, 3), (5, 2)]))
@settings(max_examples=examples(12), deadline=None)
def test_chains_of_operations_on_fortran_order_give_numpys_values(tmp_path_factory: Any, steps: list[str], shape: tuple[int, int]) -> None:
    path = tmp_path_factory.mktemp("columns") / "program.py"
    path.write_text("import numpy as np\n\ndef f(x):\n    v = x\n" + "".join(f"    v = {step}\n" for step in steps) + "    return v\n")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102 - the lines stand above
    jitted = tierup.jit(scope["f"], compile="blocking")
    for seed in range(3):
        x = np.asfortranarray(arrays(shape, seed)[0])
        assert_alike(outcome(jitted, x), outcome(scope["f"], x))
