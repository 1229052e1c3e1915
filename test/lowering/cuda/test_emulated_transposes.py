"""Ops that read along another axis than they write, on the emulated device, against NumPy. No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_programs import agrees, compiled

RNG = np.random.default_rng(3)
Array = np.ndarray[Any, Any]


def of(dtype: Any, *sizes: int) -> Array:
    return (RNG.standard_normal(sizes) * 9).astype(dtype)


def tiles(function: Any, *values: Array) -> int:
    """How many tiles in shared memory the kernels have."""
    return compiled(function, values).stages["kernels"].count("x33x")


@pytest.mark.parametrize("sizes", [(32, 32), (33, 40), (8, 70), (65, 31)])
def test_transposes_of_any_size_go_through_tiles(sizes: tuple[int, int]) -> None:
    x = of(np.float32, *sizes)
    assert tiles(lambda x: x.T.copy(), x)
    agrees(lambda x: x.T.copy(), (x,))


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "i8", "f8"])
def test_transposes_of_every_width(dtype: str) -> None:
    agrees(lambda x: x.T.copy(), (of(dtype, 9, 35),))


def test_one_kernel_transposes_all_sizes() -> None:
    agrees(lambda x: x.T.copy(), (of("f4", 3, 5),), (of("f4", 70, 33),), (of("f4", 2, 2),), dynamic=True)


def test_only_operands_that_cross_have_tiles() -> None:
    values = (of("f4", 20, 34), of("f4", 34, 20), of("f4", 20))
    assert tiles(lambda x, y, v: np.exp(x.T * 0.01) + y * v, *values)
    agrees(lambda x, y, v: np.exp(x.T * 0.01) + y * v, values)


def test_axes_around_the_two_are_numbers_of_tiles() -> None:
    x = of("f4", 2, 12, 3, 10)
    assert tiles(lambda x: x.transpose(0, 3, 2, 1) + 1, x)
    agrees(lambda x: x.transpose(0, 3, 2, 1) + 1, (x,))
    agrees(lambda x: x.transpose(3, 2, 1, 0) + 1, (x,))


def test_short_axes_have_no_tiles() -> None:
    x = of("f4", 50, 3)
    assert not tiles(lambda x: x.T.copy(), x)
    agrees(lambda x: x.T.copy(), (x,))
