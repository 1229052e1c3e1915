"""Functions of complex numbers: NumPy is the oracle, undecorated; stats() says that native code answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup

COMPLEX = (np.complex64, np.complex128)
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-320, 1e300, -1e300, 3.5, 1e154, 1e-200)


def _values(dtype: type) -> np.ndarray:
    """All pairs of what is special in a part, and numbers of all magnitudes."""
    part = np.zeros((), dtype).real.dtype
    with np.errstate(all="ignore"):
        special = np.array(_SPECIAL).astype(part)
    rng = np.random.default_rng(3)
    made = np.empty(len(special) ** 2 + 200, dtype)
    scale = 10.0 ** rng.uniform(-20, 18, (2, 200))
    made.real = [*np.repeat(special, len(special)), *(rng.normal(size=200) * scale[0])]
    made.imag = [*np.tile(special, len(special)), *(rng.normal(size=200) * scale[1])]
    return made


def _parts(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return np.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x


def _equal(found: Any, expected: Any, ulps: int = 0) -> None:
    """Each part to the bit, but for the signs of NaNs; to so many units in the last place where the documentation says so."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    a, b = _parts(found), _parts(expected)
    if a.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    numbers = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))
    if ulps:
        np.testing.assert_array_max_ulp(a[np.isfinite(b)], b[np.isfinite(b)], ulps, a.dtype)
        numbers &= ~np.isfinite(b)
    np.testing.assert_array_equal(a[numbers], b[numbers])


def _native(function: Callable[..., Any], *operands: Any) -> Any:
    jitted = tierup.jit(function)
    for _ in range(3):
        found = jitted(*operands)
    assert jitted.stats().hits == 2, jitted.explain()
    return found


_OF_ONE: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x, "positive": lambda x: +x, "conj": lambda x: np.conj(x), "conjugate": lambda x: x.conjugate(),
    "reciprocal": lambda x: np.reciprocal(x), "1 / x": lambda x: 1 / x, "1j / x": lambda x: 1j / x, "square": lambda x: x**2,
    "real": lambda x: x.real + 1, "imag": lambda x: np.imag(x) * 2, "isnan": lambda x: np.isnan(x), "isinf": lambda x: np.isinf(x),
    "isfinite": lambda x: np.isfinite(x), "logical_not": lambda x: np.logical_not(x), "bool": lambda x: x.astype(bool),
    "times a float": lambda x: x * 2.5, "plus an int": lambda x: 1 + x, "times 1j": lambda x: x * (0.5 - 2j), "inf": lambda x: np.inf / x,
    "wide": lambda x: x.astype(np.complex128), "narrow": lambda x: x.astype(np.complex64), "isreal": lambda x: np.isreal(x),
    "== 1j": lambda x: x == 1j, "== 1": lambda x: x == 1, "!= 3.5": lambda x: x != 3.5, "0 ==": lambda x: 0 == x, "slice": lambda x: x[::-2] - x[1], "where a number": lambda x: np.where(x.imag > 0, x, 0.5),
    "where 1j": lambda x: np.where(np.isnan(x), 1j, x), "power": lambda x: np.square(x),
}  # fmt: skip
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y, "divide": lambda x, y: x / y,
    "equal": lambda x, y: x == y, "not_equal": lambda x, y: x != y, "where": lambda x, y: np.where(np.isnan(x), y, x),
    "logical_and": lambda x, y: np.logical_and(x, y), "strided": lambda x, y: x[::2] * y[1::2], "np.multiply": lambda x, y: np.multiply(x, y),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), drawn("complex functions", [(n, t) for n in _OF_ONE for t in COMPLEX], 5))
def test_functions_of_one_array_give_numpys_bits(name: str, dtype: type) -> None:
    x = _values(dtype)
    _equal(_native(_OF_ONE[name], x), _OF_ONE[name](x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), drawn("complex operators", [(n, t) for n in _OF_TWO for t in COMPLEX], 4))
def test_functions_of_two_arrays_give_numpys_bits(name: str, dtype: type) -> None:
    x = np.repeat(_values(dtype), 60)
    y = np.random.default_rng(1).permutation(x)
    _equal(_native(_OF_TWO[name], x, y), _OF_TWO[name](x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", COMPLEX)
def test_magnitudes_angles_and_exponentials_are_within_their_bound(dtype: type) -> None:
    x = _values(dtype)
    _equal(_native(lambda x: np.abs(x), x), np.abs(x), ulps=2)
    _equal(_native(lambda x: np.angle(x), x), np.angle(x), ulps=4)
    _equal(_native(lambda x: np.exp(x), x), np.exp(x), ulps=4)
    part = x.real.dtype
    largest = np.log(np.finfo(part).max)
    x = (np.linspace(-largest, largest, 500) * 1.03 + 1j * np.linspace(-20, 20, 500)).astype(dtype)
    _equal(_native(lambda x: np.exp(x), x), np.exp(x), ulps=4)


@pytest.mark.parametrize("other", [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_, np.complex64])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_dtypes_are_promoted_as_numpy_does(dtype: type, other: type) -> None:
    x, y = np.arange(1, 5).astype(dtype), np.arange(4).astype(other)

    def f(x: Any, y: Any) -> Any:
        return x * y, y + 1j, y * 2.0 - 1j * x

    for found, expected in zip(_native(f, x, y), f(x, y), strict=True):
        _equal(found, expected)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_numpys_scalars_are_multiplied_as_numpy_does(dtype: type) -> None:
    def f(z: Any, c: Any) -> Any:
        return z * z + c, z**2, z / c, z * 2.5, -z

    jitted, rng = tierup.jit(f), np.random.default_rng(2)
    for z, c in rng.normal(size=(50, 4)).astype(np.zeros((), dtype).real.dtype).view(dtype):
        for found, expected in zip(jitted(z, c), f(z, c), strict=True):
            assert type(found) is type(expected) and found == expected
    assert jitted.stats().hits == 49


def _stores(x: Any) -> Any:
    y = x.copy()
    y[0] = 1j
    y[:, 1] = x[:, 0] * 2
    y[1, 1] = 5
    y[np.abs(y) > 2] = 0
    y *= 2j
    y -= x.real
    return y


def _moved(x: Any) -> Any:
    joined = np.concatenate([x, x.real, np.full((1, x.shape[1]), 2 - 1j)])
    return np.stack([joined.T.reshape(-1), np.roll(joined, 1).ravel()]), x[np.array([1, 0])], np.tile(x, 2), x[::-1].copy()


def _made(x: Any) -> Any:
    made = np.zeros(x.shape, dtype=complex)
    for i in range(x.shape[0]):
        made[i] = x[i] * np.array([1j]) + np.ones_like(x[i])
    return made


def _reduced(x: Any) -> Any:
    return x.any(axis=0), np.count_nonzero(x), np.all(x, axis=1), x.prod(axis=0)


@pytest.mark.parametrize("function", [_stores, _moved, _made, _reduced])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_elements_go_where_numpy_puts_them(function: Callable[..., Any], dtype: type) -> None:
    rng = np.random.default_rng(4)
    x = (rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))).astype(dtype)
    found, expected = _native(function, x), function(x)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        _equal(a, b)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("size", [3, 20])
def test_sums_and_products_of_matrices_are_near_numpys(dtype: type, size: int) -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=(2, size, size)) + 1j * rng.normal(size=(2, size, size))).astype(dtype)

    def f(x: Any, y: Any) -> Any:
        return x.sum(), x.mean(axis=0), x @ y, x.conj().T @ y, x @ y[:, 0], np.vdot(x, y), np.dot(x[0], y[0]), np.einsum("ij,ij->i", x, y)

    for found, expected in zip(_native(f, x, y), f(x, y), strict=True):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=20 * size * np.finfo(dtype).eps)


# --- whole programs ------------------------------------------------------------------------------------------------------


def _mandelbrot(c: Any, steps: int) -> Any:
    z, counts = np.zeros_like(c), np.zeros(c.shape, dtype=int)
    for _ in range(steps):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        counts += inside
    return counts


def _julia(z: Any, steps: int) -> Any:
    for _ in range(steps):
        z = z**2 + (-0.4 + 0.6j)
    return np.abs(z) < 2


def _mobius(z: Any, a: Any) -> Any:
    return (z - a) / (1 - a.conjugate() * z)


def _impedance(w: Any, r: float, l: float, c: float) -> Any:  # noqa: E741 - an inductance
    z = r + 1j * w * l + 1 / (1j * w * c)
    return np.abs(z), np.angle(z), z.real


def _circuit(state: Any, gate: Any) -> Any:
    for _ in range(3):
        state = gate @ state
        state = state / np.sqrt((np.abs(state) ** 2).sum())
    return np.abs(state) ** 2, np.vdot(state, gate @ state)


_AXIS = np.linspace(-2, 1, 40)
_PLANE = _AXIS[:, None] + 1j * np.linspace(-1.2, 1.2, 30)
_HADAMARD = np.kron([[1, 1], [1, -1]], [[1, 1j], [1j, 1]]) / 2
_PROGRAMS: dict[Callable[..., Any], tuple[Any, ...]] = {
    _mandelbrot: (_PLANE, 12), _julia: (_PLANE, 6), _mobius: (_PLANE / 4, np.complex128(0.3 + 0.2j)),
    _impedance: (np.linspace(1, 1e4, 50), 50.0, 1e-3, 1e-6), _circuit: (np.array([1, 0, 0, 0], complex), _HADAMARD),
}  # fmt: skip


@pytest.mark.parametrize("function", _PROGRAMS, ids=lambda f: f.__name__)
def test_whole_programs_are_native(function: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        expected = function(*_PROGRAMS[function])
    found = _native(function, *_PROGRAMS[function])
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_what_lies_around_transforms_is_native() -> None:
    def filtered(x: Any, h: Any) -> Any:
        spectrum = np.fft.fft(x * 2)
        shaped = spectrum * h * np.exp(-1j) + spectrum.conj() * 0.25
        return np.fft.ifft(shaped).real + 1

    x, h = np.sin(np.arange(64.0)), 1 / (1 + np.arange(64.0))
    jitted = tierup.jit(filtered)
    for _ in range(4):
        np.testing.assert_allclose(jitted(x, h), filtered(x, h), rtol=1e-12)
    text = jitted.explain()
    assert "foreign call of numpy.fft.fft" in text and "holds" not in text and text.count("region at") == 3, text


# --- what stays Python ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [
    lambda x: np.sort(x), lambda x: x.max(), lambda x: np.maximum(x, x[::-1]), lambda x: x < x[::-1], lambda x: np.exp(x) + np.log(x) * np.sin(x),
    lambda x: x**3 + x**0.5, lambda x: np.cumsum(x), lambda x: x.var(), lambda x: np.linalg.norm(x), lambda x: np.round(x, 1),
    lambda x: np.argsort(x), lambda x: np.unique(x), lambda x: np.nan_to_num(x), lambda x: np.pad(x, 1), lambda x: np.vdot(x, x),
    lambda x: np.iscomplexobj(x) and x.dtype == np.complex128, lambda x: np.real_if_close(x * 0 + 1), lambda x: np.sign(x),
    lambda x: np.correlate(x, x[:2]), lambda x: np.linalg.inv(np.diag(x)), lambda x: np.sqrt(x) * 2j, lambda x: x.tolist()[0],
])  # fmt: skip
def test_other_functions_give_what_numpy_gives(function: Callable[..., Any]) -> None:
    x = np.array([1 + 2j, -3.5j, 0.25, 1 - 1j])
    jitted = tierup.jit(function)
    for _ in range(3):
        np.testing.assert_allclose(jitted(x), function(x), rtol=1e-14)


def _float_store(x: Any) -> Any:
    y = np.zeros(4)
    y[1] = x[0]
    return y


def _in_place(x: Any) -> Any:
    y = np.zeros(4)
    y += x
    return y


@pytest.mark.parametrize("function", [
    lambda x: np.floor(x), lambda x: x % 2, lambda x: x // 2, lambda x: np.fabs(x), lambda x: np.degrees(x), lambda x: np.arctan2(x, x),
    lambda x: np.hypot(x, 1), lambda x: np.logaddexp(x, x), lambda x: np.signbit(x), lambda x: x & 1, lambda x: float(x[0]),
    lambda x: x[x], lambda x: np.arange(4)[x[0]], _float_store, _in_place, lambda x: np.copysign(x, 1),
])  # fmt: skip
def test_errors_are_numpys(function: Callable[..., Any]) -> None:
    x = np.array([1 + 2j, -3.5j, 0.25, 1 - 1j])
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
            function(x)
        jitted = tierup.jit(function)
        for _ in range(3):
            with pytest.raises(expected.type) as found:
                jitted(x)
            assert str(found.value) == str(expected.value)


def test_a_function_serves_real_and_complex_arrays_each_with_a_graph_of_its_own() -> None:
    def f(x: Any) -> Any:
        return np.abs(x * 2 - 1) + x.real

    jitted = tierup.jit(f)
    for _ in range(4):
        for x in (np.arange(4.0), np.arange(4) * 1j, np.arange(4), np.arange(4).astype(np.complex64)):
            _equal(jitted(x), f(x))
    assert jitted.stats().hits == 12 and jitted.stats().versions == 4


def test_the_parts_of_an_argument_follow_it_when_it_is_written() -> None:
    def f(x: Any) -> Any:
        re = x.real
        x[0] = 5 + 1j
        return re * 2

    def through(x: Any) -> Any:
        x.real[1] = 7
        x.imag = 0
        return x * 2

    for function in (f, through):
        jitted = tierup.jit(function)
        for _ in range(3):
            mine, theirs = np.arange(4) * (1 + 1j), np.arange(4) * (1 + 1j)
            _equal(jitted(mine), function(theirs))
            _equal(mine, theirs)


def test_gradients_are_refused_in_words() -> None:
    with pytest.raises(tierup.NotDifferentiable, match="complex numbers"):
        tierup.grad(lambda x: np.abs(x * 1j).sum())(np.arange(3.0))
    with pytest.raises(tierup.NotDifferentiable, match="complex numbers"):
        tierup.grad(lambda x: np.abs(x).sum())(np.arange(3) * 1j)
