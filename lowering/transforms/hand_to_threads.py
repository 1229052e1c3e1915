"""tierup-hand-to-threads: the parts of a function are run by threads.

    llvm.call @f_shared0(%0, %count, %x, %y) : (i64, i64, !llvm.ptr, !llvm.ptr) -> ()

becomes

    %context = llvm.alloca ... : !llvm.struct<(ptr, ptr)>
    llvm.store {%x, %y}, %context
    llvm.call @tierup_share(@f_shared0_part, %context, %count, %threads)

and

    llvm.func @f_shared0_part(%context: !llvm.ptr, %number: i64, %count: i64) {
      %x, %y = llvm.load %context
      llvm.call @f_shared0(%number, %count, %x, %y)
    }

Who calls the part, and when, is `externals/sharing.py`. Comes last, on the LLVM dialect, where arguments are numbers and pointers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import threads
from tierup.lowering.building import builders as b
from tierup.lowering.externals.sharing import SHARE
from tierup.lowering.transforms.share_loops import SHARED


@register
class HandToThreads(Pass):
    def run(self, module: ir.Module) -> None:
        shared = {symbol_of(f): f for f in b.ops_of(module.body) if f.name == "llvm.func" and SHARED in f.attributes}
        if not shared:
            return
        calls = [op for op in b.walk(module.operation) if op.name == "llvm.call" and _callee(op) in shared]
        with ir.Location.unknown(module.context):
            pointer, i64 = ir.Type.parse("!llvm.ptr"), b.integer_type(64)
            with ir.InsertionPoint.at_block_begin(module.body):
                _function(SHARE, [pointer, pointer, i64, i64])
            for name, function in shared.items():
                with function.location, ir.InsertionPoint(function):
                    _part(name, function)
            for call in calls:
                with call.location:
                    _hand_over(call, threads(module))


def _callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value) if "callee" in call.attributes else ""


def _function(name: str, types: Sequence[ir.Type]) -> ir.Operation:
    """A function of the LLVM dialect without a body and without a result."""
    type_ = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
    return b.op("llvm.func", regions=1, sym_name=ir.StringAttr.get(name), function_type=ir.TypeAttr.get(type_))


def _call(callee: str, operands: Sequence[ir.Value]) -> ir.Operation:
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([])}
    return b.op("llvm.call", operands, callee=ir.FlatSymbolRefAttr.get(callee), **segments)


def _struct(types: Sequence[ir.Type]) -> ir.Type:
    return ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")


def _at(number: int) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([number])


def _part(name: str, function: ir.Operation) -> None:
    """What threads call: the function, with what the context holds."""
    types = [a.type for a in function.regions[0].blocks[0].arguments]
    made = _function(f"{name}_part", [ir.Type.parse("!llvm.ptr"), *types[:2]])
    # as the kernel itself (adapter.py): 512 bits where the CPU has them
    wide = ir.ArrayAttr.get([ir.StringAttr.get("prefer-vector-width"), ir.StringAttr.get("512")])
    made.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline"), wide])
    inputs = [ir.Type.parse("!llvm.ptr"), *types[:2]]
    body = made.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.unknown()] * len(inputs))
    with ir.InsertionPoint(body):
        context, number, count = body.arguments
        held = b.value("llvm.load", [context], _struct(types[2:]))
        given = [b.value("llvm.extractvalue", [held], type_, position=_at(i)) for i, type_ in enumerate(types[2:])]
        _call(name, [number, count, *given])
        b.op("llvm.return")


def _hand_over(call: ir.Operation, most: int) -> None:
    count, given = call.operands[1], list(call.operands)[2:]
    type_, pointer, i64 = _struct([v.type for v in given]), ir.Type.parse("!llvm.ptr"), b.integer_type(64)
    with ir.InsertionPoint.at_block_begin(_function_of(call).regions[0].blocks[0]):
        one = b.value("llvm.mlir.constant", [], i64, value=ir.IntegerAttr.get(i64, 1))
        context = b.value("llvm.alloca", [one], pointer, elem_type=ir.TypeAttr.get(type_))
    with ir.InsertionPoint(call):
        held = b.value("llvm.mlir.undef", [], type_)
        for i, value in enumerate(given):
            held = b.value("llvm.insertvalue", [held, value], type_, position=_at(i))
        b.op("llvm.store", [held, context])
        part = b.value("llvm.mlir.addressof", [], pointer, global_name=ir.FlatSymbolRefAttr.get(f"{_callee(call)}_part"))
        _call(SHARE, [part, context, count, b.value("llvm.mlir.constant", [], i64, value=ir.IntegerAttr.get(i64, most))])
    call.erase()


def _function_of(op: ir.Operation) -> ir.Operation:
    while op.name != "llvm.func":
        op = op.parent.operation
    return op
