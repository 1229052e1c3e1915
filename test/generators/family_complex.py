"""Python's complex numbers, beside its other numbers."""

from __future__ import annotations

from draft import Draft
from families import statement

MADE = ("complex(A, B)", "complex(A)", "A + 1j * B", "A * (0.5 - 2j)", "1j", "A - 1j", "complex(B, -0.0)", "complex(float(A), 0.5)")
RULES = (
    "Z + W", "Z - W", "Z * W", "Z / W", "Z * A", "A - Z", "Z + A", "A / Z", "Z / A", "-Z", "+Z", "Z ** 2", "Z ** 3", "Z.conjugate()", "Z.conjugate() * W", "Z if A else W",
    "Z * 2j + 1", "Z or W", "Z and W", "complex(Z)", "complex(Z.imag, Z.real)", "Z ** 0.5", "Z ** A", "(Z, W)[1]", "sum([Z, W], A)",
)  # fmt: skip
OF = ("Z.real", "Z.imag", "abs(Z)", "Z == W", "Z != W", "bool(Z)", "not Z", "Z == A", "Z.real * Z.real + Z.imag * Z.imag", "abs(Z - W) < 1", "isinstance(Z, complex)", "Z < W")


def filled(d: Draft, text: str) -> str:
    """`Z` and `W` are complex numbers, `A` and `B` others."""
    for letter in "AB":
        if letter in text:
            text = text.replace(letter, d.number_((int, float, bool)))
    for letter in "ZW":
        if letter in text:
            text = text.replace(letter, d.number_((complex,)))
    return text


@statement("complex", 1)
def made(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d, d.of(*MADE))}"])


@statement("complex", 2)
def computed(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d, d.of(*RULES))}"])


@statement("complex", 1)
def asked(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d, d.of(*OF))}"])


@statement("complex", 1)
def repeated(d: Draft) -> bool:
    """An orbit: what a loop carries is complex from the start, or after the first round; it may be left early, by a bound on its size."""
    z, c, n, k = d.new(), d.number_((complex,)), d.of(2, 3, 5), d.new()
    if z == k:
        return False
    step = d.of("Z * Z + C", "Z / 2 + C", "C - Z", "Z ** 2 - 0.5", "Z.conjugate() * C").replace("Z", z).replace("C", c)
    lines = [f"{z} = {d.of('0j', '0', '0.5', c, '1 + 0j')}", f"{k} = 0", f"for _ in range({n}):"]
    if d.chance.random() < 0.6:
        lines += [f"    if {d.of(f'abs({z}) > 2', f'{z}.real > 1', f'not {z}', f'{z} == {c}')}:", f"        {d.of('break', 'continue', f'{k} += 1')}"]
    return d.keep([*lines, f"    {z} = {step}", f"    {k} += 1"])
