"""`tierup.value_and_grad` and `tierup.grad`: values, trees, which arguments, and that the gradient function is a function like any."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from gradient_oracle import assert_close, differences

import tierup
from tierup.dialect.ir.walking import function_names
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.frontend.python.gradients.calls import own_memory

RNG = np.random.default_rng(0)
A, B, X = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=(5, 3))
SCALE = np.array([1.0, 2.0, 3.0, 4.0])


def linear(w: Any, b: Any, x: Any) -> Any:
    return np.mean(np.tanh(x @ w + b) ** 2)


def by_tree(p: Any, x: Any) -> Any:
    h = np.tanh(x @ p["layers"][0][0] + p["layers"][0][1])
    return (h * p["scale"]).sum() + p["layers"][1][0]


def tree() -> Any:
    return {"layers": [(A, B), (0.5, None)], "scale": np.float64(2.0)}


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (2, 0), -1, "b", ("x", 1), [0]], ids=str)
def test_argnums_say_by_what_and_in_which_shape(argnums: Any) -> None:
    value, found = tierup.value_and_grad(linear, argnums)(A, B, X)
    names = ["w", "b", "x"]
    numbers = [names.index(n) if isinstance(n, str) else n % 3 for n in (argnums if isinstance(argnums, (tuple, list)) else [argnums])]
    wanted = tuple(differences(linear, (A, B, X), n) for n in numbers)
    assert value == pytest.approx(linear(A, B, X))
    assert type(value) is np.float64
    assert_close(found, wanted if isinstance(argnums, (tuple, list)) else wanted[0])


def test_gradients_have_the_tree_of_their_argument() -> None:
    value, found = tierup.value_and_grad(by_tree)(tree(), X)
    assert value == pytest.approx(by_tree(tree(), X))
    assert_close(found, differences(by_tree, (tree(), X), 0))
    assert type(found["scale"]) is np.float64 and type(found["layers"][1][0]) is np.float64  # a NumPy scalar, a Python float
    assert found["layers"][1][1] is None


def test_a_gradient_has_the_dtype_and_kind_of_its_argument() -> None:
    found = tierup.grad(linear, (0, 1, 2))(A.astype(np.float32), B, X.astype(np.float16))
    assert [g.dtype for g in found] == [np.float32, np.float64, np.float16]
    one = tierup.grad(lambda x: x * x)(np.array(3.0))
    assert type(one) is np.ndarray and one.shape == () and one == 6.0


def test_a_python_float_is_a_float64() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y)

    value, found = tierup.value_and_grad(f, (0, 1))(2.0, SCALE.astype(np.float32))
    assert value.dtype == np.float64 and found[0] == 10.0 and found[1].dtype == np.float32


def test_has_aux() -> None:
    def f(w: Any, x: Any) -> Any:
        h = x @ w
        return h.sum(), {"h": h, "name": "aux", "n": 3}

    (value, aux), found = tierup.value_and_grad(f, has_aux=True)(A, X)
    assert value == pytest.approx((X @ A).sum())
    assert_close(found, differences(lambda w, x: f(w, x)[0], (A, X), 0))
    np.testing.assert_allclose(aux["h"], X @ A)
    assert aux["name"] == "aux" and aux["n"] == 3
    again, aux = tierup.grad(f, has_aux=True)(A, X)
    assert_close(again, found)
    assert aux["name"] == "aux"


def test_other_arguments_may_be_anything() -> None:
    def f(x: Any, n: Any, mode: Any, flag: Any = True, *rest: Any, **named: Any) -> Any:
        y = x * n if mode == "times" else x + n
        for r in rest:
            y = y * r
        return (y * named["k"]).sum() if flag else y.mean()

    found = tierup.grad(f)(A, 3, "times", True, 2, B, k=np.arange(4))
    assert_close(found, 3 * 2 * np.broadcast_to(B * np.arange(4), A.shape))
    by_rest = tierup.grad(f, argnums=(5, 0))(A, 3, "times", True, 2, B, k=1)
    assert_close(by_rest, (6 * A.sum(0), 6 * np.broadcast_to(B, A.shape)))


def test_of_a_jit_function_with_its_options_and_ones_own() -> None:
    f = tierup.jit(linear, num_profiled_runs=0, max_versions=3)
    g = tierup.value_and_grad(f, max_versions=5)
    assert g.own_options == {"num_profiled_runs": 0, "max_versions": 5}
    assert_close(g(A, B, X)[1], differences(linear, (A, B, X), 0))
    assert g.stats().hits == 1
    assert tierup.jit(g, max_versions=2).own_options == {"max_versions": 2}
    assert_close(tierup.jit(g, max_versions=2)(A, B, X), g(A, B, X))


def test_of_a_method_is_a_method() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = A

        def loss(self, w: Any, x: Any) -> Any:
            return (np.tanh(x @ w) * self.w.sum()).sum()

    model = Model()
    g = tierup.value_and_grad(model.loss, "w")
    assert_close(g(A, X)[1], differences(model.loss, (A, X), 0))
    assert_close(tierup.grad(model.loss, (0, 1))(A, X)[1], differences(model.loss, (A, X), 1))
    model.w = 2 * A  # read at each call
    assert_close(g(A, X)[1], differences(model.loss, (A, X), 0))


def test_as_a_decorator() -> None:
    @tierup.value_and_grad
    def square(x: Any) -> Any:
        """Doc."""
        return (x * x).sum()

    assert square.__doc__ == "Doc." and square.__name__ == "value_and_grad(square)"
    assert_close(square(B)[1], 2 * B)
    cubed = functools.partial(tierup.grad, argnums=1)(lambda a, x: (a * x**3).sum())
    assert_close(cubed(2.0, B), 6 * B**2)


def test_arrays_of_the_enclosing_scope_are_constants_read_at_each_call() -> None:
    scale = {"s": SCALE}

    def f(x: Any) -> Any:
        return (x * x * scale["s"]).sum()

    g = tierup.grad(f)
    assert_close(g(B), 2 * B * SCALE)
    scale["s"] = -SCALE
    assert_close(g(B), -2 * B * SCALE)


def test_an_argument_that_does_not_matter_has_zeros() -> None:
    found = tierup.grad(lambda x, y: (y * y).sum(), (0, 1))(A, B)
    assert_close(found, (np.zeros_like(A), 2 * B))
    assert_close(tierup.grad(lambda x: 1.5)(A), np.zeros_like(A))
    assert tierup.value_and_grad(lambda p, x: x.sum())((), B) == (pytest.approx(B.sum()), ())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_gradients_of_gradients(order: int) -> None:
    f: Any = lambda x: x**4 * np.sin(x)  # noqa: E731
    g = f
    for _ in range(order):
        g = tierup.grad(g)
    lower = tierup.grad(f) if order == 2 else f if order == 1 else tierup.grad(tierup.grad(f))
    assert g(0.7) == pytest.approx(float(differences(lambda x: float(lower(x)), (0.7,), 0)), rel=1e-5)


def test_a_hessian_vector_product() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x[0])

    def directional(x: Any, v: Any) -> Any:
        return np.sum(tierup.grad(f)(x) * v)

    hv = tierup.grad(directional)(B, SCALE)
    assert_close(hv, differences(lambda x: float(np.sum(tierup.grad(f)(x) * SCALE)), (B,), 0), rtol=1e-5)


def test_gradients_are_arrays_of_their_own() -> None:
    """Of a sum all gradients are the same value, and it is broadcast: still they can be written, one by one."""
    g = tierup.grad(lambda a, b: np.sum(a + b), (0, 1))
    for _ in range(3):  # in tier 0, compiled, and native
        first, second = g(B, SCALE)
        first += 1
        assert first.tolist() == [2, 2, 2, 2] and second.tolist() == [1, 1, 1, 1]
    assert g.stats().hits == 2
    identity = tierup.grad(lambda x, y: np.sum(x * y), (0, 1))
    for _ in range(3):
        found = identity(B, SCALE)
        assert not any(np.shares_memory(gradient, a) for gradient in found for a in (B, SCALE))


def test_a_gradient_that_is_a_result_already_is_copied() -> None:
    module = parse_module("""
    func.func @f(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
      %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
      %1 = torch.aten.sin %x : !torch.vtensor -> !torch.vtensor
      return %0, %0, %1, %1, %x : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
    }""")
    with module.context, ir.Location.unknown():
        func = function_names(module)["f"]
        own_memory(func, 1)
    assert module.operation.verify()
    makers = [v.owner.operation.name for v in list(func.regions[0].blocks[0].operations)[-1].operation.operands]
    assert makers == ["torch.aten.tanh", "torch.aten.clone", "torch.aten.sin", "torch.aten.clone", "torch.aten.clone"]


def test_a_gradient_function_is_compiled_and_says_what_it_did() -> None:
    g = tierup.value_and_grad(linear, (0, 1))
    g.reset()  # other tests have it too
    want = tuple(differences(linear, (A, B, X), n) for n in (0, 1))
    for _ in range(3):
        assert_close(g(A, B, X)[1], want)
    assert (g.stats().hits, g.stats().compiles) == (2, 1)
    assert g.is_optimized and "native" in g.explain() and "value_and_grad(linear)" in g.explain()
    assert "torch.aten.tanh" in g.plan() and "torch.aten.tanh" in g.graph
    with tierup.assert_optimized():
        g(A, B, X)
    wide = RNG.normal(size=(9, 3))
    for _ in range(2):
        assert_close(g(A, B, wide)[1][0], differences(linear, (A, B, wide), 0))
    assert g.stats().compiles == 2
    g.reset()
    assert g.stats().calls == 0 and g(A, B, X)[0] == pytest.approx(linear(A, B, X))


def test_what_is_asked_for_again_is_there() -> None:
    """So that `tierup.grad(f)(x)` in a loop does not begin anew each time."""

    def f(x: Any) -> Any:
        return np.sum(np.cos(x))

    for _ in range(4):
        assert_close(tierup.grad(f)(B), -np.sin(B))
    assert tierup.grad(f).stats().hits == 3
    others = [tierup.grad(f, (0,)), tierup.grad(f, max_versions=2), tierup.value_and_grad(f), tierup.grad(tierup.grad(f)), tierup.grad(f)]
    assert len({id(g) for g in others}) == 5
    assert tierup.grad(f, max_versions=2) is others[1] and tierup.grad(tierup.jit(f)) is others[4]


def test_a_gradient_function_goes_with_its_function() -> None:
    def make() -> Any:
        held = np.ones(3)

        def f(x: Any) -> Any:
            return np.sum(x * held)

        tierup.grad(f)(B[:3])
        tierup.vjp(f, B[:3])
        return weakref.ref(f), weakref.ref(tierup.grad(f))

    function, gradient = make()
    gc.collect()
    assert function() is None and gradient() is None


@pytest.mark.parametrize(
    "options",
    [
        {"compile": "background"},
        {"executor": "specializing"},
        {"speculate": "bailout"},
        {"optimize": False},
        {"num_profiled_runs": 0},
        {"entry": "python"},
        {"fusion_strategy": [("dynamic", 2)]},
    ],
    ids=lambda o: "-".join(map(str, next(iter(o.items())))),
)
def test_options_hold_for_gradient_functions(options: dict[str, Any]) -> None:
    def f(w: Any, x: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum(h * h) if h.sum() > 0 else np.mean(h)

    g = tierup.value_and_grad(f, **options)
    for rows in (5, 5, 5, 4, 4, 6, 6):
        for sign in (1, -1):
            x = sign * np.abs(RNG.normal(size=(rows, 3)))
            value, found = g(np.abs(A), x)
            assert value == pytest.approx(f(np.abs(A), x))
            assert_close(found, differences(f, (np.abs(A), x), 0), rtol=1e-5, atol=1e-7)
        assert g.wait(200)
    stats = g.stats()
    assert stats.calls == 14 and bool(stats.hits) == options.get("optimize", True)


def test_gradients_through_branches_and_loops() -> None:
    def f(x: Any, n: int) -> Any:
        y = x
        for _ in range(n):
            y = np.sin(y) * x
        if y.sum() > 0:
            y = y * 2
        return y.sum()

    g = tierup.grad(f)
    for sign in (1, -1, 1, -1):
        x = sign * np.abs(B)
        assert_close(g(x, 3), differences(f, (x, 3), 0), rtol=1e-5)


def test_the_graph_before_a_call_serves_every_rank() -> None:
    def f(w: Any, x: Any, n: int) -> Any:
        return np.mean(x @ w) * n

    g = tierup.value_and_grad(f)
    text = g.graph
    assert "torch.aten.matmul" in text and "tierup.ranks" not in text and "func.call" not in text
    found = [g(w, x, 3)[1] for w, x in ((A, X), (A[:, 0], X), (A, X[0]))]
    wanted = [differences(f, (w, x, 3), 0) for w, x in ((A, X), (A[:, 0], X), (A, X[0]))]
    for got, want in zip(found, wanted, strict=True):
        assert_close(got, want)


def test_reductions_over_an_axis_of_what_may_be_of_rank_0() -> None:
    for reduce in (np.sum, np.prod, np.max):
        f = lambda x, _reduce=reduce: np.sum(_reduce(np.squeeze(x), axis=0) ** 2)
        g, of_rank_0 = tierup.grad(f), tierup.grad(lambda x, _reduce=reduce: _reduce(x, axis=-1) * 3.0)
        for x in (A[:1, :1], A, A[:1], A[:1, :1]):
            assert_close(g(x), differences(f, (x,), 0), atol=1e-6)
        assert_close(of_rank_0(A[0, 0].reshape(())), np.array(3.0))


def test_a_norm_over_an_axis_refuses_rank_0() -> None:
    f = tierup.jit(lambda x: np.linalg.norm(np.squeeze(x), axis=0))
    for x in (A, A[:1, :1], A[:1], A[:1, :1]):
        try:
            expected = np.linalg.norm(np.squeeze(x), axis=0)
        except np.exceptions.AxisError:
            with pytest.raises(np.exceptions.AxisError):
                f(x)
        else:
            np.testing.assert_allclose(f(x), expected, rtol=1e-12)


def test_flat_calls_need_no_python() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w))

    g = tierup.value_and_grad(f)
    for _ in range(4):
        value, found = g(A, X)
        assert type(value) is np.float64 and type(found) is np.ndarray
    (direct,) = g._tables.values()
    assert direct.table.counts().hits >= 2


def test_gradients_of_products_of_all_ranks() -> None:
    """Ranks are stated on the product, so each pair has a graph of its own."""

    def f(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x @ y))

    g = tierup.grad(f, (0, 1))
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((2, 3), (4, 3, 2)),
        ((1, 2, 3), (4, 3, 2)),
    ]
    for left, right in shapes:
        x, y = RNG.normal(size=left), RNG.normal(size=right)
        assert_close(g(x, y), tuple(differences(f, (x, y), n) for n in (0, 1)))
    mixed = tierup.grad(lambda x, y: np.sum(x @ y))(A.astype(np.float32), np.arange(8).reshape(4, 2))
    assert mixed.dtype == np.float32
    np.testing.assert_allclose(mixed, np.broadcast_to(np.arange(8).reshape(4, 2).sum(1), (3, 4)))


def stores_a_row(x):
    v = x * 1.0
    v[0] = x[0:1, :] * 2
    return np.sum(v * v)


def stores_rows(x):
    v = np.zeros((2, 3))
    v[1:] = x[None, 0:1, :] * x[1, 1]
    return np.sum(v * v)


@pytest.mark.parametrize("loss", [stores_a_row, stores_rows], ids=lambda f: f.__name__)
def test_what_is_stored_may_have_more_dims_of_size_one(loss):
    x, gradient = np.arange(1.0, 7.0).reshape(2, 3), tierup.grad(loss)
    steps = 1e-6 * np.eye(6).reshape(6, 2, 3)
    wanted = np.array([(loss(x + h) - loss(x - h)) / 2e-6 for h in steps]).reshape(2, 3)
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), wanted, rtol=1e-5, atol=1e-5)
    assert gradient.stats().hits >= 1  # a split, where the store itself is tier 0's


def _of_bools_on_one_path(function):
    def f(x, s):
        v = x if s > 1 else x > 0
        return np.sum(x * x) + np.sum(function(v) * 0.5)

    return f


@tierup.jit
def _product_with_ints(v):
    return np.matmul(v, np.array([1, 0, 2]))


@tierup.jit
def _outer_with_ints(v):
    return np.outer(v, np.array([1, 0, 2]))


@tierup.jit
def _remainder(v):
    return np.remainder(v, v) + np.fmod(v, v)


@tierup.jit
def _table_of_ints(v):
    return np.dot(np.array([[1, 2, 3], [4, 5, 6]]), v)


@pytest.mark.parametrize("function", [
    np.var, np.std, np.arcsin, np.arccos, np.arctan, np.arctanh, np.arcsinh, np.arccosh, np.mean, np.cumsum,
    np.sort, np.max, _product_with_ints, _outer_with_ints, _remainder, _table_of_ints,
], ids=lambda f: getattr(f, "__name__", str(f)))  # fmt: skip
def test_what_is_of_bools_on_one_path_has_no_gradient_there_and_raises_nothing(function):
    f, x = _of_bools_on_one_path(function), np.array([0.5, -0.25, 0.75])
    g = tierup.value_and_grad(f, optimize=False)
    with np.errstate(all="ignore"):
        value, gradient = g(x, 0)
        np.testing.assert_allclose(value, f(x, 0))
        if function is not np.arccosh:
            np.testing.assert_allclose(gradient, 2 * x)
        assert g(x, 2)[1].shape == x.shape
