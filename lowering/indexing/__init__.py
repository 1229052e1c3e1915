"""Gathers and scatters as loops: what `tierup-lower-indexing` puts in place of torch ops."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tierup.lowering.call import Call
from tierup.lowering.indexing import gathers, scatters
from tierup.lowering.tensors import Tensor


@cache
def lowerings() -> dict[str, Callable[[Call], Tensor]]:
    """All lowerings by op name."""
    return {**gathers.LOWERINGS, **scatters.LOWERINGS}
