"""Where a function's body is cut: which statements are handed over together, from which names to which."""

from __future__ import annotations

import ast

import pytest

from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.flow.names import binds, names_of, reads
from tierup.frontend.python.islands.cut import cut


def parsed(text: str) -> list[ast.stmt]:
    return ast.parse(text).body




@pytest.mark.parametrize(("text", "expected"), [
    ("[v * k for v in x]", "x k"), ("{v: w for v in x for w in v}", "x"), ("sum(v for v in x if v > n)", "sum x n"), ("[v for v in v]", "v"), ("x += 1", "x"),
    ("y[i] = x", "y i x"), ("lambda q: q + a", "a"), ("def g(q, r=b):\n c = q\n return c + a", "a b"), ("def g():\n nonlocal s\n s += 1", "s"), ("lambda: [lambda q: q + r for r in s]", "s"), ("del x", "x"), ("(y := x)", "x"),
])  # fmt: skip
def test_names_that_are_read(text: str, expected: str) -> None:
    assert reads(parsed(text)) == set(expected.split())


@pytest.mark.parametrize(("text", "expected"), [
    ("def f(a, *b, c=1, **d):\n e = 1\n return g", "a b c d e"), ("def f():\n b = 1\n def g():\n  nonlocal b\n  b = 2", "b g"), ("def f():\n global b\n b = 1", ""),
    ("def f():\n def g():\n  def h():\n   nonlocal c\n  c = 1\n for d in x: pass", "g d"), ("lambda a, b=(lambda c: c): (d := a)", "a b d"),
])  # fmt: skip
def test_names_that_are_a_functions_own(text: str, expected: str) -> None:
    top = parsed(text)[0]
    assert names_of(top if isinstance(top, ast.FunctionDef) else top.value) == set(expected.split())  # type: ignore[attr-defined]  # an expression


@pytest.mark.parametrize(("text", "expected"), [
    ("x = 1", "x"), ("a, *b = x", "a b"), ("for i in x: y = i", "i y"), ("import a.b", "a"), ("[v for v in x]", ""), ("[(w := v) for v in x]", "w"), ("def g(a): b = 1", "g"),
    ("try: pass\nexcept E as e: pass", "e"), ("with a as b: pass", "b"), ("match x:\n case [p, *q]: pass", "p q"), ("del x", "x"),
])  # fmt: skip
def test_names_that_are_bound(text: str, expected: str) -> None:
    assert binds(parsed(text)) == set(expected.split())


@pytest.mark.parametrize(("text", "expected"), [
    ("y = x * 2\nlog(y)\nz = y + 1\nreturn z * n", [((1, 1), "x", "y", False), ((3, 4), "n y", "", True)]),
    ("y = x * 2\nz = y * 3\nlog(z)\nreturn z", [((1, 2), "x", "z", False)]),  # y is read no more
    ("y = 0\nlog(y)\nif n:\n    y = x * 2\nz = x + 1\nlog(z)\nreturn y + z", [((3, 5), "n x y", "y z", False), ((7, 7), "y z", "", True)]),  # y goes through
    ("if n > 2:\n    y = x * 2\nlog(n)\nreturn y + 1", [((2, 2), "x", "y", False)]),  # y may have no value: Python says so
    ("t = x * 0\ntry:\n    for i in x:\n        t = t + i * 2\nexcept E:\n    log(t)", [((1, 1), "x", "t", False), ((4, 4), "i t", "t", False)]),  # each round is seen
    ("t = x * 0\nfor i in x:\n    t = t + i\n    log(i)\nreturn t * 2", [((1, 1), "x", "t", False), ((3, 3), "i t", "t", False), ((5, 5), "t", "", True)]),
    ("s = x * 2\ng = lambda v: v * s\ns = s + 1\ny = g(x)\nlog(y)", [((1, 1), "x", "s", False), ((3, 3), "s", "s", False), ((4, 4), "g x", "y", False)]),
    ("log(x)\nraise ValueError('no root')", []),  # nothing is computed
    ("try:\n    y = x * 2\nexcept E:\n    y = x * 0\nfinally:\n    log(x)\nreturn y + 1", [((2, 2), "x", "y", False), ((4, 4), "x", "y", False), ((7, 7), "y", "", True)]),
    ("t = x * 0\nfor i in x:\n    try:\n        t = t + i * 2\n        w = h(t) * 2\n        log(w)\n    except E:\n        continue\n    t = 0\nreturn t",
     [((1, 1), "x", "t", False), ((4, 4), "i t", "t", False), ((5, 5), "t", "w", False)]),  # the round after the handler reads t
    ("while n:\n    y = x * 2\n    if n > 3:\n        break\n    log(y)\nreturn x * 3", [((2, 2), "x", "y", False), ((6, 6), "x", "", True)]),
])  # fmt: skip
def test_regions(text: str, expected: list[object]) -> None:
    body = ast.parse("def f(x, n):\n" + "\n".join("    " + line for line in text.split("\n"))).body[0]
    assert isinstance(body, ast.FunctionDef)
    ast.increment_lineno(body, -1)
    local = binds(body.body) | {"x", "n"}
    stay = [n for n in ast.walk(body) if isinstance(n, ast.Expr) and ast.unparse(n).startswith("log(")]
    made = cut(body.body, "f", frozenset({"x", "n"}), local, stay)
    assert [(r.lines, " ".join(r.inputs), " ".join(r.outputs), r.returns) for r in made.regions.values()] == expected


def test_a_name_is_live_where_an_exception_may_lead() -> None:
    body = parsed("a = 1\ntry:\n    a = 2\n    g()\nexcept E:\n    use(a)")
    flow = Flow.of(body, frozenset())
    inside = body[1].body  # type: ignore[attr-defined]  # a try
    assert "a" in flow.live_after[body[0]] and "a" in flow.live_after[inside[0]] and flow.bound_before[inside[0]] == {"a"}
