"""An error is a result: what NumPy or Python raises for a value, or for a shape that only the run knows, is raised though nobody uses what the
call gives, in tier 0 and in native code, in Python's words."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
from sampling import drawn

import tierup

X, M, NAN, INF = np.arange(3.0), np.arange(6.0).reshape(2, 3), math.nan, math.inf
PLACES = np.array([0, 1])

# Expressions of x and n: what of them is fine, what raises.
TABLE: list[tuple[str, tuple, tuple]] = [
    *((expression, (X + 1, 0), (np.array([bad, 1.0, 2.0]), 0)) for expression, bad in (
        ("int(x[0])", INF), ("int(x[0])", NAN), ("int(x[0]) * 0", NAN), ("round(float(x[0]))", INF), ("math.floor(x[0])", INF), ("math.ceil(x[0])", NAN),
        ("math.sqrt(x[0])", -1.0), ("math.log(x[0])", 0.0), ("math.acos(x[0] - 1)", 9.0), ("math.exp(x[0])", 1e5), ("float(x[0]) ** -1.0", 0.0),
        ("1 / float(x[0])", 0.0), ("1 // int(x[0])", 0.0), ("1 % int(x[0])", 0.0), ("divmod(1.0, float(x[0]))", 0.0), ("1 << int(x[0])", -1.0),
        ("10.0 ** float(x[0])", 1e3), ("x[int(x[0])]", 7.0), ("np.ones(int(x[0]))", -1.0), ("np.eye(int(x[0]))", -1.0), ("np.linspace(0, 1, int(x[0]))", -1.0),
        ("np.arange(0, 5, int(x[0]))", 0.0), ("np.tile(x, int(x[0]))", -1.0), ("np.repeat(x, int(x[0]))", -1.0), ("np.split(x, int(x[0]))", 2.0),
        ("np.roll(x, int(x[0]))", NAN), ("np.histogram(x, 4)", NAN), ("np.vander(x, int(x[0]))", -1.0), ("np.diff(x, int(x[0]))", -1.0),
    )),
    *((expression, (X, 1), (X, bad)) for expression, bad in (
        ("[x, x][n]", 7), ("(1, 2, 3)[n]", 7), ("range(3)[n]", 7), ("np.int8(1) + n", 700), ("np.full(3, n, np.uint8)", -1), ("n // (n - 2)", 2), ("n ** -1", 0),
        ("n << n", -1), ("float(n)", 10**400), ("math.factorial(n)", -3), ("math.log(n)", 0), ("x[n]", 4), ("x[::n]", 0), ("np.max(x[n:])", 4),
        ("np.argmin(x[n:])", 4), ("max(x[n:])", 4), ("np.max(x[x > n])", 4), ("x[x > n].item()", 4), ("float(x[x > n])", 4), ("bool(x[x > n])", -4),
        ("x + x[x >= n]", 2 - 4), ("np.dot(x, x[n - 1:])", 2), ("x @ x[n - 1:]", 2), ("np.stack([x, x[n - 1:]])", 2), ("np.where(x > 0, x, x[n - 1:])", 2),
        ("np.vecdot(x, x[n - 1:])", 2), ("np.partition(x, n)", 4), ("np.delete(x, n)", 4), ("np.insert(x, n, 1.0)", 9), ("np.pad(x, n)", -1), ("np.percentile(x, n)", 400),
        ("x.flat[n]", 5), ("x.item(n)", 5), ("x.tolist()[n]", 5), ("np.expand_dims(x, n)", 5), ("x.reshape(n, -1)", 2), ("np.broadcast_to(x, (n, 3))", -1),
    )),
    *((expression, (M[:1], 0), (M, bad)) for expression, bad in (
        ("np.squeeze(x, 0)", 0), ("np.squeeze([x, x][0], 0)", 0), ("x.squeeze(n)", 0), ("np.sum(x, n)", 5), ("np.sort(x, n)", 5), ("np.cumsum(x, n)", 5),
        ("np.argmax(x, n)", 5), ("np.flip(x, n)", 5), ("np.swapaxes(x, 0, n)", 5), ("np.moveaxis(x, 0, n)", 5), ("np.concatenate([x, x], n)", 3),
        ("np.transpose(x, (1, n))", 1), ("x[n, n]", 4), ("np.diagonal(x, n, n, 1)", 1), ("np.apply_along_axis(np.sum, n, x)", 5),
    )),
    *((expression, (X, PLACES), (X, np.array([0, bad]))) for expression, bad in (
        ("x[n]", 9), ("np.take(x, n)", 9), ("np.take_along_axis(x, n, 0)", 9), ("np.choose(n, [1, 2])", 5), ("n ** n", -2), ("np.bincount(n)", -2),
        ("np.ravel_multi_index((n, n), (3, 3))", 5), ("np.unravel_index(n, (3, 3))", 50), ("np.add.at(x.copy(), n, 1.0)", 9), ("np.add.reduceat(x, n)", 9),
    )),
    *((f"np.linalg.{name}(x)", (np.eye(2), 0), (bad, 0)) for name, bad in (("inv", np.ones((2, 2))), ("cholesky", -np.eye(2)), ("det", np.ones((2, 3))))),
]  # fmt: skip
FORMS = {
    "alone": "    v = {}\n", "on a path": "    if z[0] > 0:\n        v = {}\n", "in a loop": "    for _ in range(2):\n        v = {}\n",
    "of an item": "    items = []\n    for _ in range(2):\n        items.append(x)\n    x = items[1]\n    v = {}\n",
}  # fmt: skip
CASES = [(*row, form) for row in TABLE for form in FORMS]


def _outcome(function, arguments):
    try:
        return function(*copy.deepcopy(arguments), np.ones(3)).tolist()
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize(("expression", "fine", "wrong", "form"), drawn("unused errors", CASES, 120, lambda case: case[3]))
def test_what_a_call_raises_is_not_lost_with_its_result(tmp_path: Path, expression: str, fine: tuple, wrong: tuple, form: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import math\nimport numpy as np\ndef f(x, n, z):\n{FORMS[form].format(expression)}    return z + 1\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    plain, jitted = scope["f"], tierup.jit(scope["f"])
    assert not isinstance(_outcome(plain, fine), tuple) and isinstance(_outcome(plain, wrong), tuple)
    for arguments in (wrong, fine, fine, fine, wrong, wrong, fine):
        assert _outcome(jitted, arguments) == _outcome(plain, arguments)


REFUSED = (
    "np.matvec(x, x)", "np.matvec(m, x[:2])", "np.vecmat(x, x)", "np.vecmat(x, m.T[:2])", "np.vecdot(x, x[:2])", "np.vecdot(x[0], x)", "np.vdot(x, x[:2])",
    "np.vdot(x[0], x)", "np.vander(x, -1)", "x[0].dot(x[0])", "x[0] @ x[0]", "np.take(x, x)", "x.take(x)", "divmod(c, c)", "np.divmod(c, 2j)", "x[x[1]]", "m[np.array(1.0), 0]", "c // c", "x[np.array(1.0)]", "c % c", "np.bincount(x)",
)  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_wrong_operands_are_refused_in_numpys_words(tmp_path: Path, expression: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\ndef f(x, m, c):\n    return {expression}\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    jitted = tierup.jit(scope["f"])
    outcomes = []
    for function in (scope["f"], jitted, jitted, jitted):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the matter
            function(X, M, X * 1j)
        outcomes.append((caught.type, str(caught.value)))
    assert len(set(outcomes)) == 1, outcomes


PRODUCTS = {
    "of a number": (np.array(-2.0), np.array([0.0, 1.0])), "of a matrix and a number": (M, np.array(-1)), "of 0.0 and infinities": (np.array(0.0), np.array([INF, 1.0])),
    "of two elements": (np.array([-1.0]), np.array([0.0])), "of two numbers": (np.array(-1.0), np.array(0.0)), "of an element and a row": (np.zeros((1, 1)), np.array([[INF, -1.0]])),
    "of a column and an element": (np.array([[0.0], [3.0]]), np.array([-1.0])), "of integers": (np.array(3), np.arange(3)), "of a number and three dims": (np.array(-1.0), np.zeros((2, 1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("kind", PRODUCTS)
def test_np_dot_is_numpys_to_the_signs_of_zeros(kind: str) -> None:
    """BLAS adds to zeros; a product that is one number NumPy multiplies itself."""
    a, b = PRODUCTS[kind]
    for function in (np.dot, lambda a, b: np.vdot(a, np.broadcast_to(b, a.shape) if b.ndim == 0 else b) if a.size == b.size else np.dot(b.T, a.T)):
        jitted, want = tierup.jit(lambda a, b, function=function: function(a, b)), function(a, b)
        for _ in range(3):
            got = jitted(a, b)
            assert got.dtype == want.dtype and type(got) is type(want)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize(("a", "b"), [(np.array(2.0), M), (M, np.array(2.0)), (np.array(2.0), np.array(3.0))])
def test_the_gradient_of_np_dot_of_a_number_is_that_of_the_product(a: np.ndarray, b: np.ndarray) -> None:
    compiled = tierup.grad(lambda a, b: (np.dot(a, b) ** 2).sum(), argnums=(0, 1))
    for _ in range(3):
        of_a, of_b = compiled(a, b)
        twice = 2 * a * b
        np.testing.assert_allclose(of_a, np.sum(twice * b) if a.ndim == 0 else twice * b)
        np.testing.assert_allclose(of_b, np.sum(twice * a) if b.ndim == 0 else twice * a)
