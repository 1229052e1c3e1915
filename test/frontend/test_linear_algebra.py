"""numpy.linalg natively, through LAPACK: NumPy's values, dtypes, classes and errors, of every dtype, layout and stack."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

import tierup

linalg = np.linalg
SQUARE = {
    "inv": lambda a: linalg.inv(a), "det": lambda a: linalg.det(a), "slogdet": lambda a: linalg.slogdet(a),
    "eigvalsh": lambda a: linalg.eigvalsh(a), "eigvalsh of the upper half": lambda a: linalg.eigvalsh(a, "U"),
    "matrix_power": lambda a: linalg.matrix_power(a, 5), "a negative power": lambda a: linalg.matrix_power(a, -2), "no power": lambda a: linalg.matrix_power(a, 0),
    "solve": lambda a: linalg.solve(a, a + 1), "solve for a vector": lambda a: linalg.solve(a, np.arange(1.0, a.shape[-1] + 1)),
    "cond by inv": lambda a: linalg.cond(a, 1),
}  # fmt: skip
DEFINITE = {
    "cholesky": lambda a: linalg.cholesky(a),
    "cholesky of the upper half": lambda a: linalg.cholesky(a, upper=True),
    "eigh": lambda a: linalg.eigh(a),
    "eigh of the upper half": lambda a: linalg.eigh(a, UPLO="u"),
}
ANY = {
    "svd": lambda a: linalg.svd(a), "reduced svd": lambda a: linalg.svd(a, full_matrices=False), "svdvals": lambda a: linalg.svdvals(a),
    "qr": lambda a: linalg.qr(a), "complete qr": lambda a: linalg.qr(a, "complete"), "r": lambda a: linalg.qr(a, mode="r"), "raw qr": lambda a: linalg.qr(a, "raw"),
    "matrix_rank": lambda a: linalg.matrix_rank(a), "pinv": lambda a: linalg.pinv(a), "cond": lambda a: linalg.cond(a),
    "the 2-norm": lambda a: linalg.norm(a, 2, axis=(-2, -1)), "the nuclear norm": lambda a: linalg.norm(a, "nuc", axis=(-2, -1)),
    "the smallest singular value": lambda a: linalg.norm(a, -2, axis=(-2, -1)),
}  # fmt: skip
OF_TWO = {
    "lstsq": lambda a, b: linalg.lstsq(a, b),
    "lstsq with a limit": lambda a, b: linalg.lstsq(a, b, 0.3),
    "lstsq for a vector": lambda a, b: linalg.lstsq(a, b[:, 0]),
    "multi_dot": lambda a, b: linalg.multi_dot([a.T, b, b.T]),
}
LAYOUTS = {
    "float64": lambda a: a, "float32": lambda a: a.astype(np.float32), "int64": lambda a: np.rint(a * 4).astype(np.int64),
    "columns": lambda a: a.swapaxes(-1, -2).copy().swapaxes(-1, -2), "every second row": lambda a: np.repeat(a, 2, -2)[..., ::2, :],
}  # fmt: skip


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [value]


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, TypeError) as e:
        return type(e), str(e)


def same(got, want):
    """Of one class, dtype and shape, and the values within a bound: both come of the same routines, which may add in another order."""
    assert type(got) is type(want), (got, want)
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert type(g) is type(w), (got, want)
        if isinstance(w, (np.ndarray, np.generic)):
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            bound = 1e-10 if w.dtype == np.float64 else 1e-5
            finite = np.abs(w[np.isfinite(w)]) if w.ndim else np.abs(w)
            assert np.allclose(g, w, rtol=bound, atol=bound * np.max(finite, initial=0), equal_nan=True), (got, want)
        else:
            assert g == w


def matrices(kind, layout, stack, rows=4, columns=4):
    random = np.random.default_rng(7)
    a = random.standard_normal((*stack, rows, columns)) + 2 * np.eye(rows, columns)
    return LAYOUTS[layout](a @ a.swapaxes(-1, -2) if kind == "definite" else a)


CASES = [
    (kind, name, layout, stack)
    for kind, programs in (("square", SQUARE), ("definite", DEFINITE), ("any", ANY))
    for name in programs
    for layout, stack in (
        ("float64", ()),
        ("float32", (2,)),
        ("int64", ()),
        ("columns", (2, 1)),
        ("every second row", ()),
        ("float64", (0,)),
    )
]


@pytest.mark.parametrize(("kind", "name", "layout", "stack"), drawn("linalg", CASES, 10, kind=lambda case: case[1]))
def test_numpys_results_come_natively(kind, name, layout, stack):
    plain = {"square": SQUARE, "definite": DEFINITE, "any": ANY}[kind][name]
    a = matrices(kind, layout, stack, *((5, 3) if kind == "any" else ()))
    compiled = tierup.jit(plain)
    for _ in range(3):
        same(compiled(a), plain(a))
    assert compiled.stats().hits >= 1
    assert "foreign" not in compiled.explain()


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_matrices_come_natively(name):
    compiled = tierup.jit(OF_TWO[name])
    for rows, columns in ((5, 3), (3, 5), (4, 4)):
        a, b = matrices("any", "float64", (), rows, columns), matrices("any", "float64", (), rows, 2)
        a[:, -1] = a[:, 0]  # of less than full rank
        for _ in range(2):
            same(compiled(a, b), OF_TWO[name](a, b))
    assert compiled.stats().hits >= 1
    assert "foreign" not in compiled.explain()


WRONG = {
    "a singular matrix": (SQUARE["inv"], np.ones((3, 3))), "a singular one of several": (SQUARE["inv"], np.stack([np.eye(2), np.zeros((2, 2))])),
    "a singular system": (SQUARE["solve"], np.zeros((2, 2))), "no positive definite matrix": (DEFINITE["cholesky"], -np.eye(3)),
    "a rectangle": (SQUARE["det"], np.ones((2, 3))), "a vector": (SQUARE["inv"], np.ones(3)), "an empty matrix": (ANY["cond"], np.ones((0, 3))),
    "float16": (SQUARE["inv"], np.eye(2, dtype=np.float16)), "NaN in a svd": (ANY["svd"], np.full((3, 3), np.nan)),
    "a power that is no int": (lambda a: linalg.matrix_power(a, 0.5), np.eye(2)), "an unknown mode": (lambda a: linalg.qr(a, "q"), np.eye(2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_numpys(name):
    plain, a = WRONG[name]
    compiled = tierup.jit(plain)
    want = outcome(plain, a)
    assert isinstance(want, tuple) and want[0] in (linalg.LinAlgError, TypeError, ValueError), want
    for _ in range(3):
        assert outcome(compiled, a) == want


def test_a_call_that_only_raises_leaves_later_calls_native():
    """What a function that only raises returns is nothing to take apart."""

    def values(a):
        u, s, vt = linalg.svd(a)
        return s * 2 + 1

    compiled = tierup.jit(values)
    for a in (np.eye(3), np.eye(3), np.ones(3), np.ones(3), np.eye(3), np.eye(3)):
        got, want = outcome(compiled, a), outcome(values, a)
        assert got == want if isinstance(want, tuple) else np.allclose(got, want)
    assert compiled.stats().hits >= 3 and "Python at" not in compiled.explain()


def test_systems_that_do_not_fit_raise_numpys_error_after_ones_that_do():
    plain = lambda a, b: linalg.solve(a, b)
    compiled = tierup.jit(plain)
    for sizes in (
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3, 1)),
        ((3, 3), (4, 2)),
        ((3, 3), (4,)),
        ((2, 3, 3), (3, 3, 2)),
        ((3, 3), (2, 3, 0)),
        ((0, 0), (0, 2)),
    ):
        a, b = (np.random.default_rng(1).standard_normal(s) for s in sizes)
        for _ in range(2):
            want, got = outcome(plain, a, b), outcome(compiled, a, b)
            assert got == want if isinstance(want, tuple) else np.allclose(got, want) and got.shape == want.shape


@pytest.mark.parametrize("options", [{}, {"level": 0}, {"optimize": False}, {"speculate": "bailout"}], ids=str)
def test_what_lapack_overwrites_is_nobody_elses(options):
    def program(a, b):
        x = linalg.solve(a, b)
        y = linalg.inv(x.T @ x + np.eye(2))
        z = linalg.inv(x.T @ x + np.eye(2)) + linalg.inv(y)
        u, s, vt = linalg.svd(x)
        result = linalg.slogdet(a)
        return x + 1, y.T, z, (u[:, :2] * s) @ vt - x, result.sign * result.logabsdet

    compiled = tierup.jit(**options)(program)
    for n in (3, 3, 4, 5, 6, 3):
        a, b = np.random.default_rng(n).standard_normal((2, n, n))
        before = a.copy()
        for got, want in zip(compiled(a, b[:, :2]), program(a, b[:, :2]), strict=True):
            assert np.allclose(got, want, rtol=1e-9, atol=1e-12)
        assert np.array_equal(a, before)


@pytest.mark.parametrize("options", [{}, {"speculate": "bailout", "level": 0}], ids=str)
def test_branches_and_loops_around_linear_algebra_are_one_program(options):
    def program(a, b, n):
        x = linalg.solve(a, b)
        w, v = linalg.eigh(a @ a.T)
        y = x * 2 if x.sum() > 0 else x - w[0]
        for _ in range(n):
            a = linalg.inv(a) + np.eye(len(a)) * 0.5
            q, r = linalg.qr(a)
            y = y + r @ x
        return y, w, v @ x, a

    compiled = tierup.jit(**options)(program)
    for call in range(12):
        random = np.random.default_rng(call)
        a, b = random.standard_normal((3, 3)) + 3 * np.eye(3), random.standard_normal(3) * (1 if call < 6 else -1)
        for got, want in zip(compiled(a, b, call % 3), program(a, b, call % 3), strict=True):
            assert np.allclose(got, want, rtol=1e-8, atol=1e-10)
    assert compiled.stats().hits >= 6 and "split" not in compiled.explain()


def test_an_argument_is_written_only_where_there_is_an_inverse():
    @tierup.jit
    def invert(a):
        a[...] = linalg.inv(a)
        return a.sum()

    for _ in range(3):
        a = np.array([[2.0, 1.0], [1.0, 3.0]])
        want = linalg.inv(a)
        invert(a)
        assert np.allclose(a, want)
        singular = np.ones((2, 2))
        with pytest.raises(linalg.LinAlgError, match="Singular matrix"):
            invert(singular)
        assert np.array_equal(singular, np.ones((2, 2)))


def test_a_result_returned_as_it_is_has_numpys_class_and_names():
    compiled = tierup.jit(lambda a: (linalg.eigh(a), {"qr": linalg.qr(a)}))
    for _ in range(3):
        found, more = compiled(np.eye(3))
        assert type(found) is type(linalg.eigh(np.eye(3))) and type(more["qr"]) is type(linalg.qr(np.eye(3)))
        assert np.array_equal(found.eigenvectors @ more["qr"].R, linalg.eigh(np.eye(3)).eigenvectors @ linalg.qr(np.eye(3)).R)


_SOLVED = tierup.jit(lambda a, b: (linalg.solve(a, b), linalg.lstsq(a, b)[0], linalg.qr(a)[1], linalg.det(a)))


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(1, 7), st.integers(1, 3), st.integers(0, 1 << 30))
def test_systems_of_all_sizes_are_solved_as_numpy_solves_them(n, columns, seed):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((n, n)) + 3 * np.eye(n), random.standard_normal((n, columns))
    solution, least, r, det = _SOLVED(a, b)
    for got, want in ((solution, linalg.solve(a, b)), (least, linalg.lstsq(a, b)[0]), (r, linalg.qr(a)[1]), (det, linalg.det(a))):
        assert np.allclose(got, want, rtol=1e-9, atol=1e-9 * linalg.cond(a))


_WEIGHTS = np.random.default_rng(5).standard_normal((3, 3))
DIFFERENTIATED = {
    "solve": lambda a: (linalg.solve(a, _WEIGHTS[0]) ** 2).sum(), "inv": lambda a: (linalg.inv(a) * _WEIGHTS).sum(), "det": lambda a: linalg.det(a) ** 2,
    "slogdet": lambda a: linalg.slogdet(a).logabsdet, "cholesky": lambda a: (linalg.cholesky(a) * _WEIGHTS).sum(), "eigh": lambda a: ((linalg.eigh(a)[1] * _WEIGHTS) ** 3).sum(),
    "pinv": lambda a: (linalg.pinv(a[:, :2]) * _WEIGHTS[:2]).sum(), "the 2-norm": lambda a: linalg.norm(a, 2), "cond": lambda a: linalg.cond(a),
}  # fmt: skip


def _differences(function, a, turn=lambda step: step):
    """Central ones, by steps as `turn` makes them."""
    found = np.zeros_like(a)
    for place in np.ndindex(*a.shape):
        step = np.zeros_like(a)
        step[place] = 1e-6
        found[place] = (function(a + turn(step)) - function(a - turn(step))) / 2e-6
    return found


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_agree_with_central_differences(name):
    function, a = DIFFERENTIATED[name], np.diag([1.0, 2.0, 4.0]) + 0.2
    compiled = tierup.value_and_grad(function)
    differences = _differences(function, a)
    for _ in range(3):
        value, gradient = compiled(a)
        assert np.allclose(value, function(a)) and np.allclose(gradient, differences, rtol=1e-6, atol=1e-6)
    assert compiled.stats().hits >= 1


def _of_rank(rank, *sizes):
    left, right = (np.random.default_rng(rank).standard_normal((*sizes[:-2], n, rank)) for n in sizes[-2:])
    return left @ right.swapaxes(-1, -2)


PSEUDO_INVERTED = {
    "a matrix whose singular values are equal": np.eye(3), "such a tall one": np.eye(4, 2), "such a wide one": np.eye(2, 4), "a row": np.ones((1, 3)),
    "a tall matrix": _of_rank(2, 5, 2), "a wide one": _of_rank(2, 2, 5), "a stack of tall ones": _of_rank(2, 2, 1, 3, 2), "a stack of wide ones": _of_rank(2, 3, 2, 3),
    "a matrix of lower rank": _of_rank(1, 3, 3), "a tall one of lower rank": _of_rank(2, 5, 3), "wide ones of lower rank": _of_rank(1, 2, 2, 4), "zeros": np.zeros((3, 2)),
}  # fmt: skip


def _weighed_pinv(a, rcond=1e-15):
    weights = np.cos(np.arange(a.size).reshape(*a.shape[:-2], a.shape[-1], a.shape[-2]))
    return (linalg.pinv(a, rcond) * weights).sum()


def _squares_of_its_gradient(a):
    return (tierup.grad(_weighed_pinv)(a) ** 2).sum()


def _along_matrices_of_one_rank(a, step):
    """The part of a step along which the rank of `a` stays what it is: step - (1 - a a+) step (1 - a+ a)."""
    inverse = linalg.pinv(a)
    return step - (np.eye(a.shape[-2]) - a @ inverse) @ step @ (np.eye(a.shape[-1]) - inverse @ a)


@pytest.mark.parametrize("kind", drawn("pseudo-inverses", list(PSEUDO_INVERTED), 3))
def test_the_gradient_of_a_pseudo_inverse_is_exact_along_the_matrices_of_one_rank(kind):
    """Across other ranks a pseudo-inverse jumps; what its gradient is there is torch's (test_linear_algebra_torch.py). The limit of singular
    values is above the square of a step, by which its line leaves the rank."""
    a, compiled = PSEUDO_INVERTED[kind], tierup.value_and_grad(_weighed_pinv)
    differences = _differences(lambda x: _weighed_pinv(x, 1e-9), a, lambda step: _along_matrices_of_one_rank(a, step))
    for _ in range(3):
        value, gradient = compiled(a)
        assert np.allclose(value, _weighed_pinv(a)) and np.allclose(_along_matrices_of_one_rank(a, gradient), differences, rtol=1e-5, atol=1e-5)
    assert compiled.stats().hits >= 1


def test_the_gradient_of_a_pseudo_inverse_is_differentiated_again():
    a, compiled = _of_rank(2, 3, 2), tierup.grad(_squares_of_its_gradient)
    differences = _differences(lambda x: (tierup.grad(_weighed_pinv)(x) ** 2).sum(), a)
    for _ in range(3):
        assert np.allclose(compiled(a), differences, rtol=1e-5, atol=1e-5)


def test_a_gradient_that_has_no_rule_is_refused():
    with pytest.raises(tierup.NotDifferentiable, match="linalg_qr_r_raw"):
        tierup.grad(lambda a: linalg.qr(a)[1].sum())(np.eye(3))
