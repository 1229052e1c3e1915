"""dtypes that no program computes in, but that NumPy's functions give: np.cumsum of uint8 is uint64. They may be asked for by name of an array."""

import numpy as np
import pytest

import tierup

ASKED = {
    "zeros": lambda d, y: np.zeros(3, d.dtype), "full": lambda d, y: np.full((2, 2), 3, d.dtype), "empty": lambda d, y: np.empty(0, d.dtype),
    "arange": lambda d, y: np.arange(3, dtype=d.dtype), "eye": lambda d, y: np.eye(2, dtype=d.dtype), "like": lambda d, y: np.zeros_like(y, dtype=d.dtype),
    "array": lambda d, y: np.array([1, 2], dtype=d.dtype), "astype": lambda d, y: y.astype(d.dtype), "sum": lambda d, y: y.sum(dtype=d.dtype),
    "the dtype": lambda d, y: d.dtype, "equal": lambda d, y: (d.dtype == np.uint64, d.dtype != np.uint64, d.dtype == np.int64, d.dtype == y.dtype),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_a_dtype_is_asked_for_by_an_array_that_has_it(name, dtype):
    def f(y):
        return ASKED[name](np.cumsum(y), y)

    decorated = tierup.jit(f)
    y = np.ones((3, 2), dtype)
    for _ in range(3):
        got, want = decorated(y), f(y)
        assert type(got) is type(want)
        if hasattr(want, "dtype"):
            assert got.dtype == want.dtype and np.array_equal(got, want)
        else:
            assert got == want


def test_a_graph_that_asks_a_dtype_is_for_that_one_alone():
    """NumPy says that np.dtype("float64") == None, which is what stands for a dtype that is no index's."""
    f = tierup.jit(lambda a: np.linalg.inv(a))
    for dtype in (np.float64, np.float64, np.float32, np.float64, np.int32, np.float32):
        a = np.array([[2, 1], [1, 3]], dtype)
        assert f(a).dtype == np.linalg.inv(a).dtype


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_a_dtype_that_one_path_knows_is_not_the_other_paths(dtype):
    def either(x, n):
        y = np.zeros(3) if n > 2 else x
        return y.dtype, y.dtype == np.float64, y * 2

    f = tierup.jit(either)
    for n in (1, 5, 1):
        got, want = f(np.arange(3, dtype=dtype), n), either(np.arange(3, dtype=dtype), n)
        assert got[:2] == want[:2] and got[2].dtype == want[2].dtype


def test_a_float64_scalar_to_an_int_power_is_float64():
    value, gradient = tierup.value_and_grad(lambda a: np.float64(a.sum()) ** 2)(np.ones(3))
    assert value == 9.0 and gradient.tolist() == [6.0] * 3
