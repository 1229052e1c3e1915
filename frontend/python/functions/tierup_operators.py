"""The functions of `tierup.ops` in a decorated function: the torch op itself, under torch's rules."""

from __future__ import annotations

import ast

from tierup.dialect.mlir import ir
from tierup.frontend import ops
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.table import Handler, constant, function
from tierup.frontend.python.building.values import FALSE, LAST, NONE, Array, Const, Value
from tierup.frontend.python.operations.arrays import as_array, as_int, int_list, size
from tierup.frontend.python.operations.scalars import to_bool, to_float

SLOPE = Const(0.01)
EXACT = Const("none")
ONE_FLOAT = Const(1.0)
THRESHOLD = Const(20.0)
EPSILON = Const(1e-5)


def _made(x: Array, ssa: ir.Value, rank: int | None = None) -> Array:
    return Array(ssa, x.rank if rank is None else rank, x.at_least if rank is None else rank, decays=False)


def _elementwise(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, x: Value) -> Value:
        array = as_array(frame, node, x)
        return _made(array, frame.em.torch(name, [array.ssa])[0])

    return handler


for _function, _name in ((ops.relu, "relu"), (ops.silu, "silu"), (ops.sigmoid, "sigmoid"), (ops.erf, "erf")):
    function(_function)(_elementwise(f"aten.{_name}"))


@function(ops.leaky_relu)
def leaky_relu(frame: Frame, node: ast.AST, x: Value, negative_slope: Value = SLOPE) -> Value:
    array = as_array(frame, node, x)
    return _made(array, frame.em.torch("aten.leaky_relu", [array.ssa, to_float(frame, negative_slope)])[0])


@function(ops.gelu)
def gelu(frame: Frame, node: ast.AST, x: Value, approximate: Value = EXACT) -> Value:
    array = as_array(frame, node, x)
    form = frame.em.str(constant(frame, node, approximate, "`approximate`"))
    return _made(array, frame.em.torch("aten.gelu", [array.ssa, form])[0])


@function(ops.softplus)
def softplus(frame: Frame, node: ast.AST, x: Value, beta: Value = ONE_FLOAT, threshold: Value = THRESHOLD) -> Value:
    array = as_array(frame, node, x)
    return _made(array, frame.em.torch("aten.softplus", [array.ssa, to_float(frame, beta), to_float(frame, threshold)])[0])


def _softmax(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, x: Value, axis: Value = LAST) -> Value:
        array = as_array(frame, node, x)
        return _made(array, frame.em.torch(name, [array.ssa, as_int(frame, node, axis, "an axis"), frame.em.none])[0])

    return handler


function(ops.softmax)(_softmax("aten.softmax.int"))
function(ops.log_softmax)(_softmax("aten.log_softmax.int"))


@function(ops.logsumexp)
def logsumexp(frame: Frame, node: ast.AST, x: Value, axis: Value = LAST, keepdims: Value = FALSE) -> Value:
    array = as_array(frame, node, x)
    dims = frame.em.int_list([as_int(frame, node, axis, "an axis")])
    ssa = frame.em.torch("aten.logsumexp", [array.ssa, dims, to_bool(frame, keepdims)])[0]
    keep = isinstance(keepdims, Const) and bool(keepdims.value)
    if keep or not isinstance(keepdims, Const):
        return _made(array, ssa) if keep else Array(ssa, decays=False)
    return Array(ssa, None if array.rank is None else max(0, array.rank - 1), max(0, array.at_least - 1), decays=False)


@function(ops.layer_norm)
def layer_norm(
    frame: Frame, node: ast.AST, x: Value, shape: Value = NONE, weight: Value = NONE, bias: Value = NONE, eps: Value = EPSILON
) -> Value:
    em = frame.em
    array = as_array(frame, node, x)
    missing = isinstance(shape, Const) and shape.value is None
    sizes = em.int_list([size(frame, array, -1).ssa]) if missing else int_list(frame, node, shape)[0]
    optional = [_optional(frame, node, v) for v in (weight, bias)]
    return _made(array, em.torch("aten.layer_norm", [array.ssa, sizes, *optional, to_float(frame, eps), em.bool(False)])[0])


def _optional(frame: Frame, node: ast.AST, value: Value) -> ir.Value:
    return frame.em.none if isinstance(value, Const) and value.value is None else as_array(frame, node, value).ssa


@function(ops.linear)
def linear(frame: Frame, node: ast.AST, x: Value, weight: Value, bias: Value = NONE) -> Value:
    array, w = as_array(frame, node, x), as_array(frame, node, weight)
    return _made(array, frame.em.torch("aten.linear", [array.ssa, w.ssa, _optional(frame, node, bias)])[0])


@function(ops.embedding)
def embedding(frame: Frame, node: ast.AST, weight: Value, indices: Value) -> Value:
    em = frame.em
    w, i = as_array(frame, node, weight), as_array(frame, node, indices)
    ssa = em.torch("aten.embedding", [w.ssa, i.ssa, em.int(-1), em.bool(False), em.bool(False)])[0]
    return Array(ssa, None if i.rank is None else i.rank + 1, i.at_least + 1, decays=False)
