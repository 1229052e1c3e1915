"""tierup-define-exits: what happens on the way out of a kernel.

    func.func private @f_exit3(memref<?xf32, strided<[?], offset: ?>>, i64, memref<3xi64>) attributes {tierup.exit = 3 : i64}
becomes
    func.func private @f_exit3(%x: memref<?xf32, ...>, %n: i64, %live: memref<3xi64>, %status: memref<i32>) {
      if %status is 0, so that no check has failed before:
        %copy = memref.alloc of the size of %x, in C order; memref.copy %x, %copy
        %live[0..] = the address of %copy, the size of %x, %n
        %status = -4
    }

and each call passes the entry's status on, its last argument, which must be there (tierup-asserts-to-status). The copies are the caller's:
so this must come after the buffers that nobody owns any more were freed (buffer-deallocation-pipeline). A status below 0 is 1 below the
negative index of the bailout. A `tierup.forced` function counts how often it is asked, and compares.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.transforms.asserts_to_status import ERROR_SITES
from tierup.lowering.transforms.outline_exits import EXIT, FORCED


@register
@dataclass(frozen=True)
class DefineExits(Pass):
    """Give the functions that exits call their bodies."""

    name = "tierup-define-exits"

    def run(self, module: ir.Module) -> None:
        every = [view.operation for view in module.body.operations if view.operation.name == "func.func"]
        declared = [f for f in every if not len(f.regions[0].blocks)]
        exits = {ir.StringAttr(f.attributes["sym_name"]).value for f in declared if EXIT in f.attributes}
        for function in every:
            if ERROR_SITES in function.attributes:
                status = function.regions[0].blocks[0].arguments[-1]
                for op in [op for op in b.walk(function) if op.name == "func.call"]:
                    if ir.FlatSymbolRefAttr(op.attributes["callee"]).value in exits:
                        with op.location, ir.InsertionPoint(op):
                            b.op("func.call", [*op.operands, status], callee=op.attributes["callee"])
                        op.erase()
        for function in declared:
            with ir.Location.unknown(function.context):
                if EXIT in function.attributes:
                    _define_exit(function)
                elif FORCED in function.attributes:
                    _define_forced(function)


def _body(function: ir.Operation, *more: ir.Type) -> ir.Block:
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    types = [*signature.inputs, *more]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, signature.results))
    return function.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))


def _define_exit(function: ir.Operation) -> None:
    index = ir.IntegerAttr(function.attributes[EXIT]).value
    block = _body(function, ir.MemRefType.get([], b.integer_type(32)))
    *values, live, status = block.arguments
    with ir.InsertionPoint(block):
        before = b.value("memref.load", [status], b.integer_type(32))
        clear = _equal(before, b.integer(0, 32))
        branch = b.op("scf.if", [clear], regions=2)
        b.op("func.return")
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        words = [word for value in values for word in _words(value)]
        for position, word in enumerate(words):
            b.op("memref.store", [word, live, b.index(position)])
        b.op("memref.store", [b.integer(-1 - index, 32), status])
        b.op("scf.yield")


def _words(value: ir.Value) -> list[ir.Value]:
    """A value as 8-byte words; of memory a copy, its address and its sizes."""
    i64, type_ = b.integer_type(64), str(value.type)
    if type_ == "i64":
        return [value]
    if type_ == "i1":
        return [b.value("arith.extui", [value], i64)]
    if type_ == "f64":
        return [b.value("arith.bitcast", [value], i64)]
    memref = ir.MemRefType(value.type)
    dense = ir.MemRefType.get(b.shape_of(memref), memref.element_type)
    dynamic = b.dynamic_sizes(value)
    # no alignment attribute: the pointer is then malloc's own, which the caller frees
    copy = b.value("memref.alloc", dynamic, dense, operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(dynamic), 0]))
    b.op("memref.copy", [value, copy])
    address = b.value("memref.extract_aligned_pointer_as_index", [copy], b.index_type())
    sizes = [b.dim(copy, axis) for axis in range(memref.rank)]
    return [b.value("arith.index_cast", [word], i64) for word in (address, *sizes)]


def _define_forced(function: ir.Operation) -> None:
    block = _body(function)
    position, index, force = block.arguments
    i64 = b.integer_type(64)
    with ir.InsertionPoint(block):
        site, evaluation = (b.value("memref.load", [force, b.index(i)], i64) for i in (0, 1))
        at = b.value("arith.addi", [b.value("arith.index_cast", [position], b.index_type()), b.index(2)], b.index_type())
        count = b.value("memref.load", [force, at], i64)
        b.op("memref.store", [b.value("arith.addi", [count, b.integer(1, 64)], i64), force, at])
        both = [_equal(site, index), _equal(evaluation, count)]
        b.op("func.return", [b.value("arith.andi", both, b.integer_type(1))])


def _equal(x: ir.Value, y: ir.Value) -> ir.Value:
    return b.value("arith.cmpi", [x, y], b.integer_type(1), predicate=ir.IntegerAttr.get(b.integer_type(64), 0))
