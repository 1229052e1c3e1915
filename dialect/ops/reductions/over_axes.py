"""How a reduction is defined: one function for all of its overloads, and the rule of their results' types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import NoneValue, Shape, Tensor, Value
from tierup.dialect.optable.core import Infer, InferRule, Kind, Promotion, ShapeError, Tolerance, normalise_dim
from tierup.dialect.optable.define import DefinedOp, Kernel, place_of, read_schema
from tierup.dialect.optable.kernels.arrays import axes_of, distinct_axes, dtype_named, in_rows
from tierup.dialect.optable.operands import Unknown, dtype_argument, dtype_of, flag, integers, is_none, optional, or_unknown, shape

NONE = NoneValue()
added: Callable[..., Any] = np.add.reduce  # NumPy's stub takes a literal `keepdims` alone
DTypeRule = Callable[[DType, DType | None], DType | None]  # (operand's, dtype argument's) -> result's


# --- shapes ------------------------------------------------------------------------------------------------------------


def named_axes(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dims counted from the front. IndexError out of range; ShapeError for one named twice."""
    axes = [normalise_dim(d, rank) for d in dims]
    for axis in axes:
        if axes.count(axis) > 1:
            raise ShapeError(f"dim {axis} appears multiple times in the list of dims")
    return tuple(axes) if rank else ()


def drop(sizes: Shape, axes: Sequence[int], keepdim: bool) -> Shape:
    """`sizes` with axes reduced to 1 or gone."""
    if keepdim:
        return tuple(1 if i in axes else d for i, d in enumerate(sizes))
    return tuple(d for i, d in enumerate(sizes) if i not in axes)


@or_unknown
def _reduced(x: Value, dims: Value, keepdim: Value, refuse_empty: str, empty_means_none: bool) -> Shape:
    """The shape after reducing `dims` (None, an int or a list). `refuse_empty` names an op without identity."""
    sizes = shape(x)
    named = optional(integers, dims)
    if named is None or (not named and not empty_means_none):
        axes = tuple(range(len(sizes)))
        if refuse_empty and any(d == 0 for d in sizes):
            raise ShapeError(f"{refuse_empty}(): Expected reduction dim to be specified for input.numel() == 0.")
    else:
        axes = named_axes(named, len(sizes))
        for axis in axes:
            if refuse_empty and sizes[axis] == 0:
                raise IndexError(f"{refuse_empty}(): Expected reduction dim {axis} to have non-zero size.")
    return drop(sizes, axes, not is_none(keepdim) and flag(keepdim))


@or_unknown
def _refuse_rank_0(x: Value, dims: Value) -> None:
    """np.mean and np.var take no axis of a rank-0 array; np.sum and np.max do."""
    if not shape(x) and bool(optional(integers, dims)):
        raise IndexError("axis 0 is out of bounds for array of dimension 0")


# --- dtypes ------------------------------------------------------------------------------------------------------------


@cache
def numpy_result(function: str, dtype: DType, asked: DType | None = None) -> DType | None:
    """The dtype that NumPy's function gives for an array of `dtype`: asked of NumPy itself, on one element. None for a dtype
    that programs cannot hold."""
    of = attrgetter(function)(np)
    one = np.ones(1, dtype.numpy)
    return dtypes.from_numpy((of(one) if asked is None else of(one, dtype=asked.numpy)).dtype)


def same(of: DType, asked: DType | None) -> DType:
    return of


def int64(of: DType, asked: DType | None) -> DType:
    return dtypes.i64


def widened(of: DType, asked: DType | None) -> DType:
    """What sums and products give: what is asked for, else int64 of bools and integers."""
    return asked or (of if of.part.is_float else dtypes.i64)


def numpy_of(function: str) -> DTypeRule:
    """What NumPy's function gives."""
    return partial(numpy_result, function)


# --- the rule ----------------------------------------------------------------------------------------------------------


Check = Callable[[str, Value, "dict[str, Value]"], None]


def _rule(
    torch: tuple[DTypeRule, ...], numpy: tuple[DTypeRule, ...], names: Sequence[str], refuse_empty: str, empty_means_none: bool,
    numpy_refuses_rank_0: bool, check: Check | None,
) -> InferRule:  # fmt: skip
    """One dtype rule per result under either promotion; `names`: those of the operands."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
        named = dict(zip(names, operands, strict=False))
        x, dims, keepdim, dtype = (named.get(name, NONE) for name in ("self", "dim", "keepdim", "dtype"))
        if numpy_refuses_rank_0 and ctx.promotion is Promotion.NUMPY:
            _refuse_rank_0(x, dims)
        if check is not None:
            check(refuse_empty, x, named)
        sizes = _reduced(x, dims, keepdim, refuse_empty, empty_means_none)
        rules = numpy if ctx.promotion is Promotion.NUMPY else torch
        results = tuple(Tensor(result_dtype(rule, x, dtype), sizes) for rule in rules)
        return results if len(results) > 1 else results[0]

    return infer


@or_unknown
def result_dtype(rule: DTypeRule, x: Value, asked: Value) -> DType | None:
    """A rule asked of an operand and a dtype argument; None when either is not known."""
    of = dtype_of(x)
    wanted = dtype_argument(asked)
    if of is None:
        raise Unknown
    return rule(of, wanted)


# --- a definition ------------------------------------------------------------------------------------------------------

SUMMED = Tolerance(4.0, 1.0)


class ReductionOp(DefinedOp[Any]):
    """An op that makes one element of all along some axes. `reduce(x, axes, keepdim, ...)` computes all of its overloads."""

    reduce: Callable[..., Any]


def reduction(
    *schemas: str, gives: DTypeRule | tuple[DTypeRule, ...], numpy: Callable[..., Any] | None = None, form: str = "none",
    numpy_gives: DTypeRule | tuple[DTypeRule, ...] | None = None, empty: type[Exception] | None = None, empty_means_none: bool = False,
    numpy_refuses_rank_0: bool = False, check: Check | None = None, no_gradient: str = "", **fields: Any,
) -> Callable[[Callable[..., Any]], ReductionOp]:  # fmt: skip
    """Define the overloads of a reduction by one function, f(x, axes, keepdim, ...): it gets the axes, counted from the front and in order,
    and what else an overload has, by name.

    `gives`: the dtype rule, or one for each result; `numpy_gives`: those under NumPy's rules, where they are others. `numpy`: NumPy's
    function, called with axis, keepdims, dtype and ddof where an overload has them; `form`: how it is written in torch ops. `empty`: what
    is raised where there is nothing to reduce, of ops that are nothing of no elements. `empty_means_none`: a dim of [] reduces nothing, not
    all. `numpy_refuses_rank_0`: its axes. `check(name, x, operands by name)` raises for types that are refused besides. `fields`: as in
    `Op`. """
    torch = gives if isinstance(gives, tuple) else (gives,)
    flavour = torch if numpy_gives is None else numpy_gives if isinstance(numpy_gives, tuple) else (numpy_gives,)
    fields = {"tolerance": SUMMED, "results": len(torch), "no_gradient": no_gradient, "differentiable": not no_gradient, **fields}

    def define(compute: Callable[..., Any]) -> ReductionOp:
        made: list[ReductionOp] = []
        for name, operands in map(read_schema, schemas):
            base, _, overload = name.removeprefix("aten.").partition(".")
            refuses = base if empty else ""
            infer = _rule(torch, flavour, operands, refuses, empty_means_none, numpy_refuses_rank_0, check)
            place = ".".join([place_of(compute, schemas[0]), *([overload] if made else [])])
            op = ReductionOp(name, Kind.REDUCTION, f"{place}.tier0", infer, operands=operands, **fields)
            op.tier0, op.reduce, op.__doc__ = _tier0(compute, torch[-1], base, operands, empty, empty_means_none), compute, compute.__doc__
            if numpy is not None:
                op.numpy, op.numpy_tier0, op.numpy_form = f"{place}.numpy_tier0", _numpy_tier0(numpy, operands, empty_means_none), form
            made.append(op)
            if len(made) > 1:
                setattr(made[0], overload, op)
        for op in made:
            op.overloads = tuple(made)
        return made[0]

    return define


def _tier0(
    compute: Callable[..., Any], gives: DTypeRule, name: str, operands: Sequence[str], empty: type[Exception] | None, empty_means_none: bool
) -> Kernel:
    """`gives` refuses dtypes, before anything else is looked at."""

    def kernel(x: np.ndarray, *rest: Any) -> Any:
        named = dict(zip(operands[1:], rest, strict=False))
        of, asked = dtypes.from_numpy(x.dtype), named.get("dtype")
        if of is not None:
            gives(of, None if asked is None else dtypes.from_numpy(dtype_named(asked)))
        dims, keepdim = named.pop("dim", None), named.pop("keepdim", False)
        axes = distinct_axes(dims, x.ndim) if empty_means_none and dims is not None else axes_of(dims, x.ndim)
        if empty is not None:
            _refuse_empty(name, x, axes, dims not in (None, [], ()), empty)
        found = compute(x, axes, keepdim, **named)
        return tuple(map(in_rows, found)) if isinstance(found, tuple) else in_rows(found)

    return kernel


def _refuse_empty(name: str, x: np.ndarray, axes: Sequence[int], told: bool, empty: type[Exception]) -> None:
    for axis in axes:
        if told and x.shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    if not told and x.size == 0:
        raise empty(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )


def _numpy_tier0(function: Callable[..., Any], operands: Sequence[str], empty_means_none: bool) -> Kernel:
    """Results are arrays, of rank 0 where NumPy gives a scalar."""

    def kernel(x: np.ndarray, *rest: Any) -> Any:
        named = dict(zip(operands[1:], rest, strict=False))
        if "dim" in operands:
            dims = named.pop("dim", None)
            named["axis"] = tuple(dims) if empty_means_none and dims is not None else numpy_axis(dims)
        if "keepdim" in operands:
            named["keepdims"] = named.pop("keepdim", False)
        if "dtype" in operands:
            code = named.pop("dtype", None)
            named["dtype"] = None if code is None else dtype_named(code)
        if "correction" in operands:
            named["ddof"] = named.pop("correction", None) or 0
        few = not x.size or ("ddof" in named and _count(x, named["axis"]) <= named["ddof"])
        found = _quietly(function, x, named) if few else function(x, **named)
        return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)

    return kernel


def _count(x: np.ndarray, axis: tuple[int, ...] | int | None) -> int:
    """How many elements make one of the result; axes that x has not got are for NumPy to refuse."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return prod(x.shape[a] for a in axes if -x.ndim <= a < x.ndim)


def _quietly(function: Callable[..., Any], x: np.ndarray, named: dict[str, Any]) -> Any:
    """Without np.mean's and np.var's word that there are too few elements, which no error state covers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(x, **named)


def numpy_axis(dims: Sequence[int] | int | None) -> tuple[int, ...] | int | None:
    """NumPy's axis: an int for one dim, since NumPy takes axis=0 of rank 0, but not axis=(0,). None and [] mean all."""
    if dims is None or isinstance(dims, int):
        return dims
    return (dims[0] if len(dims) == 1 else tuple(dims)) if dims else None
