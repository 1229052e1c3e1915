"""NumPy functions that join, split, repeat or move elements."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.table import Handler, constant, function
from tierup.frontend.python.building.values import NONE, ONE, ZERO, Array, Const, Sequence, Value, is_none, is_number
from tierup.frontend.python.functions.numpy_reductions import sum_
from tierup.frontend.python.functions.numpy_shape import copied, flat, known_rank, viewed
from tierup.frontend.python.operations.arrays import as_array, as_int, insist_on_rank, int_list, refuse_axis
from tierup.frontend.python.operations.scalars import number, raise_if

CONSTANT_MODE, SAME_KIND = Const("constant"), Const("same_kind")
_as_pairs: Any = np.lib._arraypad_impl._as_pairs  # type: ignore[attr-defined]  # private: the widths that np.pad takes


def _parts(frame: Frame, node: ast.AST, value: Value, what: str = "concatenate") -> list[Array]:
    if isinstance(value, Array):
        raise frame.error(node, "joining the rows of one array", "give a tuple or list of arrays")
    if not isinstance(value, Sequence):
        raise frame.error(node, "a sequence of arrays that is not a tuple or list")
    if not value.items:
        raise WillRaise(ValueError(f"need at least one array to {what}"))
    return [as_array(frame, node, v) for v in value.items]


@function(np.concatenate)
def concatenate(frame: Frame, node: ast.AST, arrays_: Value, axis: Value = ZERO, *, casting: Value = SAME_KIND) -> Value:
    if constant(frame, node, casting, "`casting`") not in ("same_kind", "unsafe"):
        raise frame.error(node, "`casting` of np.concatenate", "convert the arrays first: x.astype(...)")
    if is_none(axis) and isinstance(arrays_, Sequence) and any(map(is_number, arrays_.items)):
        raise frame.error(node, "a number of Python's, which has no dtype there, among what is flattened", "write np.float64(...)")
    parts = _parts(frame, node, arrays_)
    if is_none(axis):
        parts, axis = [flat(frame, p) for p in parts], Const(0)
    return _cat(frame, node, parts, axis)


def _cat(frame: Frame, node: ast.AST, parts: list[Array], axis: Value) -> Array:
    em = frame.em
    ssa = em.numpy("aten.cat", [em.tensor_list([p.ssa for p in parts]), as_int(frame, node, axis, "an axis", bools=False)])
    rank = next((p.rank for p in parts if p.rank is not None), None)
    if rank == 0:
        raise WillRaise(ValueError("zero-dimensional arrays cannot be concatenated"))
    return Array(ssa, rank, max(p.at_least for p in parts), _common(parts), decays=False)


def _common(parts: list[Array]) -> np.dtype | None:
    known = [p.dtype for p in parts]
    return None if None in known else np.result_type(*known)


@function(np.stack)
def stack(frame: Frame, node: ast.AST, arrays: Value, axis: Value = ZERO) -> Value:
    em = frame.em
    parts = _parts(frame, node, arrays, "stack")
    ssa = em.numpy("aten.stack", [em.tensor_list([p.ssa for p in parts]), as_int(frame, node, axis, "an axis")])
    rank = next((p.rank + 1 for p in parts if p.rank is not None), None)
    return Array(ssa, rank, 1 + max(p.at_least for p in parts), _common(parts), decays=False)


@function(np.tile)
def tile(frame: Frame, node: ast.AST, A: Value, reps: Value) -> Value:
    x = as_array(frame, node, A)
    counts, length = int_list(frame, node, reps, "`reps`", bools=True)
    rank = None if x.rank is None or length is None else max(x.rank, length)
    return copied(x, frame.em.numpy("aten.tile", [x.ssa, counts]), rank, x.min_rank)


@function(np.repeat, method="repeat")
def repeat(frame: Frame, node: ast.AST, a: Value, repeats: Value, axis: Value = NONE) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    if not is_number(repeats):
        raise frame.error(node, "np.repeat with a count for each element", "index with np.repeat(np.arange(n), counts) made outside")
    if is_none(axis) or x.rank == 0 and isinstance(axis, Const) and axis.value in (0, -1):
        x, axis = flat(frame, x), Const(0)
    operands = [x.ssa, as_int(frame, node, repeats), as_int(frame, node, axis, "an axis", bools=False), em.none]
    return copied(x, em.numpy("aten.repeat_interleave.self_int", operands), x.rank, x.min_rank)


@function(np.flip)
def flip(frame: Frame, node: ast.AST, m: Value, axis: Value = NONE) -> Value:
    x = as_array(frame, node, m)
    if x.rank == 0 and is_none(axis):  # x[()]
        return replace(as_array(frame, node, x, fresh=True), decays=True)
    if is_none(axis):
        axis = Sequence("tuple", [Const(i) for i in range(known_rank(frame, node, x, "np.flip over all axes"))])
    if x.rank == 0 and isinstance(axis, Const):
        refuse_axis(frame, x, axis)
    dims, _ = int_list(frame, node, axis, "an axis", bools=True)
    view = viewed(frame, x, frame.em.numpy("aten.flip", [x.ssa, dims]), x.rank, x.min_rank)
    return replace(view, detached=True, writes=frame.em.writes)


@function(np.flipud)
def flipud(frame: Frame, node: ast.AST, m: Value) -> Value:
    insist_on_rank(as_array(frame, node, m), 1, "Input must be >= 1-d.")
    return flip(frame, node, m, Const(0))


@function(np.fliplr)
def fliplr(frame: Frame, node: ast.AST, m: Value) -> Value:
    insist_on_rank(as_array(frame, node, m), 2, "Input must be >= 2-d.")
    return flip(frame, node, m, Const(1))


@function(np.roll)
def roll(frame: Frame, node: ast.AST, a: Value, shift: Value, axis: Value = NONE) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    shifts, count = int_list(frame, node, shift, "`shift`", bools=True)
    if count == 0 or isinstance(axis, Sequence) and not axis.items:
        raise frame.error(node, "np.roll by no shifts", "leave it out")
    if is_none(axis):
        if x.rank == 1 or count != 1:
            return copied(x, em.numpy("aten.roll", [x.ssa, shifts, em.ints()]), x.rank, x.min_rank)
        vector = em.numpy("aten.roll", [flat(frame, x).ssa, shifts, em.ints()])
        return copied(x, em.numpy("aten.reshape", [vector, em.numpy("aten.size", [x.ssa], em.types.int_list)]), x.rank, x.min_rank)
    dims, along = int_list(frame, node, axis, "an axis", bools=True)
    if count == 1 and along is not None and along > 1:  # by the same along each
        one = shift.items[0] if isinstance(shift, Sequence) else shift
        shifts, _ = int_list(frame, node, Sequence("tuple", [one] * along), "`shift`", bools=True)
    return copied(x, em.numpy("aten.roll", [x.ssa, shifts, dims]), x.rank, x.min_rank)


@function(np.pad)
def pad(
    frame: Frame, node: ast.AST, array: Value, pad_width: Value, mode: Value = CONSTANT_MODE, *, constant_values: Value = NONE
) -> Value:
    """With a number, where torch lists the widths from the last axis. All else is written once more (numpy_rewritten_grids.py)."""
    em, how = frame.em, constant(frame, node, mode, "`mode`")
    constant_values = ZERO if is_none(constant_values) else constant_values
    if how != "constant" or not is_number(constant_values):
        raise frame.error(node, f"np.pad in mode {how!r} like this", "use 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'")
    x = as_array(frame, node, array)
    pairs = _pad_pairs(frame, node, x, pad_width)
    widths = [as_int(frame, node, w, "`pad_width`") for pair in reversed(pairs) for w in pair]
    operands = [x.ssa, em.int_list(widths), number(frame, constant_values)]
    return copied(x, em.numpy("aten.constant_pad_nd", operands), x.rank, x.min_rank)


def _refuse_negative(frame: Frame, node: ast.AST, widths: list[Value]) -> None:
    """As NumPy does; the op would cut off."""
    em, message = frame.em, "index can't contain negative values"
    for width in widths:
        if isinstance(width, Const) and width.value < 0:
            raise WillRaise(ValueError(message))
        if not isinstance(width, Const):
            given = as_int(frame, node, width, "`pad_width`")
            raise_if(frame, em.scalar("aten.lt.int", [given, em.int(0)], em.types.bool), "ValueError", message)


def _pad_pairs(frame: Frame, node: ast.AST, x: Array, width: Value) -> list[tuple[Value, Value]]:
    """(before, after) for each axis, as NumPy makes them of one number, one pair, or a pair for each, and refuses them."""
    rank = known_rank(frame, node, x, "np.pad")
    leaves: list[Value] = []

    def numbered(value: Value) -> Any:
        if isinstance(value, Sequence):
            return [numbered(item) for item in value.items]
        leaves.append(value)
        return len(leaves) - 1

    def with_values(numbers: Any) -> Any:
        if isinstance(numbers, list):
            return [with_values(n) for n in numbers]
        leaf = leaves[numbers]
        return leaf.value if isinstance(leaf, Const) else 0

    numbers = numbered(width)
    try:
        given = np.asarray(with_values(numbers))
        if given.dtype.kind != "i":
            raise TypeError("`pad_width` must be of integral type.")  # noqa: TRY301 - beside what NumPy raises
        _as_pairs(given, rank, as_index=True)
    except (TypeError, ValueError) as e:
        raise WillRaise(e) from e
    _refuse_negative(frame, node, leaves)
    return [(leaves[before], leaves[after]) for before, after in _as_pairs(numbers, rank)]


def _triangle(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, m: Value, k: Value = ZERO) -> Value:
        x = as_array(frame, node, m)
        rank = None if x.rank is None else max(x.rank, 2)  # a vector becomes the rows of a matrix
        if isinstance(k, Array) and k.dtype is None:
            raise frame.error(node, "`k` that may be other than an int", "write int(...) around it")  # NumPy takes floats, too
        return copied(x, frame.em.numpy(name, [x.ssa, as_int(frame, node, k)]), rank, max(x.min_rank, 2))

    return handler


function(np.tril)(_triangle("aten.tril"))
function(np.triu)(_triangle("aten.triu"))


@function(np.diagonal, method="diagonal")
def diagonal(frame: Frame, node: ast.AST, a: Value, offset: Value = ZERO, axis1: Value = ZERO, axis2: Value = ONE) -> Value:
    x = as_array(frame, node, a)
    operands = [as_int(frame, node, v) for v in (offset, axis1, axis2)]
    rank = None if x.rank is None else x.rank - 1
    return viewed(frame, x, frame.em.numpy("aten.diagonal", [x.ssa, *operands]), rank, max(0, x.at_least - 1))


@function(np.trace, method="trace")
def trace(frame: Frame, node: ast.AST, a: Value) -> Value:
    return sum_(frame, node, diagonal(frame, node, a), Const(-1))
