"""`x[...]` and unpacking: reading parts of arrays, and of tuples, lists, dicts and shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.mlir import ir
from tierup.frontend.python.building import table
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.templates import scalar_ssa
from tierup.frontend.python.building.values import (
    Array,
    Const,
    Grows,
    IntList,
    Mapping_,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    describe,
    is_array_like,
    is_none,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations import arrays, growing, lengths
from tierup.frontend.python.operations.arrays import as_array, as_int, rank_ssa, viewable
from tierup.frontend.python.operations.index_items import (
    Items,
    gather,
    has_index_arrays,
    take_apart,
    view_of,
    where_integers,
    with_index_arrays,
)
from tierup.frontend.python.operations.scalars import compare, raise_if


def load(frame: Frame, node: ast.AST, owner: Value, index: Value) -> Value:
    """`owner[index]`."""
    if is_array_like(owner):
        return _load_array(frame, node, as_array(frame, node, owner), index)
    if isinstance(owner, Sequence):
        return _load_sequence(frame, node, owner, index)
    if isinstance(owner, Grows):
        return growing.load(frame, node, owner, index)
    if isinstance(owner, Mapping_):
        key = index.value if isinstance(index, Const) else None
        if not isinstance(index, Const):
            raise frame.error(node, f"{describe(index)} as a dict key", table.OTHER_KEYS, NeedsStatic)
        if key not in owner.items:
            raise WillRaise(KeyError(key))
        return owner.items[key]
    if isinstance(owner, ShapeOf):
        return _load_shape(frame, node, owner, index)
    if isinstance(owner, IntList):
        return _load_int_list(frame, node, owner, index)
    if isinstance(owner, Const) and isinstance(index, Const) and isinstance(owner.value, (str, tuple)):
        try:
            return Const(owner.value[index.value])
        except (IndexError, TypeError) as e:
            raise WillRaise(e) from e
    raise frame.error(node, f"indexing {describe(owner)}")


def _constant_slice(frame: Frame, node: ast.AST, index: Slice) -> slice:
    parts = (index.start, index.stop, index.step)
    if not all(isinstance(p, Const) for p in parts):
        raise frame.error(node, "a slice of a tuple or list with bounds known only at run time", "use constants, or an array", NeedsStatic)
    given = slice(*(p.value for p in parts))  # type: ignore[union-attr]  # Consts
    try:
        given.indices(0)
    except (TypeError, ValueError) as e:
        raise WillRaise(e) from e
    return given


def _load_sequence(frame: Frame, node: ast.AST, owner: Sequence, index: Value) -> Value:
    if isinstance(index, Slice):
        places = range(len(owner.items))[_constant_slice(frame, node, index)]
        if owner.is_tuple and places == range(len(owner.items)) and places.step == 1:
            return owner
        return Sequence(owner.kind, [owner.items[i] for i in places], frame.em.region)
    if not isinstance(index, Const):
        is_int = isinstance(index, Scalar) and index.kind == "int"
        if is_int and frame.outside.reads_anywhere and (numbers := _in_array(frame, owner)) is not None:
            return _number_at(frame, node, owner, numbers, index)
        remedy = "use a constant index or iterate over it; np.stack makes one array that any index takes"
        raise frame.error(node, f"{describe(index)} as the index of a {owner.kind}", remedy, NeedsStatic)
    items = tuple(owner.items) if owner.kind == "tuple" else list(owner.items)  # each kind has an error of its own
    try:
        found: Value = items[index.value]
        return found
    except (IndexError, TypeError) as e:
        raise WillRaise(e) from e


def _in_array(frame: Frame, owner: Sequence) -> tuple[Array, str] | None:
    """The numbers of a list or tuple in an array, and their kind; None where they are not known before the function begins, or not of one
    kind. Made once, at the function's top."""
    kinds = {number_kind(v) if is_number(v) else "" for v in owner.items}
    if len(kinds) != 1 or not kinds <= arrays.KIND_DTYPES.keys() or not all(_is_given(frame, v) for v in owner.items):
        return None
    [kind] = kinds
    key = tuple(owner.items)
    if key not in frame.in_arrays:
        code = arrays.program_dtype(frame, None, arrays.KIND_DTYPES[kind])
        made = frame.em.array_at_top([scalar_ssa(frame.em, v) for v in key], kind, code)
        frame.in_arrays[key] = Array(made, 1, dtype=arrays.KIND_DTYPES[kind], decays=False)
    return frame.in_arrays[key], kind


def _is_given(frame: Frame, value: Value) -> bool:
    """Whether a number is known, or an argument of the function."""
    if isinstance(value, Const):
        return type(value.value) is not int or -1 << 63 <= value.value < 1 << 63
    return isinstance(value, Scalar) and isinstance(value.ssa.owner, ir.Block) and value.ssa.owner == frame.block


def _number_at(frame: Frame, node: ast.AST, owner: Sequence, numbers: tuple[Array, str], index: Value) -> Scalar:
    """`owner[index]`, of an int that only the run knows."""
    array, kind = numbers
    em = frame.em
    at = growing.position_of(frame, node, Const(len(owner.items)), index, f"{owner.kind} index out of range")
    return growing.number_in(frame, em.numpy("aten.select.int", [array.ssa, em.int(0), as_int(frame, node, at)]), kind)


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
        start, stop, step = (em.none if is_none(p) else as_int(frame, node, p) for p in (index.start, index.stop, index.step))
        step = em.int(1) if is_none(index.step) else step
        return IntList(em.scalar("aten.slice.t", [owner.ssa, start, stop, step], em.types.int_list))
    return Scalar(em.scalar("aten.__getitem__.t", [owner.ssa, as_int(frame, node, index)], em.types.int), "int")


# --- arrays --------------------------------------------------------------------------------------------------------------


def _load_array(frame: Frame, node: ast.AST, owner: Array, index: Value) -> Value:
    try:
        items = take_apart(frame, node, index)
    except WillRaise as e:
        if owner.may_be_scalar:  # NumPy's scalars have words of their own
            raise WillRaise(unanswerable(IndexError)(str(e))) from e
        raise
    if owner.rank == 0 and owner.decays is True and any(map(_no_scalar_takes, items.left + items.right)):
        raise WillRaise(IndexError("invalid index to scalar variable."))
    if not has_index_arrays(items):
        return _load_view(frame, node, owner, items)
    copied: Callable[[], Array] = lambda: gather(frame, *with_index_arrays(frame, node, owner, items))
    integers = where_integers(frame, node, items)
    if integers is None:
        return copied()
    return select(frame, node, integers[0], lambda: _load_view(frame, node, owner, integers[1]), copied)


def _no_scalar_takes(item: Value) -> bool:
    """Whether an index with this item is one that NumPy's scalars refuse, whatever its dtype is."""
    if isinstance(item, Array):
        return bool(item.rank)
    return isinstance(item, (Slice, Scalar)) or isinstance(item, Const) and isinstance(item.value, int)


def _load_view(frame: Frame, node: ast.AST, owner: Array, items: Items) -> Array:
    viewed = view_of(frame, node, viewable(frame, node, owner), items)
    if viewed.ssa == owner.ssa and not (viewed.rank == 0 and viewed.decays):  # x[...], x[:]: another array over the same memory
        viewed = replace(viewed, ssa=frame.em.numpy("aten.alias", [owner.ssa]))
    return _as_loaded(frame, node, owner, items, viewed)


def _as_loaded(frame: Frame, node: ast.AST, owner: Array, items: Items, viewed: Array) -> Array:
    """A basic index that leaves rank 0 gives a scalar: a copy, which matters where arrays are written."""
    if items.has_ellipsis or not viewed.may_be_scalar:
        return viewed
    em = frame.em
    if not em.mutable:
        return replace(viewed, loads=(*viewed.loads, viewed))
    copied: Callable[[], Array] = lambda: replace(viewed, ssa=em.numpy("aten.clone", [viewed.ssa, em.none]))
    if viewed.rank == 0:
        return copied()
    is_scalar = em.scalar("aten.eq.int", [rank_ssa(frame, viewed), em.int(0)], em.types.bool)
    result = select(frame, node, is_scalar, copied, lambda: viewed)
    assert isinstance(result, Array)
    return result


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
    if isinstance(value, Grows):
        is_other = compare(frame, ast.NotEq, growing.length(frame, value), Const(count)).ssa
        raise_if(frame, is_other, "ValueUnanswerable", "an unpacking of a list of another length")
        frame.outside.made_by_python = frame.error(node, "an unpacking of a list, in a function that writes its arguments")
        return [growing.load(frame, node, value, Const(i)) for i in range(count)]
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
    length = lengths.length(frame, node, value, lengths.Use.UNPACKING).ssa
    too_many = em.scalar("aten.gt.int", [length, em.int(count)], em.types.bool)
    raise_if(frame, too_many, "ValueError", _unpack_message(count + 1, count))
    too_few = em.scalar("aten.lt.int", [length, em.int(count)], em.types.bool)
    raise_if(frame, too_few, "ValueUnanswerable", f"not enough values to unpack (expected {count})")
    return [_load_array(frame, node, value, Const(i)) for i in range(count)]
