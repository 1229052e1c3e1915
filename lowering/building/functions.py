"""Functions of a module that is being lowered: those of the program, and private ones that passes make beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tierup.dialect.ir.structure import set_signature
from tierup.dialect.ir.structure import signature as signature
from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, of


def plain(name: str) -> str:
    """A function's name as LLVM IR takes it without quotes, and PTX at all: `größe` -> `gr__e`. Python's may have letters of any alphabet,
    MLIR's anything; what is no letter, digit, underscore or dollar of ASCII becomes an underscore."""
    return re.sub(r"[^A-Za-z0-9_$]", "_", name)


def declare(name: str, inputs: Sequence[ir.Type], results: Sequence[ir.Type] = (), **attributes: ir.Attribute) -> ir.Operation:
    """A private function without a body, at the insertion point."""
    type_ = ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results)))
    private = ir.StringAttr.get("private")
    return b.op("func.func", regions=1, sym_name=ir.StringAttr.get(name), sym_visibility=private, function_type=type_, **attributes)


def body(function: ir.Operation) -> ir.Block:
    """A block for a declared function, with its arguments."""
    inputs = signature(function).inputs
    return function.regions[0].blocks.append(*inputs, arg_locs=[function.location] * len(inputs))


def address(name: str, where: ir.InsertionPoint) -> Scalar:
    """The address of what lies outside of the module under a name, as an int of 64 bits."""
    if name not in {symbol_of(view.operation) for view in where.block.operations if "sym_name" in view.operation.attributes}:
        with where:
            declare(name, [])
    found = b.value("func.constant", [], ir.FunctionType.get([], []), value=ir.FlatSymbolRefAttr.get(name))
    pointer = b.value("builtin.unrealized_conversion_cast", [found], ir.Type.parse("!llvm.ptr"))
    return of(b.value("llvm.ptrtoint", [pointer], b.integer_type(64)))


def call(
    name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], where: ir.InsertionPoint, **attributes: ir.Attribute
) -> ir.Operation:
    """A call of a private function, declared at `where` in the module if it is not there yet."""
    others = (view.operation for view in where.block.operations)
    if name not in {symbol_of(op) for op in others if "sym_name" in op.attributes}:
        with where:
            declare(name, [v.type for v in operands], results, **attributes)
    return b.op("func.call", operands, results, callee=ir.FlatSymbolRefAttr.get(name))


def add_argument(function: ir.Operation, type_: ir.Type) -> ir.Value:
    """A new last argument."""
    added = function.regions[0].blocks[0].add_argument(type_, ir.Location.unknown())
    set_signature(function, signature(function).results)
    return added
