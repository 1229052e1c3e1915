"""Plain Python functions that decorated ones call are translated as these are, and are what they are at the call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup

RATE = 2.0
X = np.linspace(-1, 1, 7)


def square(v: Any) -> Any:
    return v * v * RATE


def norm(v: Any, p: float = 2.0) -> Any:
    return (np.abs(v) ** p).sum() ** (1 / p)


half = functools.partial(norm, p=1.0)
first = lambda v: v[0]  # noqa: E731 - a lambda is what is called


class Box:
    OFFSET = 3.0

    def __init__(self, side: float) -> None:
        self.side = side

    @property
    def area(self) -> float:
        return self.side * self.side

    @staticmethod
    def twice(v: Any) -> Any:
        return 2 * v

    @classmethod
    def moved(cls, v: Any) -> Any:
        return v + cls.OFFSET

    def scaled(self, v: Any) -> Any:
        return self.twice(v) * self.area

    def __call__(self, v: Any) -> Any:
        return v - self.side


BOX = Box(2.0)
CALLS: dict[str, Callable[[Any], Any]] = {
    "a function": lambda x: square(x),
    "a default": lambda x: norm(x) + norm(x, 3.0) + norm(v=x),
    "a partial": lambda x: half(x) + half(x, p=4.0),
    "a lambda": lambda x: first(x),
    "a method": lambda x: BOX.scaled(x),
    "a property": lambda x: x * BOX.area,
    "a static method": lambda x: Box.twice(x) + BOX.twice(x),
    "a class method": lambda x: Box.moved(x) + BOX.moved(x),
    "an object": lambda x: BOX(x),
}


@pytest.mark.parametrize("what", CALLS)
def test_what_is_called_becomes_native_code(what: str) -> None:
    plain = CALLS[what]
    jitted = tierup.jit(plain, strict=True)
    for _ in range(3):
        np.testing.assert_allclose(jitted(X), plain(X), rtol=1e-12)
    assert (jitted.stats().compiles, jitted.stats().hits) == (1, 2)


def test_it_is_what_it_is_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    @tierup.jit
    def f(x: Any) -> Any:
        return square(x) + BOX.scaled(x)

    def check() -> None:
        for _ in range(3):
            np.testing.assert_allclose(f(X), square(X) + BOX.scaled(X), rtol=1e-12)

    check()
    monkeypatch.setitem(globals(), "square", lambda v: v + 100)
    check()
    monkeypatch.setattr(Box, "scaled", lambda self, v: v * 7 + self.side)
    check()
    monkeypatch.setattr(BOX, "side", 5.0)
    check()
    monkeypatch.undo()
    check()


def test_a_function_that_every_call_brings_anew_has_one_graph() -> None:
    @tierup.jit
    def integral(g: Any, n: int) -> Any:
        t = np.linspace(0.0, 1.0, 50)
        return g(t).sum() / n

    def call(scale: Any, add: float) -> Any:
        return integral(lambda t, add=add: np.sin(scale * t) + add, 50)

    t = np.linspace(0.0, 1.0, 50)
    for k in range(8):
        scale = np.full(50, k + 1.0)
        np.testing.assert_allclose(call(scale, 0.5), (np.sin(scale * t) + 0.5).sum() / 50, rtol=1e-12)
    assert integral.stats().compiles == len(integral.variants) == 1 and integral.stats().hits >= 6
    for add in (1.5, 2.5, 3.5, 4.5):  # a default is read, too
        np.testing.assert_allclose(call(scale, add), (np.sin(scale * t) + add).sum() / 50, rtol=1e-12)
    assert integral(np.sin, 50) == pytest.approx(np.sin(t).sum() / 50)


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def shouts(v: Any) -> Any:
    print("here")
    return v * 2


@pytest.mark.parametrize("helper", [factorial, shouts])
def test_one_that_is_not_translated_makes_an_island_of_its_call(helper: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, n: int) -> Any:
        y = np.tanh(x) * 2
        k = helper(n)
        return (y * k).sum()

    jitted = tierup.jit(f)
    for n in (3, 4, 5, 3):
        before, _ = capsys.readouterr().out, None
        assert jitted(X, n) == pytest.approx(f(X, n))
        half = len(said := capsys.readouterr().out) // 2
        assert said[:half] == said[half:], before
    assert f"Python at {__file__}" in jitted.explain()
    with pytest.raises(tierup.UnsupportedSyntax, match="test_helpers.py"):
        tierup.jit(f, strict=True)(X, 3)


def test_a_function_inside_sees_the_names_around_it_as_they_are_then() -> None:
    def f(x: Any) -> Any:
        scale = x.max()

        def times(v: Any) -> Any:
            return v * scale

        total = 0.0
        for i in range(3):
            scale = scale + i
            total = total + times(x).sum()
        scale = 2.0
        return total + times(np.cos(x)).sum()

    jitted = tierup.jit(f)
    for _ in range(30):
        assert jitted(X) == pytest.approx(f(X))


def test_a_declaration_holds_for_the_whole_function_wherever_it_stands() -> None:
    def counted(x: Any) -> Any:
        count = 0

        def add(v: Any) -> Any:
            for _ in range(0):
                nonlocal count
            count += 1
            return v + count

        return add(x), add(x), count

    jitted = tierup.jit(counted)
    for _ in range(4):
        got, want = jitted(X), counted(X)
        assert (got[0] == want[0]).all() and (got[1] == want[1]).all() and got[2] == 2


v = np.arange(3.0)  # the name of what the lambdas below bind by themselves
binds_first = lambda x: (v := x * 2) + v  # noqa: E731 - as above
reads_first = lambda x: v + (v := x)  # noqa: E731, F841
binds_nothing = lambda x: v + x  # noqa: E731


@pytest.mark.parametrize("called", [binds_first, reads_first, binds_nothing], ids=["bound first", "read first", "not bound"])
@pytest.mark.parametrize("options", [{"optimize": False}, {"weigh": False}], ids=str)
def test_a_name_that_a_lambda_binds_is_its_own(called, options):
    inside = {
        "outer": lambda x: called(x),
        "nested": lambda x: (lambda: called(x))(),
        "of a closure": lambda x: (lambda: (x := [x, x]) and x[0])(),
    }
    for function in inside.values():
        jitted = tierup.jit(function, **options)
        for _ in range(3):
            found = []
            for f in (function, jitted):
                try:
                    found.append(("gave", f(np.ones(3)).tolist()))
                except NameError as e:
                    found.append((type(e).__name__, str(e)))
            assert found[0] == found[1]


def first_above(x, t):
    for i, v in enumerate(x):
        if v > t:
            return i
    return None


def with_factor(x, t):
    if x[0] > t:
        return x, 1
    return x * 2, 2.5


def returned_early(x, t):
    r = first_above(x, t)
    if r is None:
        return -1.0
    return x[r] * 2


def chosen_by_none(x, t):
    r = first_above(x, t)
    if r is not None:
        s = x[r]
    else:
        s = x[0]
    return s + 1, 0 if r is None else r + 1


def asked_at_once(x, t):
    return first_above(x, t) is None, not first_above(x, t)


def unpacked(x, t):
    y, k = with_factor(x, t)
    return y * k, k


def handed_on(x, t):
    return with_factor(x, t)


@pytest.mark.parametrize("function", [returned_early, chosen_by_none, asked_at_once, unpacked, handed_on], ids=lambda f: f.__name__)
def test_a_helper_may_return_values_of_different_kinds(function):
    f = tierup.jit(function, weigh=False)
    for number in range(9):
        x, t = np.random.default_rng(number).random(5), (0.5, 0.99, 0.2)[number % 3]
        found, want = f(x, t), function(x, t)
        assert repr(found) == repr(want)
        assert [v is x for v in found] == [v is x for v in want] if isinstance(want, tuple) else True
    assert f.stats().hits >= 6 and f.stats().python == 0
