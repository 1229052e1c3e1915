"""if, for, while: as the undecorated function, whatever kinds of value the paths give."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from frontend_oracle import check, graph

from tierup.frontend.errors import UnsupportedSyntax

X = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.arange(5.0)


def guard_clauses(x):
    if x.sum() > 60:
        return x
    y = x * 2
    if y.max() < -3:
        y = y + 1
    elif x.shape[0] > 2:
        y = y - 1
    return y


@pytest.mark.parametrize("x", [X, -X, -X[:2], X[:2] - 1], ids=["large", "negative", "short negative", "short"])
def test_early_return_and_elif(x):
    check(guard_clauses, x)


def conditions(x, n, flag):
    if x.shape[0] > 2 and x[0, 0] < 1 or n == 3:
        r = 1
    else:
        r = 2
    if not flag and n:
        r += 10
    if flag or x.any():
        r += 100
    if n is not None and n in (3, 4):
        r += 1000
    return r


@pytest.mark.parametrize("arguments", [(X, 3, True), (X[:1], 0, False), (X * 0 + 5, 4, False)])
def test_conditions_short_circuit(arguments):
    check(conditions, *arguments)


def reached(x):
    if x.shape[0] > 5 and x[5, 0] > 0:
        return 1
    return 0


def test_an_operand_that_is_not_reached_does_not_raise():
    check(reached, X)


def two_kinds(x):
    y = 0.0
    if x.sum() > 0:
        y = x
    z = y * 2
    return z + 1


def returns_of_many_kinds(x, n):
    if n == 0:
        return None
    if n == 1:
        return 1
    if n == 2:
        return 2.5
    if n == 3:
        return x, "text"
    if n == 4:
        return {"a": x}
    return x


def test_paths_may_give_different_kinds_of_value():
    check(two_kinds, X)
    check(two_kinds, -X)
    for n in range(6):
        check(returns_of_many_kinds, X, n)


def raising(x):
    assert x.ndim == 2, "a matrix"
    if x[0, 0] > 100:
        raise IndexError("too large")
    if x[0, 1] > 100:
        y = x
        raise TypeError
    else:
        y = x + 1
    assert y.sum() > 0, "positive"
    return y


@pytest.mark.parametrize("x", [X, X + 200, np.array([[0.0, 200]]), -X])
def test_raise_and_assert(x):
    check(raising, x, unranked=False)


def always(x):
    raise KeyError("always")


def division(x):
    y = 1 / 0
    return x + y


def unbound(x):
    del x
    return x


def unknown(x):
    return x + does_not_exist


@pytest.mark.parametrize("function", [always, division, unbound, unknown])
def test_what_always_raises_raises_when_called(function):
    assert isinstance(check(function, X), Exception)


# --- for -----------------------------------------------------------------------------------------------------------------


def ranges(n):
    out = 0
    for i in range(n):
        out = out * 2 + i
    for i in range(2, n):
        out = out * 2 + i
    for i in range(n, -1, -2):
        out = out * 2 - i
    for i in range(3):
        for j in range(i, n):
            out = (out + i * j) % 10007
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 5, -3])
def test_ranges(n):
    check(ranges, n)


def accumulates(x):
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i].sum()
    return acc


def accumulates_elements(x):
    acc = 0
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            acc = acc + x[i, j] * i
    return acc * x


def accumulates_numbers(x):
    s = 0
    for i in range(x.shape[0]):
        s += i * 0.5
    return s


@pytest.mark.parametrize("function", [accumulates, accumulates_elements, accumulates_numbers])
@pytest.mark.parametrize("x", [X, X.astype(np.int16), X[:1], X[:0], X[:, :1]], ids=["f32", "i16", "one", "none", "column"])
def test_an_accumulator_may_start_as_a_python_number(function, x):
    check(function, x)


def test_a_nested_loop_that_never_runs_leaves_the_number():
    check(accumulates_elements, X[:, :0])


def rows(x):
    t = x[0]
    for r in x:
        t = t + r
    for i, r in enumerate(x):
        t = t * i + r
    for a, b in zip(x, x[1:]):
        t = t + a * b
    for r in reversed(x):
        t = t - r
    return t


def test_rows_enumerate_zip_and_reversed():
    check(rows, X)
    check(rows, X[:1])


def stops(x):
    for i in range(10):
        if x.sum() > 100:
            break
        if i % 2 == 0:
            continue
        x = x * 1.5 + i
    return x


def counts(x):
    n = 0
    while True:
        n += 1
        if n >= 3:
            break
    k = 0
    while x.max() < 50 and k < 20:
        x = x * 2
        k += 1
    while k > 100:
        k -= 1
    return x, n, k


def skips(x):
    k = 0
    while k < 5:
        k += 1
        if k == 2:
            continue
        if k > 4:
            break
        x = x + k
    return x, k


@pytest.mark.parametrize("function", [stops, counts, skips])
def test_break_continue_and_while(function):
    check(function, X)
    check(function, X + 40)


def counts_down(x, n):
    t = 0.0
    while (n := n - 1) > 0:
        t += n
    return t + x, n


def counts_down_with_exits(x, n):
    t = x * 0
    while (n := n - 1) > 0 and t.sum() < 100:
        if n == 7:
            continue
        t = t + x * n
        if t[0] > 15:
            break
    return x, t, n


def counts_over_structure(x, n):
    parts, t = [x, x * 2, x * 3], x * n
    while (left := len(parts)) > 1:
        parts = parts[1:]
        t = t + parts[0] * left
    return t, left


@pytest.mark.parametrize("function", [counts_down, counts_down_with_exits, counts_over_structure])
@pytest.mark.parametrize("n", [9, 5, 2])
def test_a_loop_whose_test_binds_a_name_has_it_anew_in_every_round(function, n):
    check(function, X, n)


def newton(a):
    x = a
    while abs(x * x - a) > 1e-9:
        x = (x + a / x) / 2
    return x


def test_while_over_numbers():
    check(newton, 2.0)
    check(newton, np.float64(9))


def written_out(xs, x):
    t = x * 0
    for a in xs:
        if a.sum() > 15:
            break
        t = t + a
    outs = []
    for i in range(3):
        outs.append(x[i] * i)
    while len(outs) > 1:
        outs = [outs[0] + outs[1], *outs[2:]]
    for w, k in zip([1, 2], ("a", "b")):
        t = t + w * (k == "b")
    for i in range(2):
        if i == 1:
            return t, outs
    return None


def test_loops_over_structure_are_written_out():
    check(written_out, [np.ones(4), np.ones(4) * 2, np.ones(4) * 9, np.ones(4)], X)
    check(written_out, [], X)


def strictly(xs, ys):
    t = 0
    for a, b in zip(xs, ys, strict=True):
        t = t + a * b
    return t


def test_zip_strict_of_different_lengths_is_pythons():
    check(strictly, [X, X], (X, 2))
    with pytest.raises(UnsupportedSyntax, match="of different lengths"):
        check(strictly, [X, X], [X])
    check(strictly, [], [])


def best(x):
    value, where = -np.inf, -1
    for i in range(x.shape[0]):
        v = float(x[i].sum())
        if v > value:
            value, where = v, i
    return value, where


def test_numbers_carried_through_a_loop():
    check(best, X)
    check(best, X[::-1])


def changing_rank(x):
    y = x
    for _ in range(2):
        y = y.sum(axis=0, keepdims=True)
    z = x
    for _ in range(x.shape[0]):
        z = z[None]
    return y, z


def test_a_loop_may_change_rank_and_dtype_of_what_it_carries():
    check(changing_rank, X)


def loop_variable(n):
    i = -1
    for i in range(n):
        pass
    return i


def test_the_loop_variable_keeps_its_last_value():
    check(loop_variable, 3)
    check(loop_variable, 0)


def silenced(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = 1 / x
    return y


def test_errstate_is_accepted():
    check(silenced, X)


def walrus(x):
    if (s := x.sum()) > 3:
        return s
    return -s


def test_assignment_expression():
    check(walrus, X)


def test_a_dynamic_loop_stays_a_loop():
    built, *_ = graph(ranges, 5)
    assert "torch.prim.Loop" in str(built.module)
    built, *_ = graph(stops, X)
    assert str(built.module).count("torch.prim.Loop %") == 1


def first_set_in_a_loop(x, n):
    for i in range(n):
        row = x[i] * 2
        position = i + 1
    return row, position


def first_set_in_a_while(x):
    while x.max() < 50:
        y = x + 1
        x = y * 2
    return y


def stopped_at(x, limit):
    for i in range(100):
        x = x * 2
        if x.max() > limit:
            break
    return x, i


def temporaries(x):
    total = 0.0
    for i in range(x.shape[0]):
        t = x[i].sum()
        total = total + t
    for i in range(x.shape[0]):
        t = x[i].max()
        total = total + t
    return total


def test_names_that_a_loop_sets_first():
    check(first_set_in_a_loop, X, 3)
    assert isinstance(check(first_set_in_a_loop, X, 0), UnboundLocalError)
    check(first_set_in_a_while, X)
    assert isinstance(check(first_set_in_a_while, X + 50), UnboundLocalError)
    check(stopped_at, X, 1000)
    check(stopped_at, X * 0, 1)
    check(temporaries, X)


def test_temporaries_of_loops_are_not_carried():
    def f(x):
        y = x[0]
        for i in range(x.shape[0]):
            t = x[i] * 2
            y = y + t
        for i in range(x.shape[0]):
            t = x[i] * 3
            y = y + t
        return y

    text = str(graph(f, X)[0].module)
    assert text.count("torch.prim.Loop %") == 2 and "prim.If" not in text


def test_assertions_are_left_out_as_python_leaves_them_out(tmp_path):
    path = tmp_path / "asserts.py"
    path.write_text(
        "import numpy as np, tierup\n@tierup.jit\ndef f(x):\n    assert x.sum() > 9\n    return x\nprint([f(np.ones(2)).sum() for _ in range(3)])\n"
    )
    root = Path(__file__).resolve().parents[2]
    run = [subprocess.run([sys.executable, *flags, str(path)], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True)
           for flags in (["-O"], [])]  # fmt: skip
    assert run[0].returncode == 0 and "2.0" in run[0].stdout, run[0].stderr
    assert "AssertionError" in run[1].stderr
