"""Functions that the body makes by `def` and `lambda`: native, and they read what is around them as Python's do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

import tierup
from tierup.frontend.errors import UnsupportedSyntax

X = np.linspace(-1.5, 2.0, 6)
# of an array and a number: bodies that are native as a whole
NATIVE = {
    "a def": "def g(t):\n    return t * n + 1\nreturn g(x)",
    "a lambda": "g = lambda t: t * n + 1\nreturn g(x) + g(2.0)",
    "called where it stands": "return (lambda a, b: a - b)(x, n)",
    "reads a name as it is at the call": "k = 2.0\ng = lambda t: t * k\na = g(x)\nk = k + n\nreturn a, g(x)",
    "reads a name that is set later": "def g(t):\n    return t + late\nlate = x * 2\nreturn g(1.0)",
    "reads what a loop changes": "s = 0.0\ndef g(i):\n    return s * 0.5 + x[i]\nfor i in range(len(x)):\n    s = g(i)\nreturn s",
    "reads what a loop set first": "def g():\n    return t + 1\ni = 0\nwhile True:\n    t = float(x[i]) * 2\n    i += 1\n    if i > n:\n        break\nreturn g()",
    "defaults are those of the definition": "k = 2\ndef g(t, f=k, *, h=n):\n    return t * f - h\nk = 5\nreturn g(x), g(x, 3), g(t=x, h=0)",
    "a default for each round": "fs = [lambda t, i=i: t * i for i in range(3)]\nreturn [f(x) for f in fs]",
    "made in a loop": "s = 0.0\nfor i in range(len(x)):\n    def g(t, i=i):\n        return t * i\n    s += g(x[0])\nreturn s, g(1.0)",
    "one of two": "if x[0] > 0:\n    g = lambda t: t + n\nelse:\n    def g(t):\n        return t * n\nreturn g(x)",
    "in a dict and a list": "d = {'a': lambda t: t + 1, 'b': [lambda t: t * n]}\nreturn d['b'][0](d['a'](x))",
    "calls itself": "def power(k):\n    return 1 if k == 0 else 2 * power(k - 1)\nreturn x * power(5)",
    "one in another": "def a(t):\n    def b(u):\n        return u * t + x\n    return b(t) + b(1.0)\nreturn a(n)",
    "given to another": "def twice(f, v):\n    return f(f(v))\nk = n + 1\nreturn twice(lambda t: t * k, x), twice(lambda t: t - k, 2.0)",
    "given in a tuple": "def both(fs, v):\n    return fs[0](v) - fs[1](v)\nreturn both((lambda t: t * n, lambda t: t + x), x)",
    "given out by another": "def adder(k):\n    return lambda t: t + k\nf, g = adder(1), adder(x)\nreturn f(x) * g(n)",
    "composed": "def compose(f, g):\n    return lambda t: f(g(t))\nreturn compose(lambda t: t * n, compose(np.tanh, lambda t: t + 1))(x)",
    "reads names of this function still when it comes back": "k = 0.5\ng = lambda t: t + k\ng = (lambda f: lambda t: f(t) + k)(g)\nf, h = (lambda *fs: fs)(g, lambda t: t - k)\nk = k * n\nreturn f(x), h(x), g(1.0)",
    "of two functions that have the same name": "def made(f):\n    k = 10\n    return lambda t: f(t) + k\nk = 1\ng = made(lambda t: t * k)\nk = 2\nreturn g(x), k",
    "writes an array": "y = x.copy()\ndef put(i, v):\n    y[i] = v\nput(0, 7.0)\nput(1, n)\nreturn y",
    "takes all kinds of arguments": "def g(a, /, b, *rest, k=1, **more):\n    return a + b * k + sum(rest) + more.get('z', 0)\nreturn g(x, 1, 2, 3, k=n, z=4)",
    "a name of the comprehension": "i = 9\ndef h(f, t):\n    return f(t) + i\nreturn [(lambda t: t * i)(x) for i in range(3)], [h(lambda t: t * i, x) for i in (1, n)], {k: (lambda: k * x)() for k in (1, 2)}, i",
    "a key of the comprehension": "return [min(range(3), key=lambda j: abs(v - j)) for v in (n, 1.2)], sum((lambda t: t * v)(2) for v in x), any((lambda: v > n)() for v in x)",
    "is there": "def h(t, key=None):\n    return t if key is None else key(t)\ng = lambda t: t * 2\nreturn h(x), h(x, g), 1 if g else 2, g is g",
    "a number or an array": "s = 0\nfor i in range(len(x)):\n    if x[i] > n:\n        s += x[i]\ng = lambda t: t * s\nreturn g(x), g(2)",
    "gives an array or a number": "g = lambda t: t if n > 1 else n\ndef h(f, t):\n    return f(f(t))\nreturn g(g(x)), h(g, x), h(lambda t: n if n > 2 else t, x)",
    "a list around it": "d = [1.0, x]\ndef g():\n    return d[1] * d[0]\nreturn g()",
    "left early": "def first(k):\n    for i in range(len(x)):\n        if x[i] > k:\n            return i\n    return -1\nreturn first(0.0), first(n), first(9.0)",
    "raises": "def g(t):\n    if t > 1:\n        raise ValueError('too large')\n    return t\nreturn g(n) * x",
    "only raises, in a part of an expression": "def bad(t):\n    raise ValueError('x')\ny = (bad(x) if n > 2 else x) + 1\nreturn y, n < 0 and bad(x), [(lambda: 1 // 0)() if n > 2.5 else 1]",
    "has annotations": "def g(t: float, *, k: 'nowhere' = 2) -> np.ndarray:\n    return t * k\nreturn g(x)",
    "reads no name that is not there yet": "def g():\n    return late\nif n > 100:\n    return g()\nlate = 1\nreturn g() + x",
    "a decorator": "def twice(f):\n    return lambda t: f(f(t))\n@twice\ndef g(t):\n    return t * n\nreturn g(x)",
    "decorators with arguments": "def plus(k):\n    return lambda f: lambda t: f(t) + k\n@plus(1)\n@plus(n)\ndef g(t):\n    return t * 2.0\nreturn g(x)",
    "nonlocal": "s = 0.0\ndef add(v):\n    nonlocal s\n    s += v\nadd(1.0)\nadd(x[0])\nreturn s + x",
    "nonlocal, in loops and branches": "m, mean, best = 0, 0.0, -9.0\ndef push(v):\n    nonlocal m, mean, best\n    m += 1\n    mean += (v - mean) / m\n    if v <= best:\n        return False\n    best = v\n    return True\nk = 0\nfor v in x:\n    if v < -1:\n        mean = mean - 5.0\n    elif push(float(v)):\n        k += 1\nreturn m, mean, best, k",
    "nonlocal, in a condition": "i, s = 0, 0.0\ndef step():\n    nonlocal i\n    i += 1\n    return i < len(x)\nwhile step():\n    s += float(x[i])\nreturn s, i",
    "nonlocal, behind what was read before": "k = 1\ndef up(v):\n    nonlocal k\n    k += v\n    return k\nf = lambda: k * 10\nreturn k + up(2) * k + up(len(x)), k, f(), [up(1) for _ in range(3)], [f() + up(1) for v in x]",
    "nonlocal, of a function inside": "def total(t):\n    s = 0.0\n    def add(v):\n        nonlocal s\n        s += v\n    for i in range(3):\n        add(t * i)\n    return s\nreturn [total(float(v)) for v in x], total(n)",
}  # fmt: skip
# bodies of which something is Python's
IN_PART = {
    "reads what a loop may have set": "def g():\n    return t + 1\nfor i in range(len(x)):\n    t = float(x[i]) * 2\nreturn g()",
    "a name of the comprehension, bound outside": "r = [(g := lambda t: t * i)(x) for i in range(3)]\nreturn r, g(x)",
    "a name of the comprehension, in a tuple": "def same(f):\n    return f\nfs = [(i, same(lambda t: t * i)) for i in range(3)]\nreturn [f(x) for _, f in fs]",
    "a name of the comprehension, called later": "i = 7\nfs = [lambda t: t * i for i in range(3)]\nreturn [f(x) for f in fs], i",
    "one reads the other": "def even(k):\n    return k == 0 or odd(k - 1)\ndef odd(k):\n    return k > 0 and even(k - 1)\nreturn x * even(4)",
    "nonlocal, of a name that others read": "b = n\na = (lambda q: b)(b) - b\ndef g():\n    nonlocal b\n    b = b + 1\n    return (lambda q: x)(b)\nc = g()\nreturn a, b, c",
    "nonlocal, two functions deep": "b = n\ndef g():\n    def h(p):\n        nonlocal b\n        b += p\n        return 1\n    return (lambda q: 2 if b < 2 else 3)(0.5) + h(2)\nreturn g(), b, x",
    "nonlocal, never called": "c = n\nr = (lambda q: c)(x)\ndef g(p):\n    nonlocal c\n    return p\nh = lambda p: c\nc = x\nreturn r, c",
    "nonlocal, called by another": "k = 0\ndef up():\n    nonlocal k\n    k += 1\ndef twice():\n    up()\n    up()\nfor v in x:\n    twice()\nreturn k",
    "nonlocal, given to another": "k = 0\ndef up(v):\n    nonlocal k\n    k += v\n    return k\ndef both(f):\n    return f(1) + f(2)\ndef read(f):\n    nonlocal k\n    k += 1\n    return f()\nreturn both(up), read(lambda: k), k",
    "nonlocal, of a function that has returned": "def counter():\n    k = 0\n    def up(v):\n        nonlocal k\n        k += v\n        return k\n    return up, lambda: k\nk = 5\nup, read = counter()\nup(1)\nfor v in x:\n    up(float(v))\nreturn up(n), read(), k, counter()[0](n)",
    "nonlocal, of a comprehension's name": "k = 0\ndef up(v):\n    nonlocal k\n    k += v\n    return k\nreturn [up(k) for k in range(3)], k",
    "a name without a value in a comprehension": "def g():\n    return [c * w for w in (1, 2)]\nif n > 100:\n    c = 1\ntry:\n    return [c * w for w in range(3)]\nexcept NameError as e:\n    return str(e), type(e).__name__, x",
    "a generator": "def g():\n    yield 1.0\n    yield n\nreturn [v * x for v in g()]",
    "changes a list around it": "out = []\ndef push(v):\n    out.append(v)\npush(1.0)\npush(n)\nreturn x[:2] + np.array(out)",
    "is given out": "k = n + 1\ng = lambda t: t * k\nreturn g(x), (lambda f: f)(g)(2.0), sorted([3.0, -1.0, 2.0], key=lambda v: -v)",
    "too early": "def g():\n    return late\nr = g()\nlate = 1\nreturn r",
    "deleted": "k = 2\ndef g():\n    return k\na = g()\ndel k\nreturn x + g()",
    "beside a print": "k = n * 2\ng = lambda t: t * k\ny = g(x)\nprint(end='')\ndef h(t):\n    return t - k\nz = h(y) + (lambda t: t * 2)(y)\nprint(end='')\nreturn g(z)",
    "reads what Python changes": "k = n\ng = lambda t: t * k\nprint(end='')\nk = k + 1\na = g(x)\nprint(end='')\nk = k * 2\nreturn a, g(x)",
    "made in a loop beside a print": "fs = []\nfor i in range(3):\n    k = i * n\n    fs.append(lambda t: t * k + i)\n    print(end='')\nreturn [f(x) for f in fs]",
    "from globals": "def g():\n    return sorted(globals())[:0]\nreturn g(), x + 1",
    "looks at the frame": "def g():\n    return sorted(locals())\nreturn g(), x + 1",
}  # fmt: skip


def check(body: str, folder: Path, numbers: tuple[float, ...] = (2.0, 2.0, 0.5, 2.0, 3, 3, 3)) -> Any:
    jitted, plainly = both("x, n", body, folder)
    for n in numbers:
        ours, theirs = X.copy(), X.copy()
        found, wanted = ending(jitted, ours, n), ending(plainly, theirs, n)
        assert alike(found, wanted, 1e-15), (n, found, wanted)
        np.testing.assert_array_equal(ours, theirs)
    return jitted


@pytest.mark.parametrize("name", drawn("functions inside", [*NATIVE], 3))
def test_functions_inside_are_native(name: str, tmp_path: Path) -> None:
    jitted = check(NATIVE[name], tmp_path)
    assert jitted.stats().hits >= 2, jitted.explain()
    assert "Python at" not in jitted.explain() and "foreign call" not in jitted.explain(), jitted.explain()


@pytest.mark.parametrize("name", IN_PART)
def test_what_is_not_translated_of_functions_inside_is_pythons(name: str, tmp_path: Path) -> None:
    check(IN_PART[name], tmp_path)


def test_regions_hold_functions_whose_names_keep_their_values(tmp_path: Path) -> None:
    jitted = check(IN_PART["beside a print"], tmp_path)
    lines = jitted.explain().splitlines()
    assert sum("region at" in line and "native code" in line for line in lines) >= 2, jitted.explain()


@pytest.mark.parametrize(("body", "says"), [
    ("g = [lambda: i for i in range(2)]\nreturn x", "that is kept, and reads a name of the comprehension around it; give it a parameter with that as default"),
    ("@np.vectorize\ndef g(t):\n    return t\nreturn x", "`g` inside the function, with a decorator; define it outside"),
    ("def g():\n    global Z\n    Z = 1\ng()\nreturn x", "`g` inside the function, with `global`; return the new value"),
    ("k = 0\ndef g():\n    nonlocal k\n    k = 1\ndef h():\n    g()\nh()\nreturn k", "`g`, which has `nonlocal`, called by another function; call it in the function that makes it"),
    ("def g():\n    yield x\nreturn g", "a generator inside the function; return a tuple or list"),
    ("g = lambda: x\nreturn g", "returning a function"),
    ("def g(t: print('now')):\n    return t\nreturn g(x)", "with an annotation that may do something; leave it out"),
])  # fmt: skip
def test_strict_functions_say_what_of_a_function_inside_is_not_translated(body: str, says: str, tmp_path: Path) -> None:
    jitted, _ = both("x", body, tmp_path)
    with tierup.options(strict=True), pytest.raises(UnsupportedSyntax) as caught:
        jitted(X)
    assert says in str(caught.value)


def test_gradients_go_through_functions_inside(tmp_path: Path) -> None:
    body = "def loss(w, b):\n    return np.sum((x * w + b - n) ** 2)\nv, (a, c) = tierup.value_and_grad(loss, (0, 1))(n, 0.5)\nreturn v, a, c, tierup.grad(lambda w: w * w * n)(3.0)"
    jitted, _ = both("x, n", body, tmp_path)
    for n in (2.0, 2.0, 0.5):
        r = X * n + 0.5 - n
        for found, wanted in zip(jitted(X, n), (np.sum(r**2), np.sum(2 * r * X), np.sum(2 * r), 6 * n), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert jitted.stats().hits, jitted.explain()


BODIES = st.lists(
    st.sampled_from((
        "k = k + n", "def g(t):\n    return t * k + 1", "g = lambda t, c=k: t * c - k", "a = g(a)", "for i in range(3):\n    k = k * 0.5\n    a = a + g(i)",
        "def h(f, t):\n    return f(t) * k", "a = h(g, a)", "if n > 1:\n    g = lambda t: t - k", "k = float(x[0])", "a = h(lambda t: g(t) + k, a)",
        "g = (lambda f: lambda t: f(t) + k)(g)", "x[1] = k", "def up(v):\n    nonlocal k\n    k = k + v\n    return k", "a = a + up(0.5)", "def kept():\n    k = 1.5\n    def up(v):\n        nonlocal k\n        k = k + v\n        return k\n    return up", "up = kept()", "for v in x:\n    if v > k:\n        k = float(v)\n        break", "print(end='')",
    )), min_size=2, max_size=7,
)  # fmt: skip


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(BODIES)
def test_any_order_of_definitions_bindings_and_calls_gives_what_python_gives(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    start = "k, a = 0.5, x\ndef g(t):\n    return t + k\ndef h(f, t):\n    return f(t)"
    check("\n".join([start, *steps, "return a, k"]), tmp_path_factory.mktemp("functions"), (2.0, 2.0, 0.5, 2.0))
