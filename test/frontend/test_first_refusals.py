"""What fits neither in shape nor in dtype: NumPy's exception, class and words, whether a name's operator, an array of a ufunc's or an element
is written; what is written meanwhile is NumPy's too."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup


def added(a: Any, b: Any) -> Any:
    a += b
    return a


def raised_to(a: Any, b: Any) -> Any:
    a **= b
    return a


def multiplied(a: Any, b: Any) -> Any:
    a @= b
    return a


def added_to_itself(a: Any, b: Any) -> Any:
    np.add(a, b, out=a)
    return a


def roots(a: Any, b: Any) -> Any:
    np.sqrt(b, out=a)
    return a


def unsafe(a: Any, b: Any) -> Any:
    return np.negative(b, a, casting="unsafe") if b.dtype != bool else np.add(b, 1, a)


def where_positive(a: Any, b: Any) -> Any:
    return np.maximum(b, 1, out=a, where=a > 0), np.minimum(b, a, out=a)


def element(a: Any, b: Any) -> Any:
    a[0] = [1, 2]
    return a, b


def padded(a: Any, b: Any) -> Any:
    return np.pad(a, ((1, 2), (0, 1))), np.pad(b, 1)


def padded_by_too_many(a: Any, b: Any) -> Any:
    return np.pad(a, (1, 2, 3)), b


def padded_by_a_float(a: Any, b: Any) -> Any:
    return a, np.pad(b, 1.5)


def padded_by_less_than_nothing(a: Any, b: Any) -> Any:
    return a, np.pad(b, (1, -1))


def rolled(a: Any, b: Any) -> Any:
    return np.roll(a, 1), np.roll(b, 1, axis=0)


def padded_with(a: Any, b: Any) -> Any:
    return np.pad(a, 1, constant_values=b), np.pad(a, [[1, 2]], mode="maximum")


def plus(a: Any, b: Any) -> Any:
    return +a, np.positive(b)


def turned(a: Any, b: Any) -> Any:
    return np.swapaxes(a, 0, 1), np.moveaxis(b, 0, 1)


DTYPES = (np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64)
SHAPES = (
    ((2,), (2,)), ((2,), (3,)), ((2,), (3, 2)), ((), (2,)), ((3, 2), (2,)), ((2,), ()), ((2,), (1, 2)), ((2, 2), (2, 2)), ((2, 2), (2,)),
    ((2, 2), (3, 2)), ((0,), (2,)), ((2, 3), (3, 2)),
)  # fmt: skip
FUNCTIONS = (
    added, raised_to, multiplied, added_to_itself, roots, unsafe, where_positive, element, padded, padded_by_too_many, padded_by_a_float,
    padded_by_less_than_nothing, rolled, padded_with, plus, turned,
)  # fmt: skip
ROWS = list(itertools.product(FUNCTIONS, SHAPES, DTYPES, DTYPES))


def outcome(f: Callable[..., Any], shapes: Any, dtypes: Any) -> list[str]:
    """Result or exception, and what the arguments are afterwards. NumPy makes a scalar of what is computed at rank 0, but no argument."""
    given = [np.full(shape, 2, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    try:
        result = f(*given)
        found = [f"{x.dtype} {x.tolist()}" for x in (result if isinstance(result, tuple) else (result,))]
    except Exception as e:  # noqa: BLE001 - which are compared
        found = [f"{type(e).__mro__} {e}"]
    return [*found, *(f"{x.dtype} {x.tolist()}" for x in given)]


@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_first_refusal_is_numpys(f: Callable[..., Any], options: dict[str, Any]) -> None:
    rows = [row for row in drawn("first refusals", ROWS, 80 if options else 300, lambda row: row[0]) if row[0] is f]
    assert rows
    for _, shapes, *dtypes in rows:
        decorated = tierup.jit(f, **options)
        for _ in range(1 if options else 3):
            assert outcome(decorated, shapes, dtypes) == outcome(f, shapes, dtypes), (shapes, dtypes)


@pytest.mark.parametrize("options", [{"executor": "specializing"}, {"bailout_depth": 0}, {}], ids=str)
def test_a_write_that_nobody_reads_is_refused_though_its_sizes_are_the_runs(options: dict[str, Any]) -> None:
    def f(a: Any) -> None:
        b = np.zeros(a.T.shape, a.dtype)
        b += a

    decorated = tierup.jit(f, **options)
    for shape in ((1, 3), (1, 3), (3, 3), (1, 4)):
        assert outcome(decorated, [shape], [np.float64]) == outcome(f, [shape], [np.float64]), shape


def test_the_first_refusal_is_numpys_after_native_calls() -> None:
    for f in (added, multiplied, added_to_itself, roots):
        decorated = tierup.jit(f)
        for _ in range(4):
            assert outcome(decorated, ((2, 2), (2, 2)), (np.float64, np.float64)) == outcome(f, ((2, 2), (2, 2)), (np.float64, np.float64))
        assert decorated.stats().hits > 0
        for shapes, dtypes in itertools.product((((2, 2), (3, 2)), ((2, 2), (2, 2))), ((np.int64, np.float64), (np.float64, np.float64))):
            assert outcome(decorated, shapes, dtypes) == outcome(f, shapes, dtypes), (f, shapes, dtypes)
