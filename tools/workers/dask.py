"""Decorated functions on Dask: blocks of arrays that are larger than memory, and training on all workers.

    y = tierup.dask.map_blocks(f, x)                            # as dask.array.map_blocks
    params, values = tierup.dask.train(client, loss, params, blocks, update, steps=100)
    f.warm(tierup.dask.profile(client, f))                      # what all workers' calls looked like

Functions go to workers as Dask sends any (docs/processes.md), and code through the cache: one worker compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tierup.frontend.gradients import value_and_grad
from tierup.runtime.arguments.call_profiles import merge_profiles
from tierup.runtime.functions.function import Function
from tierup.tools.workers import parts

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges


def map_blocks(function: Function, *arrays: Any, **how: Any) -> Any:
    """A Dask array of what a function gives of each block of Dask arrays. `how`: as dask.array.map_blocks takes it.

    Dask asks a function what its results are like, by a call with empty blocks: the undecorated one is asked, since no other call is so.
    """
    import dask.array

    alike = dask.array.map_blocks(getattr(function, "__wrapped__", function), *arrays, **how)
    return dask.array.map_blocks(function, *arrays, **{**how, "meta": alike._meta, "chunks": how.get("chunks", alike.chunks)})


def gradients(
    client: Any, loss: Callable[..., Any], params: Any, blocks: Sequence[Any], **options: Unpack[OptionChanges]
) -> tuple[float, Any]:
    """(the value, its gradients by `params`) of a loss that is a mean over rows, of all blocks together.

    `loss(params, x, y, ...)`; a block is `(x, y, ...)`, arrays of the same number of rows, or a future of such a tuple, as
    `client.scatter` gives it: then it is computed where it lies. Each block counts by its rows. What a worker that dies was at, another
    does; sums are made in the same order each time. Raises what the loss raises.
    """
    gradient = value_and_grad(loss, **options)
    there = client.scatter(params, broadcast=True, hash=False)
    found = [client.submit(parts.part_of, gradient, there, block, pure=False) for block in blocks]
    value, mean = parts.mean(parts.in_pairs(found, partial(client.submit, parts.added, pure=False)).result())
    return value, mean


def train(
    client: Any,
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
    return parts.trained(lambda now: gradients(client, loss, now, blocks, **options), params, update, steps)


def profile(client: Any, function: Function) -> str:
    """The profile of a function's calls on all workers, and here: for `warm`, and for later clusters."""
    return merge_profiles(function.profile(), *client.run(parts.profile_here, function).values())


def compiled(client: Any, function: Function) -> int:
    """How many versions of a function the workers that live compiled, all together."""
    return sum(client.run(parts.compiled_here, function).values())
