"""The functions of `tierup.ops` in a decorated function: the torch op itself, under torch's rules; and `tierup.stop_gradient`.
(`value_and_grad` and `grad` are in gradients/calls.py.)
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

from tierup.dialect.mlir import ir
from tierup.frontend import op_calls, ops, stopping
from tierup.frontend.op_calls import Operand
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.table import Handler, constant, function
from tierup.frontend.python.building.values import Array, Const, IntList, Mapping_, ShapeOf, Value
from tierup.frontend.python.building.values import Sequence as Items
from tierup.frontend.python.operations.arrays import as_array, as_int, int_list, size
from tierup.frontend.python.operations.scalars import to_bool, to_float

_VALUES = get_args(Value)


def _handler(of: Callable[..., Any]) -> Handler:
    """Calls a function of `tierup.ops` on values, constants as they are."""

    def handler(frame: Frame, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        def build(name: str, operands: Sequence[Any], rank: int | None, like: int) -> Array:
            is_array = [isinstance(o, Operand) and o.kind == "array" for o in operands]
            arrays = [as_array(frame, node, _value(o.value)) if is_ else None for o, is_ in zip(operands, is_array, strict=True)]
            given = [_ssa(frame, node, o) if x is None else x.ssa for x, o in zip(arrays, operands, strict=True)]
            ssa, x = frame.em.torch(name, given)[0], arrays[like]
            assert x is not None
            if rank is None:
                return Array(ssa, decays=False)
            return Array(ssa, None if x.rank is None else max(0, x.rank + rank), max(0, x.at_least + rank), decays=False)

        with op_calls.building(build):
            result: Value = of(*map(_plain, args), **{name: _plain(v) for name, v in kwargs.items()})
            return result

    own = inspect.signature(of)
    first = list(inspect.signature(handler).parameters.values())[:2]
    handler.__signature__ = own.replace(parameters=[*first, *own.parameters.values()])  # type: ignore[attr-defined]  # of a function
    return handler


def _plain(value: Value) -> Any:
    return value.value if isinstance(value, Const) else value


def _value(given: Any) -> Value:
    return given if isinstance(given, _VALUES) else Const(given)


def _ssa(frame: Frame, node: ast.AST, operand: Any) -> ir.Value:
    """An operand that is no array."""
    em = frame.em
    if not isinstance(operand, Operand):
        return em.constant(operand)
    value, kind, what = _value(operand.value), operand.kind, operand.what
    if kind == "sizes":
        return em.int_list([size(frame, as_array(frame, node, value), -1).ssa])
    if kind == "word":
        return em.str(constant(frame, node, value, what))
    if kind == "ints" and not isinstance(value, (Items, IntList, ShapeOf)):
        return em.int_list([as_int(frame, node, value, what)] * operand.count)
    if kind == "ints":
        return int_list(frame, node, value, what)[0]
    return as_int(frame, node, value, what) if kind == "int" else to_float(frame, value) if kind == "float" else to_bool(frame, value)


for _name in ops.__all__:
    _of = getattr(ops, _name)
    function(_of)(_handler(_of))


@function(stopping.stop_gradient)
def stop_gradient(frame: Frame, node: ast.AST, x: Value) -> Value:
    if isinstance(x, Array):
        return replace(x, ssa=frame.em.torch("aten.detach", [x.ssa])[0])
    if isinstance(x, Items):
        return replace(x, items=[stop_gradient(frame, node, item) for item in x.items])
    if isinstance(x, Mapping_):
        return replace(x, items={key: stop_gradient(frame, node, item) for key, item in x.items.items()})
    return x
