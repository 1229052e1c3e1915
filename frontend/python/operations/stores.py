"""`x[...] = v` and `x[...] op= v`: writing parts of arrays, and items of lists."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial, reduce

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.branch import each, select
from tierup.frontend.python.building.frame import Frame, GrowsList, NeedsStatic, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.values import (
    NONE,
    Array,
    Const,
    Mapping_,
    Reversed,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_complex_number,
    is_number,
    is_numpy_scalar,
    number_kind,
)
from tierup.frontend.python.operations import array_operators, arrays, indexing
from tierup.frontend.python.operations.array_operators import require_mutation
from tierup.frontend.python.operations.arrays import as_array, rank_ssa
from tierup.frontend.python.operations.index_items import gather, has_index_arrays, optional_list, take_apart, view_of, with_index_arrays
from tierup.frontend.python.operations.operators import operate
from tierup.frontend.python.operations.scalars import SYMBOLS, number, raise_if

_TUPLE_STORE = TypeError("'tuple' object does not support item assignment")


def store(frame: Frame, node: ast.AST, owner: Value, index: Value, value: Value) -> None:
    """`owner[index] = value`."""
    if isinstance(owner, Sequence):
        _store_sequence(frame, node, owner, index, value)
        return
    if isinstance(owner, Mapping_):
        require_own(frame, node, owner)
        if not isinstance(index, Const):
            raise frame.error(node, f"{describe(index)} as the key of a dict", "use a constant key")
        owner.items[index.value] = value
        return
    if is_numpy_scalar(owner):
        owner = as_array(frame, node, owner)
    if not isinstance(owner, Array):
        raise frame.error(node, f"assignment to an item of {describe(owner)}", "build a new one, or use an array")
    require_mutation(frame)
    _refuse_scalar(frame, owner)
    refuse_detached(frame, node, owner)
    require_writeable(frame, owner)
    items = take_apart(frame, node, index)
    if has_index_arrays(items):
        view, indices = with_index_arrays(frame, node, owner, items)
        _put(frame, node, view, indices, value)
    else:
        view = view_of(frame, node, owner, items)
        fill(frame, node, view, value)
    _write_back(frame, view)


def require_writeable(frame: Frame, owner: Array) -> None:
    """What NumPy asks of an array first when items are assigned."""
    frame.em.op("tierup.check_writeable", [owner.ssa], [])


def write_output(frame: Frame, node: ast.AST, out: Array, result: Array) -> None:
    """Write a ufunc's result into the array that it was given for it."""
    require_mutation(frame)
    refuse_detached(frame, node, out)
    frame.em.write_output(out.ssa, result.ssa)


def _write_back(frame: Frame, view: Array) -> None:
    """Turn round again what is a copy in reverse of an array, and was written."""
    em, turned = frame.em, view.detached
    while isinstance(turned, Reversed):
        em.numpy("aten.copy_", [turned.base.ssa, em.numpy("aten.flip", [turned.whole, em.ints(turned.dim)]), em.bool(False)])
        turned = turned.base.detached


def _refuse_scalar(frame: Frame, owner: Array) -> None:
    """Raises TypeError where NumPy has a scalar, whose items nobody can assign."""
    message = f"'numpy.{owner.dtype or 'generic'}' object does not support item assignment"
    of = TypeError if owner.dtype is not None else unanswerable(TypeError)
    if owner.rank == 0 and owner.decays is True:
        raise WillRaise(of(message))
    if owner.may_be_scalar:
        raise_if(frame, arrays.is_scalar(frame, owner), of.__name__, message)


@cache
def _of_one(dtype: dtypes.DType) -> Exception | None:
    """What assigning an array of one element to an element raises: nothing in NumPy until 2.4, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.zeros(1, dtype.numpy)[0] = np.zeros(1)
        except (TypeError, ValueError) as e:
            return e
    return None


def fill(frame: Frame, node: ast.AST, view: Array, value: Value) -> None:
    """`view[...] = value`, broadcast to the view. Arrays are converted whatever that loses; integers refuse numbers that do not fit."""
    em = frame.em
    if is_number(value):
        if number_kind(value) != "bool":
            em.numpy("aten.fill_.Scalar", [view.ssa, number(frame, value)])
            return
        value = arrays.strong(frame, node, value)
    elif is_complex_number(value):
        value = arrays.strong(frame, node, value)
    if isinstance(value, Const) and not is_numpy_scalar(value):
        source = _as_stored(frame, node, view, value.value)
    elif isinstance(value, (Sequence, ShapeOf)):
        whole = value if isinstance(value, Sequence) else Sequence("tuple", arrays.shape_items(frame, node, value))
        _fill_with_sequence(frame, node, view, whole)
        return
    else:
        source = as_array(frame, node, value)
    _copy(frame, view, source)


def _copy(frame: Frame, view: Array, source: Array) -> None:
    em = frame.em
    if _may_be_rows(view, source) and _of_one(dtypes.f64) is not None:
        code = em.scalar("prim.dtype", [view.ssa], em.types.int)
        other = em.scalar("aten.ne.int", [code, em.int(dtypes.bool_.code)], em.types.bool)  # bool(array) is asked of one element
        count = em.numpy("aten.numel", [source.ssa], em.types.int)
        for dtype in dtypes.COMPLEX if frame.outside.has_complex else ():
            error = _of_one(dtype)
            assert error is not None
            both = [em.scalar("aten.eq.int", [a, em.int(b)], em.types.bool) for a, b in ((code, dtype.code), (count, 1))]
            _refuse_rows(frame, view, source, em.scalar("aten.__and__.bool", both, em.types.bool), error)
        several = em.scalar("aten.ne.int", [count, em.int(1)], em.types.bool)
        other = em.scalar("aten.__or__.bool", [other, several], em.types.bool)
        _refuse_rows(frame, view, source, other, ValueError("setting an array element with a sequence."))
    if source.rank == 0 and source.decays and source.dtype != np.bool_:
        em.numpy("aten.fill_.Tensor", [view.ssa, source.ssa])
    else:
        em.numpy("aten.copy_", [view.ssa, source.ssa, em.bool(False)])


def _fill_with_sequence(frame: Frame, node: ast.AST, view: Array, value: Sequence) -> None:
    """A list or tuple may have as many dimensions as what it is assigned to. Of elements only bools take one: its truth."""

    def element() -> Value:
        whole = [0] * len(value.items)
        _copy(frame, view, _as_stored(frame, node, view, whole if value.kind == "list" else tuple(whole)))
        return NONE

    def array() -> Value:
        for rank in range(view.at_least, _depth(value)):
            what = "setting an array element with a sequence"
            message = f"{what}. The requested array would exceed the maximum number of dimension of {rank}."
            if view.rank is not None:
                raise WillRaise(ValueError(message))
            is_rank = frame.em.scalar("aten.eq.int", [rank_ssa(frame, view), frame.em.int(rank)], frame.em.types.bool)
            raise_if(frame, is_rank, "ValueError", message)
        _copy(frame, replace(view, decays=False), as_array(frame, node, value))
        return NONE

    if view.may_be_scalar and (view.rank is None or view.decays is not True):
        select(frame, node, arrays.is_scalar(frame, view), element, array)
    else:
        (element if view.may_be_scalar else array)()


def _depth(value: Value) -> int:
    """How many dimensions the array of a value has at least."""
    if isinstance(value, Sequence):
        return 1 + max(map(_depth, value.items), default=0)
    return 1 if isinstance(value, ShapeOf) else value.at_least if isinstance(value, Array) else 0


def _as_stored(frame: Frame, node: ast.AST, view: Array, given: object) -> Array:
    """The element that an assignment makes of a Python object, or its exception: what NumPy does for the dtype that the run finds."""
    if frame.outside.has_complex:
        raise frame.error(node, f"an assignment of {given!r}, perhaps to an array of complex numbers")
    em = frame.em
    found: dict[str, tuple[Exception | Const, list[dtypes.DType]]] = {}
    for dtype in dtypes.ALL:
        one = np.ones(1, dtype.numpy)
        try:
            one[0] = given
            outcome: Exception | Const = Const(one[0].item())
        except (TypeError, ValueError) as e:
            outcome = e
        found.setdefault(repr(outcome), (outcome, []))[1].append(dtype)
    code = em.scalar("prim.dtype", [view.ssa], em.types.int)

    def element(outcomes: list[tuple[Exception | Const, list[dtypes.DType]]]) -> Value:
        outcome, of = outcomes[0]
        if len(outcomes) > 1:
            equal = [em.scalar("aten.eq.int", [code, em.int(dtype.code)], em.types.bool) for dtype in of]
            holds = reduce(lambda a, b: em.scalar("aten.__or__.bool", [a, b], em.types.bool), equal)
            return select(frame, node, holds, lambda: element(outcomes[:1]), lambda: element(outcomes[1:]))
        if isinstance(outcome, Exception):
            raise WillRaise(outcome)
        return _element(frame, outcome, view)

    made = element(sorted(found.values(), key=lambda o: isinstance(o[0], Const)))  # exceptions first: bools take all there is
    assert isinstance(made, Array)
    return made


def _may_be_rows(view: Array, source: Array) -> bool:
    """Whether an element may be given an array that has dimensions."""
    return source.rank != 0 and view.at_least == 0 and view.decays is not False


def _refuse_rows(frame: Frame, view: Array, source: Array, where: ir.Value, error: Exception) -> None:
    """Raise where an element gets such an array, and `where` holds; the run is asked for ranks that only it knows."""
    em = frame.em
    for array, relation in ((view, "eq"), (source, "gt")):
        if array.rank is None and array.at_least == 0:
            holds = em.scalar(f"aten.{relation}.int", [rank_ssa(frame, array), em.int(0)], em.types.bool)
            where = em.scalar("aten.__and__.bool", [where, holds], em.types.bool)
    raise_if(frame, where, type(error).__name__, str(error))


def _put(frame: Frame, node: ast.AST, base: Array, indices: list[Array | None], value: Value, *, accumulate: bool = False) -> None:
    em = frame.em
    if is_number(value):
        new = _element(frame, value, base)
    elif is_complex_number(value):
        new = arrays.strong(frame, node, value)
    elif isinstance(value, Const) and not is_numpy_scalar(value):
        new = _as_stored(frame, node, base, value.value)
    else:
        new = as_array(frame, node, value)
    em.numpy("aten.index_put_", [base.ssa, optional_list(frame, indices), new.ssa, em.bool(accumulate)])


def _element(frame: Frame, value: Value, base: Array) -> Array:
    """A Python number as an assignment makes it an element of `base`."""
    made = frame.em.numpy("aten.fill.Scalar", [arrays.one_like(frame, base).ssa, number(frame, value)])
    return Array(made, 0, dtype=base.dtype)


def at(frame: Frame, node: ast.AST, ufunc: np.ufunc, owner: Array, index: Value, value: Array) -> None:
    """ufunc.at: repeated indices count as often. Of np.add sums are converted whatever that loses; else the value has the owner's dtype."""
    require_mutation(frame)
    if owner.rank == 0 and owner.decays is True:
        raise WillRaise(TypeError("first operand must be array"))
    refuse_detached(frame, node, owner)
    items = take_apart(frame, node, index)
    if ufunc is not np.add:
        view, indices = with_index_arrays(frame, node, owner, items)
        places = [None if i is None else _place(frame, node, i) for i in indices]
        if not places:
            raise frame.error(node, f"np.{ufunc.__name__}.at without an index array", "use x[...] = and the function")
        operands = [view.ssa, optional_list(frame, places), value.ssa, frame.em.str(ufunc.__name__)]
        frame.em.numpy("aten.copy_", [view.ssa, *frame.em.torch("tierup.at", operands), frame.em.bool(False)])
        _write_back(frame, view)
        return
    if not has_index_arrays(items):
        view = view_of(frame, node, owner, items)
        if _may_be_rows(view, value):
            _refuse_rows(frame, view, value, frame.em.bool(True), ValueError("array is not broadcastable to correct shape"))
        new = array_operators.binary(frame, node, ast.Add, view, value)
        frame.em.numpy("aten.copy_", [view.ssa, new.ssa, frame.em.bool(False)])
    else:
        view, indices = with_index_arrays(frame, node, owner, items)
        _put(frame, node, view, indices, value, accumulate=True)
    _write_back(frame, view)


def _place(frame: Frame, node: ast.AST, index: Array) -> Array:
    """An index array as torch has it: a mask, or int64."""
    dtype = dtype_of(frame, node, index)
    if dtype.kind not in "biu":
        raise frame.error(node, f"an array of {dtype} as index")
    if dtype in (np.bool_, np.int64):
        return index
    no, code = frame.em.bool(False), frame.em.int(dtypes.i64.code)
    return replace(index, ssa=frame.em.numpy("aten.to.dtype", [index.ssa, code, no, no, frame.em.none]))


def refuse_detached(frame: Frame, node: ast.AST, array: Array) -> None:
    """Raises UnsupportedSyntax for an array that is a copy where NumPy has a view: what is written would be lost."""
    if array.detached:
        raise frame.error(node, "writing through a reversed view", "index the array itself: x[::-1][0] = v is x[-1] = v")


def _store_sequence(frame: Frame, node: ast.AST, owner: Sequence, index: Value, value: Value) -> None:
    if owner.kind == "tuple":
        raise WillRaise(_TUPLE_STORE)
    require_own(frame, node, owner)
    if not isinstance(index, Const) or not isinstance(index.value, int):
        raise frame.error(node, f"{describe(index)} as the index of a list", "use a constant index, or an array", NeedsStatic)
    try:
        owner.items[index.value] = value
    except IndexError as e:
        raise WillRaise(IndexError("list assignment index out of range")) from e


def require_own(frame: Frame, node: ast.AST, owner: Sequence | Mapping_) -> None:
    """A list or dict may change only where the code runs exactly once after it was made."""
    kind = "dict" if isinstance(owner, Mapping_) else "list"
    if owner.external:
        is_lent = isinstance(owner, Sequence) and owner.site is not None
        cls = GrowsList if is_lent else UnsupportedSyntax
        raise frame.error(node, f"changing a {kind} from outside the function", f"return a new {kind}", cls)
    if owner.perhaps:
        what = f"changing a {kind} that may be another one of the function's, by the path taken"
        raise frame.error(node, what, f"change a new {kind}", GrowsList)
    if owner.region != frame.em.region:
        remedy = "make an array with np.empty and assign its rows, or loop over a short constant range"
        raise frame.error(node, f"changing a {kind} inside a branch or loop that the run decides", remedy, GrowsList)


def update_item(frame: Frame, node: ast.AST, op: type, owner: Value, index: Value, value: Callable[[], Value]) -> None:
    """`owner[index] op= value()`. As in Python the item is loaded before the value is computed, which may raise or write, too."""
    if is_numpy_scalar(owner):
        owner = as_array(frame, node, owner)
    if not isinstance(owner, Array):
        _update_static_item(frame, node, op, owner, index, value)
        return
    require_mutation(frame)
    refuse_detached(frame, node, owner)
    items = take_apart(frame, node, index)
    calls = isinstance(node, ast.AugAssign) and any(isinstance(n, ast.Call) for n in ast.walk(node.value))
    if has_index_arrays(items):
        base, indices = with_index_arrays(frame, node, owner, items)
        if calls:
            refuse_detached(frame, node, base)  # what is called may write the array
        loaded = gather(frame, base, indices)
        new = each(frame, node, [value()], partial(array_operators.update, frame, node, op, loaded))
        _refuse_scalar(frame, owner)
        _put(frame, node, base, indices, new)
        _write_back(frame, base)
        return
    view = view_of(frame, node, owner, items)
    if calls:
        refuse_detached(frame, node, view)
    loaded = as_array(frame, node, view, fresh=True) if calls and view.may_be_scalar else view  # what is called may write the element

    def update(given: Value) -> Value:
        if owner.may_be_scalar:
            array_operators.binary(frame, node, op, loaded, given)  # what this raises comes first
            _refuse_scalar(frame, owner)
        _update_view(frame, node, op, replace(view, detached=False), loaded, given)
        return NONE

    each(frame, node, [value()], update)
    _write_back(frame, view)


def _update_view(frame: Frame, node: ast.AST, op: type, view: Array, loaded: Array, value: Value) -> None:
    """A view of rank >= 1 is written in place; an element is what was loaded, computed with NumPy's promotion, and stored with a cast."""
    em = frame.em

    def element() -> Value:
        scalar = replace(loaded, decays=view.decays)
        array_operators.refuse_repeats(frame, node, op, scalar, value)
        fill(frame, node, view, array_operators.binary(frame, node, op, scalar, value))
        return view

    if view.rank == 0 and view.decays:
        element()
    elif not view.may_be_scalar:
        array_operators.update(frame, node, op, view, value)
    else:
        is_scalar = em.scalar("aten.eq.int", [rank_ssa(frame, view), em.int(0)], em.types.bool)
        select(frame, node, is_scalar, element, lambda: array_operators.update(frame, node, op, replace(view, decays=False), value))


def _update_static_item(frame: Frame, node: ast.AST, op: type, owner: Value, index: Value, given: Callable[[], Value]) -> None:
    """An array held in a list or dict: written in place, the container stays as it is."""
    current = indexing.load(frame, node, owner, index)
    value = given()
    if isinstance(owner, Sequence) and owner.kind == "tuple":  # Python writes the array, and raises when it puts it back
        if isinstance(current, Array) and not current.may_be_scalar:
            array_operators.update(frame, node, op, current, value)
        raise WillRaise(_TUPLE_STORE)
    if isinstance(current, Array):
        if not current.may_be_scalar:
            array_operators.update(frame, node, op, current, value)
            return
        if isinstance(owner, Sequence) and not owner.external:
            store(frame, node, owner, index, array_operators.update(frame, node, op, current, value))
            return
    if is_number(current) or is_numpy_scalar(current):
        store(frame, node, owner, index, operate(frame, node, op, current, value))
        return
    raise frame.error(node, f"`{SYMBOLS[op]}=` on {describe(current)} in {describe(owner)}", "use an array for it")
