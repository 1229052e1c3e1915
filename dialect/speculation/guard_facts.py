"""What guards say of one another: which facts others imply, and what two say together."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tierup.dialect.facts import profiled
from tierup.dialect.facts.dims import Dim, symbol
from tierup.dialect.facts.profiled import CPU, Fact, Profiled, ProfiledScalar, Size
from tierup.dialect.facts.values import Bool, Float, Int, Tensor, Value
from tierup.dialect.optable.core import Infer, ShapeError


class Proven(Infer):
    """Rules that assume nothing: where two sizes must be equal for an op to run, its result has the size that follows whether or not
    one of them is a 1 that broadcasts. So nothing is left to tie, and what is inferred holds of every run that gets there."""

    def equal(self, a: Dim, b: Dim, what: str) -> Dim:
        """The number if one is known, `a` if neither can be 1, else a new size; nothing is tied. ShapeError for numbers that differ."""
        if a == b:
            return a
        if isinstance(a, int) and isinstance(b, int):
            raise ShapeError(f"{what}: {a} and {b} differ")
        if isinstance(a, int) or isinstance(b, int):
            return a if isinstance(a, int) else b
        return a if _is_never_one(a) and _is_never_one(b) else self.fresh()


def _is_never_one(dim: Dim) -> bool:
    low = dim if isinstance(dim, int) else dim.lower_bound()
    return low is not None and low >= 2


def proves(value: Value, fact: Fact) -> bool:
    """Whether everything that `value` may be fits `fact`. Inference knows nothing of strides and gradients."""
    if isinstance(fact, ProfiledScalar):
        known = value.value if isinstance(value, (Int, Float, Bool)) else None
        return isinstance(known, (int, float, bool)) and profiled.join(ProfiledScalar.of(known), fact) == fact
    if not isinstance(value, Tensor) or fact.strides is not None or fact.requires_grad is not None or fact.defined is False:
        return False
    if fact.device not in (None, CPU) or (fact.dtype is not None and fact.dtype != value.dtype):
        return False
    if fact.defined and value.dtype is None and value.shape is None:
        return False  # not known to be more than a type: it may be undefined
    if fact.sizes is None:
        return True
    return value.shape is not None and len(value.shape) == len(fact.sizes) and all(map(_is_size, value.shape, fact.sizes))


def _is_size(known: Dim, wanted: Size) -> bool:
    return wanted is None or known == (symbol(wanted) if isinstance(wanted, str) else wanted)


def meet(a: Fact, b: Fact) -> Fact | None:
    """What says all that `a` says and all that `b` says; None where they contradict each other, or one says what the other can't."""
    if a == b:
        return a
    if isinstance(a, ProfiledScalar) or isinstance(b, ProfiledScalar):
        joined = profiled.join(a, b)
        return (b if joined == a else a) if joined in (a, b) else None
    found: dict[str, Any] = {}
    for field in fields(Profiled):
        mine, other = getattr(a, field.name), getattr(b, field.name)
        if field.name in ("sizes", "strides") and mine is not None and other is not None:
            if len(mine) != len(other) or any(x is not None and y is not None and x != y for x, y in zip(mine, other, strict=True)):
                return None
            found[field.name] = tuple(y if x is None else x for x, y in zip(mine, other, strict=True))
        elif mine is not None and other is not None and mine != other:
            return None
        else:
            found[field.name] = other if mine is None else mine
    if found["strides"] is not None and len(found["strides"]) != len(found["sizes"]):
        return None
    if found["defined"] is False:
        return None  # of an undefined tensor nothing else can be said
    return Profiled(**found)
