"""What numpy.linalg's Python code calls: its generalised ufuncs, each an op of dialect/ops/linear_algebra.py, and helpers of its own.

np.linalg.solve(a, b)  ->  NumPy's own code, which checks and chooses  ->  tierup.linalg_solve(%a, %b), of float64
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of, settled
from tierup.frontend.python.building.values import FALSE, NONE, Array, Const, Sequence, Value
from tierup.frontend.python.functions import numpy_factories, python_objects, tierup_functions
from tierup.frontend.python.operations.arrays import as_array

_LINALG: Any = np.linalg._linalg  # private: NumPy's own code names them
_DOUBLE = Const(np.float64)
python_objects.STRUCTURAL.update({_LINALG._realType, _LINALG.isComplexType})


@table.function(_LINALG._makearray)
def makearray(frame: Frame, node: ast.AST, a: Value) -> Value:
    """An array, and what makes a result of NumPy's one of the array's class: of arrays itself."""
    return Sequence("tuple", [as_array(frame, node, a), Const(np.asarray)], frame.em.region)


@table.function(_LINALG._commonType)
def common_type(frame: Frame, node: ast.AST, *arrays: Array) -> Value:
    """The dtype that is computed in, and that of the result."""
    examples = [np.empty(0, dtype_of(frame, node, a)) for a in arrays]
    try:
        t, result_t = _LINALG._commonType(*examples)
    except TypeError as e:
        raise WillRaise(e) from e
    return Sequence("tuple", [Const(t), Const(result_t)], frame.em.region)


def _computed(frame: Frame, name: str, *operands: Array) -> list[Value]:
    """The results of the op of a generalised ufunc."""
    row = optable.lookup(f"tierup.linalg_{name}")
    assert row is not None
    made = frame.em.torch(row.name, [x.ssa for x in operands], [frame.em.types.tensor] * row.results, [x.rank for x in operands])
    return [settled(frame, Array(ssa)) for ssa in made]


def _gufunc(name: str) -> None:
    op = name.replace("solve1", "solve")  # which of the two it is the rank of the right-hand side says

    @table.function(getattr(_LINALG._umath_linalg, name, object()))  # where another NumPy lacks it, what nothing calls
    def build(frame: Frame, node: ast.AST, *stacks: Value, signature: Value = NONE) -> Value:
        operands = [as_array(frame, node, numpy_factories.astype(frame, node, x, _DOUBLE, copy=FALSE)) for x in stacks]
        found = _computed(frame, f"{op}_or_nan" if name == "inv" and frame.ignores_errors else op, *operands)
        return found[0] if len(found) == 1 else Sequence("tuple", found, frame.em.region)


for _name in (
    "solve", "solve1", "inv", "det", "slogdet", "cholesky_lo", "cholesky_up", "eigvalsh_lo", "eigvalsh_up", "eigh_lo", "eigh_up",
    "svd", "svd_s", "svd_f", "qr_reduced", "qr_complete", "lstsq",
):  # fmt: skip
    _gufunc(_name)


@table.function(getattr(_LINALG._umath_linalg, "qr_r_raw", object()))
def qr_r_raw(frame: Frame, node: ast.Call, a: Array, signature: Value = NONE) -> Value:
    """Writes the factors to the array, a copy of np.linalg.qr's own: its name stands for them from here on."""
    (given,) = node.args
    if not frame.is_numpys or not isinstance(given, ast.Name):
        raise table.unknown(frame, node, _LINALG._umath_linalg.qr_r_raw)
    frame.env[given.id], tau = _computed(frame, "qr_r_raw", a)
    return tau


@table.function(np.linalg.pinv)
def pinv(frame: Frame, node: ast.AST, a: Value, rcond: Value = NONE, hermitian: Value = FALSE, **rtol: Value) -> Value:
    """By NumPy's own steps, whose gradients are not those of a pseudo-inverse where singular values are equal or 0."""
    if hermitian != FALSE:
        raise frame.error(node, "np.linalg.pinv by eigenvalues", "leave `hermitian` out")
    x, by_steps = as_array(frame, node, a), inspect.unwrap(np.linalg.pinv)
    found = frame.call_function(frame, node, by_steps, [tierup_functions.stop_gradient(frame, node, x), rcond], rtol)
    assert isinstance(found, Array)
    return replace(found, ssa=frame.em.torch("tierup.linalg_as_pinv", [found.ssa, x.ssa])[0])


def _named_tuple(cls: type[tuple[Any, ...]]) -> None:
    @table.function(cls)
    def build(frame: Frame, node: ast.AST, *items: Value) -> Value:
        return Sequence("tuple", list(items), frame.em.region, keys=(cls,))


for _name in ("SlogdetResult", "EighResult", "SVDResult", "QRResult"):
    _named_tuple(getattr(_LINALG, _name))
