"""tierup-spare-handed-over: the deallocations that follow an exit spare what went over to the caller.

    func.call @f_exit3(%x, %n, %live, %status)
    ...
    memref.dealloc %y : memref<?xf32>
becomes
    %s = memref.load %status[]
    %left = arith.cmpi slt, %s, %zero : i32
    %spared = scf.if %left -> i1 { yield @tierup_handed_over(the allocation of %y, %live) } else { yield false }
    scf.if %spared { } else { memref.dealloc %y }

where %y may be what some exit hands over. The function reads the list at the head of the live words (abi.py). Comes after the passes that
look for buffers which nothing but a loop and a deallocation uses (tierup-fuse-rows).
"""

from __future__ import annotations

from tierup.dialect.ir.walking import callee_name, function_names
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import INDEX
from tierup.lowering.building.descriptors import allocated
from tierup.lowering.building.loops import carried, either, when
from tierup.lowering.transforms.outline_exits import EXIT

HANDED_OVER, HANDED_OVER_MARK = "tierup_handed_over", "tierup.handed_over"


@register
class SpareHandedOver(Pass):
    def run(self, module: ir.Module) -> None:
        names = function_names(module)
        if HANDED_OVER in names:
            return  # done before
        exits = {name for name, f in names.items() if EXIT in f.attributes}
        found = False
        for function in names.values():
            calls = [op for op in b.walk(function) if op.name == "func.call" and callee_name(op) in exits]
            if calls:
                found |= _spare(function, calls)
        if found:
            with ir.Location.unknown(module.context), ir.InsertionPoint(module.body):
                _define(fn.signature(names[exits.pop()]).inputs[-2])  # all have the same live words


def _spare(function: ir.Operation, calls: list[ir.Operation]) -> bool:
    *_, live, status = calls[0].operands
    handed = dict.fromkeys(base(v) for call in calls for v in list(call.operands)[:-2] if isinstance(v.type, ir.MemRefType))
    at_risk = [op for op in b.walk(function) if op.name == "memref.dealloc" and any(may_alias(base(op.operands[0]), v) for v in handed)]
    for op in at_risk:
        with op.location, ir.InsertionPoint(op):
            _guard(op, live, status)
    return bool(at_risk)


def _guard(op: ir.Operation, live: ir.Value, status: ir.Value) -> None:
    bit = b.integer_type(1)
    symbol = ir.FlatSymbolRefAttr.get(HANDED_OVER)

    def asked() -> list[ir.Value]:
        return [b.value("func.call", [allocated(op.operands[0]), live], bit, callee=symbol)]

    (is_there,) = either(b.load(status) < 0, [bit], asked, lambda: [b.integer(0, 1)])
    with when(~is_there):
        b.take([op])


def _define(live: ir.Type) -> None:
    """Whether an allocation is in the list: its length in word 0, then the allocations."""
    types = [b.integer_type(64), live], [b.integer_type(1)]
    block = fn.body(fn.declare(HANDED_OVER, *types, **{HANDED_OVER_MARK: ir.UnitAttr.get()}))
    allocation, words = block.arguments
    with ir.InsertionPoint(block):
        count, one = b.load(words, b.index(0)).cast(INDEX), b.index(1)
        span = one, count + one, one
        b.op("func.return", carried(span, [b.integer(0, 1)], lambda i, found: [found[0] | b.load(words, i).equals(allocation)]))
