"""How long an array is where Python asks: for `len`, a loop, an unpacking. Arrays of rank 0 and NumPy's scalars have no length."""

from __future__ import annotations

import ast
from enum import Enum

from tierup.frontend.python.building.branch import in_arm
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of, settled
from tierup.frontend.python.building.values import Array, Scalar
from tierup.frontend.python.operations import arrays
from tierup.frontend.python.operations.scalars import raise_if


class Use(Enum):
    """What asks: what the TypeError says of a NumPy scalar, and of an array of rank 0."""

    LENGTH = "object of type 'numpy.{}' has no len()", "len() of unsized object"
    ITERATION = "'numpy.{}' object is not iterable", "iteration over a 0-d array"
    REVERSAL = "'numpy.{}' object is not reversible", "len() of unsized object"
    UNPACKING = "cannot unpack non-iterable numpy.{} object", "iteration over a 0-d array"


def length(frame: Frame, node: ast.AST, array: Array, use: Use) -> Scalar:
    """len(array). TypeError where it has rank 0, now or in the run; there of a scalar whose dtype only the run knows as of an array."""
    of_scalar, of_array = use.value
    if array.rank == 0:
        is_array = array.decays is False
        raise WillRaise(TypeError(of_array if is_array else of_scalar.format(dtype_of(frame, node, array).type.__name__)))
    if array.at_least == 0:
        none = frame.em.scalar("aten.eq.int", [arrays.rank_ssa(frame, array), frame.em.int(0)], frame.em.types.bool)
        if isinstance(array.decays, bool):
            found = settled(frame, array)
            dtype = found.dtype if isinstance(found, Array) and array.decays else None
            raise_if(frame, none, "TypeError", of_array if dtype is None else of_scalar.format(dtype.type.__name__))
        else:
            with in_arm(frame, none):
                raise_if(frame, array.decays, "TypeError", of_scalar.format(dtype_of(frame, node, array).type.__name__))
                frame.em.raise_now("TypeError", of_array)
    return arrays.size(frame, array, 0)
