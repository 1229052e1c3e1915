"""An array's index taken apart, and what its parts give: views for integers, slices and new axes; gathers for index arrays.

An integer beside index arrays is an index array too (NumPy's rule): it then stays a dimension of the view. NumPy's integer scalars are
integers, its arrays of rank 0 are index arrays; where only the run knows which an index is, it is asked (`where_integers`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.ir.attributes import INDEX
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, NeedsIndexDtypes, NeedsStatic, WillRaise
from tierup.frontend.python.building.values import Array, Const, Grows, Reversed, Scalar, Sequence, Slice, Value, describe, is_none
from tierup.frontend.python.operations import arrays
from tierup.frontend.python.operations.arrays import as_int
from tierup.frontend.python.operations.scalars import check_zero_step, of_ints, raise_if

_NO_INDEX = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"


@dataclass
class Items:
    """An index taken apart: what stands before and after an ellipsis (no ellipsis: all before)."""

    left: list[Value]
    right: list[Value]
    has_ellipsis: bool


def has_index_arrays(items: Items) -> bool:
    """Whether an index picks elements by arrays, and so gives a copy."""
    return any(isinstance(i, Array) for i in (*items.left, *items.right))


def take_apart(frame: Frame, node: ast.AST, index: Value) -> Items:
    """The items of an index before and behind its ellipsis. Raises WillRaise for two ellipses."""
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    ellipses = [i for i, item in enumerate(items) if isinstance(item, Const) and item.value is Ellipsis]
    if len(ellipses) > 1:
        raise WillRaise(IndexError("an index can only have a single ellipsis ('...')"))
    items = [_index_item(frame, node, item) for item in items]
    if not ellipses:
        return Items(items, [], False)
    return Items(items[: ellipses[0]], items[ellipses[0] + 1 :], True)


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
        raise WillRaise(IndexError(_NO_INDEX))
    if isinstance(item, Scalar):
        if item.kind != "int":
            raise frame.error(node, f"{describe(item)} as an index", "write int(...) around it")
        return item
    if isinstance(item, Array):
        if item.rank == 0 and item.decays is True and item.dtype is not None and item.dtype.kind in "iu":
            return Scalar(as_int(frame, node, item), "int")
        _refuse_float(frame, item)
        return item
    if isinstance(item, (Sequence, Grows)):
        listed = arrays.as_index(frame, node, item) if isinstance(item, Sequence) else arrays.as_array(frame, node, item)
        if listed.dtype is not None and listed.dtype.kind in "fc":
            raise WillRaise(IndexError(_NO_INDEX))
        if listed.dtype is None:
            raise_if(frame, frame.em.numpy("aten.is_floating_point", [listed.ssa], frame.em.types.bool), "IndexError", _NO_INDEX)
        return listed
    raise frame.error(node, f"{describe(item)} as an index")


def _refuse_float(frame: Frame, item: Array) -> None:
    """A float of NumPy's is no index, as an array of floats is none, but NumPy says so otherwise."""
    em = frame.em
    if not item.may_be_scalar or (item.dtype is not None and item.dtype.kind not in "fc"):
        return
    if item.rank == 0 and item.decays is True and item.dtype is not None:
        raise WillRaise(IndexError(_NO_INDEX))
    wrong = em.numpy("aten.is_floating_point", [item.ssa], em.types.bool)
    if item.rank != 0 or item.decays is not True:
        wrong = em.scalar("aten.__and__.bool", [wrong, arrays.is_scalar(frame, item)], em.types.bool)
    raise_if(frame, wrong, "IndexError", _NO_INDEX)


def where_integers(frame: Frame, node: ast.AST, items: Items) -> tuple[ir.Value, Items] | None:
    """When the index arrays of an index are all integers, as !torch.bool, and the index as it then is: `x[k]` for each `k` of an array, or
    an argument, whose dtype only the run knows. None where one of them surely is an array, or is a bool."""
    em = frame.em
    given = [item for item in (*items.left, *items.right) if isinstance(item, Array)]
    if not all(item.may_be_scalar and (item.dtype is None or item.dtype.kind in "iu") for item in given):
        return None
    if any(item.dtype is None for item in given) and frame.outside.knows_dtypes == "no":
        raise NeedsIndexDtypes
    holds: list[ir.Value] = []
    for item in given:
        if item.rank is None or item.decays is not True:
            holds.append(arrays.is_scalar(frame, item))
        if item.dtype is None:
            holds.append(em.scalar("aten.ne.int", [arrays.is_of(frame, item, dtypes.INTS), em.int(0)], em.types.bool))

    def integer(item: Value) -> Value:
        return replace(item, rank=0) if isinstance(item, Array) else item

    both = reduce(lambda a, b: em.scalar("aten.__and__.bool", [a, b], em.types.bool), holds)
    return both, Items([integer(i) for i in items.left], [integer(i) for i in items.right], items.has_ellipsis)


def view_of(frame: Frame, node: ast.AST, owner: Array, items: Items) -> Array:
    """The view that integers, slices and new axes give."""
    view, used = owner, sum(map(_consumes, (*items.left, *items.right)))
    _refuse_too_many(frame, owner, used, meet=bool(items.right))
    dim = taken = 0
    for item in items.left:
        view, kept = _apply(frame, node, view, item, dim, (taken, used))
        dim += kept
        taken += _consumes(item) - kept
    after = 0  # dimensions done, counted from the back
    for item in reversed(items.right):
        view, kept = _apply(frame, node, view, item, -1 - after, (taken, used))
        after += kept
    least = dim + after
    return replace(view, min_rank=max(view.min_rank, least), decays=least == 0 and not items.has_ellipsis)


def _refuse_too_many(frame: Frame, owner: Array, used: int, given: Iterable[Value] = (), *, meet: bool = False) -> None:
    """IndexError for more items than dimensions. `meet`: items on both sides of an ellipsis, each counted from its own end, may meet, so
    that the run has to be asked; else the ops raise that each item becomes. `given`: the items; NumPy refuses arrays of floats first."""
    if owner.rank is not None:
        if used > owner.rank:
            if owner.rank == 0 and owner.decays is True:
                raise WillRaise(IndexError("invalid index to scalar variable."))
            floats = any(isinstance(i, Array) and (i.dtype is None or i.dtype.kind in "fc") for i in given)
            of = unanswerable(IndexError) if floats else IndexError
            raise WillRaise(of(f"too many indices for array: array is {owner.rank}-dimensional, but {used} were indexed"))
    elif meet and used > owner.at_least:
        few = frame.em.scalar("aten.lt.int", [arrays.rank_ssa(frame, owner), frame.em.int(used)], frame.em.types.bool)
        raise_if(frame, few, "IndexError", f"too many indices for array: {used} were indexed")


def _apply(frame: Frame, node: ast.AST, view: Array, item: Value, dim: int, among: tuple[int, int] = (0, 1)) -> tuple[Array, int]:
    """One index item at `dim`; how many dimensions it leaves. `among`: how many the items before it took, and how many items there are."""
    em = frame.em
    rank, least = view.rank, view.min_rank
    takes_one = not (isinstance(item, Const) and item.value is None)
    if takes_one and rank is not None and not -rank <= dim < rank:
        raise WillRaise(IndexError(f"too many indices for array: array is {rank}-dimensional"))
    if isinstance(item, Slice):
        return _slice(frame, node, view, item, dim), 1
    if isinstance(item, Const) and item.value is None:
        ssa = em.numpy("aten.unsqueeze", [view.ssa, em.int(dim)])
        return replace(view, ssa=ssa, rank=None if rank is None else rank + 1, min_rank=least + 1), 1
    ssa = em.numpy("aten.select.int", [view.ssa, em.int(dim), as_int(frame, node, item)])
    if among != (0, 1):  # for its errors
        ssa.owner.attributes[INDEX] = ir.DenseI64ArrayAttr.get(list(among))
    return replace(view, ssa=ssa, rank=None if rank is None else rank - 1, min_rank=max(0, least - 1)), 0


def _slice(frame: Frame, node: ast.AST, view: Array, item: Slice, dim: int) -> Array:
    em = frame.em
    if all(is_none(p) for p in (item.start, item.stop, item.step)) and view.rank is not None:
        return view
    step = 1 if is_none(item.step) else item.step.value if isinstance(item.step, Const) else None
    if step is None:
        raise frame.error(node, "a slice whose step is known only at run time", "use a constant step", NeedsStatic)
    if not isinstance(step, (int, np.integer)):
        raise WillRaise(TypeError("slice indices must be integers or None or have an __index__ method"))
    step = int(step)
    check_zero_step(step)
    if step < 0:
        return _reversed(frame, node, view, item, dim, step)
    start, stop = (em.none if is_none(p) else as_int(frame, node, p, "a slice") for p in (item.start, item.stop))
    ssa = em.numpy("aten.slice.Tensor", [view.ssa, em.int(dim), start, stop, em.int(step)])
    return replace(view, ssa=ssa)


def _reversed(frame: Frame, node: ast.AST, view: Array, item: Slice, dim: int, step: int) -> Array:
    """A negative step: the dimension is flipped, and the rest is a slice with a positive step. Element i of the flipped
    dimension is -1-i of the other, so that bounds count from the other end; a flip is a copy, NumPy's is a view."""
    em = frame.em
    flipped = em.numpy("aten.flip", [view.ssa, em.ints(dim)])
    bounds = [_mirrored(frame, node, p) for p in (item.start, item.stop)]
    ssa = flipped
    if not is_none(item.start) or not is_none(item.stop) or step != -1:
        ssa = em.numpy("aten.slice.Tensor", [flipped, em.int(dim), *bounds, em.int(-step)])
    return replace(view, ssa=ssa, detached=Reversed(view, flipped, dim), writes=em.writes)



def _mirrored(frame: Frame, node: ast.AST, bound: Value) -> ir.Value:
    """-1 - bound: the same place counted from the other end. 0 and -1 swap sides, as they must."""
    em = frame.em
    if is_none(bound):
        return em.none
    if isinstance(bound, Const):
        return em.int(-1 - int(bound.value))
    return of_ints(frame, "aten.sub.int", em.int(-1), as_int(frame, node, bound, "a slice"))


# --- index arrays --------------------------------------------------------------------------------------------------------


def with_index_arrays(frame: Frame, node: ast.AST, owner: Array, items: Items) -> tuple[Array, list[Array | None]]:
    """The view that the slices give, and an index array or None for each of its leading dimensions.

    Integers stay dimensions here and become rank-0 index arrays, because NumPy broadcasts them with the index arrays.
    """
    everything, given = list(items.left), (*items.left, *items.right)
    consumed = [_mask_rank(i) if isinstance(i, Array) else _consumes(i) for i in given]
    masks = sum(isinstance(i, Array) and i.rank == 0 and i.dtype is None for i in given)  # these may take none
    if owner.rank is not None:
        _refuse_too_many(frame, owner, sum(n or 0 for n in consumed) - masks, given)
    if items.has_ellipsis and items.right:
        if owner.rank is None or None in consumed:
            raise frame.error(
                node, "index arrays after an ellipsis in an array of unknown rank", "write `:` for each dimension", NeedsStatic
            )
        whole = Slice(Const(None), Const(None), Const(None))
        everything += [whole] * max(0, owner.rank - sum(n or 0 for n in consumed)) + items.right
    view, dim = owner, 0
    indices: list[Array | None] = []
    for item in everything:
        if isinstance(item, Array):
            indices.append(item)
            taken = _mask_rank(item)
            if taken is None:
                if item is not everything[-1]:
                    raise frame.error(
                        node,
                        "an index array of unknown dtype or rank before other indices",
                        "put it last, or compare it to make the mask here",
                    )
                taken = 1
            dim += taken
        elif isinstance(item, Scalar) or (isinstance(item, Const) and isinstance(item.value, int)):
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


def gather(frame: Frame, base: Array, indices: list[Array | None]) -> Array:
    """base[indices]: an index array, or None for all, for each of the leading dimensions."""
    em = frame.em
    ssa = em.numpy("aten.index.Tensor", [base.ssa, optional_list(frame, indices)])
    given = [i for i in indices if i is not None]
    rank = None
    if base.rank is not None and all(i.rank is not None and i.dtype is not None for i in given):
        masks = [i for i in given if i.dtype is not None and i.dtype.kind == "b"]
        consumed = sum(_mask_rank(i) or 0 for i in given)
        broadcast = max([1 if i in masks else i.rank or 0 for i in given])
        rank = base.rank - consumed + broadcast
    return Array(ssa, rank, 0, base.dtype, decays=True)


def optional_list(frame: Frame, indices: list[Array | None]) -> ir.Value:
    """Index arrays as aten.index takes them: None for a dim that is taken whole."""
    em = frame.em
    return em.scalar("prim.ListConstruct", [em.none if i is None else i.ssa for i in indices], em.types.optional_tensor_list)
