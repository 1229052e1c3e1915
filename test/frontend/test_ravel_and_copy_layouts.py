"""What shares memory with an argument, and how copies lie, is as in NumPy for arrays of every layout, in every tier."""

from __future__ import annotations

import numpy as np
import pytest

import tierup

LAYOUTS = {
    "contiguous": lambda: np.arange(12.0).reshape(3, 4),
    "one axis": lambda: np.arange(6.0),
    "every second": lambda: np.arange(12.0)[::2],
    "backwards": lambda: np.arange(6.0)[::-1],
    "a column": lambda: np.arange(12.0).reshape(3, 4)[:, :1],
    "columns": lambda: np.arange(12.0).reshape(3, 4)[:, :2],
    "part of a row": lambda: np.arange(12.0).reshape(3, 4)[1:2, ::2],
    "both axes backwards": lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    "transposed": lambda: np.arange(12.0).reshape(4, 3).T,
    "permuted": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "broadcast": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
    "rank 0": lambda: np.array(5.0),
    "empty": lambda: np.zeros((0, 3)),
}


def ravel(x):
    return x.ravel()


def ravel_written(x):
    z = np.ravel(x)
    z += 1
    return z


def ravel_of_transposed(x):
    z = x.T.ravel()
    z += 1
    return z


def part_of_ravel(x):
    z = x.ravel()[1:]
    z *= 2
    return z


def ravel_computed(x):
    return x.ravel() * 2


def reshaped(x):
    return x.reshape(-1)


def flattened(x):
    z = x.flatten()
    z += 1
    return z


def same_dtype(x):
    return np.float64(x)


def converted(x):
    return x.astype(np.float64, copy=False)


def contiguous(x):
    return np.atleast_1d(np.ascontiguousarray(x))


def copy_lies_in_c_order(x):
    y = x.copy()
    z = y.reshape(-1)
    z += 1
    return y


def np_copy_keeps_the_order(x):
    y = np.copy(x)
    z = y.reshape(-1)
    z += 1
    return y


PROGRAMS = (
    ravel, ravel_written, ravel_of_transposed, part_of_ravel, ravel_computed, reshaped, flattened, same_dtype, converted, contiguous,
    copy_lies_in_c_order, np_copy_keeps_the_order,
)  # fmt: skip


def _seen(function, x: np.ndarray) -> object:
    """What a caller can tell of a call."""
    result = function(x)
    return np.asarray(result).tolist(), type(result), np.shares_memory(result, x), x.tolist(), getattr(result.flags, "writeable", None)


@pytest.mark.parametrize("options", [{}, {"bailout_depth": 0}], ids=["default", "simple"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_what_shares_memory_is_as_in_numpy(program, options: dict[str, object]) -> None:
    f = tierup.jit(program, compile="blocking", **options)
    for make in LAYOUTS.values():
        for _ in range(3):
            x = make()
            if not x.size and program is part_of_ravel:
                continue  # of an empty array anything is
            assert _seen(f, x) == _seen(program, make()), (x, x.strides)


def computed_and_its_ravel(x):
    y = np.tanh(x * 2 + 1) * 3
    return y, y.ravel()


def like_and_its_reshape(x):
    y = np.zeros_like(x)
    if y.size and y.ndim > 1:
        y[0] = 1
    return y.reshape(-1), y


@pytest.mark.parametrize("options", [{}, {"speculate": "bailout"}, {"executor": "specializing"}], ids=["default", "bailouts", "specializing"])
@pytest.mark.parametrize("program", [computed_and_its_ravel, like_and_its_reshape])
def test_results_share_memory_as_in_numpy_whatever_the_layout(program, options: dict[str, object]) -> None:
    f = tierup.jit(program, compile="blocking", **options)
    for name in ("contiguous", "transposed", "columns", "contiguous", "permuted", "one axis", "every second"):
        for _ in range(4):
            got, wanted = f(LAYOUTS[name]()), program(LAYOUTS[name]())
            np.testing.assert_allclose(got[0], wanted[0], rtol=1e-12)
            assert np.shares_memory(*got) == np.shares_memory(*wanted), name
    assert f.stats().hits > 0 or program is like_and_its_reshape


def test_ravel_of_a_contiguous_array_stays_a_native_view() -> None:
    f = tierup.jit(ravel, compile="blocking")
    for _ in range(4):
        x = np.arange(12.0).reshape(3, 4)
        assert np.shares_memory(f(x), x)
    assert f.stats().hits == 3
