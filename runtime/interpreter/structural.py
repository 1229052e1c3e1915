"""Ops of the torch dialect that are not kernels: constants, containers, casts, control flow, calls. One handler each.

A handler is `handler(reader, op, operands)`; it puts the results into `reader.env` and appends nodes for what must happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tierup.dialect import optable
from tierup.dialect.facts.profiled import unset
from tierup.dialect.ir import literals, torch_types
from tierup.dialect.ir.walking import callee_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.runtime.base.errors import UnsupportedOp
from tierup.runtime.interpreter.graph import Global, If, Loop, Piece, Var, call, group, listing
from tierup.runtime.interpreter.reader import Handler, Reader, support


def spell(value: object) -> str:
    """A scalar constant as Python text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)


def _constant(read: Callable[[ir.Attribute], object]) -> Handler:
    def handler(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
        reader.env[op.results[0]] = spell(read(op.attributes["value"]))

    return handler


def _none(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.env[op.results[0]] = "None"


_UNSET = {"!torch.int": "0", "!torch.float": "0.0", "!torch.number": "0", "!torch.bool": "False", "!torch.str": "''"}


def _uninitialized(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """Something of the type: nobody looks at the value, but loops that are differentiated keep it and ask a tensor for its sizes."""
    type_ = op.results[0].type
    if not torch_types.is_tensor(type_):
        reader.env[op.results[0]] = _UNSET.get(str(type_), "[]" if str(type_).startswith("!torch.list<") else "None")
        return
    sizes, dtype = torch_types.parse_tensor(str(type_))
    made = np.zeros([size or 0 for size in sizes or ()], np.float32 if dtype is None else dtype.numpy)
    made.flags.writeable = False
    unset[id(made)] = made
    reader.env[op.results[0]] = reader.constant("c", made)


def _number(attribute: ir.FloatAttr | ir.IntegerAttr) -> object:
    return attribute.value


def _decoded(op: ir.Operation) -> np.ndarray:
    try:
        return literals.decode(op)
    except literals.UnreadableLiteral as e:
        raise UnsupportedOp(str(e)) from e


def _literal(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    array = _decoded(op)
    array.flags.writeable = False
    node = reader.let(op, reader.constant("c", array))
    node.constant = True
    node.results[0].memory = False  # the program holds it for good


def _tensor_literal(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.let(op, group(reader.constant("c", _decoded(op)), ".copy()"))  # may be written: every run has its own


def _list(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    display = listing(operands, "[", "]")
    if _inlinable(op):
        reader.env[op.results[0]] = display
    else:
        reader.let(op, display, shares=operands)


def _inlinable(op: ir.Operation) -> bool:
    """Whether a fresh list may be written where it is used: by one op only, in the same block, that reads it once."""
    uses = list(op.results[0].uses)
    if len(uses) != 1:
        return False
    user = uses[0].owner.operation
    return user.block == op.block and (row_of(user) is not None or user.name == "func.return")


def _tuple(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.let(op, listing(operands, "(", ",)" if len(operands) == 1 else ")"), shares=operands)


def _unpack(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    if len(op.results):
        reader.unpack(op, operands[0], operands)


def _list_write(spelling: str) -> Handler:
    """An op that changes its operand 0, a list, and returns it. The op table has no row for it: its rows are functions."""

    def handler(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
        before, *between = spelling.split("@")
        pieces: list[Piece] = [before]
        for operand, text in zip(operands, between, strict=True):
            pieces += [operand, text]
        node = reader.run(op, group(*pieces))
        node.stores, node.shares = operands[0], operands[1:]
        for result in op.results:
            reader.env[result] = operands[0]

    return handler


def _identity(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.env[op.results[0]] = operands[0]


def _copy(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.let(op, call(support("copy"), operands))


def _overwrite(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    value, target = operands
    reader.let(op, call(support("overwrite"), [target, value])).writes = target


def _static_cast(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """A check where the result's type says more than the operand's, else nothing."""
    (known_sizes, known_dtype), (sizes, dtype) = (torch_types.parse_tensor(str(v.type)) for v in (op.operands[0], op.results[0]))
    if (sizes is None or sizes == known_sizes) and (dtype is None or dtype == known_dtype):
        _identity(reader, op, operands)
        return
    expected = [spell(None if dtype is None else dtype.name), spell(sizes)]
    reader.let(op, call(support("static_cast"), [operands[0], *expected]), shares=operands)


def _if(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    then, orelse = (reader.body(reader.single_block(op, region), []) for region in op.regions)
    reader.append(If(reader.origin(op), reader.define(op), operands[0], then, orelse))


def _loop(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    block = reader.single_block(op, op.regions[0])
    arguments = [Var("i" if i == 0 else "", reader.holds_memory(a.type)) for i, a in enumerate(block.arguments)]
    reader.env.update(zip(block.arguments, arguments, strict=True))
    body = reader.body(block, arguments)
    reader.append(Loop(reader.origin(op), reader.define(op), operands[0], operands[1], operands[2:], body))


def call_function(reader: Reader, op: ir.Operation, name: str, operands: list[Piece]) -> Piece:
    """A call of another function of the program."""
    return call(Global(f"@{reader.callee(op, name)}", name), [*reader.hooks, *operands])


def _call(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    name = callee_name(op)
    if name in reader.sites:
        reader.let(op, call(reader.constant(name, reader.sites[name]), operands), shares=operands)
        return
    node = reader.let(op, call_function(reader, op, name, operands))
    node.callee, node.arguments = name, operands


def _operator(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """An op that torch-mlir has no class for: it may still have a row."""
    name = ir.StringAttr(op.attributes["name"]).value
    if optable.lookup(name) is None:
        raise UnsupportedOp(f'no kernel for torch.operator "{name}" (at {reader.origin(op)})')
    reader.row(op, operands, name)


def _assert(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """The message is an attribute; the row's kernel takes it as an operand."""
    message = spell(ir.StringAttr(op.attributes["message"]).value)
    reader.row(op, [operands[0], message], op.name)


HANDLERS: dict[str, Handler] = {
    "torch.constant.int": _constant(lambda a: ir.IntegerAttr(a).value),
    "torch.constant.float": _constant(lambda a: ir.FloatAttr(a).value),
    "torch.constant.bool": _constant(lambda a: bool(a.value)),
    "torch.constant.str": _constant(lambda a: ir.StringAttr(a).value),
    "torch.constant.device": _constant(lambda a: ir.StringAttr(a).value),
    "torch.constant.number": _constant(_number),
    "torch.constant.none": _none,
    "torch.prim.Uninitialized": _uninitialized,
    "torch.vtensor.literal": _literal,
    "torch.tensor.literal": _tensor_literal,
    "torch.prim.ListConstruct": _list,
    "torch.prim.ListUnpack": _unpack,
    "torch.prim.TupleConstruct": _tuple,
    "torch.prim.TupleUnpack": _unpack,
    "torch.aten.append.t": _list_write("@.append(@)"),
    "torch.aten.insert.t": _list_write("@.insert(@, @)"),
    "torch.aten._set_item.t": _list_write("@[@] = @"),
    "torch.derefine": _identity,
    "torch.prim.unchecked_cast": _identity,
    "torch.copy.to_tensor": _copy,
    "torch.copy.to_vtensor": _copy,
    "torch.overwrite.tensor.contents": _overwrite,
    "torch.tensor_static_info_cast": _static_cast,
    "torch.prim.If": _if,
    "torch.prim.Loop": _loop,
    "func.call": _call,
    "torch.operator": _operator,
    "torch.runtime.assert": _assert,
}
