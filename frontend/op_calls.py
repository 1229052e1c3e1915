"""How a function of `tierup.ops` says what it computes: the op of torch, and what each operand is made of.

Called on arrays it runs the op's kernel of tier 0. While a graph is built the same function is called with the program's values, under
`building`, and gives the op itself: so both have one definition. Free of MLIR.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base.records import dataclass
from tierup.dialect.optable import kernels


@dataclass(frozen=True)
class Operand:
    """What a user gave for an operand. `kind`: "array", "ints", "sizes" (an array's, of its last axis), "int", "float", "bool" or "word".
    `what`: how errors name it; `count`: how many ints a single one stands for."""

    kind: str
    value: Any
    what: str = ""
    count: int = 1


def array(value: Any) -> Operand | None:
    """An array, or None where there is none."""
    return None if value is None else Operand("array", value)


def ints(value: Any, what: str, count: int = 1) -> Operand:
    """A list of ints, of one for all or one for each."""
    return Operand("ints", value, what, count)


Build = Callable[[str, Sequence[Any], "int | None", int], Any]


class _Here(threading.local):
    build: Build | None = None


_here = _Here()


@contextmanager
def building(build: Build) -> Iterator[None]:
    """While the block runs, in this thread, `build(name, operands, rank, like)` gives what `run` does."""
    before, _here.build = _here.build, build
    try:
        yield
    finally:
        _here.build = before


def run(name: str, *operands: Operand | bool | int | str | None, rank: int | None = 0, like: int = 0) -> np.ndarray:
    """The result of an op. `operands`: in its order; what is no Operand is a constant. `rank`: by how much the result's is larger than that
    of operand number `like`, None where the run decides."""
    build = _here.build
    if build is not None:
        built: np.ndarray = build(name, operands, rank, like)
        return built
    return _kernel(name)(*[_given(o) if isinstance(o, Operand) else o for o in operands])


@cache
def _kernel(name: str) -> Callable[..., np.ndarray]:
    row = optable.lookup(name)
    assert row is not None, name
    return kernels.resolve(row.kernel)


def _given(operand: Operand) -> Any:
    value = operand.value
    if operand.kind == "array":
        return np.asarray(value)
    if operand.kind == "sizes":
        return [np.asarray(value).shape[-1]]
    if operand.kind == "ints":
        return [value] * operand.count if isinstance(value, (int, np.integer)) else list(value)
    return value
