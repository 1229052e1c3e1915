"""What a function reads besides its arguments: hidden inputs, constants, methods, other decorated functions."""

import gc
import weakref

import numpy as np
import pytest
from frontend_oracle import assert_same, check, graph, jit, run

import tierup
from tierup.frontend.errors import UnsupportedSyntax

X = np.arange(12, dtype=np.float32).reshape(3, 4)
WEIGHTS = np.ones((4, 4))
LAYERS = [{"w": np.ones((4, 4), np.float32) * 2, "b": 0.5}, {"w": np.eye(4, dtype=np.float32), "b": 1.5}]
RATE = 0.5
MODE = "plain"


def reads_globals(x):
    for layer in LAYERS:
        x = x @ layer["w"] + layer["b"]
    return x @ WEIGHTS * RATE if MODE == "plain" else x


def test_arrays_of_the_enclosing_scope_are_hidden_inputs():
    built, *_ = graph(reads_globals, X)
    assert [str(h.access) for h in built.hidden] == ["LAYERS[0]['w']", "LAYERS[1]['w']", "WEIGHTS"]
    constants = {str(c.access) for c in built.constants}
    assert {"RATE", "MODE", "LAYERS", "LAYERS[0]['b']", "np"} - {"np"} <= constants
    check(reads_globals, X)


def test_hidden_inputs_are_read_at_every_call(monkeypatch):
    built, leaves, arguments = graph(reads_globals, X)
    before = run(built, leaves, arguments)
    monkeypatch.setitem(globals(), "WEIGHTS", WEIGHTS * 3)
    assert_same(run(built, leaves, arguments), before * 3)
    assert_same(reads_globals(X), before * 3)


def test_constants_say_when_they_no_longer_hold(monkeypatch):
    built, *_ = graph(reads_globals, X)
    assert all(c.holds({}) for c in built.constants)
    for name, value in (("RATE", 0.25), ("RATE", 1), ("MODE", "other"), ("LAYERS", LAYERS[:1])):
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, value)
            assert not all(c.holds({}) for c in built.constants), name
    with monkeypatch.context() as patch:
        patch.delitem(globals(), "RATE")
        assert not all(c.holds({}) for c in built.constants)


def test_a_hidden_input_of_another_rank_or_kind_does_not_fit():
    built, *_ = graph(reads_globals, X)
    weights = built.hidden[-1]
    assert weights.fits(np.zeros((2, 2)))
    assert not weights.fits(np.zeros(2)) and not weights.fits(1.0) and not weights.fits(None) and not weights.fits(1j)


def closure(scale):
    table = np.arange(3.0)

    def function(x):
        return x[0, :3] * table * scale

    return function


def test_closures():
    built, *_ = graph(closure(2), X)
    assert [(h.access.root, h.access.name) for h in built.hidden] == [("closure", "table")]
    check(closure(2), X)
    check(closure(2.5), X)


# --- calls ---------------------------------------------------------------------------------------------------------------


@jit
def rectified(z, low=0.0):
    if z.sum() < 0:
        return z * 0
    return np.maximum(z, low)


@jit
def network(z, *rest, **options):
    for layer in LAYERS:
        z = rectified(z @ layer["w"] + layer["b"])
    return z @ WEIGHTS, rest, options


@jit
def overwrite(z, k):
    z[0] = k
    z *= 2


@jit
def axis_sum(z, axis):
    return z.sum(axis=axis)


def calls(x):
    return network(x), network(x, 1, key=x), rectified(x, low=3), rectified(-x), axis_sum(x, 0), axis_sum(x, 1), axis_sum(x, None)


def test_other_decorated_functions():
    check(calls, X)


def test_a_callee_is_built_once_for_each_kind_of_call():
    built, *_ = graph(calls, X)
    text = str(built.module)
    assert text.count("func.func private @axis_sum") == 3
    assert text.count("func.func private @network") == 2
    assert text.count("func.func private @rectified") == 2  # low is 0.0 or 3; all arrays are of rank 2


def calls_that_write(x):
    y = x.copy()
    overwrite(y, 5)
    overwrite(x, 1.5)
    return y


def test_a_callee_writes_its_argument():
    check(calls_that_write, X)


def wrong_call(x):
    return rectified(x, 1, 2)


def test_a_wrong_call_is_a_type_error_when_it_runs():
    assert isinstance(check(wrong_call, X), TypeError)


@jit
def recursive(x):
    return recursive(x - 1) if x.sum() > 0 else x


def helper(x):
    return x


def calls_helper(x):
    return helper(x)


def test_recursion_is_refused_and_plain_functions_are_not():
    with pytest.raises(UnsupportedSyntax, match="recursive call of `recursive`; write a loop"):
        graph(recursive, X)
    check(calls_helper, X)


# --- objects -------------------------------------------------------------------------------------------------------------


class Model:
    scale = 2.0

    def __init__(self):
        self.w = np.ones((4, 2))
        self.bias = 2.0
        self.layers = [np.ones(2), np.ones(2) * 3]
        self.mode = "relu"
        self.norm = None

    def forward(self, x):
        h = x @ self.w + self.bias
        for b in self.layers:
            h = h + b
        if self.mode == "relu":
            h = np.maximum(h, 0)
        if self.norm is None:
            h = self.twice(h)
        return h * self.scale

    @jit
    def twice(self, h):
        return h * 2 + self.w[0]

    def train(self, x):
        g = x.T @ (x @ self.w)
        self.w -= RATE * g
        return self.w.sum()

    def forget(self, x):
        self.last = x

    def plain(self, x):
        return self.forward(x)

    @staticmethod
    @jit
    def square(x):
        return x * x

    @classmethod
    @jit
    def times_scale(cls, x):
        return x * cls.scale

    def of_class(self, x):
        return self.square(x) + self.times_scale(x)


def test_methods_read_self():
    model = Model()
    built, _, arguments = graph(Model.forward, model, X)
    assert [str(h.access) for h in built.hidden] == ["self.w", "self.layers[0]", "self.layers[1]"]
    assert all(c.holds(arguments) for c in built.constants)
    model.bias = 3.0
    assert not all(c.holds(arguments) for c in built.constants)
    check(Model.forward, Model(), X)


def test_methods_write_arrays_of_self():
    want, got = Model(), Model()
    result = want.train(X)
    built, leaves, arguments = graph(Model.train, got, X)
    assert_same(run(built, leaves, arguments), result)
    assert_same(got.w, want.w)


def test_methods_do_not_assign_attributes_and_call_undecorated_methods():
    with pytest.raises(UnsupportedSyntax, match=r"assignment to the attribute `.last`"):
        graph(Model.forget, Model(), X)
    check(Model.plain, Model(), X)


def test_the_bound_method_of_another_object_keeps_its_own_self():
    class Scale:
        def __init__(self, w):
            self.w = w

        @tierup.jit
        def twice(self, x):
            return self.scaled(x) * 2

        @tierup.jit
        def scaled(self, x):
            return x + self.w

    one, other, x = Scale(np.ones(3)), Scale(np.full(3, 5.0)), np.zeros(3)
    for _ in range(3):
        assert one.twice(x)[0] == 2
    one.scaled = other.scaled
    for _ in range(3):
        assert one.twice(x)[0] == 10
    del one.scaled
    assert (one.twice(x)[0], other.twice(x)[0]) == (2, 10)


def test_static_and_class_methods():
    check(Model.of_class, Model(), X)


def test_a_method_that_is_replaced_makes_another_graph(monkeypatch):
    model = Model()
    built, _, arguments = graph(Model.forward, model, X)

    @jit
    def negated(self, h):
        return -h

    monkeypatch.setattr(Model, "twice", negated)
    assert not all(c.holds(arguments) for c in built.constants)
    check(Model.forward, model, X)


def reads_missing(model, x):
    return x * model.rate + NOT_THERE_YET  # noqa: F821 - a global that a test sets


def test_what_is_missing_is_looked_for_again(monkeypatch):
    model = Model()
    first, _, arguments = graph(reads_missing, model, X)
    model.rate = 2
    assert not all(c.holds(arguments) for c in first.constants)
    second, leaves, arguments = graph(reads_missing, model, X)
    with pytest.raises(NameError, match="'NOT_THERE_YET' is not defined"):
        run(second, leaves, arguments)
    monkeypatch.setitem(globals(), "NOT_THERE_YET", 1)
    assert not all(c.holds(arguments) for c in second.constants)
    check(reads_missing, model, X)


# --- arguments -----------------------------------------------------------------------------------------------------------


def trees(params, pair, *, k=2, axis=None, mode="sum"):
    w, b = pair
    total = params["a"]["x"] * k + w[0] + b
    return total.sum(axis=axis) if mode == "sum" else total


def test_trees_defaults_and_keywords():
    params = {"a": {"x": X}, "b": None}
    check(trees, params, ([X], 1.5))
    check(trees, params, ([X], X), k=3.0, axis=1)
    check(trees, params, ([X], np.float32(2)), mode="none")


def weak(x, a, b, c):
    return x * a, x + b, x + c


def test_python_numbers_are_weak_and_numpy_scalars_are_not():
    check(weak, X, 2, 2.5, True)
    check(weak, X, np.int64(2), np.float64(2.5), np.bool_(True))


class Layer:
    def __init__(self, weight):
        self.weight = np.full(3, weight)

    @tierup.jit
    def __call__(self, x):
        return x * self.weight if self else x

    @tierup.jit
    def is_it(self, other, x):
        return x + 1 if self is other else x - 1


def test_objects_that_can_be_called_share_a_graph_and_are_not_kept():
    layers = [Layer(float(i)) for i in range(5)]
    for layer in layers:
        assert_same(layer(np.ones(3)), np.ones(3) * layer.weight)
    stats = Layer.__dict__["__call__"].stats()
    assert (stats.profiled_runs, stats.compiles, stats.hits) == (1, 1, 4)
    gone = [weakref.ref(layer) for layer in layers]
    del layer, layers
    gc.collect()
    assert not any(ref() for ref in gone)


def test_whether_two_arguments_are_one_object_is_asked_at_every_call():
    a, b = Layer(1.0), Layer(2.0)
    for one, other in ((a, a), (a, a), (a, b), (b, b), (b, a), (a, None), (a, a)):
        assert_same(one.is_it(other, np.ones(3)), np.ones(3) + (1 if one is other else -1))


class Switch:
    on = True

    def __bool__(self):
        return self.on

    @tierup.jit
    def add(self, x):
        return x + 1 if self else x - 1


def test_a_truth_value_that_a_class_computes_is_pythons():
    with tierup.options(strict=True), pytest.raises(UnsupportedSyntax, match="the truth value of a Switch object"):
        Switch().add(X)
    switch = Switch()
    for on in (True, False, True, True):
        switch.on = on
        assert_same(switch.add(X), X + 1 if on else X - 1)


class SilentLayer(Layer):
    def __len__(self):
        return 0


def test_a_truth_value_is_of_the_objects_own_class():
    assert_same(Layer(2.0)(np.ones(3)), np.full(3, 2.0))
    with tierup.options(strict=True), pytest.raises(UnsupportedSyntax, match="the truth value of a SilentLayer object"):
        SilentLayer(2.0)(np.ones(3))
    assert_same(SilentLayer(2.0)(np.ones(3)), np.ones(3))


def test_a_free_variable_that_is_deleted_is_pythons_error():
    def functions(make):
        y = 3.0
        inner = make(lambda x: x + y)
        yield inner
        del y
        yield inner

    for call in (lambda f, x: f(x), tierup.jit(lambda f, x: f(x) * 2)):
        messages = []
        for make in (tierup.jit, lambda f: f):
            made = functions(make)
            inner = next(made)
            for _ in range(4):
                call(inner, np.ones(3))
            next(made)
            with pytest.raises(NameError) as raised:
                call(inner, np.ones(3))
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
