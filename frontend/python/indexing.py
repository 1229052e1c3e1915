"""`x[...]`: reading and writing parts of arrays, and of tuples, lists, dicts and shapes.

An array's index is first sorted into items (integer, slice, new axis, ellipsis, index array). Integers and slices become views
(aten.select.int, aten.slice.Tensor); index arrays become aten.index.Tensor and aten.index_put_ on the view that the slices give,
with NumPy's rule that an integer beside index arrays is an index array too.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python import arrays
from tierup.frontend.python.arrays import (
    as_array,
    as_int,
    rank_ssa,
    require_mutation,
    weak,
)
from tierup.frontend.python.branch import select
from tierup.frontend.python.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.scalars import SYMBOLS, check_zero_step, raise_if
from tierup.frontend.python.values import (
    Array,
    Const,
    IntList,
    Mapping_,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    describe,
    is_number,
)  # fmt: skip


@dataclass
class _Items:
    """An index taken apart: what stands before and after an ellipsis (no ellipsis: all before)."""

    left: list[Value]
    right: list[Value]
    has_ellipsis: bool


def load(frame: Frame, node: ast.AST, owner: Value, index: Value) -> Value:
    """`owner[index]`."""
    if isinstance(owner, Array):
        return _load_array(frame, node, owner, index)
    if isinstance(owner, Sequence):
        return _load_sequence(frame, node, owner, index)
    if isinstance(owner, Mapping_):
        key = index.value if isinstance(index, Const) else None
        if not isinstance(index, Const):
            raise frame.error(node, f"{describe(index)} as a dict key", "use a constant key", NeedsStatic)
        if key not in owner.items:
            raise WillRaise(KeyError(key))
        return owner.items[key]
    if isinstance(owner, ShapeOf):
        return _load_shape(frame, node, owner, index)
    if isinstance(owner, IntList):
        return _load_int_list(frame, node, owner, index)
    if isinstance(owner, Const) and isinstance(index, Const) and isinstance(owner.value, (str, tuple)):
        return Const(owner.value[index.value])
    raise frame.error(node, f"indexing {describe(owner)}")


def _constant_slice(frame: Frame, node: ast.AST, index: Slice) -> slice:
    parts = (index.start, index.stop, index.step)
    if not all(isinstance(p, Const) for p in parts):
        raise frame.error(node, "a slice of a tuple or list with bounds known only at run time", "use constants, or an array", NeedsStatic)
    return slice(*(p.value for p in parts))  # type: ignore[union-attr]  # Consts


def _load_sequence(frame: Frame, node: ast.AST, owner: Sequence, index: Value) -> Value:
    if isinstance(index, Slice):
        return Sequence(owner.kind, owner.items[_constant_slice(frame, node, index)], frame.em.region)
    if not isinstance(index, Const):
        remedy = "use a constant index or iterate over it; np.stack makes one array that any index takes"
        raise frame.error(node, f"{describe(index)} as the index of a {owner.kind}", remedy, NeedsStatic)
    try:
        return owner.items[index.value]
    except (IndexError, TypeError) as e:
        raise WillRaise(e) from e


def _load_shape(frame: Frame, node: ast.AST, owner: ShapeOf, index: Value) -> Value:
    rank = owner.array.rank
    if isinstance(index, Const) and isinstance(index.value, int):
        if rank is not None and not -rank <= index.value < rank:
            raise WillRaise(IndexError("tuple index out of range"))
        return arrays.size(frame, owner.array, index.value)
    if rank is not None:
        return _load_sequence(frame, node, Sequence("tuple", arrays.shape_items(frame, node, owner)), index)
    whole = IntList(frame.em.numpy("aten.size", [owner.array.ssa], frame.em.types.int_list))
    return _load_int_list(frame, node, whole, index)


def _load_int_list(frame: Frame, node: ast.AST, owner: IntList, index: Value) -> Value:
    em = frame.em
    if isinstance(index, Slice):
        start, stop, step = (em.none if _is_none(p) else as_int(frame, node, p) for p in (index.start, index.stop, index.step))
        step = em.int(1) if _is_none(index.step) else step
        return IntList(em.scalar("aten.slice.t", [owner.ssa, start, stop, step], em.types.int_list))
    return Scalar(em.scalar("aten.__getitem__.t", [owner.ssa, as_int(frame, node, index)], em.types.int), "int")


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


# --- arrays --------------------------------------------------------------------------------------------------------------


def _take_apart(frame: Frame, node: ast.AST, index: Value) -> _Items:
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    ellipses = [i for i, item in enumerate(items) if isinstance(item, Const) and item.value is Ellipsis]
    if len(ellipses) > 1:
        raise WillRaise(IndexError("an index can only have a single ellipsis ('...')"))
    items = [_index_item(frame, node, item) for item in items]
    if not ellipses:
        return _Items(items, [], False)
    return _Items(items[: ellipses[0]], items[ellipses[0] + 1 :], True)


def _index_item(frame: Frame, node: ast.AST, item: Value) -> Value:
    """An index item as Const int / Scalar int, Const None / Ellipsis, Slice, or Array (index array or mask)."""
    if isinstance(item, Slice):
        return item
    if isinstance(item, Const):
        if item.value is None or item.value is Ellipsis:
            return item
        if isinstance(item.value, (bool, np.bool_)):
            raise frame.error(node, "a bool as an index", "use a boolean array, or np.newaxis")
        if isinstance(item.value, (int, np.integer)):
            return Const(int(item.value))
        raise WillRaise(IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"))
    if isinstance(item, Scalar):
        if item.kind != "int":
            raise frame.error(node, f"{describe(item)} as an index", "write int(...) around it")
        return item
    if isinstance(item, Array):
        if item.rank == 0 and item.dtype is not None and item.dtype.kind in "iu":
            return Scalar(as_int(frame, node, item), "int")
        return item
    if isinstance(item, Sequence):
        if not item.items:
            raise frame.error(node, "an empty list as an index", "use np.zeros(0, dtype=np.int64)")
        return as_array(frame, node, item)
    raise frame.error(node, f"{describe(item)} as an index")


def _is_int(item: Value) -> bool:
    return isinstance(item, Scalar) or (isinstance(item, Const) and isinstance(item.value, int))


def _load_array(frame: Frame, node: ast.AST, owner: Array, index: Value) -> Value:
    items = _take_apart(frame, node, index)
    if any(isinstance(i, Array) for i in (*items.left, *items.right)):
        base, indices = _with_index_arrays(frame, node, owner, items)
        return _index(frame, base, indices)
    viewed = _view(frame, node, owner, items)
    return _as_loaded(frame, node, owner, items, viewed)


def _as_loaded(frame: Frame, node: ast.AST, owner: Array, items: _Items, viewed: Array) -> Array:
    """A basic index that leaves rank 0 gives a scalar: a copy, which matters where arrays are written."""
    if items.has_ellipsis or not frame.em.mutable or not viewed.may_be_scalar:
        return viewed
    em = frame.em
    copied = lambda: replace(viewed, ssa=em.numpy("aten.clone", [viewed.ssa, em.none]))
    if viewed.rank == 0:
        return copied()
    is_scalar = em.scalar("aten.eq.int", [rank_ssa(frame, viewed), em.int(0)], em.types.bool)
    result = select(frame, node, is_scalar, copied, lambda: viewed)
    assert isinstance(result, Array)
    return result


def _view(frame: Frame, node: ast.AST, owner: Array, items: _Items) -> Array:
    """The view that integers, slices and new axes give."""
    view = owner
    dim = 0
    for item in items.left:
        view, kept = _apply(frame, node, view, item, dim)
        dim += kept
    after = 0  # dimensions done, counted from the back
    for item in reversed(items.right):
        view, kept = _apply(frame, node, view, item, -1 - after)
        after += kept
    least = dim + after
    return replace(view, min_rank=max(view.min_rank, least), decays=least == 0 and not items.has_ellipsis)


def _apply(frame: Frame, node: ast.AST, view: Array, item: Value, dim: int) -> tuple[Array, int]:
    """One index item at `dim`; how many dimensions it leaves."""
    em = frame.em
    rank, least = view.rank, view.min_rank
    if isinstance(item, Slice):
        return _slice(frame, node, view, item, dim), 1
    if isinstance(item, Const) and item.value is None:
        ssa = em.numpy("aten.unsqueeze", [view.ssa, em.int(dim)])
        return replace(view, ssa=ssa, rank=None if rank is None else rank + 1, min_rank=least + 1), 1
    if rank is not None and not -rank <= dim < rank:
        raise WillRaise(IndexError(f"too many indices for array: array is {rank}-dimensional"))
    ssa = em.numpy("aten.select.int", [view.ssa, em.int(dim), as_int(frame, node, item)])
    return replace(view, ssa=ssa, rank=None if rank is None else rank - 1, min_rank=max(0, least - 1)), 0


def _slice(frame: Frame, node: ast.AST, view: Array, item: Slice, dim: int) -> Array:
    em = frame.em
    if view.rank is not None and not -view.rank <= dim < view.rank:
        raise WillRaise(IndexError(f"too many indices for array: array is {view.rank}-dimensional"))
    if all(_is_none(p) for p in (item.start, item.stop, item.step)) and view.rank is not None:
        return view
    step = 1 if _is_none(item.step) else item.step.value if isinstance(item.step, Const) else None
    if step is None:
        raise frame.error(node, "a slice whose step is known only at run time", "use a constant step", NeedsStatic)
    if not isinstance(step, (int, np.integer)):
        raise WillRaise(TypeError("slice indices must be integers or None or have an __index__ method"))
    step = int(step)
    check_zero_step(step)
    if step < 0:
        return _reversed(frame, node, view, item, dim, step)
    start, stop = (em.none if _is_none(p) else as_int(frame, node, p, "a slice") for p in (item.start, item.stop))
    ssa = em.numpy("aten.slice.Tensor", [view.ssa, em.int(dim), start, stop, em.int(step)])
    return replace(view, ssa=ssa)


def _reversed(frame: Frame, node: ast.AST, view: Array, item: Slice, dim: int, step: int) -> Array:
    """A negative step: the dimension is flipped, and the rest is a slice with a positive step. Element i of the flipped
    dimension is -1-i of the other, so that bounds count from the other end; a flip is a copy, NumPy's is a view."""
    em = frame.em
    flipped = em.numpy("aten.flip", [view.ssa, em.ints(dim)])
    bounds = [_mirrored(frame, node, p) for p in (item.start, item.stop)]
    if _is_none(item.start) and _is_none(item.stop) and step == -1:
        return replace(view, ssa=flipped, detached=True)
    ssa = em.numpy("aten.slice.Tensor", [flipped, em.int(dim), *bounds, em.int(-step)])
    return replace(view, ssa=ssa, detached=True)


def _mirrored(frame: Frame, node: ast.AST, bound: Value) -> ir.Value:
    """-1 - bound: the same place counted from the other end. 0 and -1 swap sides, as they must."""
    em = frame.em
    if _is_none(bound):
        return em.none
    if isinstance(bound, Const):
        return em.int(-1 - int(bound.value))
    return em.scalar("aten.sub.int", [em.int(-1), as_int(frame, node, bound, "a slice")], em.types.int)


# --- index arrays --------------------------------------------------------------------------------------------------------


def _with_index_arrays(frame: Frame, node: ast.AST, owner: Array, items: _Items) -> tuple[Array, list[Array | None]]:
    """The view that the slices give, and an index array or None for each of its leading dimensions.

    Integers stay dimensions here and become rank-0 index arrays, because NumPy broadcasts them with the index arrays.
    """
    everything = list(items.left)
    if items.has_ellipsis and items.right:
        if owner.rank is None or any(_mask_rank(i) is None for i in (*items.left, *items.right)):
            raise frame.error(node, "index arrays after an ellipsis in an array of unknown rank", "write `:` for each dimension", NeedsStatic)
        used = sum(_consumes(i) for i in (*items.left, *items.right))
        whole = Slice(Const(None), Const(None), Const(None))
        everything += [whole] * max(0, owner.rank - used) + items.right
    view, dim = owner, 0
    indices: list[Array | None] = []
    for item in everything:
        if isinstance(item, Array):
            indices.append(item)
            consumed = _mask_rank(item)
            if consumed is None:
                if item is not everything[-1]:
                    raise frame.error(node, "an index array of unknown dtype or rank before other indices", "put it last, or compare it to make the mask here")
                consumed = 1
            dim += consumed
        elif _is_int(item):
            number = Const(int(item.value)) if isinstance(item, Const) else item
            indices.append(arrays.strong(frame, node, number))
            dim += 1
        else:
            view, kept = _apply(frame, node, view, item, dim)
            indices.append(None)
            dim += kept
    while indices and indices[-1] is None:
        indices.pop()
    return view, indices


def _mask_rank(item: Value) -> int | None:
    """How many dimensions an index item takes: a boolean mask one for each of its own; None when not known."""
    if not isinstance(item, Array):
        return _consumes(item)
    if item.dtype is None:
        return 1 if item.rank in (0, 1) else None
    return item.rank if item.dtype.kind == "b" else 1


def _consumes(item: Value) -> int:
    if isinstance(item, Array):
        return _mask_rank(item) or 0
    return 0 if isinstance(item, Const) and item.value is None else 1


def _index(frame: Frame, base: Array, indices: list[Array | None]) -> Array:
    em = frame.em
    ssa = em.numpy("aten.index.Tensor", [base.ssa, _optional_list(frame, indices)])
    given = [i for i in indices if i is not None]
    rank = None
    if base.rank is not None and all(i.rank is not None and i.dtype is not None for i in given):
        masks = [i for i in given if i.dtype is not None and i.dtype.kind == "b"]
        consumed = sum(_mask_rank(i) or 0 for i in given)
        broadcast = max([1 if i in masks else i.rank or 0 for i in given])
        rank = base.rank - consumed + broadcast
    return Array(ssa, rank, 0, base.dtype, decays=True)


def _optional_list(frame: Frame, indices: list[Array | None]) -> ir.Value:
    em = frame.em
    return em.scalar("prim.ListConstruct", [em.none if i is None else i.ssa for i in indices], em.types.optional_tensor_list)


# --- stores --------------------------------------------------------------------------------------------------------------


def store(frame: Frame, node: ast.AST, owner: Value, index: Value, value: Value) -> None:
    """`owner[index] = value`."""
    if isinstance(owner, Sequence):
        _store_sequence(frame, node, owner, index, value)
        return
    if not isinstance(owner, Array):
        raise frame.error(node, f"assignment to an item of {describe(owner)}", "build a new one, or use an array")
    require_mutation(frame)
    items = _take_apart(frame, node, index)
    if any(isinstance(i, Array) for i in (*items.left, *items.right)):
        base, indices = _with_index_arrays(frame, node, owner, items)
        _refuse_detached(frame, node, base)
        _put(frame, node, base, indices, value)
        return
    view = _view(frame, node, owner, items)
    _refuse_detached(frame, node, view)
    fill(frame, node, view, value)


def fill(frame: Frame, node: ast.AST, view: Array, value: Value) -> None:
    """`view[...] = value`: NumPy's unsafe cast, value broadcast to the view."""
    em = frame.em
    if is_number(value):
        if arrays.number_kind(value) != "bool":
            em.numpy("aten.fill_.Scalar", [view.ssa, arrays.number(frame, value)])
            return
        value = arrays.strong(frame, node, value)
    em.numpy("aten.copy_", [view.ssa, as_array(frame, node, value).ssa, em.bool(False)])


def _put(frame: Frame, node: ast.AST, base: Array, indices: list[Array | None], value: Value, *, accumulate: bool = False) -> None:
    em = frame.em
    new = weak(frame, value, base) if is_number(value) else as_array(frame, node, value)
    em.numpy("aten.index_put_", [base.ssa, _optional_list(frame, indices), new.ssa, em.bool(accumulate)])


def add_at(frame: Frame, node: ast.AST, owner: Array, index: Value, value: Value) -> None:
    """numpy.add.at: repeated indices add up."""
    require_mutation(frame)
    items = _take_apart(frame, node, index)
    if not any(isinstance(i, Array) for i in (*items.left, *items.right)):
        update_item(frame, node, ast.Add, owner, index, value)
        return
    base, indices = _with_index_arrays(frame, node, owner, items)
    _refuse_detached(frame, node, base)
    _put(frame, node, base, indices, value, accumulate=True)


def _refuse_detached(frame: Frame, node: ast.AST, view: Array) -> None:
    if view.detached:
        raise frame.error(node, "assignment through a slice with a negative step", "reverse the value instead: x[...] = value[::-1]")


def _store_sequence(frame: Frame, node: ast.AST, owner: Sequence, index: Value, value: Value) -> None:
    if owner.kind == "tuple":
        raise WillRaise(TypeError("'tuple' object does not support item assignment"))
    require_own_list(frame, node, owner)
    if not isinstance(index, Const) or not isinstance(index.value, int):
        raise frame.error(node, f"{describe(index)} as the index of a list", "use a constant index, or an array", NeedsStatic)
    try:
        owner.items[index.value] = value
    except IndexError as e:
        raise WillRaise(IndexError("list assignment index out of range")) from e


def require_own_list(frame: Frame, node: ast.AST, owner: Sequence) -> None:
    """A list may change only where the code runs exactly once after the list was made."""
    if owner.external:
        raise frame.error(node, "changing a list from outside the function", "return a new list")
    if owner.region != frame.em.region:
        remedy = "make an array with np.empty and assign its rows, or loop over a constant range"
        raise frame.error(node, "changing a list inside a branch or loop that the run decides", remedy, NeedsStatic)


def update_item(frame: Frame, node: ast.AST, op: type, owner: Value, index: Value, value: Value) -> None:
    """`owner[index] op= value`."""
    if not isinstance(owner, Array):
        _update_static_item(frame, node, op, owner, index, value)
        return
    require_mutation(frame)
    items = _take_apart(frame, node, index)
    if any(isinstance(i, Array) for i in (*items.left, *items.right)):
        base, indices = _with_index_arrays(frame, node, owner, items)
        _refuse_detached(frame, node, base)
        _put(frame, node, base, indices, arrays.update(frame, node, op, _index(frame, base, indices), value))
        return
    view = _view(frame, node, owner, items)
    _refuse_detached(frame, node, view)
    _update_view(frame, node, op, view, value)


def _update_view(frame: Frame, node: ast.AST, op: type, view: Array, value: Value) -> None:
    """A view of rank >= 1 is written in place; an element is read, computed with NumPy's promotion, and stored with a cast."""
    em = frame.em

    def element() -> Value:
        fill(frame, node, view, arrays.binary(frame, node, op, view, value))
        return view

    if view.rank == 0 and view.decays:
        element()
    elif not view.may_be_scalar:
        arrays.update(frame, node, op, view, value)
    else:
        is_scalar = em.scalar("aten.eq.int", [rank_ssa(frame, view), em.int(0)], em.types.bool)
        select(frame, node, is_scalar, element, lambda: arrays.update(frame, node, op, replace(view, decays=False), value))


def _update_static_item(frame: Frame, node: ast.AST, op: type, owner: Value, index: Value, value: Value) -> None:
    """An array held in a list or dict: written in place, the container stays as it is."""
    current = load(frame, node, owner, index)
    if isinstance(current, Array):
        if not current.may_be_scalar:
            arrays.update(frame, node, op, current, value)
            return
        if isinstance(owner, Sequence) and not owner.external:
            store(frame, node, owner, index, arrays.update(frame, node, op, current, value))
            return
    raise frame.error(node, f"`{SYMBOLS[op]}=` on {describe(current)} in {describe(owner)}", "use an array for it")


def unpack(frame: Frame, node: ast.AST, value: Value, count: int) -> list[Value]:
    """The `count` values of an unpacking. Raises Python's ValueError for another length, now or when it runs."""
    em = frame.em
    if isinstance(value, ShapeOf) and value.array.rank is None:
        value = IntList(em.numpy("aten.size", [value.array.ssa], em.types.int_list))
    if isinstance(value, IntList):
        op = em.create("torch.prim.ListUnpack", [value.ssa], [em.types.int] * count)
        return [Scalar(r, "int") for r in op.results]
    if isinstance(value, Array):
        return _unpack_array(frame, node, value, count)
    items = arrays.shape_items(frame, node, value) if isinstance(value, ShapeOf) else getattr(value, "items", None)
    if isinstance(value, Mapping_):
        items = [Const(k) for k in value.items]
    if not isinstance(items, list):
        raise frame.error(node, f"unpacking {describe(value)}")
    if len(items) != count:
        raise WillRaise(ValueError(_unpack_message(len(items), count)))
    return items


def _unpack_message(have: int, want: int) -> str:
    if have > want:
        return f"too many values to unpack (expected {want})"
    return f"not enough values to unpack (expected {want}, got {have})"


def _unpack_array(frame: Frame, node: ast.AST, value: Array, count: int) -> list[Value]:
    em = frame.em
    if value.rank == 0:
        raise WillRaise(TypeError("cannot unpack non-iterable numpy scalar or rank-0 array"))
    length = em.numpy("aten.size.int", [value.ssa, em.int(0)], em.types.int)
    too_many = em.scalar("aten.gt.int", [length, em.int(count)], em.types.bool)
    raise_if(frame, too_many, "ValueError", _unpack_message(count + 1, count))
    too_few = em.scalar("aten.lt.int", [length, em.int(count)], em.types.bool)
    raise_if(frame, too_few, "ValueError", f"not enough values to unpack (expected {count})")
    return [_load_array(frame, node, value, Const(i)) for i in range(count)]
