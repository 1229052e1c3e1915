"""Functions that NumPy writes in Python are translated from NumPy's own code: natively, with NumPy's values, dtypes, types and errors."""

import inspect
import linecache
import sys
import textwrap

import numpy as np
import pytest
from sampling import drawn

import tierup

# the body of `def f(x, m, k)`, with x: a vector, m: a square matrix, k: a vector of small ints
BODIES = {
    "cov": "return np.cov(m), np.cov(m, rowvar=False, ddof=0), np.cov(x, 2 * x)",
    "average": "return np.average(m), np.average(m, axis=0), np.average(x, weights=x * x), np.average(m, axis=1, returned=True)",
    "isclose and allclose": "return np.isclose(m, m.T), np.isclose(x, 1.0), np.allclose(m, m), np.isclose(x, x, equal_nan=True)",
    "gradient": "return np.gradient(x), np.gradient(m), np.gradient(m, 2.0, axis=1), np.gradient(x, edge_order=2)",
    "trapezoid": "return np.trapezoid(x), np.trapezoid(m, dx=0.5), np.trapezoid(x, x * x), np.trapezoid(m, axis=0)",
    "nan functions": "return np.nansum(m), np.nansum(m, axis=1), np.nanmean(x), np.nanmean(m, axis=0), np.nanvar(x)",
    "sinc, angle and unwrap": "return np.sinc(x), np.unwrap(x), np.unwrap(m, axis=0)",
    "polyval": "return np.polyval(x, x), np.polyval(x, 2.0)",
    "stacks": "return np.dstack([m, m]), np.column_stack([x, x]), np.append(x, x), np.append(m, m, axis=0)",
    "flat and triangular": "return np.diag(m), np.diag(m, 1), np.tri(3, 4), np.trace(m), np.argwhere(m > 0)",
    "equality": "return np.array_equal(m, m), np.array_equal(m, m.T), np.array_equal(x, m)",
    "roll": "return np.roll(x, 2), np.roll(m, -1), np.roll(m, k[0], axis=1), np.roll(m, 1, axis=(0, 1))",
    "tensordot and inner": "return np.tensordot(m, m, 1), np.tensordot(m, m), np.tensordot(m, x, axes=([0], [0])), np.inner(m, m), np.inner(x, x)",
    "einsum": (
        "return np.einsum('ij,jk->ik', m, m), np.einsum('ij->j', m), np.einsum('i,i', x, x), np.einsum('i,j', x, x), np.einsum('ij,kj', m, m[:2])"
        ", np.einsum('ij,ij->i', m, m)"
    ),
    "round": "return np.round(x + 0.25, 1), (x * 1.0).round(3), np.around(x / 3, -1), np.round(k, 2)",
    "expand_dims of several axes": "return np.expand_dims(x, (0, 2)), np.expand_dims(m, (-1,))",
    "pad by elements": (
        "return np.pad(m, 1, mode='edge'), np.pad(m, ((2, 0), (0, 3)), 'reflect'), np.pad(x, (9, 17), 'reflect'), np.pad(x, 14, 'symmetric'), "
        "np.pad(m, (1, 7), 'wrap'), np.pad(x[:1], 3, 'reflect'), np.pad(x[:1], (k[0], 2), 'symmetric'), np.pad(x[:0], 0, 'edge')"
    ),
    "pad of nothing by elements": "return np.pad(x[:0], 1, 'edge')",
    "cross": "a = m[:, :3]\nreturn np.cross(a, a[::-1]), np.cross(a[0], a), np.cross(a.T, a[0], axisa=0), np.cross(a, a * 2, axisc=0)",
    "diag of a vector": "return np.diag(x), np.diag(x, 2), np.diag(k, -1), np.diag(m, -1)",
    "fill_diagonal": "y = m.copy()\nnp.fill_diagonal(y, 3)\nz = m[:, :2] * 2\nnp.fill_diagonal(z, z[0, 1])\nreturn y, z",
    "kron": "return np.kron(m, m[:2]), np.kron(x, m), np.kron(x, k), np.kron(x, 2)",
    "meshgrid": "return np.meshgrid(x, k), np.meshgrid(x, k, x, indexing='ij'), np.meshgrid(x), np.meshgrid(x, k, sparse=True)",
    "select": "return np.select([x > 1, x < -1], [x, x * x]), np.select([m > 0, m < -2], [1, k], -1.5), np.select([x > 0], [x], x)",
    "nanmax and nanmin": "y = np.where(m > 2, np.nan, m)\nreturn np.nanmax(m), np.nanmin(y, axis=0), np.nanmax(y), np.nanargmax(x), np.fmin.reduce(k)",
    "vectors that NumPy itself compares": "return np.array_equiv(m, m[0]), np.array_equiv(m, m[:, :3]), np.corrcoef(x), np.corrcoef(m)",
    "vectors that NumPy itself crosses": "return np.cross(m[:, :2], m[:, 1:3])",
    "ufuncs into an array": "y = np.zeros_like(x)\nnp.multiply(x, 3, out=y)\nz = np.add(y, x, y)\nw = np.negative(x, out=z)\nreturn w, z is y, w is y",
    "ufuncs where a mask holds": "y = np.ones_like(x)\nnp.add(x, x, out=y, where=x > 0)\nnp.copyto(y, 7, where=x < -0.5)\nreturn y",
    "ufuncs with a dtype": "return np.add(k, 1, dtype=np.float32), np.multiply(k, k, dtype='f8'), np.add(x, x, out=...)",
    "ufuncs' reduce, accumulate and outer": (
        "return np.add.reduce(m), np.maximum.reduce(m, axis=1), np.logical_and.reduce(m > 0), np.add.accumulate(m), "
        "np.multiply.accumulate(x), np.subtract.outer(x, k), np.less.outer(k, k), np.maximum.reduce(m, 0, None, None, 1), "
        "np.logical_or.reduce(m > 1, 1, None, None, True), np.add.reduce(m, 0, np.float64, None, False, 0)"
    ),
    "differences, parts and elements along an axis": (
        "return np.diff(m, 2), np.diff(x, prepend=0, append=k), np.split(m, [1, 3], 1), np.take_along_axis(m, np.argsort(m, None), None)"
    ),
    "arrays made by keywords": "return np.array(x, ndmin=2), np.zeros_like(m, shape=(2, 3)), m.copy(order='K'), np.broadcast_to(x, (2, x.size))",
    "dtypes asked for": "return np.result_type(x, k), np.result_type(x, 1.5), np.promote_types('i4', 'f4'), np.issubdtype(np.float32, np.floating)",
    "a dtype that cannot be": "return np.add(x * 0.5, 1, dtype=np.int64)",
    "a number that cannot be": "return np.multiply(k, 2.5, dtype=np.int64)",
    "a wrong axis": "return np.average(m, axis=3)",
    "arrays that are too short": "return np.gradient(x[:1])",
    "an array that cannot be written so": "y = np.zeros(x.shape, int)\nreturn np.add(x, 0.5, out=y)",
}


def function_of(body):
    source = "def f(x, m, k):\n" + textwrap.indent(body, "    ")
    name = f"<{abs(hash(body))}>"
    __import__("linecache").cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def outcome(function, arguments):
    try:
        return function(*arguments)
    except (TypeError, ValueError, IndexError) as e:
        public = ("builtins", "numpy.exceptions")
        return next(c for c in type(e).__mro__ if c.__module__ in public)


def assert_same(found, wanted, tolerance):
    assert type(found) is type(wanted)
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b, tolerance)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        assert found == wanted


@pytest.mark.parametrize(("what", "dtype"), drawn("own code", [(what, dtype) for what in BODIES for dtype in ("f8", "f4", "i4")], 3))
def test_a_function_of_numpys_is_what_its_own_code_says(what, dtype):
    rng = np.random.default_rng(0)
    function = function_of(BODIES[what])
    by_python = what.startswith("vectors that NumPy itself")
    jitted = tierup.jit(function, strict=not by_python)
    with np.errstate(all="ignore"):
        for size in (6, 6, 6, 5):
            x, m = ((rng.standard_normal(shape) * 4).astype(dtype) for shape in (size, (size, size)))
            arguments = x, m, rng.integers(0, 4, size)
            wanted = outcome(function, arguments)
            assert_same(outcome(jitted, arguments), wanted, 1e-4 if dtype == "f4" else 1e-12)
    assert isinstance(wanted, type) or by_python or jitted.stats().hits


def test_calls_of_what_numpy_s_own_code_gave_reach_native_code_without_python():
    """A graph for the dtypes of its inputs relies on no more than its versions check; what NumPy's code reads does not change."""
    jitted = tierup.jit(function_of("return np.cov(m) @ np.gradient(x)"), strict=True)
    x, m, k = np.arange(4.0), np.arange(16.0).reshape(4, 4) ** 0.5, np.arange(3)
    for _ in range(3):
        jitted(x, m, k)
    called = []
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        found = jitted(x, m, k)
    finally:
        sys.setprofile(None)
    assert not called and jitted.stats().hits == 3
    for _ in range(3):
        np.testing.assert_allclose(jitted(x.astype(int), m, k), found)
        np.testing.assert_allclose(jitted(x, m, k), found)
    assert jitted.stats().hits == 8


def test_arguments_that_only_numpys_version_of_a_function_takes_are_left_to_it():
    def largest(x, y):
        return np.nanmax(x, axis=0, initial=2.5, where=y > 1)

    x = np.array([[1.0, np.nan, 4.0], [np.nan, 2.0, 1.0], [0.0, 3.0, 2.0]])
    jitted = tierup.jit(largest, optimize=False)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(x, np.abs(x)), largest(x, np.abs(x)))


def test_two_numbers_of_degrees_of_freedom_are_refused_as_numpy_does():
    for function in (np.var, np.nanvar, np.std, np.nanstd):
        def both(x, n, function=function):
            return function(x, ddof=n, correction=1) if n else function(x, ddof=0, correction=1)

        for x in (np.arange(4), np.arange(4.0)):
            assert tierup.jit(both, optimize=False)(x, 0) == both(x, 0)
            with pytest.raises(ValueError, match="ddof and correction can't be provided simultaneously"):
                tierup.jit(both, optimize=False)(x, 2)


def test_what_stands_for_a_function_of_numpys_has_its_parameters():
    from tierup.frontend.python.functions.numpy_rewritten import REWRITTEN

    for original, ours in REWRITTEN.items():
        is_ufunc = isinstance(getattr(original, "__self__", original), np.ufunc)
        if not is_ufunc and original.__name__ != "_monotonicity":  # a ufunc's are more; the other says none
            assert list(inspect.signature(original).parameters) == list(inspect.signature(ours).parameters), original


@pytest.mark.parametrize("given", ["True", "3", "2.5", "n", "n * 0.5", "n > 2", "x[0]"])
def test_np_copyto_casts_numbers_as_numpy_allows(given):
    source = f"def f(x, y, n):\n    np.copyto(y, {given}, where=y == 0)\n    np.copyto(y, {given})\n    return y\n"
    linecache.cache[given] = (len(source), None, source.splitlines(keepends=True), given)
    space = {"np": np}
    exec(compile(source, given, "exec"), space)
    for dtype in (bool, np.uint8, np.int64, np.float32, np.complex128):
        jitted, said = tierup.jit(space["f"], strict=True, optimize=False), []
        for call in (space["f"], jitted):
            y = np.zeros(3, dtype)
            try:
                said.append(repr(call(np.ones(2), y, 4)))
            except TypeError as e:
                said.append(str(e))
            said[-1] += repr(y)
        assert said[0] == said[1]


def added_where(mask):
    return np.add(mask, mask, where=mask, out=np.zeros(3))


def copied_where(mask):
    y = np.zeros(3)
    np.copyto(y, 7.0, where=mask)
    return y


def added_where_one_is(mask):
    return np.add(1.0, 2.0, where=mask[0], out=np.zeros(3))  # of a NumPy scalar NumPy makes a bool


@pytest.mark.parametrize("function", [added_where, copied_where, added_where_one_is])
def test_a_mask_that_is_no_array_of_bools_is_refused_as_numpy_refuses_it(function):
    for mask in (np.array([0, 1, 2]), np.array([0.5, 0.0, 1.0]), np.array([True, False, True])):
        jitted, said = tierup.jit(function), []
        for call in (function, jitted, jitted, jitted):
            try:
                said.append(repr(call(mask)))
            except TypeError as e:
                said.append(str(e))
        assert len(set(said)) == 1


def select_numbers(x):
    return np.select([x > 2, x < 1], [7, x], -1)


def select_beyond_the_dtype(x):
    return np.select([x > 2, x < 1], [300, x], 400)


def select_floats(x):
    return np.select([x > 2, x < 1], [x, 2.5], 300)


def insert_numbers(x):
    return np.insert(x, 1, 300)


def insert_floats(x):
    return np.insert(x, -1, 2.5), np.insert(x, 1, [7, 2.5]), np.insert(x, 0, x * 2.5)


def ranges(x):
    return np.arange(x[2]), np.arange(0, 5, x[0]), np.arange(x[1], 3, dtype=np.int16), np.arange(np.uint64(2))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.float32, bool])
@pytest.mark.parametrize("function", [select_numbers, select_beyond_the_dtype, select_floats, insert_numbers, insert_floats, ranges])
def test_numbers_have_the_dtypes_that_numpys_own_code_casts_them_to(function, dtype):
    said = []
    for call in (function, tierup.jit(function, optimize=False)):
        try:
            said.append(repr(call(np.array([1, 0, 3]).astype(dtype))))
        except (TypeError, OverflowError) as e:
            said.append(str(e))
    assert said[0] == said[1]
