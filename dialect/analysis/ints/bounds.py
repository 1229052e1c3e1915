"""Bounds of an int: formulas of sizes that are at most, or at least, the value. Of one value several may be known, of which each holds."""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, at_least

_MOST = 4  # bounds of one value that are looked at
_LARGEST, _MOST_OF_A_SIZE = 1 << 50, 1 << 8  # in bounds


@dataclass(frozen=True)
class Bounds:
    """Each of `lows` is at most the value, each of `highs` at least."""

    lows: tuple[Dim, ...] = ()
    highs: tuple[Dim, ...] = ()

    def __and__(self, other: Bounds) -> Bounds:
        return bounds_of((*self.lows, *other.lows), (*self.highs, *other.highs))

    def plus(self, other: Bounds) -> Bounds:
        """Of a sum that is no other number: of one that saturates, too."""
        return bounds_of((a + b for a in self.lows for b in other.lows), (a + b for a in self.highs for b in other.highs))

    def __add__(self, other: Bounds) -> Bounds:
        """Of a sum in 64 bits: nothing is known on the side on which it might be another number."""
        fits_above = (self.highs and other.highs) or self.is_at_most(0) or other.is_at_most(0)
        fits_below = (self.lows and other.lows) or self.is_at_least(0) or other.is_at_least(0)
        lows = (a + b for a in self.lows for b in other.lows) if fits_above else ()
        return bounds_of(lows, (a + b for a in self.highs for b in other.highs) if fits_below else ())

    def __or__(self, other: Bounds) -> Bounds:
        """Of a value that is the one or the other."""
        return self.kept_by(other) & other.kept_by(self)

    def __neg__(self) -> Bounds:
        if not self.lows:
            return NOTHING  # the least int has no opposite
        return self.negated()

    def times(self, number: int) -> Bounds:
        """Of a multiple of the value, in 64 bits."""
        if abs(number) > 1 and not (self.lows and self.highs):
            return NOTHING
        return self.scaled(number)

    def scaled(self, number: int) -> Bounds:
        """Of a multiple of the value that is no other number: of one that saturates, too."""
        found = bounds_of((a * abs(number) for a in self.lows), (a * abs(number) for a in self.highs))
        return found if number >= 0 else found.negated()

    def negated(self) -> Bounds:
        """Of the opposite, which is no other number."""
        return bounds_of((-1 * a for a in self.highs), (-1 * a for a in self.lows))

    def kept_by(self, other: Bounds) -> Bounds:
        """Those that surely are bounds of another value, too."""
        return Bounds(tuple(filter(other.is_at_least, self.lows)), tuple(filter(other.is_at_most, self.highs)))

    def is_at_least(self, least: Dim) -> bool:
        """Whether the value surely is no less."""
        return any(at_least(a - least, 0) for a in self.lows)

    def is_at_most(self, most: Dim) -> bool:
        """Whether the value surely is no more."""
        return any(at_least(most - a, 0) for a in self.highs)

    def may_be(self, number: int) -> bool:
        """Whether the value may be this one."""
        return not self.is_at_least(number + 1) and not self.is_at_most(number - 1)

    def but(self, number: int) -> Bounds:
        """Of a value that is not this one."""
        lows, highs = (number + 1,) if self.is_at_least(number) else (), (number - 1,) if self.is_at_most(number) else ()
        return bounds_of((*lows, *self.lows), (*highs, *self.highs))


def bounds_of(lows: Iterable[Dim], highs: Iterable[Dim]) -> Bounds:
    """The first few of these, each once, that are small."""
    return Bounds(tuple(dict.fromkeys(filter(_is_small, lows)))[:_MOST], tuple(dict.fromkeys(filter(_is_small, highs)))[:_MOST])


def _is_small(bound: Dim) -> bool:
    """Whether sums of a few such bounds fit into 64 bits, sizes being below 2**48: no product of sizes, and small numbers."""
    if isinstance(bound, int):
        return abs(bound) <= _LARGEST
    factors = [(mono, coefficient) for mono, coefficient in bound.terms if mono]
    constant = sum(coefficient for mono, coefficient in bound.terms if not mono)
    return abs(constant) <= _LARGEST and all(len(mono) == mono[0][2] == 1 and abs(c) <= _MOST_OF_A_SIZE for mono, c in factors)


def exactly(size: Dim) -> Bounds:
    """Of a value that is this size."""
    return bounds_of((size,), (size,))


NOTHING = Bounds()
