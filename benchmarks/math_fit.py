"""Fits the polynomials of lowering/math and writes lowering/math/coefficients.json. Needs mpmath; takes a minute or two.

    python benchmarks/math_fit.py

Each fit is a minimax polynomial of the weighted error (Remez's exchange algorithm on a dense grid, in 60 digits), of the
least degree that keeps the bound. Coefficients are then rounded to the format; the error printed is the one after rounding.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[mpf], mpf]
BOUNDS = {"f32": -28, "narrow": -36, "f64": -58}  # log2 of the weighted error that a table may have
OUTPUT = Path(__file__).resolve().parent.parent / "lowering" / "math" / "coefficients.json"


@dataclass(frozen=True)
class Fit:
    """`function` is approximated on [low, high]; `weight` turns its error into the result's relative error."""

    name: str
    text: str
    function: Function
    weight: Function
    intervals: dict[str, tuple[float, float]]  # by grade
    bounds: dict[str, int] | None = None


def everywhere(low: float, high: float, *grades: str) -> dict[str, tuple[float, float]]:
    return {grade: (low, high) for grade in grades or ("f32", "narrow", "f64")}


def erfcx_over(t: mpf, center: int) -> mpf:
    """erfcx(a) / t for t = 1 / (a + center)."""
    a = 1 / t - center
    return mp.erfc(a) * mp.exp(a * a) / t


def middle(center: int, high: float) -> tuple[float, tuple[float, float]]:
    """The middle of 1 / (a + center) for a of [1/2, high], and the interval around it. The middle is short: exact in f32."""
    ends = 1 / (high + center), 1 / (0.5 + center)
    mid = float(np.float32(sum(ends) / 2))
    return mid, (ends[0] - mid, ends[1] - mid)


ERFC_F32, ERFC_F64 = middle(2, 10.2), middle(4, 27.4)


HALF_LN2 = float(mp.log(2) / 2) * 1.0001
QUARTER_PI = float(mp.pi / 4) * 1.0001
LOG_Z = float((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * 1.0001
TAN_EIGHTH = 0.41421357**2


def root(z: mpf) -> mpf:
    return mp.sqrt(z)


FITS = [
    Fit(
        "exp", "exp(r) = 1 + r + r**2 * P(r), |r| <= log(2)/2; bounded for expm1(r) too",
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), everywhere(-HALF_LN2, HALF_LN2),
    ),
    Fit(
        "log", "2 * atanh(s) = 2*s + s * z * P(z), z = s**2; s = f / (2 + f) gives log(1 + f)",
        lambda z: (2 * mp.atanh(root(z)) / root(z) - 2) / z, lambda z: z / 2, everywhere(0, LOG_Z),
        {"f32": -28, "narrow": -44, "f64": -58},
    ),
    Fit(
        "atanh_tail", "atanh(s) = s + s**3/3 + s**5/5 + s**7 * P(z), z = s**2",
        lambda z: (mp.atanh(root(z)) / root(z) - 1 - z / 3 - z * z / 5) / z**3, lambda z: z**3, everywhere(0, LOG_Z, "f64"),
        {"f64": -72},
    ),
    Fit(
        "tanh", "tanh(x) = x + x**3 * P(x**2), |x| <= 0.625",
        lambda z: (mp.tanh(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.tanh(root(z)), everywhere(0, 0.3907, "f32", "f64"),
    ),
    Fit(
        "erf", "erf(x) = x + x * P(x**2), |x| <= 0.75",
        lambda z: mp.erf(root(z)) / root(z) - 1, lambda z: root(z) / mp.erf(root(z)), everywhere(0, 0.5626, "f32", "f64"),
    ),
    Fit(
        "erfcx2", "exp(a**2) * erfc(a) = t * P(t - middle), t = 1 / (a + 2), 0.5 <= a <= 10.2 (f32)",
        lambda u: erfcx_over(u + ERFC_F32[0], 2), lambda u: 1 / erfcx_over(u + ERFC_F32[0], 2), {"f32": ERFC_F32[1]},
    ),
    Fit(
        "erfcx4", "exp(a**2) * erfc(a) = t * P(t - middle), t = 1 / (a + 4), 0.5 <= a <= 27.4 (f64)",
        lambda u: erfcx_over(u + ERFC_F64[0], 4), lambda u: 1 / erfcx_over(u + ERFC_F64[0], 4), {"f64": ERFC_F64[1]},
    ),
    Fit(
        "sin", "sin(r) = r + r**3 * P(r**2), |r| <= pi/4",
        lambda z: (mp.sin(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.sin(root(z)),
        everywhere(0, QUARTER_PI**2, "narrow", "f64"),
    ),
    Fit(
        "cos", "cos(r) = 1 - r**2/2 + r**4 * P(r**2), |r| <= pi/4",
        lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, lambda z: z**2 / mp.cos(root(z)),
        everywhere(0, QUARTER_PI**2, "narrow", "f64"),
    ),
    Fit(
        "atan", "atan(t) = t + t**3 * P(t**2), |t| <= tan(pi/8)",
        lambda z: (mp.atan(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.atan(root(z)),
        everywhere(0, TAN_EIGHTH, "narrow", "f64"),
    ),
    Fit(
        "asin", "asin(x) = x + x**3 * P(x**2), |x| <= 1/2",
        lambda z: (mp.asin(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.asin(root(z)),
        everywhere(0, 0.25, "narrow", "f64"),
    ),
    Fit(
        "cbrt", "cbrt(m), sqrt(1/2) <= m <= sqrt(2), to start an iteration from",
        lambda m: mp.cbrt(m), lambda m: 1 / mp.cbrt(m), everywhere(0.7, 1.42, "f64"), {"f64": -14},
    ),
]  # fmt: skip


def remez(powers: range, xs: list[mpf], fs: list[mpf], ws: list[mpf]) -> tuple[list[mpf], mpf]:
    """Coefficients of x**p, p in powers, that minimise max |w * (f - P)| on the grid, and that maximum."""
    count = len(powers) + 1
    chosen = [round((len(xs) - 1) * (1 - np.cos(np.pi * i / (count - 1))) / 2) for i in range(count)]
    for _ in range(60):
        rows = [[xs[i] ** p for p in powers] + [(-1) ** k / ws[i]] for k, i in enumerate(chosen)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([fs[i] for i in chosen]))
        coefficients, level = list(solution)[:-1], abs(solution[count - 1])
        errors = [w * (f - mp.polyval(coefficients[::-1], x) * x**powers.start) for x, f, w in zip(xs, fs, ws, strict=True)]
        # one extremum from each run of equal sign
        extrema: list[int] = []
        for i, error in enumerate(errors):
            if extrema and (errors[extrema[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > count:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        worst = max(abs(e) for e in errors)
        if len(extrema) < count or worst <= level * (1 + mpf(10) ** -6) or extrema == chosen:
            return coefficients, worst
        chosen = extrema
    return coefficients, worst


def rounded(x: mpf, grade: str) -> float:
    return float(np.float32(float(x))) if grade == "f32" else float(x)


def fit(spec: Fit, grade: str) -> tuple[list[float], float]:
    """Coefficients in the format, lowest first, and log2 of the weighted error they leave."""
    low, high = (mpf(v) for v in spec.intervals[grade])
    nodes = 800
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes)) for i in range(nodes)]
    fs, ws = [spec.function(x) for x in xs], [abs(spec.weight(x)) for x in xs]
    bound = mpf(2) ** (spec.bounds or BOUNDS)[grade]
    terms = next(n for n in range(2, 40) if remez(range(n), xs, fs, ws)[1] < bound)
    exact, _ = remez(range(terms), xs, fs, ws)
    kept = [rounded(c, grade) for c in exact]
    left = [w * abs(f - mp.polyval(kept[::-1], x)) for x, f, w in zip(xs, fs, ws, strict=True)]
    return kept, float(mp.log(max(left), 2))


def split(x: mpf, bits: list[int], f32: bool = False) -> list[float]:
    """x as a sum of floats: parts of the given numbers of bits, then the rest, rounded."""
    parts = []
    for b in bits:
        exponent = int(mp.floor(mp.log(abs(x), 2))) + 1 - b
        part = mp.nint(mp.ldexp(x, -exponent))
        parts.append(float(mp.ldexp(part, exponent)))
        x -= mp.ldexp(part, exponent)
    return parts + [rounded(x, "f32" if f32 else "f64")]


def pieces(x: mpf, bits: int, count: int) -> list[float]:
    """The binary digits of 0 < x < 1 in groups, each scaled to below 1, as the true weights would leave the exponent range."""
    return [float(mp.floor(mp.ldexp(x, bits * (i + 1))) % (mpf(2) ** bits) / mpf(2) ** bits) for i in range(count)]


def pairs(x: mpf) -> dict[str, list[float]]:
    f32 = rounded(x, "f32")
    return {"f32": [f32, rounded(x - f32, "f32")], "f64": split(x, [53])}


def shortened(x: mpf) -> dict[str, list[float]]:
    """hi + lo with room in hi for a factor that is an exponent."""
    return {"f32": split(x, [15], True), "f64": split(x, [40])}


def constants() -> dict[str, tuple[str, dict[str, list[float]]]]:
    ln2, pi = mp.log(2), mp.pi
    with mp.workdps(500):
        two_over_pi = 2 / +mp.pi
        short_pieces, long_pieces = pieces(two_over_pi, 29, 7), pieces(two_over_pi, 53, 24)
    return {
        "erfcx_middle": ("middle of the intervals of erfcx2 and erfcx4", {"f32": [ERFC_F32[0]], "f64": [ERFC_F64[0]]}),
        "ln2_short": ("log(2) as hi + lo; k * hi is exact for exponents k", shortened(ln2)),
        "ln2": ("log(2) as hi + lo", pairs(ln2)),
        "log2_e": ("1 / log(2) as hi + lo", pairs(1 / ln2)),
        "log10_e": ("1 / log(10) as hi + lo", pairs(1 / mp.log(10))),
        "log10_2": ("log10(2) as hi + lo; k * hi is exact for exponents k", shortened(mp.log10(2))),
        "half_pi": ("pi/2 as hi + lo", pairs(pi / 2)),
        "pi": ("pi as hi + lo", pairs(pi)),
        "quarter_pi": ("pi/4 as hi + lo", pairs(pi / 4)),
        "third": ("1/3 as hi + lo", pairs(mpf(1) / 3)),
        "fifth": ("1/5 as hi + lo", pairs(mpf(1) / 5)),
        "two_over_pi": (
            "2/pi in pieces of 29 (narrow) or 53 bits; piece i stands for itself * 2**(-bits * i)",
            {"narrow": short_pieces, "f64": long_pieces},
        ),
    }  # fmt: skip


def main() -> None:
    tables: dict[str, list[str]] = {}
    for spec in FITS:
        fitted = {grade: fit(spec, grade) for grade in spec.intervals}
        for grade, (values, error) in fitted.items():
            print(f"{spec.name:12} {grade:7} {len(values):3} terms, error 2**{error:.1f}", flush=True)
        errors = {grade: f"2**{error:.1f}" for grade, (_, error) in fitted.items()}
        tables[spec.name] = entry(about=spec.text, error=errors, **{grade: values for grade, (values, _) in fitted.items()})
    for name, (text, grades) in constants().items():
        tables[name] = entry(about=text, **grades)
    OUTPUT.write_text("{\n" + ",\n".join(f' "{name}": {{\n' + ",\n".join(rows) + "\n }" for name, rows in tables.items()) + "\n}\n")


def entry(**fields: object) -> list[str]:
    """A line for each field of a table."""
    return [f'  "{name}": {json.dumps(value)}' for name, value in fields.items()]


if __name__ == "__main__":
    main()
