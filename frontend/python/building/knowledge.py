"""What is known of an array while its graph is being built: by the rules of the ops that made it, from the dtypes of the inputs.

NumPy's own Python functions ask an array for its dtype and choose by it. A graph is for arrays of any dtype until something asks.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Tensor
from tierup.frontend.python.building.facts import fact_of
from tierup.frontend.python.building.frame import Frame, NeedsDtypes
from tierup.frontend.python.building.values import Array, Mapping_, OneOf, Sequence, Value, parts_of


def dtype_of(frame: Frame, node: ast.AST | None, x: Array, what: str = "a dtype") -> np.dtype:
    """The dtype of an array. Raises NeedsDtypes where a graph for the dtypes of its inputs would know it, else UnsupportedSyntax."""
    found = settled(frame, x)
    assert isinstance(found, Array)
    if found.dtype is not None:
        return found.dtype
    if frame.outside.knows_dtypes in ("no", "indices"):
        raise NeedsDtypes
    raise frame.error(node, f"{what} known only at run time", "convert the array before: x.astype(np.float64)")


def settled(frame: Frame, value: Value) -> Value:
    """A value with what the ops that made its arrays say of their dtypes and ranks."""
    if isinstance(value, Sequence):
        return replace(value, items=[settled(frame, v) for v in value.items])
    if isinstance(value, Mapping_):
        return replace(value, items={k: settled(frame, v) for k, v in value.items.items()})
    if isinstance(value, OneOf):
        return replace(value, alternatives=tuple(settled(frame, v) for v in value.alternatives))
    if not isinstance(value, Array) or value.dtype is not None and value.rank is not None:
        return value
    fact = fact_of(frame.em, value.ssa, frame.em.facts)
    if not isinstance(fact, Tensor):
        return value
    dtype = value.dtype if fact.dtype is None else fact.dtype.numpy
    rank = value.rank if fact.shape is None else len(fact.shape)
    return replace(value, dtype=dtype, rank=rank)


def with_certain_dtypes(frame: Frame, value: Value) -> Value:
    """A value with the dtypes of its arrays. Raises NeedsDtypes where a graph for the dtypes of its inputs would know more of them."""
    value = settled(frame, value)
    if isinstance(value, (Sequence, Mapping_, OneOf)):
        for item in parts_of(value):
            with_certain_dtypes(frame, item)
    elif isinstance(value, Array) and value.dtype is None and frame.outside.knows_dtypes in ("no", "indices"):
        raise NeedsDtypes
    return value


def with_dtypes(frame: Frame, value: Value) -> Value:
    """A value as loops carry it: in graphs with complex numbers with the dtypes of its arrays."""
    return settled(frame, value) if frame.outside.has_complex else value


def noted(frame: Frame, value: Value) -> Value:
    """A value, of which is taken down what is said of its arrays, where no op makes them: parameters."""
    if isinstance(value, (Sequence, Mapping_, OneOf)):
        for item in parts_of(value):
            noted(frame, item)
    elif isinstance(value, Array) and (value.dtype is not None or value.rank is not None):
        sizes = None if value.rank is None else tuple(frame.em.rules.fresh() for _ in range(value.rank))
        frame.em.facts[value.ssa] = Tensor(None if value.dtype is None else dtypes.from_numpy(value.dtype), sizes)
    return value
