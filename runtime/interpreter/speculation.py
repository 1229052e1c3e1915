"""What generated source calls for guards and checks, and for gradients that may be undefined. Free of MLIR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.profiled import Fact, Profiled
from tierup.runtime.errors import GuardFailed

Gradient = np.ndarray | None  # None is an undefined gradient, which counts as zero
Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]


def matches(facts: tuple[Fact, ...], *values: Any) -> bool:
    """Whether every value fits its facts; a symbol that stands in several facts is one size."""
    symbols: dict[str, int] = {}
    return all(
        fact.matches(value, symbols=symbols) if isinstance(fact, Profiled) else fact.matches(value)
        for fact, value in zip(facts, values, strict=True)
    )


def have_layouts(layouts: tuple[str, ...], *tensors: np.ndarray) -> bool:
    """Whether each tensor that has to be contiguous is."""
    return all(layout != "contiguous" or t.flags.c_contiguous for layout, t in zip(layouts, tensors, strict=True))


def bound(facts: tuple[Profiled, ...], *arguments: np.ndarray) -> dict[str, int]:
    """What the symbols in the shapes of a call's arguments stand for."""
    symbols: dict[str, int] = {}
    for fact, argument in zip(facts, arguments, strict=True):
        fact.matches(argument, symbols=symbols)
    return symbols


def fits(fact: Fact, symbols: dict[str, int] | None, value: Any) -> bool:
    """Whether `value` fits. `symbols`: what those that stand in the call's guards are; a new one is bound."""
    return fact.matches(value, symbols=symbols) if isinstance(fact, Profiled) else fact.matches(value)


def guard(fact: Fact, symbols: dict[str, int] | None, value: Any, forced: bool = False) -> None:
    """Raises GuardFailed when `value` does not fit, or when it is `forced`."""
    if forced or not fits(fact, symbols, value):
        actual = Profiled.of(value) if isinstance(value, np.ndarray) else value
        raise GuardFailed(f"expected {fact}, got {actual}{_binding(fact, symbols)}")


def _binding(fact: Fact, symbols: dict[str, int] | None) -> str:
    """`, with s0 = 3`: what a failed guard's symbols stood for."""
    names = [s for s in fact.sizes or () if isinstance(s, str)] if isinstance(fact, Profiled) else []
    known = [f"{name} = {symbols[name]}" for name in dict.fromkeys(names) if symbols and name in symbols]
    return f", with {', '.join(known)}" if known else ""


def autograd_add(add: Binary, left: Gradient, right: Gradient) -> Gradient:
    """The sum of two gradients."""
    if left is None or right is None:
        return right if left is None else left
    return add(left, right)


def any_nonzero(*gradients: Gradient) -> bool:
    return any(g is not None for g in gradients)


def all_nonzero(*gradients: Gradient) -> bool:
    return all(g is not None for g in gradients)


def all_zero(*gradients: Gradient) -> bool:
    return all(g is None for g in gradients)


def batched_mm_tree(mm: Binary, add: Binary, *matrices: np.ndarray) -> np.ndarray:
    """The sum of the products of the first half of `matrices` with the second, added from left to right."""
    half = len(matrices) // 2
    total = mm(matrices[0], matrices[half])
    for left, right in zip(matrices[1:half], matrices[half + 1 :], strict=True):
        total = add(total, mm(left, right))
    return total


def batched_mm_side(mm: Binary, side: str, common: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """The products of `common`, standing on `side`, with each of the others."""
    return [mm(common, other) if side == "left" else mm(other, common) for other in others]
