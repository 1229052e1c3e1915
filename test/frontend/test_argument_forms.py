"""Arguments in forms that NumPy refuses, or takes: its result, or its class of exception, in tier 0 and once compiled."""

import linecache

import numpy as np
import pytest

import tierup

EXPRESSIONS = (
    "np.clip(x, 2)", "np.clip(x, a_max=2)", "np.clip(x, 1, 2, max=3)", "np.clip(x, min=1)", "np.clip(x, None, 2)", "np.clip(x)", "x.clip(1, max=2)",
    "x.clip(1)", "np.where(c, x=x, y=x)", "np.where(c, x)", "np.where(condition=c)", "np.where(c, x, x)",
    "x.reshape((True, -1))", "x.reshape(True, -1)", "np.zeros((True, 2))", "np.ones(True)", "np.full([2, False], 1.0)", "np.eye(True)",
    "np.broadcast_to(x, (True, 6))", "np.transpose(x[None], (True, False))", "np.sum(x, axis=False)", "np.concatenate([x, x], True)",
    "np.squeeze(x[None], False)", "np.tile(x, True)", "np.tile(x, (True, 2))", "np.roll(x, True)", "np.flip(x, False)", "np.expand_dims(x, False)",
    "np.roll(x[0], 1)", "np.roll(2.5, 1)", "np.tile(c[0], 2)", "np.tile(True, 2)", "np.tile(np.sum(x), (2, 1))", "np.roll(np.sum(x), 1)",
    "np.add(x)", "np.add(x1=x, x2=x)", "np.sum()", "np.reshape(x, newshape=6)", "np.dot(x)", "np.exp(x, x, x, x)", "x[None].sum(axis=0, keepdims=True)",
    "np.arange(0, 5, 1, np.float32)", "np.arange(start=1, stop=4)", "np.arange(stop=4)", "np.arange(0, stop=4)", "np.arange()", "np.identity(3, np.float32)",
    "np.identity(n=3)", "np.linspace(0, 1, 5, True)", "np.sum(x, 0, None, None, True)", "x.sum(0, None, None, True)", "np.argmax(x, 0, None)",
    "np.var(x, 0, None, None, 1)", "np.full(3, 1.0, np.float32)", "np.concatenate((x, x), 0)", "np.reshape(x, shape=(2, 3))", "x.astype(np.float32, copy=True)",
    "np.array(x, np.float32, True)", "np.nan_to_num(x, True, 0.0)", "np.sum(x).dot(2)", "x.dot(x)", "np.add.at(np.sum(x), 0, 1)", "np.sum(x) @ np.sum(x)", "np.sum(x) @ np.array(2.0)", "np.matmul(np.sum(x), x[0])", "x @ np.sum(x)",
    "x[x > 2][0] @ x[x > 2].sum()", "(x[c] @ x[c]) @ x[0]", "np.power(c, -1)", "np.arange(6).reshape(2, 3).swapaxes(0)",
)  # fmt: skip
STATEMENTS = (
    "np.add.at(c, 0, -1)", "np.add.at(u, -1, 1000)", "np.add.at(i, 0, 1.5)", "np.add.at(x, 0, x[:1])", "np.add.at(u, [1], 300)", "np.add.at(u, np.array([0, 0]), -1)",
    "c **= -1", "c **= n", "c **= x", "u **= -n", "u **= np.array([1, -1, 2, 0, 1, 1])", "i **= -1", "i **= n", "x **= -1", "x **= -n",
)  # fmt: skip


def outcome(function):
    x = np.arange(6.0) + 1
    try:
        with np.errstate(all="ignore"):
            return function(x, x > 2, x.astype(np.uint8), x.astype(np.int8), 2)
    except Exception as e:  # noqa: BLE001 - whatever it is
        return e


@pytest.mark.parametrize("text", [*(f"return {e}" for e in EXPRESSIONS), *(f"{s}\n    return x, c, u, i" for s in STATEMENTS)])
def test_a_form_of_arguments_gives_what_it_gives_in_numpy(text):
    source = f"def f(x, c, u, i, n):\n    {text}\n"
    name, space = f"<{text}>", {"np": np}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)  # noqa: S102 - our own
    function, want = tierup.jit(space["f"]), outcome(space["f"])
    for call in range(3):
        got = outcome(function)
        if isinstance(want, Exception):
            assert isinstance(want, type(got)), f"call {call}: {want!r}, not {got!r}"
        else:
            assert not isinstance(got, Exception), f"call {call}: {got!r}"
            for g, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
                assert type(g) is type(w) and g.dtype == w.dtype
                np.testing.assert_allclose(g, w, rtol=1e-12)
