"""Lists and tuples of numbers at places that only the run knows: in arrays, so that loops over them are loops; as Python has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending
from frontend_oracle import graph
from running import function_of

import tierup
from tierup.frontend.python import build
from tierup.frontend.python.building import frame

INTS = [k * 7919 % 100 for k in range(30)]
FLOATS = [k * 0.25 - 2 for k in range(24)]
# bodies of f(xs, ys, n), and arguments
NATIVE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a rising row": (
        "best = [1] * len(xs)\nfor i in range(len(xs)):\n    for j in range(i):\n"
        "        if xs[j] < xs[i] and best[j] + 1 > best[i]:\n            best[i] = best[j] + 1\nreturn max(best), n",
        (INTS, (), 0),
    ),
    "pairs": ("for a in xs:\n    for b in ys:\n        if a < b:\n            n += 1\nreturn n", (INTS, tuple(FLOATS), 0)),
    "from the end": ("s = 0\nfor i in range(len(xs)):\n    s = s * 3 % 1000 + xs[-1 - i] * n\nreturn s, xs[-2]", (tuple(INTS), 0, 7)),
    "bools": ("for i in range(len(xs)):\n    if xs[i]:\n        n += 2\n    n += i * xs[i]\nreturn n", ([k % 3 == 0 for k in range(20)], 0, 1)),
    "in a while": ("i = s = 0\nwhile i < len(xs):\n    s += xs[i]\n    i += n\nreturn s, i", (INTS, 0, 2)),
    "of a number of rounds": ("s = 0.0\nfor i in range(n):\n    s += xs[i]\nreturn s", (FLOATS, 0, 24)),
    "two at once": (
        "s = 0.0\nfor a, b in zip(xs, ys):\n    s = max(s, a * b)\nfor i, a in enumerate(reversed(xs)):\n    s -= a * i\nreturn s",
        (FLOATS, FLOATS[::-1], 0),
    ),
    "until one is found": ("for i, a in enumerate(xs):\n    if a == n:\n        return i\nreturn -1", (INTS, 0, 95)),
    "of a helper": ("def g(v, i):\n    return v[i % len(v)] + 1\nfor i in range(25):\n    n += g(xs, i * i)\nreturn n", (INTS, 0, 1)),
    "a constant table": (f"t = {tuple(INTS)}\nfor v in xs:\n    n = t[(n + v) % 30]\nreturn n", (INTS, 0, 3)),
    "that hand on arrays": ("y = np.zeros(3)\nfor w in xs:\n    y = y + w * n\nreturn y", (FLOATS, 0, 2)),
    "a list of its own": ("a = [v * 2 for v in xs]\nfor i in range(30):\n    a[i] = a[29 - i] + n\nreturn a", (INTS, 0, 7)),
}  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_loops_over_numbers_of_lists_are_native(name: str, tmp_path: Path) -> None:
    body, given = NATIVE[name]
    f, python = both("xs, ys, n", body, tmp_path)
    for _ in range(3):
        assert alike(ending(f, *given), ending(python, *given)), name
    assert f.stats().hits == 2, f.explain()


@pytest.mark.parametrize("given", [([1, 2.5, True] * 8, 0, 24), ([1.5] * 20, 0, 21), ((2,) * 20, 0, 21), ([1 << 62] * 20, 0, 20)])
def test_what_is_no_array_of_one_kind_or_ends_is_what_python_has(given: tuple[Any, ...], tmp_path: Path) -> None:
    f, python = both("xs, ys, n", "s = 0\nfor i in range(n):\n    s += xs[i]\nfor v in xs:\n    s += v\nreturn s", tmp_path)
    for _ in range(3):
        found, want = ending(f, *given), ending(python, *given)
        assert (type(found), found) == (type(want), want)


def _ops(body: str, *given: Any, folder: Path) -> list[str]:
    built, _, _ = graph(function_of(f"def f(xs, ys, n):\n    {body.replace(chr(10), chr(10) + '    ')}\n", folder), *given)
    return [line.strip().partition(" = ")[2] or line.strip() for line in str(built.module).splitlines()]


def test_a_graph_of_nested_loops_over_lists_has_loops_however_long_they_are(tmp_path: Path) -> None:
    for name, loops in (("a rising row", 3), ("pairs", 2)):  # max is one, too
        sizes = []
        for count in (20, 30, 50):  # each an argument of its own
            ops = _ops(NATIVE[name][0], list(range(count)), list(range(count)), 0, folder=tmp_path)
            assert sum(op.startswith("torch.prim.Loop ") for op in ops) == loops
            sizes.append(len(ops))
        assert sizes[0] == sizes[1] == sizes[2]


def test_a_short_loop_is_written_out_as_before(tmp_path: Path) -> None:
    ops = _ops("s = 0.0\nfor v in xs:\n    s = s * 0.5 + v\nreturn s", [1.0, 2.0, 3.0], 0, 0, folder=tmp_path)
    assert not any(op.startswith(("torch.prim.Loop", "torch.aten.tensor")) for op in ops)


def test_loops_in_one_another_that_must_be_written_out_have_a_bound_that_names_the_line(tmp_path: Path) -> None:
    body = "for a in xs:\n    for b in xs:\n        n = n + len(a) * len(b)\nreturn n"
    names = ["a", "bc"] * 17  # no numbers: 34 times 34 rounds
    f, python = both("xs, ys, n", body, tmp_path)
    assert f(names, 0, 1) == python(names, 0, 1)
    refused = r"\.py:8: more than 1024 rounds of loops to write out in all, those of this one among them; use array operations"
    strict = tierup.jit(
        function_of("def f(xs, n):\n    for a in xs:\n        for b in xs:\n            n = n + len(a) * len(b)\n    return n\n", tmp_path),
        strict=True,
    )
    with pytest.raises(tierup.UnsupportedSyntax, match=refused):
        strict(names, 1)
    assert "more than 1024 rounds of loops to write out in all" in f.explain()


def test_gradients_of_numbers_of_lists() -> None:
    def loss(x: Any, ws: Any) -> Any:
        s = 0.0
        for i in range(len(ws)):
            s = s + ws[i] * float(i)
        return x.sum() * s

    found = tierup.grad(loss, argnums=1)(np.arange(5.0), FLOATS)
    np.testing.assert_allclose(found, 10.0 * np.arange(len(FLOATS)))


def test_a_program_of_too_many_operations_is_cut_before_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        for w in (1.0, 2.0, 4.0, 8.0):
            x = x * 2 + w
            x = x - w / 2
            x = x * w + 1
        y = x - 3
        return y

    monkeypatch.setattr(frame, "MAX_OPS", 8)
    with pytest.raises(tierup.UnsupportedSyntax, match="a program of more than 8 operations; use array operations"):
        tierup.jit(f, strict=True)(3.0)
    assert tierup.jit(f)(3.0) == f(3.0)


def test_a_program_that_loops_over_numbers_made_large_has_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheapest(dims: list[int]) -> Any:
        n = len(dims) - 1
        cost = [[0] * n for _ in range(n)]
        for span in range(1, n):
            for i in range(n - span):
                j = i + span
                cost[i][j] = 1 << 30
                for k in range(i, j):
                    cost[i][j] = min(cost[i][j], cost[i][k] + cost[k + 1][j] + dims[i] * dims[k + 1] * dims[j + 1])
        return cost

    dims = [3, 7, 2, 9, 4]
    for most, has_loops in ((100_000, False), (20, True)):
        monkeypatch.setattr(build, "_MOST_OF_ITEMS", most)
        f = tierup.jit(cheapest, weigh=False)
        with tierup.options(profile=False):
            assert f(dims) == cheapest(dims)
        assert ("torch.prim.Loop" in str(f.graph)) == has_loops


def test_a_function_that_calls_itself_twice_is_pythons_where_its_copies_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    def ways(xs: Any, target: int) -> Any:
        def go(i: int, left: int) -> int:
            if i == len(xs):
                return 1 if left == 0 else 0
            return go(i + 1, left - xs[i]) + go(i + 1, left)

        return go(0, target)

    xs = [3, 5, 2, 7, 4, 1]
    for most, says in ((100, "the recursive call of `go`"), (100_000, "")):
        monkeypatch.setattr(build, "_MOST_REPEATED", most)
        f = tierup.jit(ways, weigh=False)
        with tierup.options(profile=False):
            assert f(xs, 9) == ways(xs, 9)
        assert says in f.explain()
