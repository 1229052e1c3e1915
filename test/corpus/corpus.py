"""The corpus: whole programs, each a row. `test_corpus.py` runs every one in every mode of `corpus_modes.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason

HERE = Path(__file__).parent
SPOILS = ("size", "dtype", "layout", "read-only")
Inputs = Callable[[np.random.Generator, int], tuple[Any, ...]]


class Keywords(dict[str, Any]):
    """As the last of a call's arguments: its keyword arguments."""


@dataclass(frozen=True)
class Program:
    """One program, the calls it gets and what is expected of it. The oracle is always `function` itself, undecorated.

    `inputs(rng, n)` makes the arguments of one call afresh; the same seed makes equal ones, with equal strides and flags.
    `sizes`: three values of n; calls are made with the first several times, then with the second, then the third.
    `native`: the kinds of the versions that exist after those calls; () for a program that stays in tier 0, with `reason` the one
    that `explain()` gives.
    `regions`: into how many native regions the program is split where it is not native as a whole; tier 0 runs what is between.
    `by_value`: sizes hang on ints, so each value that comes back gets a version of its own.
    `also`: calls of other structure or values that need not hit. `bad`: calls that raise, with the same exception in every tier.
    `tolerance`: how far floats may be off, in units of the result dtype's epsilon, relative to the result's largest value.
    `mlir`: the program is this file and `function` its oracle. `views`: which results share memory with which arguments must agree.
    `spoil`: in which ways arrays are changed to make guards fail; a way is left out where the oracle has other semantics.
    `make(**options)`: the function of tierup, where it is not `jit` of `function`.
    `state()`: the arrays from outside that the program writes; `inputs` puts them back to where they start.
    """

    name: str
    function: Callable[..., Any]
    inputs: Inputs
    sizes: tuple[int, int, int] = (4, 6, 9)
    native: tuple[str, ...] = ("static", "dynamic")
    reason: Reason | None = None
    regions: int = 0
    by_value: bool = False
    also: tuple[Inputs, ...] = ()
    bad: tuple[Inputs, ...] = ()
    tolerance: float = 16
    mlir: str = ""
    views: bool = True
    spoil: tuple[str, ...] = SPOILS
    state: Callable[[], list[np.ndarray[Any, Any]]] = field(default=list)
    make: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        assert bool(self.native) == (self.reason is None), f"{self.name}: versions, or the reason why there are none"


PROGRAMS: list[Program] = []


def program(inputs: Inputs, **row: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function to make it a program of the corpus; it stays the undecorated function."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function.__name__, function, inputs, **row))
        return function

    return add


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that programs call as `tierup.jit` does, and leaves it undecorated for the oracle."""
    function.__tierup_function__ = function  # type: ignore[attr-defined]  # what the front end looks for
    return function


def f32(rng: np.random.Generator, *sizes: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Normally distributed floats."""
    return rng.normal(size=sizes).astype(dtype)


def f64(rng: np.random.Generator, *sizes: int) -> np.ndarray[Any, Any]:
    return f32(rng, *sizes, dtype=np.float64)


def ints(rng: np.random.Generator, *sizes: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    """Whole numbers of [low, high)."""
    return rng.integers(low, high, size=sizes).astype(dtype)


def bools(rng: np.random.Generator, *sizes: int) -> np.ndarray[Any, Any]:
    return rng.random(size=sizes) < 0.5
