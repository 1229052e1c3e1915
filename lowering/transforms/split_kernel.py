"""tierup-split-kernel: a long entry becomes calls of its parts, so that nothing after it sees all of a big program at once.

    func.func @f(%x: memref<8x8xf32>, %out: memref<8x8xf32>) attributes {tierup.result_kinds = ["buffer"]} {
      %t = bufferization.to_tensor %x restrict
      %1 = linalg.matmul ins(%t, %t) outs(...)
      ...
      %1000 = linalg.matmul ins(%999, %t) outs(...)
      bufferization.materialize_in_destination %1000 in restrict writable %out
    }
becomes
    func.func @f(%x: memref<8x8xf32>, %out: memref<8x8xf32>) attributes {tierup.result_kinds = ["buffer"]} {
      %a = memref.alloc() : memref<8x8xf32>
      call @f_part0(%x, %a)
      ...
      call @f_part15(%z, %x, %out)
    }
    func.func private @f_part0(%x: memref<8x8xf32>, %a: memref<8x8xf32>) attributes {tierup.part} { ... }

Bufferization, deallocation, fusing rows and LLVM take time that grows with the square of a function's length and worse; parts of
bounded length make it linear, and parts that are alike become one (duplicate-function-elimination, next in the pipeline). What
passes from part to part lies in memory, as it would between two products anyway.

Loops are counted, and copies: of each part that is joined, of a value into each further result. Left alone: functions of up to twice
`size` of them; those that may report a failed check or leave at an exit, return a scalar or memory of
their own, or have sizes that only the run knows. A cut is made where only tensors go across.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from tierup.dialect.ir.structure import last_of, read_others
from tierup.dialect.ir.walking import Notes, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, functions, register
from tierup.lowering.analysis.stated import PART, RESULT_KINDS
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn

_TO_TENSOR = "bufferization.to_tensor"
_MATERIALIZE = "bufferization.materialize_in_destination"
_CHEAP = ("arith.constant", "tensor.empty", "linalg.fill", _TO_TENSOR)  # made again in every part that needs them


@register
class SplitKernel(Pass):
    size: Annotated[int, AtLeast(1)] = 32  # loops in a part

    def run(self, module: ir.Module) -> None:
        for function in functions(module.operation):
            if _may_be_split(function, self.size):
                _Split(function, self.size).run(module)


def _may_be_split(function: ir.Operation, size: int) -> bool:
    if RESULT_KINDS not in function.attributes or len(function.regions[0].blocks) != 1:
        return False
    if any(kind != "buffer" for kind in b.strings(function.attributes[RESULT_KINDS])):
        return False
    body = [view.operation for view in function.regions[0].blocks[0].operations]
    stores = [op.operands[0] for op in body if op.name == _MATERIALIZE]
    if sum(map(_loops_of, body)) - len(set(stores)) <= 2 * size:  # the first store of a value is where it is computed
        return False
    # a part has no status to report to, and products of sizes found at run time will be checked
    return not any(op.name in ("cf.assert", "func.call") or any(_is_dynamic(r.type) for r in op.results) for op in b.walk(function))


def _loops_of(op: ir.Operation) -> int:
    """How many loops an op becomes."""
    if op.name == "tensor.concat":
        return len(op.operands)
    return int(op.name == _MATERIALIZE or (op.name.startswith("linalg.") and op.name not in _CHEAP))


class _Split:
    """One function being taken apart."""

    def __init__(self, function: ir.Operation, size: int) -> None:
        self.function, self.size = function, size
        self.block = function.regions[0].blocks[0]
        self.body = [view.operation for view in self.block.operations][:-1]
        self.arguments = set(self.block.arguments)
        self.cheap: dict[ir.Value, ir.Operation] = Notes()
        self.defined: dict[ir.Value, int] = Notes()  # by which of the ops
        self.last_use: dict[ir.Value, int] = Notes()
        self.stored: dict[ir.Value, ir.Operation] = Notes()  # tensor -> the op that stores it in a result's memory
        self.memory: dict[ir.Value, ir.Value] = Notes()  # tensor -> where the function keeps it between parts
        for op in self.body:
            if op.name in _CHEAP and all(v in self.cheap or v in self.arguments for v in op.operands):
                self.cheap[op.results[0]] = op
        made_again = set(self.cheap.values())
        work = [op for op in self.body if op not in made_again]
        for op in work:
            if op.name == _MATERIALIZE and op.operands[0] not in self.cheap and self._is_whole_result(op):
                self.stored.setdefault(op.operands[0], op)
        stores = set(self.stored.values())
        self.work = [op for op in work if op not in stores]
        for i, op in enumerate(self.work):
            for value in _used(op):
                self.last_use[value] = i
            for result in op.results:
                self.defined[result] = i

    def run(self, module: ir.Module) -> None:
        parts = self._parts()
        if len(parts) < 2:
            return
        terminator = last_of(self.block)
        name = symbol_of(self.function)
        at = 0
        for number, part in enumerate(parts):
            at += len(part)
            with self.function.location, ir.InsertionPoint(terminator):
                self._outline(part, f"{name}_part{number}", at, module)
        for store in self.stored.values():
            store.erase()
        for op in reversed(list(self.cheap.values())):
            op.erase()

    def _parts(self) -> list[list[ir.Operation]]:
        """The ops in parts, cut where enough loops have come together and only tensors go across."""
        parts: list[list[ir.Operation]] = [[]]
        loops, awkward = 0, set[ir.Value]()
        for i, op in enumerate(self.work):
            if loops >= self.size and not awkward:
                parts.append([])
                loops = 0
            parts[-1].append(op)
            loops += _loops_of(op)
            awkward |= {r for r in op.results if not isinstance(r.type, ir.RankedTensorType)}
            awkward -= {v for v in (*_used(op), *op.results) if self.last_use.get(v, i) <= i}
        return parts

    def _outline(self, part: list[ir.Operation], name: str, end: int, module: ir.Module) -> None:
        """Move a part's ops to a function and call it. `end`: how many ops this part and those before it have."""
        inside = {r for op in part for r in op.results}
        needed = dict.fromkeys(v for op in part for v in _used(op) if v not in inside and self._is_known(v))
        outputs = [r for op in part for r in op.results if r in self.stored or self.last_use.get(r, 0) >= end]
        inputs = dict.fromkeys(root for v in needed for root in self._roots(v))
        for value in outputs:
            self.memory[value] = self.stored[value].operands[1] if value in self.stored else _allocate(value.type)
        memory = [*inputs, *(self.memory[v] for v in outputs)]
        b.op("func.call", memory, callee=ir.FlatSymbolRefAttr.get(name))
        with ir.InsertionPoint(module.body):
            made = fn.declare(name, [v.type for v in memory], **{PART: ir.UnitAttr.get()})
        block = fn.body(made)
        arguments = list(block.arguments)
        known: dict[ir.Value, ir.Value] = dict(zip(inputs, arguments, strict=False))
        with ir.InsertionPoint(block):
            here = {v: self._again(v, known) for v in needed}
            for op in part:
                block.append(op)
            read_others(part, here)
            for value, target in zip(outputs, arguments[len(inputs) :], strict=True):
                b.op(_MATERIALIZE, [value, target], restrict=ir.UnitAttr.get(), writable=ir.UnitAttr.get())
            b.op("func.return")

    def _is_whole_result(self, store: ir.Operation) -> bool:
        value, memory = store.operands
        return memory in self.arguments and b.shape_of(value.type) == b.shape_of(memory.type)

    def _is_known(self, value: ir.Value) -> bool:
        return value in self.arguments or value in self.cheap or value in self.defined

    def _roots(self, value: ir.Value) -> Iterator[ir.Value]:
        """The memory of the function that a value of it comes from."""
        if value in self.arguments:
            yield value
        elif value in self.cheap:
            for operand in self.cheap[value].operands:
                yield from self._roots(operand)
        else:
            yield self.memory[value]

    def _again(self, value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
        """The value inside the part: `known` maps memory to the part's arguments, and what was made again already."""
        if value not in known and value not in self.cheap:
            known[value] = b.value(_TO_TENSOR, [known[self.memory[value]]], value.type, restrict=ir.UnitAttr.get())
        return b.once_more(value, known, lambda made: len(made.results) > 0 and made.results[0] in self.cheap)


def _used(op: ir.Operation) -> list[ir.Value]:
    """What an op and its regions use, values of the regions among them, in an order that is the same in parts that are alike."""
    return list(dict.fromkeys(v for inner in (op, *b.walk(op)) for v in inner.operands)) if len(op.regions) else list(op.operands)


def _is_dynamic(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ShapedType) and not (type_.has_rank and type_.has_static_shape)


def _allocate(type_: ir.Type) -> ir.Value:
    memref = ir.MemRefType.get(b.shape_of(type_), ir.ShapedType(type_).element_type)
    return b.alloc(memref, alignment=ir.IntegerAttr.get(b.integer_type(64), 64))
