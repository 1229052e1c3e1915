"""tierup-annotate-kernels: what LLVM may believe of the memory that a kernel is given.

    gpu.launch_func @kernels::@f_0 ... args(%x : memref<?xf32>, %y : memref<?xf32>)
    gpu.func @f_0(%x : memref<?xf32>, %y : memref<?xf32>) kernel
becomes
    gpu.func @f_0(%x : memref<?xf32> {llvm.align = 16, llvm.readonly}, %y : memref<?xf32> {llvm.align = 16}) kernel
        attributes {tierup.apart = array<i64: 1, 6>}

Buffers begin at multiples of 16 bytes: the device's allocator gives them so, and an argument that does not is copied by the caller. So
loads and stores of neighbouring elements can be one. `tierup.apart` lists the pointers, by their place among the parameters that the LLVM
dialect will have (allocated pointer, aligned pointer, offset, sizes, strides), through which no memory is reached that another parameter
reaches and one of the two writes; tierup-trim-kernels makes it `llvm.noalias`, which lets loads go through the read-only cache and move
across stores.

A block whose length the host chooses among some has the longest of them as `nvvm.maxntid`, so that no thread is given more registers than a
multiprocessor has for such a block: else its launch fails.

Kernels on tensor cores, which keep most of what they work on in registers, are assembled so that 16 warps of them fit on a multiprocessor,
if its shared memory holds as many (`nvvm.minctasm`): the assembler gives a thread 128 registers then, and up to 255 if not told.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import known
from tierup.lowering.cuda.launching import WARP, bytes_of
from tierup.lowering.cuda.targets import MOST_SHARED
from tierup.lowering.cuda.transforms.merge_kernels import LAUNCH

APART = "tierup.apart"
ALIGNMENT = 16
BLOCK_SIZE = "known_block_size"
_WARPS_TOGETHER = 16
_LEADING = 3  # parameters of a memref before its sizes and strides
_READS = ("memref.load", "memref.dim", "memref.subview", "memref.cast", "vector.load", "memref.extract_strided_metadata",
          "nvgpu.device_async_copy")


@register
class AnnotateKernels(Pass):
    def run(self, module: ir.Module) -> None:
        launches: dict[str, list[ir.Operation]] = {}
        for op in b.walk(module.operation):
            if op.name == LAUNCH:
                launches.setdefault(str(op.attributes["kernel"]), []).append(op)
        with ir.Location.unknown(module.context):
            for outer in (view.operation for view in module.body.operations):
                if outer.name != "gpu.module":
                    continue
                for view in outer.regions[0].blocks[0].operations:
                    if view.operation.name == "gpu.func":
                        _annotate(view.operation, launches.get(f"@{symbol_of(outer)}::@{symbol_of(view.operation)}", []))


def _annotate(kernel: ir.Operation, launches: list[ir.Operation]) -> None:
    count = len(fn.signature(kernel).inputs)
    parameters = list(kernel.regions[0].blocks[0].arguments)[:count]
    buffers = [i for i, p in enumerate(parameters) if isinstance(p.type, ir.MemRefType)]
    read_only = {i for i in buffers if _only_read(parameters[i])}
    align = ir.IntegerAttr.get(b.integer_type(64), ALIGNMENT)
    known = [
        ir.DictAttr.get(({"llvm.align": align} if i in buffers else {}) | ({"llvm.readonly": ir.UnitAttr.get()} if i in read_only else {}))
        for i in range(count)
    ]
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(known)
    shared = kernel.attributes["workgroup_attributions"] if "workgroup_attributions" in kernel.attributes else None
    if shared is not None and ir.IntegerAttr(shared).value:
        aligned = [ir.DictAttr.get({"llvm.align": align})] * ir.IntegerAttr(shared).value  # as copies and loads of 16 bytes ask
        kernel.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get(aligned)
    places, place = {}, 0
    for i, parameter in enumerate(parameters):
        places[i] = place + 1  # the aligned pointer
        place += _LEADING + 2 * ir.ShapedType(parameter.type).rank if i in buffers else 1
    apart = [places[i] for i in buffers if all(_lies_apart(i, buffers, read_only, _given(launch, count)) for launch in launches)]
    kernel.attributes[APART] = ir.DenseI64ArrayAttr.get(apart)
    longest = [_longest_block(launch) for launch in launches]
    if longest and all(longest):
        kernel.attributes["nvvm.maxntid"] = ir.DenseI32ArrayAttr.get([max(longest), 1, 1])
    blocks = _blocks_together(kernel)
    if blocks > 1:
        kernel.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(b.integer_type(32), blocks)


def _longest_block(launch: ir.Operation) -> int:
    """Threads of the longest block of a launch, all along x, where the host chooses its length among some; 0 for any other."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    start = sum(segments[:4])
    x, *others = list(launch.operands)[start : start + 3]
    if any(_most(v) != 1 for v in others) or b.defining_op(x, "arith.select") is None:
        return 0
    return _most(x)


def _most(number: ir.Value) -> int:
    """The largest of the numbers that a choice of constants may give; 0 where others may come."""
    made = b.defining_op(number, "arith.select")
    if made is None:
        return known(number) or 0
    left, right = _most(made.operands[1]), _most(made.operands[2])
    return max(left, right) if left and right else 0


def _blocks_together(kernel: ir.Operation) -> int:
    """How many blocks of a kernel on tensor cores share a multiprocessor; 1 for another kernel."""
    if BLOCK_SIZE not in kernel.attributes or not any(op.name == "nvgpu.mma.sync" for op in b.walk(kernel)):
        return 1
    count = len(fn.signature(kernel).inputs)
    shared = sum(bytes_of(a.type) for a in list(kernel.regions[0].blocks[0].arguments)[count:])
    threads = list(ir.DenseI32ArrayAttr(kernel.attributes[BLOCK_SIZE]))[0]
    return min(_WARPS_TOGETHER * WARP // threads, MOST_SHARED // shared) if shared else 1


def _given(launch: ir.Operation, count: int) -> list[ir.Value]:
    """What a launch hands to its kernel."""
    return list(launch.operands)[len(launch.operands) - count :]


def _only_read(buffer: ir.Value) -> bool:
    for use in buffer.uses:
        op = use.owner.operation
        if op.name not in _READS or not all(_only_read(r) for r in op.results if isinstance(r.type, ir.MemRefType)):
            return False
    return True


def _lies_apart(i: int, buffers: list[int], read_only: set[int], given: list[ir.Value]) -> bool:
    """Whether no other buffer of a launch shares memory with buffer `i` that either of them writes."""
    mine = base(given[i])
    others = [j for j in buffers if j != i and not (i in read_only and j in read_only)]
    return not any(may_alias(mine, base(given[j])) for j in others)
