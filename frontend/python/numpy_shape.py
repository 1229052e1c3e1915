"""NumPy functions that move, join or rearrange elements."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python import arrays, index_items, indexing, stores
from tierup.frontend.python.arrays import as_array, as_int, int_list
from tierup.frontend.python.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.numpy_reductions import is_none, sum_
from tierup.frontend.python.scalars import number, raise_if
from tierup.frontend.python.table import constant, function, method
from tierup.frontend.python.values import (
    LAST,
    NONE,
    ONE,
    ZERO,
    Array,
    Const,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    is_number,
)

C_ORDER = Const("C")
CONSTANT_MODE = Const("constant")

WHOLE = Slice(NONE, NONE, NONE)


def known_rank(frame: Frame, node: ast.AST, x: Array, what: str) -> int:
    if x.rank is None:
        raise frame.error(node, f"{what} of an array of unknown rank", "name the axes", NeedsStatic)
    return x.rank


def viewed(x: Array, ssa: ir.Value, rank: int | None, least: int = 0) -> Array:
    """A view of x: an array even of rank 0, but of a NumPy scalar a scalar."""
    return replace(x, ssa=ssa, rank=rank, min_rank=least, decays=x.decays and x.rank == 0)


def copied(x: Array, ssa: ir.Value, rank: int | None, least: int = 0) -> Array:
    return Array(ssa, rank, least, x.dtype, decays=False)


def flat(frame: Frame, x: Array) -> Array:
    """x.reshape(-1)."""
    return viewed(x, frame.em.numpy("aten.reshape", [x.ssa, frame.em.ints(-1)]), 1)


def sizes_argument(args: tuple[Value, ...]) -> Value:
    """`x.reshape(2, 3)` and `x.reshape((2, 3))` alike."""
    return args[0] if len(args) == 1 else Sequence("tuple", list(args))


# --- shape ---------------------------------------------------------------------------------------------------------------


@function(np.reshape)
def reshape(frame: Frame, node: ast.AST, a: Value, shape: Value, order: Value = C_ORDER) -> Value:
    if constant(frame, node, order, "`order`") != "C":
        raise frame.error(node, "reshape in an order other than C", "transpose first")
    x = as_array(frame, node, a)
    sizes, rank = int_list(frame, node, shape)
    return viewed(x, frame.em.numpy("aten.reshape", [x.ssa, sizes]), rank)


@method("reshape")
def reshape_method(frame: Frame, node: ast.AST, a: Value, *args: Value) -> Value:
    return reshape(frame, node, a, sizes_argument(args))


@function(np.ravel, method="ravel")
def ravel(frame: Frame, node: ast.AST, a: Value) -> Value:
    return flat(frame, as_array(frame, node, a))


@method("flatten")
def flatten(frame: Frame, node: ast.AST, a: Value) -> Value:
    return as_array(frame, node, flat(frame, as_array(frame, node, a)), fresh=True)


@function(np.transpose)
def transpose(frame: Frame, node: ast.AST, a: Value, axes: Value = NONE) -> Value:
    x = as_array(frame, node, a)
    if is_none(axes):
        return viewed(x, frame.em.numpy("aten.numpy_T", [x.ssa]), x.rank, x.min_rank)
    dims, rank = int_list(frame, node, axes, "axes")
    return viewed(x, frame.em.numpy("aten.permute", [x.ssa, dims]), rank)


@method("transpose")
def transpose_method(frame: Frame, node: ast.AST, a: Value, *args: Value) -> Value:
    return transpose(frame, node, a, sizes_argument(args) if args else NONE)


@function(np.swapaxes, method="swapaxes")
def swapaxes(frame: Frame, node: ast.AST, a: Value, axis1: Value, axis2: Value) -> Value:
    x = as_array(frame, node, a)
    dims = [as_int(frame, node, v, "an axis") for v in (axis1, axis2)]
    return viewed(x, frame.em.numpy("aten.transpose.int", [x.ssa, *dims]), x.rank, x.min_rank)


@function(np.matrix_transpose)
def matrix_transpose(frame: Frame, node: ast.AST, x: Value) -> Value:
    return swapaxes(frame, node, x, Const(-1), Const(-2))


@function(np.moveaxis)
def moveaxis(frame: Frame, node: ast.AST, a: Value, source: Value, destination: Value) -> Value:
    x = as_array(frame, node, a)
    if isinstance(source, Sequence):
        raise frame.error(node, "np.moveaxis of several axes", "use np.transpose with all axes")
    dims = [as_int(frame, node, v, "an axis") for v in (source, destination)]
    return viewed(x, frame.em.numpy("aten.movedim.int", [x.ssa, *dims]), x.rank, x.min_rank)


@function(np.expand_dims)
def expand_dims(frame: Frame, node: ast.AST, a: Value, axis: Value) -> Value:
    x = as_array(frame, node, a)
    if isinstance(axis, Sequence):
        raise frame.error(node, "np.expand_dims of several axes", "one axis at a time, or index with None")
    ssa = frame.em.numpy("aten.unsqueeze", [x.ssa, as_int(frame, node, axis, "an axis")])
    return viewed(x, ssa, None if x.rank is None else x.rank + 1, x.at_least + 1)


@function(np.squeeze, method="squeeze")
def squeeze(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE) -> Value:
    """With an axis, NumPy insists that its size is 1; torch does not."""
    em = frame.em
    x = as_array(frame, node, a)
    if is_none(axis):
        return viewed(x, em.numpy("aten.squeeze", [x.ssa]), None)
    if isinstance(axis, Sequence):
        raise frame.error(node, "np.squeeze of several axes", "one axis at a time, or reshape")
    dim = as_int(frame, node, axis, "an axis")
    length = em.numpy("aten.size.int", [x.ssa, dim], em.types.int)
    wrong = em.scalar("aten.ne.int", [length, em.int(1)], em.types.bool)
    raise_if(frame, wrong, "ValueError", "cannot select an axis to squeeze out which has size not equal to one")
    return viewed(x, em.numpy("aten.squeeze.dim", [x.ssa, dim]), None if x.rank is None else x.rank - 1, max(0, x.at_least - 1))


@function(np.broadcast_to)
def broadcast_to(frame: Frame, node: ast.AST, array: Value, shape: Value) -> Value:
    x = as_array(frame, node, array)
    sizes, rank = int_list(frame, node, shape)
    return replace(viewed(x, frame.em.numpy("aten.broadcast_to", [x.ssa, sizes]), rank), decays=False)


@function(np.atleast_1d)
def atleast_1d(frame: Frame, node: ast.AST, a: Value) -> Value:
    return _at_least(frame, node, as_array(frame, node, a), 1)


@function(np.atleast_2d)
def atleast_2d(frame: Frame, node: ast.AST, a: Value) -> Value:
    return _at_least(frame, node, as_array(frame, node, a), 2)


def _at_least(frame: Frame, node: ast.AST, x: Array, rank: int) -> Array:
    """New axes in front."""
    for _ in range(rank - known_rank(frame, node, x, "np.atleast_nd, np.vstack or np.hstack")):
        added = expand_dims(frame, node, x, Const(0))
        assert isinstance(added, Array)
        x = added
    return x


# --- joining and splitting -----------------------------------------------------------------------------------------------


def _parts(frame: Frame, node: ast.AST, value: Value) -> list[Array]:
    if isinstance(value, Array):
        raise frame.error(node, "joining the rows of one array", "give a tuple or list of arrays")
    if not isinstance(value, Sequence):
        raise frame.error(node, "a sequence of arrays that is not a tuple or list")
    if not value.items:
        raise WillRaise(ValueError("need at least one array to concatenate"))
    return [as_array(frame, node, v) for v in value.items]


@function(np.concatenate)
def concatenate(frame: Frame, node: ast.AST, arrays_: Value, axis: Value = ZERO) -> Value:
    parts = _parts(frame, node, arrays_)
    if is_none(axis):
        parts, axis = [flat(frame, p) for p in parts], Const(0)
    return _cat(frame, node, parts, axis)


def _cat(frame: Frame, node: ast.AST, parts: list[Array], axis: Value) -> Array:
    em = frame.em
    ssa = em.numpy("aten.cat", [em.tensor_list([p.ssa for p in parts]), as_int(frame, node, axis, "an axis")])
    rank = next((p.rank for p in parts if p.rank is not None), None)
    if rank == 0:
        raise WillRaise(ValueError("zero-dimensional arrays cannot be concatenated"))
    return Array(ssa, rank, max(p.at_least for p in parts), _common(parts), decays=False)


def _common(parts: list[Array]) -> np.dtype | None:
    known = [p.dtype for p in parts]
    return None if None in known else np.result_type(*known)  # type: ignore[arg-type]  # no None in it


@function(np.stack)
def stack(frame: Frame, node: ast.AST, arrays: Value, axis: Value = ZERO) -> Value:
    em = frame.em
    parts = _parts(frame, node, arrays)
    ssa = em.numpy("aten.stack", [em.tensor_list([p.ssa for p in parts]), as_int(frame, node, axis, "an axis")])
    rank = next((p.rank + 1 for p in parts if p.rank is not None), None)
    return Array(ssa, rank, 1 + max(p.at_least for p in parts), _common(parts), decays=False)


@function(np.vstack)
def vstack(frame: Frame, node: ast.AST, tup: Value) -> Value:
    return _cat(frame, node, [_at_least(frame, node, p, 2) for p in _parts(frame, node, tup)], Const(0))


@function(np.hstack)
def hstack(frame: Frame, node: ast.AST, tup: Value) -> Value:
    parts = [_at_least(frame, node, p, 1) for p in _parts(frame, node, tup)]
    return _cat(frame, node, parts, Const(0 if parts[0].rank == 1 else 1))


@function(np.split)
def split(frame: Frame, node: ast.AST, ary: Value, indices_or_sections: Value, axis: Value = ZERO) -> Value:
    """Views, by slices: equal sections, or at constant indices."""
    em = frame.em
    x = as_array(frame, node, ary)
    dim = as_int(frame, node, axis, "an axis")
    if isinstance(indices_or_sections, Sequence):
        cuts: list[ir.Value] = [as_int(frame, node, i, "a split point") for i in indices_or_sections.items]
        bounds = [em.int(0), *cuts, em.none]
    else:
        sections = constant(frame, node, indices_or_sections, "the number of sections")
        if sections <= 0:
            raise WillRaise(ValueError("number sections must be larger than 0."))
        length = em.numpy("aten.size.int", [x.ssa, dim], em.types.int)
        rest = em.scalar("aten.remainder.int", [length, em.int(sections)], em.types.int)
        uneven = em.scalar("aten.ne.int", [rest, em.int(0)], em.types.bool)
        raise_if(frame, uneven, "ValueError", "array split does not result in an equal division")
        each = em.scalar("aten.floordiv.int", [length, em.int(sections)], em.types.int)
        bounds = [em.int(0), each, *(em.scalar("aten.mul.int", [each, em.int(i)], em.types.int) for i in range(2, sections)), length][: sections + 1]
        if sections == 1:
            bounds = [em.int(0), length]
    parts: list[Value] = []
    for start, stop in pairwise(bounds):
        ssa = em.numpy("aten.slice.Tensor", [x.ssa, dim, start, stop, em.int(1)])
        parts.append(replace(x, ssa=ssa, decays=False))
    return Sequence("list", parts, em.region)


# --- repeating and moving ------------------------------------------------------------------------------------------------


@function(np.tile)
def tile(frame: Frame, node: ast.AST, A: Value, reps: Value) -> Value:
    x = as_array(frame, node, A)
    counts, length = int_list(frame, node, reps, "`reps`")
    rank = None if x.rank is None or length is None else max(x.rank, length)
    return copied(x, frame.em.numpy("aten.tile", [x.ssa, counts]), rank, x.min_rank)


@function(np.repeat, method="repeat")
def repeat(frame: Frame, node: ast.AST, a: Value, repeats: Value, axis: Value = NONE) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    if not is_number(repeats):
        raise frame.error(node, "np.repeat with a count for each element", "index with np.repeat(np.arange(n), counts) made outside")
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    operands = [x.ssa, as_int(frame, node, repeats), as_int(frame, node, axis, "an axis"), em.none]
    return copied(x, em.numpy("aten.repeat_interleave.self_int", operands), x.rank, x.min_rank)


@function(np.flip)
def flip(frame: Frame, node: ast.AST, m: Value, axis: Value = NONE) -> Value:
    x = as_array(frame, node, m)
    if is_none(axis):
        axis = Sequence("tuple", [Const(i) for i in range(known_rank(frame, node, x, "np.flip over all axes"))])
    dims, _ = int_list(frame, node, axis, "an axis")
    return replace(viewed(x, frame.em.numpy("aten.flip", [x.ssa, dims]), x.rank, x.min_rank), detached=True)


@function(np.flipud)
def flipud(frame: Frame, node: ast.AST, m: Value) -> Value:
    return flip(frame, node, m, Const(0))


@function(np.fliplr)
def fliplr(frame: Frame, node: ast.AST, m: Value) -> Value:
    return flip(frame, node, m, Const(1))


@function(np.roll)
def roll(frame: Frame, node: ast.AST, a: Value, shift: Value, axis: Value = NONE) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    shifts, _ = int_list(frame, node, shift, "`shift`")
    dims = em.ints() if is_none(axis) else int_list(frame, node, axis, "an axis")[0]
    return copied(x, em.numpy("aten.roll", [x.ssa, shifts, dims]), x.rank, x.min_rank)


@function(np.pad)
def pad(frame: Frame, node: ast.AST, array: Value, pad_width: Value, mode: Value = CONSTANT_MODE, constant_values: Value = ZERO) -> Value:
    """Constant padding; torch lists the widths from the last axis."""
    em = frame.em
    if constant(frame, node, mode, "`mode`") != "constant":
        raise frame.error(node, "np.pad in another mode than 'constant'")
    if not is_number(constant_values):
        raise frame.error(node, "np.pad with several constant values", "pad one side at a time")
    x = as_array(frame, node, array)
    pairs = _pad_pairs(frame, node, x, pad_width)
    widths = [as_int(frame, node, w, "`pad_width`") for pair in reversed(pairs) for w in pair]
    operands = [x.ssa, em.int_list(widths), number(frame, constant_values)]
    return copied(x, em.numpy("aten.constant_pad_nd", operands), x.rank, x.min_rank)


def _pad_pairs(frame: Frame, node: ast.AST, x: Array, width: Value) -> list[tuple[Value, Value]]:
    """(before, after) for each axis: from one number, one pair, or a pair for each."""
    if isinstance(width, Sequence) and width.items and isinstance(width.items[0], Sequence):
        pairs = [(p.items[0], p.items[-1]) for p in width.items if isinstance(p, Sequence)]
        if len(pairs) == 1:
            pairs *= known_rank(frame, node, x, "np.pad with one pair of widths")
        elif x.rank is not None and len(pairs) != x.rank:
            raise WillRaise(ValueError("pad_width does not have a pair for each axis"))
        return pairs
    pair = (width.items[0], width.items[-1]) if isinstance(width, Sequence) else (width, width)
    return [pair] * known_rank(frame, node, x, "np.pad with one width for all axes")


def _triangle(name: str):
    def handler(frame: Frame, node: ast.AST, m: Value, k: Value = ZERO) -> Value:
        x = as_array(frame, node, m)
        return copied(x, frame.em.numpy(name, [x.ssa, as_int(frame, node, k)]), x.rank, x.min_rank)

    return handler


function(np.tril)(_triangle("aten.tril"))
function(np.triu)(_triangle("aten.triu"))


@function(np.diagonal, method="diagonal")
def diagonal(frame: Frame, node: ast.AST, a: Value, offset: Value = ZERO, axis1: Value = ZERO, axis2: Value = ONE) -> Value:
    x = as_array(frame, node, a)
    operands = [as_int(frame, node, v) for v in (offset, axis1, axis2)]
    return viewed(x, frame.em.numpy("aten.diagonal", [x.ssa, *operands]), None if x.rank is None else x.rank - 1, max(0, x.at_least - 1))


@function(np.trace, method="trace")
def trace(frame: Frame, node: ast.AST, a: Value) -> Value:
    return sum_(frame, node, diagonal(frame, node, a), Const(-1))


@function(np.diff)
def diff(frame: Frame, node: ast.AST, a: Value, n: Value = ONE, axis: Value = LAST) -> Value:
    """x[1:] - x[:-1] along the axis; of bools, `!=`."""
    em = frame.em
    if constant(frame, node, n, "`n`") != 1:
        raise frame.error(node, "np.diff of a higher order", "call it again")
    x = as_array(frame, node, a)
    dim = as_int(frame, node, axis, "an axis")
    later = replace(x, ssa=em.numpy("aten.slice.Tensor", [x.ssa, dim, em.int(1), em.none, em.int(1)]))
    earlier = replace(x, ssa=em.numpy("aten.slice.Tensor", [x.ssa, dim, em.none, em.int(-1), em.int(1)]))
    return arrays.binary(frame, node, ast.NotEq if x.dtype == np.bool_ else ast.Sub, later, earlier)


# --- indexing ------------------------------------------------------------------------------------------------------------


@function(np.take, method="take")
def take(frame: Frame, node: ast.AST, a: Value, indices: Value, axis: Value = NONE) -> Value:
    """x[..., indices, ...] at the axis."""
    x = as_array(frame, node, a)
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    dim = constant(frame, node, axis, "`axis`")
    if dim < 0:
        dim += known_rank(frame, node, x, "np.take on a negative axis")
    return indexing.load(frame, node, x, Sequence("tuple", [*[WHOLE] * dim, indices]))


@function(np.take_along_axis)
def take_along_axis(frame: Frame, node: ast.AST, arr: Value, indices: Value, axis: Value = LAST) -> Value:
    """NumPy's own way: index arrays that count along each of the other axes."""
    x, index = as_array(frame, node, arr), as_array(frame, node, indices)
    em = frame.em
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    rank = known_rank(frame, node, x, "np.take_along_axis")
    dim = constant(frame, node, axis, "`axis`") % max(rank, 1)
    if index.rank != rank:
        raise frame.error(node, "np.take_along_axis with indices of another or unknown rank", "give both arrays the same rank")
    items: list[Array | None] = []
    for i in range(rank):
        if i == dim:
            items.append(index)
            continue
        length = arrays.size(frame, x, i)
        counting = em.numpy("aten.arange", [length.ssa, em.int(4), em.none, em.none, em.none])
        shape = [em.int(-1) if j == i else em.int(1) for j in range(rank)]
        items.append(Array(em.numpy("aten.reshape", [counting, em.int_list(shape)]), rank, dtype=np.dtype(np.int64)))
    return index_items.gather(frame, x, items)


@function(np.nonzero, method="nonzero")
def nonzero(frame: Frame, node: ast.AST, a: Value) -> Value:
    """A tuple of one index array for each axis."""
    em = frame.em
    x = as_array(frame, node, a)
    rank = known_rank(frame, node, x, "np.nonzero")
    if rank == 0:
        raise WillRaise(ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."))
    found = em.numpy("aten.nonzero", [x.ssa])
    columns = [em.numpy("aten.select.int", [found, em.int(1), em.int(i)]) for i in range(rank)]
    return Sequence("tuple", [Array(c, 1, dtype=np.dtype(np.int64), decays=False) for c in columns])


@function(np.flatnonzero)
def flatnonzero(frame: Frame, node: ast.AST, a: Value) -> Value:
    found = nonzero(frame, node, flat(frame, as_array(frame, node, a)))
    assert isinstance(found, Sequence)
    return found.items[0]


@function(np.sort)
def sort(frame: Frame, node: ast.AST, a: Value, axis: Value = LAST) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    op = em.create("torch.aten.sort", [x.ssa, as_int(frame, node, axis, "an axis"), em.bool(False)], [em.types.tensor] * 2, em.numpy_attribute)
    return copied(x, op.results[0], x.rank, x.min_rank)


@function(np.shape)
def shape(frame: Frame, node: ast.AST, a: Value) -> Value:
    return ShapeOf(as_array(frame, node, a))


@function(np.ndim)
def ndim(frame: Frame, node: ast.AST, a: Value) -> Value:
    x = as_array(frame, node, a)
    return Const(x.rank) if x.rank is not None else Scalar(arrays.rank_ssa(frame, x), "int")


@function(np.size)
def size(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE) -> Value:
    x = as_array(frame, node, a)
    em = frame.em
    if is_none(axis):
        return Scalar(em.numpy("aten.numel", [x.ssa], em.types.int), "int")
    return Scalar(em.numpy("aten.size.int", [x.ssa, as_int(frame, node, axis, "an axis")], em.types.int), "int")


@method("fill")
def fill_method(frame: Frame, node: ast.AST, a: Value, value: Value) -> Value:
    arrays.require_mutation(frame)
    stores.fill(frame, node, as_array(frame, node, a), value)
    return NONE


@function(np.add.at)
def add_at(frame: Frame, node: ast.AST, a: Value, indices: Value, b: Value) -> Value:
    if not isinstance(a, Array):
        raise frame.error(node, "np.add.at on a value that is not an array")
    stores.add_at(frame, node, a, indices, b)
    return NONE
