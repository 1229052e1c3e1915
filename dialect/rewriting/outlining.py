"""A region with one body becomes a private function, and a call of it."""

from __future__ import annotations

from tierup.dialect.ir.walking import function_names, ops_of
from tierup.dialect.mlir import ir

_SOURCE = "tierup.source"  # where a program comes from: what is cut out of it comes from there too


def outline(func: ir.Operation, op: ir.Operation, prefix: str, mark: str, module: ir.Module) -> str:
    """Make the body of `op`, which stands in `func`, a function with the unit attribute `mark`, and call it. Returns its name:
    `prefix` and the first number that is free."""
    taken = function_names(module)
    number = 0
    while f"{prefix}{number}" in taken:
        number += 1
    name = f"{prefix}{number}"
    yielded = list(op.regions[0].blocks[0].operations)[-1].operation
    types = ir.FunctionType.get([v.type for v in op.operands], [v.type for v in yielded.operands])
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(types),
        mark: ir.UnitAttr.get(),
    }
    if _SOURCE in func.attributes:
        attributes[_SOURCE] = func.attributes[_SOURCE]
    made = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=op.location, ip=ir.InsertionPoint(module.body)).operation
    body = ir.Block.create_at_start(made.regions[0], types.inputs, [op.location] * len(types.inputs))
    old = op.regions[0].blocks[0]
    for argument, new in zip(old.arguments, body.arguments, strict=True):
        argument.replace_all_uses_with(new)
    for each in ops_of(old):
        body.append(each)
    last = list(body.operations)[-1].operation
    ir.Operation.create("func.return", operands=list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    ip = ir.InsertionPoint(op)
    call = ir.Operation.create("func.call", results=types.results, operands=list(op.operands), attributes=callee, loc=op.location, ip=ip)
    for result, new in zip(op.results, call.results, strict=True):
        result.replace_all_uses_with(new)
    op.erase()
    return name
