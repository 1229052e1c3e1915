"""What generated source calls for guards and checks, and for gradients that may be undefined. Free of MLIR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tierup.dialect.facts.profiled import Fact, Profiled, is_unset
from tierup.dialect.optable.kernels.arrays import quiet
from tierup.runtime.base.errors import GuardFailed

Gradient = np.ndarray | None  # None is an undefined gradient, which counts as zero
Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]


def matches(facts: tuple[Fact, ...], symbols: dict[str, int] | None, fresh: tuple[str, ...], *values: Any) -> bool:
    """Whether every value fits its facts; a symbol that stands in several facts is one size.

    `symbols`: what those of this call are. The `fresh` ones are this check's own: they are bound anew, and for who runs when it holds.
    """
    known = {name: size for name, size in symbols.items() if name not in fresh} if symbols else {}
    if not all(fits(fact, known, value) for fact, value in zip(facts, values, strict=True)):
        return False
    if symbols is not None:
        symbols.update(known)
    return True


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
    """Raises GuardFailed when `value` does not fit, or when it is `forced`. What stands for no value fits."""
    if forced or not is_unset(value) and not fits(fact, symbols, value):
        actual = Profiled.of(value) if isinstance(value, np.ndarray) else value
        raise GuardFailed(f"expected {fact}, got {actual}{_binding(fact, symbols)}")


def left(index: int) -> None:
    """Raises GuardFailed: the function was left at a bailout, and nobody is there to take over."""
    raise GuardFailed(f"left at bailout {index}")


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
    """Whether one of the gradients is there."""
    return any(g is not None for g in gradients)


def all_nonzero(*gradients: Gradient) -> bool:
    """Whether all gradients are there."""
    return all(g is not None for g in gradients)


def all_zero(*gradients: Gradient) -> bool:
    """Whether no gradient is there."""
    return all(g is None for g in gradients)


def batched_mm_tree(mm: Binary, bmm: Binary, add: Binary, max_elements: int | None, *matrices: np.ndarray) -> np.ndarray:
    """The sum of the products of the first half of `matrices` with the second, added from left to right."""
    lefts, rights = matrices[: len(matrices) // 2], matrices[len(matrices) // 2 :]
    if _is_batch(lefts, rights, max_elements):
        products = bmm(np.stack(lefts), np.stack(rights))
        total: np.ndarray = products[0].copy()
        with quiet:
            for product in products[1:]:  # not np.sum, which adds in another order
                np.add(total, product, out=total)
        return total
    total = mm(lefts[0], rights[0])
    for left, right in zip(lefts[1:], rights[1:], strict=True):
        total = add(total, mm(left, right))
    return total


def batched_mm_side(
    mm: Binary, bmm: Binary, side: str, max_elements: int | None, common: np.ndarray, *others: np.ndarray
) -> list[np.ndarray]:
    """The products of `common`, standing on `side`, with each of the others."""
    lefts, rights = ((common,), others) if side == "left" else (others, (common,))
    if _is_batch(lefts, rights, max_elements):
        shared, stacked = np.broadcast_to(common, (len(others), *common.shape)), np.stack(others)
        return list(bmm(shared, stacked) if side == "left" else bmm(stacked, shared))
    return [mm(common, other) if side == "left" else mm(other, common) for other in others]


def _is_batch(lefts: Sequence[np.ndarray], rights: Sequence[np.ndarray], max_elements: int | None) -> bool:
    """Whether one batched product computes, to the bit, what a product of each pair does, and no product raises.

    For contiguous matrices it makes the same BLAS calls; but the product of a matrix with its own transpose is another one (syrk).
    """
    first, second = lefts[0], rights[0]
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[0] or first.dtype != second.dtype or first.dtype == np.bool_:
        return False
    if max_elements is not None and len(lefts) * first.size + len(rights) * second.size > max_elements:
        return False
    return all(
        m.shape == like.shape and m.dtype == like.dtype and m.flags.c_contiguous
        for group, like in ((lefts, first), (rights, second))
        for m in group
    )
