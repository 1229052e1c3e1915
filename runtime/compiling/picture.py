"""The ops of a program as plain data, for who draws them. Loads MLIR."""

from __future__ import annotations

from dataclasses import dataclass

from tierup.dialect.ir.walking import function_names, torch_name, walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics
from tierup.runtime.interpreter.reader import argument_names


@dataclass(frozen=True)
class DrawnOp:
    """An op, or an argument of the program, that is named as the user does. `operands`: the ops whose results it takes, by their
    numbers, and of one that takes none in a loop or a branch that one; `depth`: how many loops and branches it stands in; `is_known`:
    whether it computes with arrays."""

    name: str
    line: str
    type: str
    operands: tuple[int, ...]
    depth: int = 0
    is_known: bool = False


def ops_of(graph: str, entry: str) -> list[DrawnOp]:
    """Arguments, and all ops but constants, in the program's order."""
    module = parse_module(graph)
    func = function_names(module)[entry]
    numbers: dict[ir.Value, int] = {}
    places: dict[ir.Operation, int] = {}
    found: list[DrawnOp] = []
    arguments = func.regions[0].blocks[0].arguments
    for name, argument in zip(argument_names(func), arguments, strict=True):
        numbers[argument] = len(found)
        found.append(DrawnOp(name, "", _short(argument.type), ()))
    for op in walk(func):
        if op.name in ("func.func", "torch.prim.If.yield", "torch.prim.Loop.condition") or op.name.startswith("torch.constant."):
            continue
        operands = tuple(dict.fromkeys(numbers[value] for value in op.operands if value in numbers))
        if not operands and op.parent is not None and op.parent.operation in places:
            operands = (places[op.parent.operation],)
        places[op] = len(found)
        for result in op.results:
            numbers[result] = len(found)
        for region in op.regions:
            for block in region.blocks:
                numbers.update(dict.fromkeys(block.arguments, len(found)))
        row = row_of(op)
        is_known = row is not None and row.kind is not Kind.SCALAR
        types = ", ".join(_short(result.type) for result in op.results)
        found.append(DrawnOp(torch_name(op), diagnostics.where(op.location), types, operands, _depth(op), is_known))
    return found


def _short(type_: ir.Type) -> str:
    return str(type_).removeprefix("!torch.")


def _depth(op: ir.Operation) -> int:
    depth = 0
    while op.parent is not None and op.parent.operation.name != "func.func":
        op, depth = op.parent.operation, depth + 1
    return depth
