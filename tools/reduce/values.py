"""tierup-reduce's edits of single ops: an op goes, and something simple stands in for its results.

An edit offers `sites(module)`: a list of functions of no arguments, in the order of the text, each of which makes one change. Any of
them may be run, from the last to the first: what stands further down or inside has then been dealt with already. Whether the module
is still valid is for others to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.tools.reduce.functions import add_argument

Site = Callable[[], None]
Stand = Callable[[ir.Operation, ir.Value], ir.Value | None]


def candidates(module: ir.Module) -> Iterator[ir.Operation]:
    """The ops that may go: all but functions and terminators."""
    for op in walk(module.operation):
        if op.name != "func.func" and not is_terminator(op):
            yield op


def is_terminator(op: ir.Operation) -> bool:
    """Whether an op ends its block, and is therefore no op of its own."""
    return not len(op.results) and op.name.endswith((".return", ".yield", ".condition", ".br", ".cond_br"))


def unused(module: ir.Module) -> list[Site]:
    """Ops whose results nobody reads."""
    return [op.erase for op in candidates(module) if not any(map(has_uses, op.results))]


def by_operand(module: ir.Module) -> list[Site]:
    """Ops that an operand of the same type can stand in for."""
    return _replacing(module, lambda op, result: next((v for v in op.operands if v.type == result.type), None))


def by_earlier(module: ir.Module) -> list[Site]:
    """Ops that an argument of a block around them can stand in for."""
    return _replacing(module, lambda op, result: next((v for v in _arguments_around(op) if v.type == result.type), None))


def by_constant(module: ir.Module) -> list[Site]:
    """Ops that a constant can stand in for."""
    return _replacing(module, _constant, lambda op: not op.name.startswith("torch.constant.") and op.name != "arith.constant")


def by_argument(module: ir.Module) -> list[Site]:
    """Ops that a new argument of the function can stand in for."""
    return _replacing(module, lambda op, result: add_argument(op, result.type))


def _replacing(module: ir.Module, stand: Stand, fits: Callable[[ir.Operation], bool] = lambda op: True) -> list[Site]:
    return [partial(_replace, op, stand) for op in candidates(module) if fits(op)]


def _replace(op: ir.Operation, stand: Stand) -> None:
    found = [(result, stand(op, result)) for result in op.results if has_uses(result)]
    if all(value is not None for _, value in found):
        for result, value in found:
            result.replace_all_uses_with(value)
        op.erase()


def _constant(op: ir.Operation, result: ir.Value) -> ir.Value | None:
    made = _CONSTANTS.get(str(result.type))
    if made is None:
        return None
    name, attributes = made
    parsed = {key: ir.Attribute.parse(text, op.context) for key, text in attributes.items()}
    created = ir.Operation.create(name, results=[result.type], attributes=parsed, loc=op.location, ip=ir.InsertionPoint(op))
    return created.results[0]


_CONSTANTS = {
    "!torch.int": ("torch.constant.int", {"value": "1 : i64"}),
    "!torch.float": ("torch.constant.float", {"value": "1.0 : f64"}),
    "!torch.bool": ("torch.constant.bool", {"value": "true"}),
    "!torch.none": ("torch.constant.none", {}),
    "index": ("arith.constant", {"value": "1 : index"}),
    "i1": ("arith.constant", {"value": "true"}),
    "i32": ("arith.constant", {"value": "1 : i32"}),
    "i64": ("arith.constant", {"value": "1 : i64"}),
    "f32": ("arith.constant", {"value": "1.0 : f32"}),
    "f64": ("arith.constant", {"value": "1.0 : f64"}),
}


def _arguments_around(op: ir.Operation) -> Iterator[ir.Value]:
    while op.parent is not None and op.name != "func.func":
        if op.parent.operation.name != "builtin.module":
            yield from op.block.arguments
        op = op.parent.operation


def has_uses(value: ir.Value) -> bool:
    """Whether an op takes the value."""
    return next(iter(value.uses), None) is not None
