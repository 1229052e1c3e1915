"""Symbolic sizes: integers, symbols, and the sums, products and quotients of them that shapes are made of.

A dim is a Python int when it is known, else an `Expr`. An `Expr` is kept as a canonical polynomial with integer
coefficients over atoms, so that two spellings of one size (`2*s0 + s0` and `3*s0`) are equal as Python values. Atoms are
symbols (`s0`) and the quotients, remainders and maxima that no polynomial can say.

Every symbol stands for a size of at least `Symbol.low` (2 unless told): sizes 0 and 1 are always static, because
broadcasting treats them differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Union

Dim = Union[int, "Expr"]


@dataclass(frozen=True, order=True)
class Symbol:
    """A size known only at run time. Where it comes from: `s<n>` an argument's dim, `u<n>` a size the program computes."""

    name: str
    low: int = 2

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Call:
    """A non-polynomial atom: floordiv, mod or max of dims."""

    fn: str
    args: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.fn}({', '.join(str(a) for a in self.args)})"


Atom = Union[Symbol, Call]
Monomial = tuple[tuple[str, Atom, int], ...]  # (sort key, atom, power), sorted


@dataclass(frozen=True)
class Expr:
    """A canonical polynomial: {monomial: coefficient}, no zero coefficients, at least one atom. Build it with operators."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        sums: dict[Monomial, int] = dict(self.terms)
        for mono, coef in _terms(other):
            sums[mono] = sums.get(mono, 0) + coef
        return _make(sums)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + (-1 * other)

    def __rsub__(self, other: int) -> Dim:
        return (-1 * self) + other

    def __mul__(self, other: Dim) -> Dim:
        product: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in _terms(other):
                mono = _times(m1, m2)
                product[mono] = product.get(mono, 0) + c1 * c2
        return _make(product)

    __rmul__ = __mul__

    def __mod__(self, other: Dim) -> Dim:
        return mod(self, other)

    def symbols(self) -> frozenset[Symbol]:
        """All symbols in the expression, also those in the arguments of calls."""
        found: set[Symbol] = set()
        for mono, _ in self.terms:
            for _, atom, _ in mono:
                if isinstance(atom, Symbol):
                    found.add(atom)
                else:
                    for arg in atom.args:
                        found |= symbols(arg)
        return frozenset(found)

    def lower_bound(self) -> int | None:
        """The least value, given each symbol's `low`; None when a negative term or a quotient hides it."""
        total = 0
        for mono, coef in self.terms:
            least = 1
            for _, atom, power in mono:
                low = atom.low if isinstance(atom, Symbol) else _low_of_call(atom)
                if low is None:
                    return None
                least *= low**power
            if coef < 0:
                if mono:
                    return None
                least = 1
            total += coef * least
        return total

    def __str__(self) -> str:
        parts = []
        for mono, coef in self.terms:
            factors = [str(atom) if power == 1 else f"{atom}^{power}" for _, atom, power in mono]
            if coef != 1 or not factors:
                factors.insert(0, str(coef))
            parts.append("*".join(factors))
        return " + ".join(parts)

    __repr__ = __str__


def _low_of_call(call: Call) -> int | None:
    """The least value of an extreme or of a quotient by a number, None where it may be negative, or is not known; so for remainders."""
    lows = [arg if isinstance(arg, int) else arg.lower_bound() for arg in call.args]
    known = [low for low in lows if low is not None]
    if not known or (call.fn != "max" and len(known) < len(lows)):
        return None
    if call.fn == "floordiv":
        low = known[0] // known[1] if isinstance(call.args[1], int) and known[1] > 0 else -1
    else:
        low = max(known) if call.fn == "max" else min(known) if call.fn == "min" else -1
    return low if low >= 0 else None


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(dim, Expr):
        return dim.terms
    return (((), dim),) if dim else ()


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers: dict[Atom, int] = {}
    for _, atom, power in (*a, *b):
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted((str(atom), atom, power) for atom, power in powers.items()))


def _make(terms: Mapping[Monomial, int]) -> Dim:
    kept = {mono: coef for mono, coef in terms.items() if coef}
    if not kept:
        return 0
    if list(kept) == [()]:
        return kept[()]
    # constants last, so that text reads `s0 + 1`
    return Expr(tuple(sorted(kept.items(), key=lambda t: (not t[0], [key for key, _, _ in t[0]], t[1]))))


def polynomial(terms: Iterable[tuple[int, Iterable[tuple[Atom, int]]]]) -> Dim:
    """The sum of products of a coefficient and powers of atoms, in one go: adding them up one by one takes their number squared."""
    sums: dict[Monomial, int] = {}
    for coefficient, factors in terms:
        powers: dict[Atom, int] = {}
        for factor, power in factors:
            powers[factor] = powers.get(factor, 0) + power
        mono = tuple(sorted((str(a), a, power) for a, power in powers.items() if power))
        sums[mono] = sums.get(mono, 0) + coefficient
    return _make(sums)


def atom(a: Atom) -> Expr:
    """A symbol, or a division or remainder of others, as an expression."""
    return Expr(((((str(a), a, 1),), 1),))


def symbol(name: str, low: int = 2) -> Expr:
    """A symbol of at least `low`, as an expression."""
    return atom(Symbol(name, low))


def symbols(dim: Dim) -> frozenset[Symbol]:
    """The symbols in a size; none in a number."""
    return dim.symbols() if isinstance(dim, Expr) else frozenset()


def _exact_quotient(a: Expr, b: Dim) -> Dim | None:
    """a / b when b is one term that divides every term of a, else None."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    (dmono, dcoef), *_ = divisor
    out: dict[Monomial, int] = {}
    for mono, coef in a.terms:
        if coef % dcoef:
            return None
        powers = {atom_: power for _, atom_, power in mono}
        for _, atom_, power in dmono:
            powers[atom_] = powers.get(atom_, 0) - power
            if powers[atom_] < 0:
                return None
        out[tuple(sorted((str(k), k, p) for k, p in powers.items() if p))] = coef // dcoef
    return _make(out)


def floordiv(a: Dim, b: Dim) -> Dim:
    """a // b, simplified when b divides a term by term. Raises ZeroDivisionError for a static zero divisor."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1:
        return a
    if isinstance(a, Expr):
        exact = _exact_quotient(a, b)
        if exact is not None:
            return exact
    return atom(Call("floordiv", (a, b)))


def mod(a: Dim, b: Dim) -> Dim:
    """a % b, simplified when b divides a term by term."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(a, Expr) and _exact_quotient(a, b) is not None:
        return 0
    return atom(Call("mod", (a, b)))


def maximum(a: Dim, b: Dim) -> Dim:
    """max(a, b), decided when the bounds allow."""
    return _extreme("max", a, b)


def minimum(a: Dim, b: Dim) -> Dim:
    """min(a, b), decided when the bounds allow."""
    return _extreme("min", a, b)


def _extreme(fn: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if fn == "max" else min(a, b)
    if at_least(a - b, 0):
        return a if fn == "max" else b
    if at_least(b - a, 0):
        return b if fn == "max" else a
    if fn == "max" and 0 in (a, b):
        for call, rest in _less_a_minimum(b if a == 0 else a):
            if rest in call.args:  # x - min(x, y) is max(x - y, 0): what x[1:] has left
                return maximum(rest - call.args[call.args[0] == rest], 0)
    return atom(Call(fn, tuple(sorted((a, b), key=str))))


def _less_a_minimum(dim: Dim) -> Iterator[tuple[Call, Dim]]:
    """Minima that are taken away once in a sum, and the rest of it."""
    for mono, coefficient in _terms(dim):
        if coefficient == -1 and len(mono) == 1 and isinstance(mono[0][1], Call) and mono[0][1].fn == "min" and mono[0][2] == 1:
            yield mono[0][1], dim + atom(mono[0][1])


def at_least(dim: Dim, bound: int) -> bool:
    """Whether dim >= bound for all values of its symbols, as far as bounds can prove it."""
    if isinstance(dim, int):
        return dim >= bound
    low = dim.lower_bound()
    return low is not None and low >= bound


def where_positive(dim: Dim) -> Dim:
    """What max(a, 0) - b is where it is above 0, for a number b of at least 0: a - b. Any other dim is itself."""
    terms = _terms(dim)
    if not terms or isinstance(dim, int) or any(coef > 0 for _, coef in terms[1:]) or any(mono for mono, _ in terms[1:]):
        return dim
    (mono, coef), *_ = terms
    known = mono[0][1] if len(mono) == 1 and mono[0][2] == coef == 1 else None
    if not isinstance(known, Call) or known.fn != "max" or 0 not in known.args:
        return dim
    return dim - atom(known) + next(a for a in known.args if a != 0)


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """`dim` with symbols replaced by name; symbols not named stay."""
    if not isinstance(dim, Expr):
        return dim
    total: Dim = 0
    for mono, coef in dim.terms:
        term: Dim = coef
        for _, atom_, power in mono:
            if isinstance(atom_, Symbol):
                factor: Dim = values.get(atom_.name, atom(atom_))
            else:
                args = tuple(substitute(a, values) for a in atom_.args)
                factor = _CALLS[atom_.fn](*args)
            for _ in range(power):
                term = term * factor
        total = total + term
    return total


_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {"floordiv": floordiv, "mod": mod, "max": maximum, "min": minimum}


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """The number that `dim` is for these sizes. Raises KeyError for a symbol without a value."""
    result = substitute(dim, values)
    if isinstance(result, Expr):
        missing = sorted(s.name for s in result.symbols())
        raise KeyError(f"no value for {', '.join(missing)}")
    return result
