"""Functions of scipy.special that ops here compute, under their own names. SciPy is not needed, nor imported: who calls them did that.

scipy.special.expit(x)  ->  aten.sigmoid
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import Handler, constant, find, named
from tierup.frontend.python.building.values import NONE, Array, Const, Value, is_none, is_number, number_kind
from tierup.frontend.python.functions import numpy_elementwise, numpy_factories
from tierup.frontend.python.operations import array_operators
from tierup.frontend.python.operations.array_operators import broadcast_rank
from tierup.frontend.python.operations.arrays import as_array, strong

_OPS = {"erf": "aten.erf", "expit": "aten.sigmoid", "log_expit": "aten.log_sigmoid", "xlogy": "aten.xlogy.Tensor"}
_NUMPYS = {"exp2": np.exp2, "expm1": np.expm1, "log1p": np.log1p}


def _elementwise(name: str) -> Callable[[Callable[..., Array]], Handler]:
    """Register what computes a ufunc of SciPy's of arrays in the dtype that SciPy computes in: float32, or float64."""

    def register(compute: Callable[..., Array]) -> Handler:
        def unary(frame: Frame, node: ast.AST, x: Value) -> Value:
            return compute(frame, node, *_floats(frame, node, name, x))

        def binary(frame: Frame, node: ast.AST, x: Value, y: Value) -> Value:
            return compute(frame, node, *_floats(frame, node, name, x, y))

        return named(f"scipy.special.{name}")(binary if name == "xlogy" else unary)

    return register


def _floats(frame: Frame, node: ast.AST, name: str, *operands: Value) -> list[Array]:
    ufunc: np.ufunc = getattr(sys.modules["scipy.special"], name)
    kinds: dict[str, Any] = {"int": int, "float": float, "bool": np.dtype(bool)}
    known = [kinds[number_kind(v)] if is_number(v) else dtype_of(frame, node, as_array(frame, node, v)) for v in operands]
    dtype = ufunc.resolve_dtypes((*known, None))[0]

    def converted(x: Value, of: Any) -> Value:
        if is_number(x):
            return strong(frame, node, x, dtype)
        return x if of == dtype else numpy_factories.astype(frame, node, x, Const(dtype))

    return [as_array(frame, node, converted(x, of)) for x, of in zip(operands, known, strict=True)]


def _op(op: str) -> Callable[..., Array]:
    def compute(frame: Frame, node: ast.AST, *operands: Array) -> Array:
        return Array(frame.em.numpy(op, [x.ssa for x in operands]), *broadcast_rank(*operands), operands[0].dtype)

    return compute


def _numpys(ufunc: np.ufunc) -> Callable[..., Array]:
    return lambda frame, node, *operands: find(ufunc)(frame, node, *operands)  # type: ignore[misc,return-value]  # it is in the table


for _name, _of in _OPS.items():
    _elementwise(_name)(_op(_of))
for _name, _ufunc in _NUMPYS.items():
    _elementwise(_name)(_numpys(_ufunc))


@_elementwise("logit")
def logit(frame: Frame, node: ast.AST, x: Array) -> Array:
    """log(x / (1 - x)), near 1/2 by log1p, as SciPy computes it: the quotient's rounding would be all of the result there."""

    def of(op: type, a: Value, b: Value) -> Array:
        return array_operators.binary(frame, node, op, a, b)

    log, log1p = _numpys(np.log), _numpys(np.log1p)
    s = of(ast.Mult, Const(2.0), of(ast.Sub, x, Const(0.5)))
    near = of(ast.Sub, log1p(frame, node, s), log1p(frame, node, array_operators.unary(frame, node, ast.USub, s)))
    far = log(frame, node, of(ast.Div, x, of(ast.Sub, Const(1.0), x)))
    is_far = of(ast.BitOr, of(ast.Lt, x, Const(0.3)), of(ast.Gt, x, Const(0.65)))
    return replace(as_array(frame, node, numpy_elementwise.where(frame, node, is_far, far, near)), decays=True)


def _along(op: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, x: Value, axis: Value = NONE) -> Value:
        a, em = as_array(frame, node, x), frame.em
        if dtype_of(frame, node, a).kind != "f":
            raise frame.error(node, "a softmax of integers", "convert them: x.astype(np.float64)")
        dim = 0 if is_none(axis) and a.rank == 1 else constant(frame, node, axis, "the axis")
        if type(dim) is not int:
            raise frame.error(node, "a softmax over several axes")
        return replace(a, ssa=em.numpy(op, [a.ssa, em.int(dim), em.none]), detached=False)

    return handler


named("scipy.special.softmax")(_along("aten.softmax.int"))
named("scipy.special.log_softmax")(_along("aten.log_softmax.int"))
