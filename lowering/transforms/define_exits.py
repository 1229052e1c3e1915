"""tierup-define-exits: what happens on the way out of a kernel.

    func.func private @f_exit3(memref<?xf32, strided<[?], offset: ?>>, i64, memref<6xi64>) attributes {tierup.exit = 3 : i64}
becomes
    func.func private @f_exit3(%x: memref<?xf32, ...>, %n: i64, %live: memref<6xi64>, %status: memref<i32>) {
      if %status is 0, so that no check has failed before:
        %live[0..] = 1, the allocation that %x shows; its address, size and stride; %n
        %status = -4
    }

and each call passes the entry's status on, its last argument, which must be there (tierup-asserts-to-status). A status below 0 is 1 below
the negative index of the bailout; the live words are described in abi.py.

Memory goes to the caller as it is: tierup-spare-handed-over keeps the kernel from freeing it, and what the kernel would still write to
(after_exits.py) is copied here. The allocated pointer in a memref's descriptor says whose memory it is: malloc's, or else the caller's
(null, see adapter.py) or a constant's (0xdeadbeef, by MLIR's convention). The latter two are copied as well, since what is a copy of an
argument in the program may be the argument itself here. This must come after buffer-deallocation-pipeline, which would free the copies.

A `tierup.forced` function counts how often it is asked, and compares.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.ir.structure import with_more
from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.after_exits import written_after
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.analysis.stated import ERROR_SITES
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import INDEX, bytes_of, lifted, of
from tierup.lowering.building.descriptors import allocated
from tierup.lowering.building.loops import either
from tierup.lowering.transforms.asserts_to_status import add_status
from tierup.lowering.transforms.outline_exits import EXIT, FORCED

_GLOBALS = 0xDEADBEEF  # what memref.get_global says it has allocated


@register
class DefineExits(Pass):
    def run(self, module: ir.Module) -> None:
        every = [view.operation for view in module.body.operations if view.operation.name == "func.func"]
        declared = [f for f in every if not len(f.regions[0].blocks)]
        exits = {symbol_of(f) for f in declared if EXIT in f.attributes}
        copied: dict[str, set[int]] = {name: set() for name in exits}
        for op in [op for function in every for op in b.walk(function) if op.name == "func.call"]:
            name = callee_name(op)
            if name in exits:
                copied[name] |= _written(op)
        for function in every:
            if ERROR_SITES in function.attributes:
                status = function.regions[0].blocks[0].arguments[-1]
                for op in b.unerased(op for op in b.walk(function) if op.name == "func.call"):
                    if callee_name(op) in exits:
                        with_more(op, [*op.operands, status])
        for function in declared:
            with ir.Location.unknown(function.context):
                if EXIT in function.attributes:
                    _define_exit(function, copied[symbol_of(function)])
                elif FORCED in function.attributes:
                    _define_forced(function)


def _written(call: ir.Operation) -> set[int]:
    """The operands of an exit that may be written, or returned, once it is over."""
    arrays = [i for i, v in enumerate(list(call.operands)[:-1]) if isinstance(v.type, ir.MemRefType)]
    written = written_after(call)
    if written is None:
        return set(arrays)
    bases = {i: base(call.operands[i]) for i in arrays}
    return {i for i, root in bases.items() if any(may_alias(root, other) for other in written)}


def _define_exit(function: ir.Operation, copied: set[int]) -> None:
    index = ir.IntegerAttr(function.attributes[EXIT]).value
    block = fn.body(function)
    *values, live = block.arguments
    status = add_status(function)
    with ir.InsertionPoint(block):
        branch = b.op("scf.if", [b.load(status).equals(0)], regions=2)
        b.op("func.return")
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        owners: list[ir.Value] = []
        words: list[ir.Value] = []
        for i, value in enumerate(values):
            if isinstance(value.type, ir.MemRefType):
                owner, *layout = _handed_over(value, i in copied)
                owners.append(owner)
                words += layout
            else:
                words.append(_word(value))
        for position, word in enumerate([b.integer(len(owners), 64), *owners, *words]):
            b.store(word, live, b.index(position))
        b.store(b.integer(-1 - index, 32), status)
        b.op("scf.yield")


def _word(value: ir.Value) -> ir.Value:
    """A number as 8 bytes."""
    number = of(value)
    return number.bits() if number.is_float else number.cast(dtypes.i64)


def _handed_over(array: ir.Value, copied: bool) -> list[ir.Value]:
    """The allocation that owns an array's memory, the address of its first element, sizes and strides, as i64."""
    if copied:
        return _layout(b.copied(array))
    owner = allocated(array)
    foreign = owner.equals(0) | owner.equals(_GLOBALS)
    count = 2 + 2 * ir.MemRefType(array.type).rank
    return either(foreign, [b.integer_type(64)] * count, lambda: _layout(b.copied(array)), lambda: _layout(array))


def _layout(array: ir.Value) -> list[ir.Value]:
    _, offset, *lengths = b.metadata(array)
    start = b.address(array).cast(dtypes.i64) + offset.cast(dtypes.i64) * bytes_of(ir.MemRefType(array.type).element_type)
    return [allocated(array), start, *(length.cast(dtypes.i64) for length in lengths)]


def _define_forced(function: ir.Operation) -> None:
    block = fn.body(function)
    position, index, force = lifted(block.arguments)
    with ir.InsertionPoint(block):
        site, evaluation = (b.load(force, b.index(i)) for i in (0, 1))
        at = position.cast(INDEX) + 2
        count = b.load(force, at)
        b.store(count + 1, force, at)
        b.op("func.return", [site.equals(index) & evaluation.equals(count)])
