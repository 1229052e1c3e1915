"""NumPy functions that move, join or rearrange elements."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.table import constant, function, method
from tierup.frontend.python.building.values import FALSE, NONE, Array, Const, Sequence, Value, is_none
from tierup.frontend.python.operations.arrays import (
    as_array,
    as_int,
    int_list,
    is_scalar,
    own_of_scalars,
    refuse_axis,
    taken,
    viewable,
)
from tierup.frontend.python.operations.scalars import raise_if

C_ORDER = Const("C")


def known_rank(frame: Frame, node: ast.AST, x: Array, what: str) -> int:
    if x.rank is None:
        raise frame.error(node, f"{what} of an array of unknown rank", "name the axes", NeedsStatic)
    return x.rank


def viewed(frame: Frame, x: Array, ssa: ir.Value, rank: int | None, least: int = 0) -> Array:
    """A view of x: an array even of rank 0, but of a NumPy scalar a scalar. The run says which where it says x's rank."""
    if x.rank is None and x.may_be_scalar and (least if rank is None else rank) == 0:
        return replace(x, ssa=ssa, rank=rank, min_rank=least, decays=is_scalar(frame, x))
    return replace(x, ssa=ssa, rank=rank, min_rank=least, decays=x.rank == 0 and x.decays)


def copied(x: Array, ssa: ir.Value, rank: int | None, least: int = 0) -> Array:
    return Array(ssa, rank, least, x.dtype, decays=False)


def flat(frame: Frame, x: Array) -> Array:
    """x.reshape(-1)."""
    return viewed(frame, x, frame.em.numpy("aten.reshape", [x.ssa, frame.em.ints(-1)]), 1)


def sizes_argument(args: tuple[Value, ...]) -> Value:
    """`x.reshape(2, 3)` and `x.reshape((2, 3))` alike."""
    return args[0] if len(args) == 1 else Sequence("tuple", list(args))


@function(np.reshape)
def reshape(frame: Frame, node: ast.AST, a: Value, shape: Value, order: Value = C_ORDER) -> Value:
    if constant(frame, node, order, "`order`") != "C":
        raise frame.error(node, "reshape in an order other than C", "transpose first")
    x = viewable(frame, node, a)
    sizes, rank = int_list(frame, node, shape)
    return viewed(frame, x, frame.em.numpy("aten.reshape", [x.ssa, sizes]), rank)


@method("reshape")
def reshape_method(frame: Frame, node: ast.AST, a: Value, *args: Value) -> Value:
    if not args:
        raise WillRaise(TypeError("reshape() takes exactly 1 argument (0 given)"))
    return reshape(frame, node, a, sizes_argument(args))


@function(np.ravel, method="ravel")
def ravel(frame: Frame, node: ast.AST, a: Value) -> Value:
    """A view of what is C-contiguous alone: NumPy copies the rest, also what strides could flatten."""
    x = viewable(frame, node, a)
    return flat(frame, replace(x, ssa=frame.em.numpy("aten.contiguous", [x.ssa, frame.em.int(0)])))


@method("flatten")
def flatten(frame: Frame, node: ast.AST, a: Value) -> Value:
    return as_array(frame, node, flat(frame, as_array(frame, node, a)), fresh=True)


@function(np.transpose)
def transpose(frame: Frame, node: ast.AST, a: Value, axes: Value = NONE) -> Value:
    x = taken(frame, node, a)
    if is_none(axes):
        return viewed(frame, x, frame.em.numpy("aten.numpy_T", [x.ssa]), x.rank, x.min_rank)
    dims, rank = int_list(frame, node, axes, "axes")
    return viewed(frame, x, frame.em.numpy("aten.permute", [x.ssa, dims]), rank)


@method("transpose")
def transpose_method(frame: Frame, node: ast.AST, a: Value, *args: Value) -> Value:
    return transpose(frame, node, a, sizes_argument(args) if args else NONE)


@function(np.swapaxes, method="swapaxes")
def swapaxes(frame: Frame, node: ast.AST, a: Value, axis1: Value, axis2: Value) -> Value:
    x = taken(frame, node, a)
    dims = [as_int(frame, node, v, "an axis") for v in (axis1, axis2)]
    for number, (axis, dim) in enumerate(zip((axis1, axis2), dims, strict=True), start=1):
        if x.rank is not None:  # torch takes 0 and -1 for the axes of a scalar
            refuse_axis(frame, x, axis, dim, f"axis{number}")
    return viewed(frame, x, frame.em.numpy("aten.transpose.int", [x.ssa, *dims]), x.rank, x.min_rank)


@function(np.moveaxis)
def moveaxis(frame: Frame, node: ast.AST, a: Value, source: Value, destination: Value) -> Value:
    x = taken(frame, node, a)
    if isinstance(source, Sequence) and isinstance(destination, Sequence):
        rank = known_rank(frame, node, x, "np.moveaxis of several axes")
        pairs = [tuple(constant(frame, node, v, "an axis") for v in given.items) for given in (source, destination)]
        try:
            np.moveaxis(np.empty((1,) * rank), *pairs)
        except (TypeError, ValueError) as e:
            raise WillRaise(e) from e
        places = [[axis % rank for axis in given] for given in pairs]
        order = [axis for axis in range(rank) if axis not in places[0]]
        for to, axis in sorted(zip(places[1], places[0], strict=True)):
            order.insert(to, axis)
        return viewed(frame, x, frame.em.numpy("aten.permute", [x.ssa, frame.em.ints(*order)]), rank)
    dims = [as_int(frame, node, v, "an axis") for v in (source, destination)]
    if x.rank is not None:
        for axis, dim, name in zip((source, destination), dims, ("source", "destination"), strict=True):
            refuse_axis(frame, x, axis, dim, name)
    return viewed(frame, x, frame.em.numpy("aten.movedim.int", [x.ssa, *dims]), x.rank, x.min_rank)


@function(np.expand_dims)
def expand_dims(frame: Frame, node: ast.AST, a: Value, axis: Value) -> Value:
    x = viewable(frame, node, a)
    if isinstance(axis, Sequence):
        axes = tuple(constant(frame, node, v, "`axis`") for v in axis.items)
        try:
            places = normalize_axis_tuple(axes, known_rank(frame, node, x, "np.expand_dims of several axes") + len(axes))
        except (TypeError, ValueError) as e:
            raise WillRaise(e) from e
        for place in sorted(places):
            x = viewed(frame, x, frame.em.numpy("aten.unsqueeze", [x.ssa, frame.em.int(place)]), known_rank(frame, node, x, "") + 1)
        return x
    ssa = frame.em.numpy("aten.unsqueeze", [x.ssa, as_int(frame, node, axis, "an axis")])
    return viewed(frame, x, ssa, None if x.rank is None else x.rank + 1, x.at_least + 1)


@function(np.squeeze, method="squeeze")
def squeeze(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE) -> Value:
    """With an axis, NumPy insists that its size is 1; torch does not."""
    em = frame.em
    x = taken(frame, node, a)
    if is_none(axis):
        return viewed(frame, x, em.numpy("aten.squeeze", [x.ssa]), None)
    if isinstance(axis, Sequence):
        raise frame.error(node, "np.squeeze of several axes", "one axis at a time, or reshape")
    if x.rank == 0 and isinstance(axis, Const) and axis.value in (0, -1):  # NumPy takes these for the axes of a scalar
        return viewed(frame, x, em.numpy("aten.alias", [x.ssa]), 0)
    dim = as_int(frame, node, axis, "an axis", bools=False)
    refuse_axis(frame, x, axis, dim)
    length = em.numpy("aten.size.int", [x.ssa, dim], em.types.int)
    wrong = em.scalar("aten.ne.int", [length, em.int(1)], em.types.bool)
    raise_if(frame, wrong, "ValueError", "cannot select an axis to squeeze out which has size not equal to one")
    return viewed(frame, x, em.numpy("aten.squeeze.dim", [x.ssa, dim]), None if x.rank is None else x.rank - 1, max(0, x.at_least - 1))


@function(np.broadcast_to)
def broadcast_to(frame: Frame, node: ast.AST, array: Value, shape: Value, subok: Value = FALSE) -> Value:
    x = own_of_scalars(frame, replace(viewable(frame, node, array), decays=False))  # now: the view's strides, and that it is locked, stay
    sizes, rank = int_list(frame, node, shape)
    return replace(viewed(frame, x, frame.em.numpy("aten.broadcast_to", [x.ssa, sizes]), rank), decays=False)


def with_rank(frame: Frame, node: ast.AST, x: Array, rank: int) -> Array:
    """New axes in front."""
    if x.at_least >= rank:
        return x
    for _ in range(rank - known_rank(frame, node, x, "np.atleast_nd, np.vstack or np.hstack")):
        added = expand_dims(frame, node, x, Const(0))
        assert isinstance(added, Array)
        x = added
    return x
