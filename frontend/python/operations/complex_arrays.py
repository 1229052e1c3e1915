"""Arrays of complex numbers: which ones are, their parts and conjugates."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.knowledge import dtype_of, settled
from tierup.frontend.python.building.values import Array


def is_complex(frame: Frame, node: ast.AST, x: Array) -> bool:
    """Whether an array is one of complex numbers. Raises UnsupportedSyntax where only the run knows."""
    return frame.outside.has_complex and dtype_of(frame, node, x).kind == "c"


def part_of(frame: Frame, x: Array, name: str) -> Array:
    """The real or the imaginary part of a complex array, a copy where NumPy has a view."""
    x = settled(frame, x)  # type: ignore[assignment]  # an array
    assert x.dtype is not None
    dtype, shares = np.zeros((), x.dtype).real.dtype, x.rank != 0 or x.decays is not True
    return replace(x, ssa=frame.em.numpy(f"tierup.{name}", [x.ssa]), dtype=dtype, detached=shares, writes=frame.em.writes)


def conjugated(frame: Frame, x: Array) -> Array:
    """The conjugate of a complex array."""
    return replace(x, ssa=frame.em.numpy("tierup.conj_physical", [x.ssa]), decays=True, detached=False, loads=())


def refuse_complex(frame: Frame, node: ast.AST, x: Array, what: str) -> None:
    """Raises UnsupportedSyntax for an array of complex numbers, so that NumPy itself gives its result, or its error."""
    if is_complex(frame, node, x):
        raise frame.error(node, f"{what} of complex numbers")
