"""tierup-outline-exits: a way out of the kernel is a call of a function of its own, which the hot code is not burdened with.

    func.func @f(...) attributes {tierup.result_kinds = [...], tierup.exits = array<i64: 3, 2>} {
      "tierup.exit"(%x, %n) {index = 3 : i64} : (tensor<?xf32>, i64) -> ()
      %lost = "tierup.forced"() {index = 3 : i64} : () -> i1
becomes
    func.func @f(..., %live: memref<3xi64>, %force: memref<4xi64>) attributes {tierup.result_kinds = [...]} {
      %0 = bufferization.to_buffer %x read_only : memref<?xf32, strided<[?], offset: ?>>
      call @f_exit3(%0, %n, %live)
      %lost = call @f_forced(%position, %index, %force)
    }
    func.func private @f_exit3(memref<?xf32, strided<[?], offset: ?>>, i64, memref<3xi64>) attributes {tierup.exit = 3 : i64}
    func.func private @f_forced(i64, i64, memref<4xi64>) -> i1 attributes {tierup.forced}

`tierup.exits` says how many live words (abi.py) the exits need at most, and how many bailouts ask whether a test wants them lost. %live are
these words. %force, where some ask, holds the bailout that is to be lost, at which evaluation, and how often each has asked. The
functions are declared here, so that bufferization sees nothing but calls; tierup-define-exits gives them bodies.

With `words=false` there is neither argument: the calls are steps of a host program (lowering/cuda/host_program.py), whose interpreter
knows what a test wants, and hands the live values over itself.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, functions, register
from tierup.lowering.analysis.stated import RESULT_KINDS
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn

EXIT, FORCED = "tierup.exit", "tierup.forced"
EXITS = "tierup.exits"


@register
class OutlineExits(Pass):
    words: bool = True  # exits write live words, and ask a table what a test wants lost

    def run(self, module: ir.Module) -> None:
        for function in list(functions(module.operation)):
            if RESULT_KINDS in function.attributes:
                _outline(function, module, self.words)


def _outline(function: ir.Operation, module: ir.Module, has_words: bool) -> None:
    found = list(b.walk(function))
    exits, asked = [op for op in found if op.name == EXIT], [op for op in found if op.name == FORCED]
    if EXITS not in function.attributes:
        if exits or asked:
            raise PassFailure((exits or asked)[0], f"stands in a function without {EXITS}")
        return
    words, askers = ir.DenseI64ArrayAttr(function.attributes[EXITS])
    name = symbol_of(function)
    i64 = b.integer_type(64)
    with function.location:
        live = [fn.add_argument(function, ir.MemRefType.get([words], i64))] if has_words else []
        for op in exits:
            with op.location, ir.InsertionPoint(op):
                index = ir.IntegerAttr(op.attributes["index"])
                operands = [*map(_buffer, op.operands), *live]
                fn.call(f"{name}_exit{index.value}", operands, [], ir.InsertionPoint(module.body), **{EXIT: index})
            op.erase()
        force = [fn.add_argument(function, ir.MemRefType.get([2 + askers], i64))] if askers and has_words else []
        for position, op in enumerate(asked):
            with op.location, ir.InsertionPoint(op):
                numbers = [b.integer(n, 64) for n in (position, ir.IntegerAttr(op.attributes["index"]).value)]
                marks = {FORCED: ir.UnitAttr.get()}
                made = fn.call(f"{name}_forced", [*numbers, *force], [b.integer_type(1)], ir.InsertionPoint(module.body), **marks)
            take_place(op, [made.results[0]])
        del function.attributes[EXITS]


def _buffer(value: ir.Value) -> ir.Value:
    """A tensor as memory that the called function reads; a number as it is. An i1 takes a byte in memory, 0 or 1."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    sizes, unknown = b.shape_of(value.type), ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(unknown, [unknown] * len(sizes))
    memref = ir.MemRefType.get(sizes, ir.RankedTensorType(value.type).element_type, layout=layout)
    return b.value("bufferization.to_buffer", [value], memref, read_only=ir.UnitAttr.get())
