"""What NumPy or Python raises for constants is raised where the program gets there, and nowhere else: not when the graph is built. What the front
end itself fails at is Python's."""

import ast

import numpy as np
import pytest
from running import function_of
from sampling import drawn

import tierup
from tierup.frontend.python.syntax import statements

X = np.arange(3.0) + 1
LEAVES_DEFECTS = True

# Expressions of x that raise whatever x holds.
TABLE = """
np.array([1, [2, 3]]) | np.array([[1], [2, 3]], float) | np.asarray([[1.0], []]) | np.array([x, x[:2]]) | np.stack([]) | np.concatenate([]) | np.vstack([])
np.arange(5)[7] | np.zeros(3).reshape(2) | np.arange(6).reshape(2, 3)[:, 5] | np.zeros(2.5) | np.zeros(3, dtype="nope") | np.eye(-1) | np.linspace(0, 1, -1)
"abc"[9] | "abc"["a"] | "abc"[1.5] | (1, 2)[-3] | (1, 2)["a"] | [1, 2][5] | [1, 2]["a"] | [1, 2][::0] | (1, 2)[1.5:] | {"a": 1}["b"] | "a" + 1 | "%d" % "x"
f"{1:q}" | "{} {}".format(1) | "abc".index("z") | range(0, 5, 0) | range(1.5) | int("x") | int(None) | float("x") | float([1]) | complex("a") | len(5) | len(None)
1 / 0 | 1 // 0 | 1.0 % 0 | 0.0 ** -1 | 1 << -1 | 1.5 << 1 | 10.0 ** 400 | math.sqrt(-1) | math.log(0) | math.factorial(-1) | math.gcd(1.5, 2) | divmod(1, 0)
min([]) | max(()) | max(1) | sum(5) | sum(["a"]) | sorted([1, "a"]) | (1, 2).index(5) | [].pop() | dict([1]) | zip(1) | next(iter([])) | round("a") | abs("a")
np.int8(300) | np.uint8(-1) | np.int64(2**70) | np.float32("x") | np.float64([1, 2]) | np.broadcast_to(x, (2,)) | np.broadcast_shapes((2,), (3,)) | np.dtype("nope")
np.pad(x, 1, mode="zzz") | np.pad(x, (1, 2, 3)) | np.einsum("ii", x) | np.einsum("i,j->k", x, x) | np.where(x, 1) | np.clip(x, "a", 2) | np.arange(0, 1, 0) | np.tile(x, -1)
x.reshape("a") | x.reshape(-1, -1) | x.astype("foo") | x[None, None, 9] | x["f"] | x[1.5] | x[0, 0] | x[0][0] | x.sum(axis=3) | x.mean(axis=(0, 0)) | x.foo | x.shape[5]
x + "a" | x + None | x + [1, 2] | x @ 3 | ~x | x & 1 | x ** "a" | np.add(x) | np.add.outer(x) | np.add.reduce(x, axis=5) | np.add.reduceat(x, [9]) | np.tanh() | np.tanh("a")
isinstance(1, 2) | issubclass(1, int) | isinstance(1.5, (int, 2)) | getattr(x, "nope") | None(1) | (lambda: 1)(2) | [i for i in 5] | {**5} | undefined_name | hash([]) | chr(-1)
np.linalg.inv(x) | np.linalg.inv(np.zeros((2, 2))) | np.linalg.norm(x, "fro") | np.fft.fft(x, 0) | np.convolve(x, []) | np.interp(0, [1, 2], [1]) | np.percentile(x, 200)
np.random.default_rng(0).integers(5, 2) | np.random.rand(-1) | np.full((3,), np.ones((1, 3))).reshape(2) | np.full((2, 2), "a") + 1 | np.lib.stride_tricks.sliding_window_view(x, 9)
"""
EXPRESSIONS = [e.strip() for line in TABLE.strip().splitlines() for e in line.split(" | ")]


def _outcome(function, k):
    try:
        return function(X.copy(), k).tolist()
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("expression", drawn("unreached errors", EXPRESSIONS, 12))
def test_an_error_is_raised_where_the_program_gets_there(expression, tmp_path, monkeypatch):
    monkeypatch.setattr(statements, "DEFECTS", ())
    body = f"def f(x, k):\n    y = x * 2\n    if k:\n        y = y, {expression}\n    return y\n"
    plain = function_of(body, tmp_path)
    jitted = tierup.jit(function_of(body, tmp_path), optimize=False)
    for k in (0, 1, 0, 1):
        assert _outcome(jitted, k) == _outcome(plain, k), f"{expression}, k={k}"
    assert isinstance(_outcome(plain, 1), tuple)


def failing(x, k):
    y = np.tanh(x) * 2
    items = {"a": y}
    del items["a" if k < 5 else "b"]
    return y + np.exp(x) * k


def test_a_statement_at_which_the_front_end_fails_is_pythons(monkeypatch):
    def fails(*_):
        raise KeyError("a defect")

    monkeypatch.setitem(statements._HANDLERS, ast.Delete, fails)
    jitted = tierup.jit(failing, weigh=False)
    for k in (0, 1, 1, 7, 0, 1):
        want = _outcome(failing, k)
        np.testing.assert_allclose(jitted(X, k), want, rtol=1e-14) if k < 5 else np.testing.assert_equal(_outcome(jitted, k), want)
    assert jitted.stats().hits > 0
    assert "the front end failed (KeyError: 'a defect')" in jitted.explain()
    with pytest.raises(tierup.UnsupportedSyntax, match=r"the front end failed \(KeyError: 'a defect'\)"):
        tierup.jit(failing, strict=True)(X, 0)
