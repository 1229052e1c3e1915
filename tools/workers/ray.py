"""Decorated functions on Ray: batches of data sets, blocks of data, and training on all workers.

    y = tierup.ray.map_batches(f, dataset, ["x"], "y")              # a column of what f gives of batches of others
    results = tierup.ray.map_blocks(f, blocks)                      # of each of many tuples of arrays
    params, values = tierup.ray.train(loss, params, blocks, update, steps=100)

Functions go to workers as Ray sends any (docs/processes.md), and code through the cache: one worker compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tierup.frontend.gradients import value_and_grad
from tierup.runtime.arguments.call_profiles import merge_profiles
from tierup.runtime.functions.function import Function
from tierup.tools.workers import parts

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges


def map_batches(function: Function, dataset: Any, columns: Sequence[str], result: str, **how: Any) -> Any:
    """The data set with one more column, `result`: what a function gives of batches of `columns`, NumPy arrays of as many rows. `how`: as
    ray.data.Dataset.map_batches takes it."""

    def called(batch: dict[str, Any]) -> dict[str, Any]:
        return {**batch, result: function(*(batch[name] for name in columns))}

    return dataset.map_batches(called, batch_format="numpy", **how)


def map_blocks(function: Function, blocks: Sequence[Sequence[Any]], **how: Any) -> list[Any]:
    """References to what a function gives of each block, a tuple of its arguments, or a reference to one. `how`: as ray.remote takes it."""
    called = _remote(_called, how)
    there = _put(function)
    return [called.remote(there, block) for block in blocks]


def gradients(loss: Callable[..., Any], params: Any, blocks: Sequence[Any], **options: Unpack[OptionChanges]) -> tuple[float, Any]:
    """(the value, its gradients by `params`) of a loss that is a mean over rows, of all blocks together. A block is
    `(x, y, ...)`, or a reference to such a tuple, as `ray.put` gives it. Raises what the loss raises, as Ray does."""
    import ray

    part, added = _remote(parts.part_of, {}), _remote(parts.added, {})
    gradient, there = _put(value_and_grad(loss, **options)), _put(params)
    found = [part.remote(gradient, there, block) for block in blocks]
    value, mean = parts.mean(ray.get(parts.in_pairs(found, added.remote)))
    return value, mean


def train(
    loss: Callable[..., Any],
    params: Any,
    blocks: Sequence[Any],
    update: Callable[[Any, Any], Any],
    *,
    steps: int = 1,
    **options: Unpack[OptionChanges],
) -> tuple[Any, list[float]]:
    """(parameters, the loss before each step) after so many steps of `params = update(params, gradients)` over all blocks. For the rest see
    `gradients`."""
    return parts.trained(lambda now: gradients(loss, now, blocks, **options), params, update, steps)


def profile(function: Function, workers: int) -> str:
    """The profile of a function's calls here and on the workers that answer so many tasks: Ray chooses them, and a process may answer
    two. For `warm`, and for later clusters."""
    import ray

    asked = _remote(parts.profile_here, {"scheduling_strategy": "SPREAD"})
    there = _put(function)
    return merge_profiles(function.profile(), *ray.get([asked.remote(there) for _ in range(workers)]))


def _remote(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    import ray

    return ray.remote(function) if not how else ray.remote(**how)(function)


def _put(value: Any) -> Any:
    """A reference: what many tasks need goes to a machine once."""
    import ray

    return ray.put(value)


def _called(function: Callable[..., Any], block: Sequence[Any]) -> Any:
    return function(*block)
