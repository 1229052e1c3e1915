"""Operators on two Python numbers, in tier 0 and natively: Python's value, type and exception."""

import itertools
import math

import numpy as np
import pytest
from sampling import drawn

import tierup

NUMBERS = {
    "int": [0, 1, -1, 2, 3, -7, 63, 64, 70, -64, 2**31, 2**62, -(2**62)],
    "float": [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, -2.5, 7.25, 1e16, 1e308, -1e308, -1e-300, 5e-324, math.inf, -math.inf, math.nan],
    "bool": [True, False],
}  # fmt: skip


def power(a, b):
    return a**b


def squared(a, b):
    return a**2, b**-1


def power_of_a_half(a, b):
    return a**0.5, b


def power_of_two(a, b):
    return 2.0**a, b


def floored(a, b):
    return a // b


def remainder(a, b):
    return a % b


def both_by_divmod(a, b):
    return divmod(a, b)


def sums(a, b):
    return a + b, a - b, a * b, -a, ~int(b == 1)


def divided(a, b):
    return a / b


def left(a, b):
    return a << b


def right(a, b):
    return a >> b


def bits(a, b):
    return a & b, a | b, a ^ b


def compared(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b


ANY = (power, squared, power_of_a_half, power_of_two, floored, remainder, both_by_divmod, sums, divided, compared)
CASES = [(f, a, b) for f in ANY for a, b in itertools.product(NUMBERS, NUMBERS) if not (f is power and "float" not in (a, b))]
CASES += [(f, a, b) for f in (left, right, bits) for a, b in itertools.product(("int", "bool"), repeat=2)]


def outcome(function, *args):
    """The result, or the class of the exception and what it says."""
    try:
        return function(*args)
    except (ArithmeticError, ValueError) as e:
        return type(e), str(e)


def same(got, want, ulps):
    if type(got) is not type(want):
        return False
    if isinstance(want, tuple):
        return all(same(g, w, ulps) for g, w in zip(got, want, strict=True))
    if not isinstance(want, float) or want != want:
        return got == want or (got != got and want != want)
    return (got == want or abs(got - want) <= ulps * math.ulp(want)) and math.copysign(1, got) == math.copysign(1, want)


@pytest.mark.parametrize(
    ("function", "a", "b"), drawn("number arithmetic", CASES, 3, lambda c: c[0].__name__), ids=lambda v: getattr(v, "__name__", v)
)
def test_numbers_are_computed_as_python_does_in_every_tier(function, a, b):
    jitted = tierup.jit(function)
    ulps = 1 if function in (power, power_of_a_half, power_of_two) else 0
    for x, y in itertools.product(NUMBERS[a], NUMBERS[b]):
        if function is left and y > 100:
            continue  # Python has no memory for it
        want = outcome(function, x, y)
        for call in range(2):
            got = outcome(jitted, x, y)
            assert same(got, want, ulps), f"call {call} of {function.__name__}({x}, {y}): {got}, not {want}"
    assert jitted.stats().hits > len(NUMBERS[a]) and jitted.stats().interpreted == 0


def test_a_negative_float_has_whole_powers():
    """What an exponent is hangs on its value, not on its type."""
    jitted = tierup.jit(power)
    assert [jitted(-2.0, 3.0) for _ in range(3)] == [-8.0] * 3
    assert jitted(-2.0, 0.5) == (-2.0) ** 0.5  # a complex number, which Python computes


@tierup.jit
def divided(x, n):
    return x // n, x % n, np.fmod(x, n), x % len(x[x > 3])


def test_ints_divided_by_a_number_that_only_the_call_tells_are_native_and_numpys():
    x = np.array([7, -7, 0, 5, -(2**63)])
    with np.errstate(all="ignore"):
        for n in (3, 3, 4, -4, 0, 1, -1, -(2**63), 0):
            for y in (x, x - 10):
                for got, want in zip(divided(y, n), divided.__wrapped__(y, n), strict=True):
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got, want)
    assert divided.stats().hits >= 10
