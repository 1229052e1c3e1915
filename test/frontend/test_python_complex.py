"""Python's own complex numbers: arguments, what is computed with them, and what is returned. Plain Python is the oracle, to the bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import both, ending
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import drawn

import tierup
from tierup.frontend.python.operations import complex_scalars

SPECIAL = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e-320, 1e300, -1e200, 3.0, 1e-200)
COMPLEX = st.builds(complex, *[st.one_of(st.sampled_from(SPECIAL), st.floats(-1e3, 1e3))] * 2)
REAL = st.one_of(st.sampled_from(SPECIAL), st.floats(-1e3, 1e3), st.integers(-(2**60), 2**60), st.booleans())
RULES = {
    "sum": "z + w, z + a, a + z", "difference": "z - w, z - a, a - z", "product": "z * w, z * a, a * z", "quotient": "z / w", "quotient by a real": "z / a",
    "quotient of a real": "a / z", "powers": "z ** 2, z ** 3.0, z ** 13", "signs": "+z, -z, z.conjugate(), z.real, z.imag", "size": "abs(z)",
    "comparisons": "z == w, z != w, z == a, a != z, bool(z), not z, z or a, z and w", "made": "complex(a), complex(a, z.real), complex(z), complex(z.imag, a)",
    "with what is written down": "z * 2j, 1 - z, (z + 1) * (z - 1), z * -0.0, 1j * a, a + 0.5j, z == 1 + 0j",
}  # fmt: skip


def words(found: Any) -> Any:
    """An ending, by which signs of zeros and kinds differ; all NaNs are one."""
    return repr(found).replace("-nan", "nan")


@pytest.mark.parametrize("tier", [{"optimize": False}, {"weigh": False}], ids=["tier 0", "native"])
@pytest.mark.parametrize("rule", drawn("complex rules", [*RULES], 2))
def test_operators_are_pythons_to_the_bit(rule: str, tier: dict[str, Any], tmp_path: Path) -> None:
    _, plainly = both("z, w, a", f"return {RULES[rule]}", tmp_path)
    space: dict[str, Any] = {}
    source = tmp_path / "rule.py"
    source.write_text(f"def f(z, w, a):\n    return {RULES[rule]}\n")
    exec(compile(source.read_text(), str(source), "exec"), space)  # noqa: S102 - the lines above
    jitted = tierup.jit(space["f"], **tier)
    for number in (1.5, 2, True):  # a graph for each, and its code
        for _ in range(3):
            jitted(1 + 2j, 0.5j, number)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(COMPLEX, COMPLEX, REAL)
    def check(z: complex, w: complex, a: Any) -> None:
        found, wanted = ending(jitted, z, w, a), ending(plainly, z, w, a)
        if rule == "size" and isinstance(wanted, float) and math.isfinite(wanted):
            assert abs(found - wanted) <= 2 * math.ulp(wanted)  # the bound of hypot
        else:
            assert words(found) == words(wanted), (z, w, a)

    check()
    assert "optimize" in tier or jitted.stats().hits > 100, jitted.explain()


MANDELBROT = """
out = np.zeros((h, w), np.int64)
for i in range(h):
    for j in range(w):
        c = complex(-2 + 3 * j / w, -1 + 2 * i / h)
        z = START
        k = 0
        while abs(z) <= 2 and k < 30:
            z = z * z + c
            k += 1
        out[i, j] = k
return out
"""
PROGRAMS = {
    "escape": ("c, n", "z = 0j\nfor i in range(n):\n    z = z * z + c\n    if abs(z) > 2:\n        return i\nreturn n", [(0.1 + 0.2j, 40), (1 + 1j, 40), (-1.2j, 9)]),
    "a picture": ("w, h", MANDELBROT.replace("START", "0j"), [(12, 8), (7, 9), (12, 8)]),
    "a picture that starts with an int": ("w, h", MANDELBROT.replace("START", "0"), [(12, 8), (7, 9), (12, 8)]),
    "newton": ("z", "for k in range(60):\n    s = (z**3 - 1) / (3 * z**2)\n    z -= s\n    if abs(s) < 1e-12:\n        break\nreturn z, k", [(1j,), (2 - 1j,), (0j,), (-3 + 0.1j,)]),
    "polynomial": ("coefficients, z", "y = 0\nfor a in coefficients:\n    y = y * z + a\nreturn y", [([1.0, 2.0, 3.0], 1j), ([1, -2, 0.5], 2 + 1j)]),
    "sum over elements": ("x, t", "s = 0j\nfor k in range(len(x)):\n    s += x[k] * complex(t, -t)\nreturn s * 1j", [(np.arange(5.0), 0.5), (np.ones(3), 2.0)]),
    "from elements": ("x, y", "z = complex(x[0], y[1])\nreturn z, z * x, z + y[0], abs(z)", [(np.arange(1, 4.0), np.ones(3, np.float32)), (np.arange(3), np.arange(2.0))]),
    "stored": ("x, y", "out = np.zeros(len(x), complex)\nfor i in range(len(x)):\n    out[i] = complex(x[i], y[i]) ** 2 + 1\nreturn out", [(np.arange(4.0), np.ones(4))]),
    "of one kind or another": ("z, n", "return z * 2 if n > 1 else n", [(1j, 1), (1j, 2), (2 + 1j, 0)]),
    "in containers": ("p", "a, b = p['z']\nreturn {'s': a + b, 'l': [a * b, p['t'][0]]}", [({"z": (1j, 2 + 1j), "t": [3j]},), ({"z": (1.5j, 1j), "t": [-3j]},)]),
    "with a default": ("z, c=0.5j, *, k=1", "return z * c + k", [(1j,), (2 + 2j, 1j), (3j,)]),
    "branches": ("z, w", "if z == w:\n    v = z\nelif z:\n    v = w.conjugate()\nelse:\n    v = 1j\nreturn v, type(v) is complex, isinstance(v, (int, float))", [(1j, 1j), (1j, 2j), (0j, 1j)]),
    "with arrays": ("x, z", "y = x * z\ny += z\nreturn y, np.where(x > 0, y, z), np.array([z, 1, z * 2]), np.exp(z)", [(np.arange(-2, 3.0), 1 + 0.5j), (np.ones(3, np.float32), 2j)]),
    "beside scalars": ("x, z", "a, b = x[0], x[1]\nreturn z + a, a + z, z * b, z == a, a == z, z / x.sum(), type(z - a) is complex, 1j * a, a * 1j", [(np.arange(1, 4.0), 2 + 0j), (np.arange(3), 1j), (np.ones(2, np.float32), 0.5j)]),
    "parts of real numbers": ("a, n", "return a.real, a.imag, n.real, n.imag, (a * n).real", [(1.5, 2), (-0.0, 0), (2.5, -3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_what_python_does(name: str, tmp_path: Path) -> None:
    parameters, body, calls = PROGRAMS[name]
    jitted, plainly = both(parameters, body.strip(), tmp_path)
    for _ in range(3):
        for call in calls:
            found, wanted = ending(jitted, *call), ending(plainly, *call)
            if name == "with arrays":  # np.exp has a bound of its own
                np.testing.assert_allclose(found[3], wanted[3], rtol=1e-14)
                found, wanted = found[:3], wanted[:3]
            assert words(found) == words(wanted)
    assert jitted.stats().hits >= len(calls), jitted.explain()


def test_a_call_with_complex_numbers_reaches_native_code_without_python(tmp_path: Path) -> None:
    jitted, _ = both("z, w", "return z * w, [z + 1, w.imag]", tmp_path)
    for _ in range(50):
        assert jitted(1 + 2j, 3j) == ((1 + 2j) * 3j, [2 + 2j, 3.0])
    assert jitted.stats().hits == 49 and jitted.debug_state()
    with pytest.raises(TypeError):
        jitted("1j", 3j)
    for other in (np.complex128(1j), 2, 1.5):
        assert jitted(other, 3j)[0] == other * 3j and type(jitted(other, 3j)[0]) is type(other * 3j)


@pytest.mark.parametrize("stays_real", [False, True], ids=["to 3.13", "from 3.14 on"])
def test_real_operands_of_every_release_give_the_same_numbers(stays_real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3.14 on they stay real, which zeros and infinities tell."""
    monkeypatch.setattr(complex_scalars, "_STAYS_REAL", stays_real)
    for rule in ("sum", "difference", "product", "quotient", "quotient by a real", "quotient of a real", "powers", "with what is written down"):
        jitted, plainly = both("z, w, a", f"return {RULES[rule]}", tmp_path)
        for z, w, a in ((1 + 2j, 0.5 - 3j, 2.5), (-1.5 + 0.25j, 3 + 1j, -4.0), (2 - 7j, -0.5 - 0.125j, 3.0)):
            assert ending(jitted, z, w, a) == ending(plainly, z, w, a), rule
    jitted, plainly = both("z, w, a", "return z / w, z / a, a / z", tmp_path)
    for numbers in ((1j, 0j, 1.0), (1j, 1j, 0.0), (0j, 1j, 1.0)):
        assert type(ending(jitted, *numbers)) is type(ending(plainly, *numbers))


def test_what_no_complex_number_takes_is_pythons_error(tmp_path: Path) -> None:
    for body in ("return z < 1", "return z // 2", "return z % 2", "return ~z", "return int(z)", "return float(z)", "return divmod(z, 2)", "return z.size", "return round(z)"):
        jitted, plainly = both("z", body, tmp_path)
        for _ in range(3):
            assert ending(jitted, 1 + 1j) == ending(plainly, 1 + 1j)


def test_gradients_refuse_them_in_words() -> None:
    with pytest.raises((tierup.NotDifferentiable, TypeError), match="complex"):
        tierup.grad(lambda z: abs(z))(1j)
