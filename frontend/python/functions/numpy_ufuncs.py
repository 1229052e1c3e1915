"""Calls of ufuncs as NumPy allows them: `out=`, `where=`, `dtype=`, the output by position, and `reduce`, `accumulate`, `outer`, `at` and
`reduceat`.

np.add(x, 1, out=y)                  ->  y[...] = x + 1, of which y is the value
np.add(x, 1, out=y, where=m)         ->  y[...] = np.where(m, x + 1, y)
np.maximum.reduce(x)                 ->  np.max(x, axis=0)
np.subtract.outer(x, y)              ->  x[..., None] - y
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.ops.indexing.folds import FOLDS
from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of, settled
from tierup.frontend.python.building.values import (
    NONE,
    TRUE,
    ZERO,
    Array,
    Const,
    Sequence,
    Value,
    describe,
    is_none,
    is_number,
    number_kind,
)
from tierup.frontend.python.functions import numpy_factories, numpy_internals, numpy_reductions
from tierup.frontend.python.functions.numpy_shape import known_rank
from tierup.frontend.python.operations import array_operators, stores
from tierup.frontend.python.operations.arrays import as_array, beside, strong

_NO_EFFECT = ("order", "subok")  # of layouts that programs do not promise, and subclasses that they do not hold


def call(frame: Frame, node: ast.AST, ufunc: np.ufunc, args: list[Value], kwargs: Mapping[str, Value]) -> Value:
    """`ufunc(*args, **kwargs)`. Raises UnsupportedSyntax for one that is not in the table."""
    handler = table.find(ufunc)
    if handler is None:
        raise table.unknown(frame, node, ufunc)
    named = {k: v for k, v in table.given(kwargs).items() if k not in _NO_EFFECT}
    casting, mask, out = named.pop("casting", numpy_internals.SAME_KIND), named.pop("where", TRUE), named.pop("out", NONE)
    numpy_internals.mask_is_allowed(frame, node, mask)
    if len(args) > ufunc.nin and not named.keys() & {"out"}:
        out = Sequence("tuple", args[ufunc.nin :])
        args = args[: ufunc.nin]
    dtype = named.pop("dtype", NONE)
    if not is_none(dtype):
        args = _converted(frame, node, ufunc, args, dtype, casting)
    if len(args) == 2:
        args = [beside(frame, node, a, b) for a, b in (args, args[::-1])]
    if isinstance(out, Sequence) and len(out.items) == 1:
        out = out.items[0]
    fits = False
    if isinstance(out, Array) and not out.may_be_scalar:
        rule = table.constant(frame, node, casting, "`casting`")
        op = array_operators.IN_PLACE_UFUNCS.get(ufunc)
        if op is not None and rule == "same_kind" and mask is TRUE and isinstance(args[0], Array) and args[0].ssa == out.ssa:
            return array_operators.update(frame, node, op, out, args[1])
        *operands, target = (settled(frame, v) for v in (*args, out))
        fits = array_operators.check_output(ufunc, operands, target, rule)
        if fits and ufunc.signature is None:
            shaped = [NONE if v is None or v is TRUE else as_array(frame, node, v) for v in (*args, *[None] * (2 - len(args)), mask)]
            given = [v.ssa if isinstance(v, Array) else frame.em.none for v in shaped]
            frame.em.op("tierup.check_output", [out.ssa, *given], [])
    result = table.invoke(frame, node, ufunc, handler, args, named)
    return _given(frame, node, ufunc, result, out, mask, casting, fits)


def _given(frame: Frame, node: ast.AST, ufunc: np.ufunc, result: Value, out: Value, mask: Value, casting: Value, fits: bool) -> Value:
    """What the call gives. `fits`: whether the result may be converted to the dtype of `out`, if that is known."""
    always = isinstance(mask, Const) and mask.value is True
    if is_none(out):
        if not always:
            raise frame.error(node, f"`where` of {table.name_of(ufunc)} without `out`", "write np.where(mask, result, other)")
        return result
    if not isinstance(result, Array):
        raise frame.error(node, f"`out` of {table.name_of(ufunc)}", "assign to it: out[...] = ...")
    if isinstance(out, Const) and out.value is ...:
        return replace(result, decays=False)
    if not isinstance(out, Array) or out.may_be_scalar:
        raise frame.error(node, f"{describe(out)} as `out`", "give it an array")
    if not fits:
        numpy_internals.cast_is_allowed(frame, node, result, out, casting)
    given = result if always else as_array(frame, node, numpy_internals.chosen(frame, node, mask, result, out))
    stores.write_output(frame, node, out, given)
    return out


def _converted(frame: Frame, node: ast.AST, ufunc: np.ufunc, args: list[Value], dtype: Value, casting: Value) -> list[Value]:
    """The operands in the dtype that the loop is to compute in, for ufuncs whose result is of their operands' dtype."""
    if not any(form[0] == form[-1] == "d" for form in ufunc.types):
        raise frame.error(node, f"`dtype` of {table.name_of(ufunc)}", "convert the operands: x.astype(...)")
    known = np.dtype(table.constant(frame, node, dtype, "a dtype"))
    rule = table.constant(frame, node, casting, "`casting`")
    found: list[Value] = []
    for number, a in enumerate(args):
        given = {"bool": np.dtype(bool), "int": np.dtype(np.int8), "float": np.dtype(np.float16)}[number_kind(a)] if is_number(a) else None
        x = None if given is not None else as_array(frame, node, a)
        of = given if x is None else dtype_of(frame, node, x)
        assert of is not None
        if not np.can_cast(of, known, rule):
            what = f"Cannot cast ufunc {ufunc.__name__!r} input {number} from {of!r} to {known!r} with casting rule {rule!r}"
            raise WillRaise(TypeError(what))
        if x is None:
            found.append(strong(frame, node, a, known))
        else:  # which lies as a result of a ufunc does, as a cast of what is broadcast would not
            found.append(numpy_factories.astype(frame, node, call(frame, node, np.maximum, [x, x], {}), Const(known)))
    return found


_REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_SCANS: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
_POSITIONS = ("axis", "dtype", "out", "keepdims", "initial", "where")  # of what methods take behind the array


def method(frame: Frame, node: ast.AST, bound: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`ufunc.reduce(...)` and its like; `bound`: the method. Raises UnsupportedSyntax for what programs do not compute."""
    ufunc, name = bound.__self__, bound.__name__
    handler = table.find(bound)
    if handler is not None:
        return table.invoke(frame, node, bound, handler, args, kwargs)
    build = _METHODS.get(name)
    if build is None:
        raise table.unknown(frame, node, bound)
    return build(frame, node, bound, ufunc, args, kwargs)


def _along_first(functions: dict[np.ufunc, Any], of_scalars: bool = True) -> Callable[..., Value]:
    def build(frame: Frame, node: ast.AST, bound: Any, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if ufunc not in functions:
            raise table.unknown(frame, node, bound)
        if not of_scalars and args and as_array(frame, node, args[0]).rank == 0:
            raise WillRaise(TypeError(f"cannot {bound.__name__} on a scalar"))
        if len(args) > 1 + len(_POSITIONS) or not kwargs.keys().isdisjoint(_POSITIONS[: max(len(args) - 1, 0)]):
            raise table.unknown(frame, node, bound)  # which Python refuses, too
        named = {"axis": ZERO, **dict(zip(_POSITIONS, args[1:], strict=False)), **kwargs}  # in functions these stand in another order
        named = {name: v for name, v in named.items() if name not in ("dtype", "out") or not is_none(v)}
        if not of_scalars:
            numpy_reductions.refuse_no_axis(frame, node, named["axis"])
        of = functions[ufunc]
        handler = table.find(of)
        assert handler is not None
        return table.invoke(frame, node, of, handler, args[:1], named)

    return build


def _outer(frame: Frame, node: ast.AST, bound: Any, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 2:
        raise WillRaise(TypeError("exactly two arguments expected"))
    a, b = (as_array(frame, node, v) for v in args)
    for _ in range(known_rank(frame, node, b, table.name_of(bound))):
        a = replace(a, ssa=frame.em.numpy("aten.unsqueeze", [a.ssa, frame.em.int(-1)]), rank=known_rank(frame, node, a, "outer") + 1)
    return call(frame, node, ufunc, [a, b], kwargs)


def _at(frame: Frame, node: ast.AST, bound: Any, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if ufunc.__name__ not in FOLDS or len(args) != 3 or kwargs or not isinstance(args[0], Array):
        raise table.unknown(frame, node, bound)
    x, value = args[0], as_array(frame, node, args[2])
    of, by = dtype_of(frame, node, x), dtype_of(frame, node, value)
    if ufunc is np.subtract and of == by and of.kind in "fc":
        ufunc, value = np.add, as_array(frame, node, array_operators.unary(frame, node, ast.USub, value))
    if ufunc is not np.add:
        _insist_on_dtype(frame, node, bound, ufunc, of, by)
        value = numpy_factories.cast(frame, node, value, Const(of))
    stores.at(frame, node, ufunc, x, args[1], value)
    return NONE


_OF_INTS = (np.subtract, np.multiply)  # whose low bits are those of the operands' low bits


def _insist_on_dtype(frame: Frame, node: ast.AST, bound: Any, ufunc: np.ufunc, of: np.dtype, by: np.dtype) -> None:
    """Raises UnsupportedSyntax where ufunc.at computes elements in another dtype than theirs."""
    try:
        found = set(ufunc.resolve_dtypes((of, by, None)))
    except TypeError:
        found = set()
    if found != {of} and not (ufunc in _OF_INTS and {d.kind for d in (of, by, *found)} <= {"i", "u"}) or of.kind not in "biuf":
        raise frame.error(node, f"{table.name_of(bound)} of {of} and {by}", "convert the operands: x.astype(...)")


def _reduceat(frame: Frame, node: ast.AST, bound: Any, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value]) -> Value:
    def reduceat(array: Value, indices: Value, axis: Value = ZERO, dtype: Value = NONE) -> Value:
        x, at, name = as_array(frame, node, array), as_array(frame, node, indices), table.name_of(bound)
        rank, dim = known_rank(frame, node, x, name), table.constant(frame, node, axis, "`axis`")
        of, places = dtype_of(frame, node, x), dtype_of(frame, node, at)
        asked = None if is_none(dtype) else np.dtype(table.constant(frame, node, dtype, "a dtype"))
        try:
            computed = bound(np.ones(1, of), [0], dtype=asked).dtype
        except TypeError:
            computed = np.dtype(object)
        fits = type(dim) is int and -rank <= dim < rank and known_rank(frame, node, at, name) == 1 and np.can_cast(places, np.intp)
        if not fits or computed.kind not in "biuf" or of.kind not in "biuf":
            raise frame.error(node, f"{name} like this", "reduce an array of numbers along an axis, by a vector of ints")
        converted = [numpy_factories.cast(frame, node, v, Const(np.dtype(d)), copy=False).ssa for v, d in ((x, computed), (at, np.int64))]
        [ssa] = frame.em.torch("tierup.reduceat", [*converted, frame.em.int(dim), frame.em.str(ufunc.__name__)])
        return Array(ssa, rank, dtype=computed, decays=False)

    if ufunc.__name__ not in FOLDS:
        raise table.unknown(frame, node, bound)
    return table.invoke(frame, node, bound, lambda frame, node, *args, **kwargs: reduceat(*args, **kwargs), args, kwargs)


_METHODS = {
    "reduce": _along_first(_REDUCTIONS), "accumulate": _along_first(_SCANS, of_scalars=False), "outer": _outer, "at": _at,
    "reduceat": _reduceat,
}  # fmt: skip
