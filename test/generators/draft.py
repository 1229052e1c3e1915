"""A program that is being written: its lines so far, and the values that its names have when it is called as it was drawn.

Every statement is run under plain NumPy before it is kept. So programs are valid for the most part, whatever the families put together;
one in a few that raises is kept, since an exception is a result.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import random
import types
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LARGEST = 1e5  # values beyond it are not kept: float16 ends at 65504
LARGEST_INT = 1 << 100
NAMES = {"np": np, "contextlib": contextlib, "functools": functools, "math": math, "types": types}

Lines = list[str]


@dataclass
class Draft:
    """`env`: the values by name. `depth`: how many blocks stand around the lines. `loops`: whether one of them is a loop."""

    chance: random.Random
    env: dict[str, Any]
    lines: Lines = field(default_factory=list)
    depth: int = 0
    loops: bool = False
    raises: float = 0.02  # the share of statements that raise which are kept
    number: list[int] = field(default_factory=lambda: [0])
    islands: bool = False  # whether there are statements that are not translated
    keywords: bool = False  # whether there are functions and arguments that few programs have
    lists: bool = False  # whether lists are arguments

    # --- what there is -----------------------------------------------------------------------------------------------------

    def names(self, fits: Callable[[Any], bool]) -> list[str]:
        return [name for name, value in self.env.items() if fits(value)]

    def pick(self, fits: Callable[[Any], bool]) -> str:
        """A name whose value fits, one of the latest more often. Raises Nothing."""
        found = self.names(fits)
        if not found:
            raise Nothing
        return found[-1] if self.chance.random() < 0.35 else self.chance.choice(found)

    def array(self, kinds: str = "fiub", least: int = 0, most: int = 4) -> str:
        """An array of one of these kinds of dtype, and of a rank between two."""
        return self.pick(lambda v: is_array(v) and v.dtype.kind in kinds and least <= v.ndim <= most)

    def number_(self, kinds: tuple[type, ...] = (int, float)) -> str:
        return self.pick(lambda v: type(v) in kinds)

    def new(self) -> str:
        """A name that is not taken, or one in a few times a local one that is."""
        taken = [n for n in self.env if n.startswith("v")]
        if taken and self.chance.random() < 0.12:
            return self.chance.choice(taken)
        self.number[0] += 1
        return f"v{self.number[0]}"

    def of(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def axis(self, name: str) -> int:
        """An axis of an array of rank 1 or more, from the front or from the back."""
        rank = self.env[name].ndim
        return self.chance.randrange(-rank, rank)

    # --- writing -----------------------------------------------------------------------------------------------------------

    def inner(self, write: Callable[[Draft], Any], extra: dict[str, Any] | None = None, *, loop: bool = False) -> Lines:
        """The lines of a block, written on copies of the values here."""
        block = Draft(self.chance, copied({**self.env, **(extra or {})}), [], self.depth + 1, self.loops or loop, self.raises, self.number, self.islands, self.keywords, self.lists)
        write(block)
        return block.lines or ["pass"]

    def keep(self, lines: Iterable[str], names: Callable[[str], bool] = lambda name: True) -> bool:
        """Add lines if they run; afterwards there are the names that were there, and of the new ones those that `names` takes."""
        lines = list(lines)
        env = copied(self.env)
        error = run("\n".join(lines), env)
        if error is not None:
            if self.chance.random() >= self.raises or isinstance(error, (NameError, SyntaxError, AttributeError, RecursionError)):
                return False
            env = self.env
        env = {n: v for n, v in env.items() if n in self.env or names(n)}
        if error is None and not all(map(small, env.values())):
            return False
        self.lines += lines
        self.env = env
        return True


class Nothing(Exception):
    """No name fits what a statement needs."""


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def copied(env: dict[str, Any]) -> dict[str, Any]:
    return {name: copy.deepcopy(value) for name, value in env.items()}


def run(text: str, env: dict[str, Any]) -> Exception | None:
    """Run statements on values, in place; the exception if there is one."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            space = {**NAMES, **env}  # one for all: functions inside find what is around them there
            exec(compile(text, "draft", "exec"), space)  # noqa: S102 - the lines are our own
    except Exception as e:  # noqa: BLE001 - whatever the statements raise
        return e
    env.clear()
    env.update((name, value) for name, value in space.items() if name not in NAMES and name != "__builtins__")
    return None


def small(value: Any) -> bool:
    """Whether all numbers in a value are ones that every tier can tell apart."""
    if isinstance(value, (list, tuple)):
        return all(map(small, value))
    if isinstance(value, dict):
        return all(map(small, value.values()))
    if hasattr(value, "parameters"):  # a module of PyTorch
        return True
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if is_array(value):
        if value.dtype.kind not in "fiub" or value.ndim > 4 or value.size > 4000:
            return False
        if value.dtype.kind == "f":
            value = np.where(np.isfinite(value), value, 0)
        return bool(np.all(np.abs(value.astype(np.float64)) <= LARGEST))
    if isinstance(value, (bool, type(None), str)):
        return True
    if isinstance(value, complex):
        return small(value.real) and small(value.imag)
    return isinstance(value, (int, float)) and (value != value or abs(value) <= (LARGEST_INT if type(value) is int else LARGEST))


def indented(lines: Iterable[str]) -> Lines:
    return ["    " + line for line in lines]
