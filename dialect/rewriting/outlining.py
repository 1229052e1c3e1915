"""A region with one body becomes a private function, and a call of it."""

from __future__ import annotations

from itertools import count

from tierup.dialect.ir.structure import handed_over, last_of, move_into, take_place
from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir

_SOURCE = "tierup.source"  # where a program comes from: what is cut out of it comes from there too


def private_function(func: ir.Operation, name: str, types: ir.FunctionType, mark: str, loc: ir.Location) -> tuple[ir.Operation, ir.Block]:
    """A private function of that name and type, with the unit attribute `mark`, at the end of the module of `func`, from whose source it
    comes; its body is empty."""
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(types),
        mark: ir.UnitAttr.get(),
    }
    if _SOURCE in func.attributes:
        attributes[_SOURCE] = func.attributes[_SOURCE]
    ip = ir.InsertionPoint(func.parent.regions[0].blocks[0])
    made = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=loc, ip=ip).operation
    return made, ir.Block.create_at_start(made.regions[0], types.inputs, [loc] * len(types.inputs))


def outline(func: ir.Operation, op: ir.Operation, prefix: str, mark: str, module: ir.Module) -> str:
    """Make the body of `op`, which stands in `func`, a function with the unit attribute `mark`, and call it. Returns its name:
    `prefix` and the first number that is free."""
    taken = function_names(module)
    name = next(free for i in count() if (free := f"{prefix}{i}") not in taken)
    old = op.regions[0].blocks[0]
    types = ir.FunctionType.get([v.type for v in op.operands], [v.type for v in handed_over(old)])
    _, body = private_function(func, name, types, mark, op.location)
    move_into(old, body)
    last = last_of(body)
    ir.Operation.create("func.return", operands=list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    ip = ir.InsertionPoint(op)
    call = ir.Operation.create("func.call", results=types.results, operands=list(op.operands), attributes=callee, loc=op.location, ip=ip)
    take_place(op, call.results)
    return name
