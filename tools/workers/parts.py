"""What engines have in common: gradients of parts of the data, their mean, and what a process knows of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tierup.runtime.arguments.call_profiles import merge_profiles
from tierup.runtime.functions.direct_calls import alive
from tierup.runtime.functions.function import Function

Part = tuple[float, Any, int]  # the sums over a part of the data: values, gradients, rows


def part_of(gradient: Callable[..., Any], params: Any, block: Sequence[Any]) -> Part:
    """The value and gradients of a mean over the rows of a block, as sums. `gradient`: as `tierup.value_and_grad` gives it."""
    rows = len(block[0])
    value, gradients = gradient(params, *block)
    return float(value) * rows, scaled(gradients, rows), rows


def added(one: Part, other: Part) -> Part:
    """The sums over both."""
    return one[0] + other[0], _mapped(np.add, one[1], other[1]), one[2] + other[2]


def mean(part: Part) -> tuple[float, Any]:
    """The value and gradients of the mean over all rows."""
    return part[0] / part[2], scaled(part[1], 1 / part[2])


def in_pairs(parts: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """All of them added, in an order that hangs on their number alone: the result is the same wherever each was computed."""
    while len(parts) > 1:
        pairs = [add(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[2 * len(pairs) :]]
    return parts[0]


def trained(
    gradients: Callable[[Any], tuple[float, Any]], params: Any, update: Callable[[Any, Any], Any], steps: int
) -> tuple[Any, list[float]]:
    """(parameters, the loss before each step) after so many steps of `params = update(params, gradients)`."""
    values = []
    for _ in range(steps):
        value, mean = gradients(params)
        values.append(value)
        params = update(params, mean)
    return params, values


def scaled(tree: Any, factor: float) -> Any:
    """Arrays times a number, in the dtype that they have."""
    return _mapped(lambda array: np.multiply(array, factor, dtype=np.asarray(array).dtype), tree)


def _mapped(do: Callable[..., Any], *trees: Any) -> Any:
    first = trees[0]
    if isinstance(first, dict):
        return {key: _mapped(do, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)([_mapped(do, *items) for items in zip(*trees, strict=True)])
    return None if first is None else do(*trees)


def profile_here(function: Function) -> str:
    """What calls looked like that this process made of a function, and of others of the same code: a pickle may be unpickled many times."""
    same = [other for other in alive() if isinstance(other, Function) and _code(other) == _code(function)]
    return merge_profiles(function.profile(), *(other.profile() for other in same))


def compiled_here(function: Function) -> int:
    """How many versions of a function this process compiled, and found nowhere."""
    same = [other for other in alive() if isinstance(other, Function) and _code(other) == _code(function)]
    return sum(not version.compiled.from_disk for other in same for version in other.versions if hasattr(version, "compiled"))


def _code(function: Function) -> Any:
    return getattr(function.__dict__.get("__wrapped__"), "__code__", None)
