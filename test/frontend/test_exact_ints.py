"""Python's ints, of any size, in every tier: native code leaves to tier 0 what 64 bits do not hold, and nothing else."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from running import function_of, plain
from sampling import IS_EXHAUSTIVE, SEED, drawn

import tierup
from tierup.dialect.speculation.reasons import Reason

MODES = {
    "default": {}, "bailouts": {"speculate": "bailout"}, "simple": {"bailout_depth": 0}, "nothing": {"fusion_strategy": []},
    "plans": {"executor": "specializing"}, "no profile": {"num_profiled_runs": 0},
}  # fmt: skip
NATIVE = ("default", "bailouts", "plans", "no profile")
EDGES = [0, 1, -1, 7, 2**31 - 1, -(2**31), 3037000499, 3037000500, 2**62 - 1, 2**62, -(2**62), 2**63 - 1, -(2**63), -(2**63) + 1]
NEAR = st.sampled_from(EDGES).flatmap(lambda n: st.integers(max(n - 3, -(2**63)), min(n + 3, 2**63 - 1)))


def outcome(function, *args):
    """The result, or the class and the text of the exception."""
    try:
        return function(*args)
    except (ArithmeticError, ValueError) as e:
        return type(e), str(e)


def same(got, want):
    if isinstance(want, tuple):
        return isinstance(got, tuple) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, np.ndarray):
        return got.dtype == want.dtype and np.array_equal(got, want)
    return type(got) is type(want) and got == want


def arithmetic(a, b):
    return a + b, a - b, a * b, -a, ~b, abs(a), a**3, max(a, -b)


def bits(a, b):
    return a & b, a | b, a ^ b, a << (b & 70), a >> (b & 127)


def division(a, b):
    return a // b, a % b, divmod(b, a)


def loop(a, b):
    total, product = 0, 1
    for i in range(a & 7):
        total += i * b
        product *= b | 1
    return total, product


def searched(a, b):
    steps = 0
    while a != 1 and steps < 40:
        a = a // 2 if a % 2 == 0 else 3 * a + b
        steps += 1
    return a, steps


def ranged(a, b):
    rounds, last = 0, 0
    for i in range(a, b, 2**60):
        rounds, last = rounds + 1, i
    return rounds, last


FUNCTIONS = (arithmetic, bits, division, loop, searched, ranged)


@pytest.mark.parametrize(
    ("function", "mode"), drawn("exact ints", list(itertools.product(FUNCTIONS, MODES)), 3, lambda row: row[0]), ids=lambda v: getattr(v, "__name__", v)
)
def test_ints_are_pythons_whatever_their_size(function, mode):
    jitted = tierup.jit(function, **MODES[mode])
    chance = random.Random(f"{SEED} {function.__name__}")
    for a, b in [(3, 4), (3, 4), (5, 6), *chance.sample(list(itertools.product(EDGES, repeat=2)), 60)]:
        want = outcome(function, a, b)
        assert same(outcome(jitted, a, b), want), (a, b)
    stats = jitted.stats()
    assert (stats.hits > 1) is (mode in NATIVE) and (stats.misses > 0) is (mode in NATIVE and function is not division)


native = {function: tierup.jit(function) for function in FUNCTIONS}


@given(st.sampled_from(FUNCTIONS), NEAR, NEAR)
@example(division, -(2**63), -1)
def test_at_every_edge(function, a, b):
    assert same(outcome(native[function], a, b), outcome(function, a, b))


def written(x, n):
    x[0] += 1
    m = n * n
    x[1] += m % 1000
    if m > 10**18:
        x[2] = 5
    return m


def split(x, n):
    m = n * n + 1
    y = np.argpartition(x + m % 11, -1)  # tier 0's
    return np.exp(-y) * (m % 7), m


def mixed(x, n):
    m = n * 3
    return x + m % 7, x * 2.0 + m, np.int64(2**62) * 2 + x, x * x


def of_arrays(x, n):
    total = 0
    for i in range(len(x)):
        total += (int(x[i]) >> 40) * n
    return total, int(float(n) * 4.0)


@pytest.mark.parametrize(
    ("function", "mode"),
    drawn("exact ints that are written", list(itertools.product((written, split, mixed, of_arrays), MODES)), 3, lambda row: row[0]),
    ids=lambda v: getattr(v, "__name__", v),
)
def test_what_is_written_is_written_once_and_arrays_wrap_as_numpys(function, mode):
    jitted = tierup.jit(function, **MODES[mode])
    for n in (3, 3, 4, 5, 2**31, 2**40, 2, -(2**62), 2**63 - 1, 3, 6):
        x, y = np.array([3, 2**62, 5]), np.array([3, 2**62, 5])
        with np.errstate(all="ignore"):
            want = function(y, n)
        got = jitted(x, n)
        assert same(x, y), n
        if function is split:
            np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
            got, want = got[1], want[1]
        assert same(got, want), n
    assert (jitted.stats().hits > 1) is (mode in NATIVE)


def drawn_program(chance):
    """Statements on ints that meet loops, branches and one another."""
    names = ["a", "b", "c"]
    number = lambda: chance.choice(["2", "3", "-7", "11", "2**31", "(2**62 - 1)", "1103515245", "9223372036854775807"])

    def term(depth=2):
        if depth == 0 or chance.random() < 0.25:
            return chance.choice([*names, *names, number()])
        x, y = term(depth - 1), term(depth - 1)
        return chance.choice([
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"(-{x})", f"abs({x})", f"({x} // ({y} | 1))", f"({x} % ({y} | 1))", f"({x} & {y})",
            f"({x} ^ {y})", f"({x} << ({y} & 33))", f"({x} >> ({y} & 66))", f"max({x}, {y})", f"{x} if {x} < {y} else {y}",
        ])  # fmt: skip

    lines = ["def f(a, b):", "    c = 1"]
    for _ in range(3):
        kind, name = chance.choice(["set", "if", "for", "while"]), chance.choice(names)
        if kind == "set":
            lines += [f"    {name} = {term()}"]
        elif kind == "if":
            lines += [f"    if {term(1)} > {term(1)}:", f"        {name} = {term()}"]
        elif kind == "for":
            bounds = chance.choice(["b & 3", "1, 4", "a & 3, 5", "6, b & 3, -2", "a, a + 3"])
            lines += [f"    for i in range({bounds}):", f"        {name} = {term()} + i", f"        c = (c * 31 + {name}) % {chance.choice(['1000003', '2**61'])}"]
        else:
            lines += ["    k = 0", f"    while k < 3 and {name} < {number()}:", f"        {name} = {term(1)} + 1", "        k += 1"]
    return "\n".join([*lines, "    return a, b, c", ""])


@pytest.mark.parametrize("number", range(60 if IS_EXHAUSTIVE else 3))
def test_random_programs(number, tmp_path):
    chance = random.Random(f"{SEED} exact ints {number}")
    source = drawn_program(chance)
    oracle = plain(source)
    for mode in (chance.choice(NATIVE), chance.choice(list(MODES))):
        jitted = tierup.jit(function_of(source, tmp_path), **MODES[mode])
        for a, b in [(3, 4), (1, 2), (2, 5), *((chance.choice(EDGES), chance.choice(EDGES)) for _ in range(40))]:
            assert same(outcome(jitted, a, b), outcome(oracle, a, b)), (mode, a, b, source)
        assert jitted.stats().compiles > 0 or mode not in NATIVE, source


def test_where_most_calls_have_large_ints_python_answers():
    jitted = tierup.jit(arithmetic)
    for n in (2, 3, *[2**62] * 12):
        jitted(n, n)
    assert jitted.stats().misses <= 8 and "ints of more than 64 bits in most of its calls" in jitted.explain()
    seldom = tierup.jit(arithmetic)
    for n in [2, 3, 4, 5, 2**62] * 12:
        seldom(n, n)
    assert seldom.stats().misses == 12 and Reason.INT_TOO_LARGE.sentence in seldom.explain() and seldom.stats().compiles == 1


def congruential(n, x):
    x &= 0xFFFF
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2**31
    return x


def counted(x):
    count = 0
    for i in range(1, len(x) - 1):
        if x[i - 1] + x[2 * i % len(x)] > x[i + 1]:
            count += 1
    return count


def rows(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1, 0, -1):
            y[i, j] = x[i, j - 1] * (i * 8 + j)
    return y.sum()


@pytest.mark.parametrize(("function", "arguments"), [
    (congruential, (50, 12345)), (counted, (np.arange(9.0),)), (rows, (np.ones((3, 4)),)),
], ids=["congruential", "counted", "rows"])  # fmt: skip
def test_what_is_proven_to_fit_is_not_checked(function, arguments):
    jitted = tierup.jit(function)
    for _ in range(3):
        assert jitted(*arguments) == function(*arguments)
    assert "mul_fits" not in jitted.plan("torch") and "add_fits" not in jitted.plan("torch")
    assert jitted.stats().hits == 2


def test_sizes_that_no_memory_has_are_tier_0s():
    def ends(x):
        return len(x) * 3000000 + 1

    jitted = tierup.jit(ends)
    for n in (5, 6, 7, 8, 2**60, 9):
        x = np.broadcast_to(np.int8(1), (n,))
        assert jitted(x) == n * 3000000 + 1
    assert jitted.stats().hits > 0
