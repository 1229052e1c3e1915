"""tierup-materialize-boundary: from tensors in and out to the buffers of the ABI.

    func.func @f(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, i64) attributes {tierup.result_kinds = ["buffer", "scalar"]}
becomes
    func.func @f(%x: memref<?x4xf32>, %out: memref<?x4xf32>) -> i64 {
      %t = bufferization.to_tensor %x restrict
      ...
      bufferization.materialize_in_destination %r in restrict writable %out

* An argument with `tierup.layout = "strided"` becomes a memref whose strides are read at run time; others are in C order.
* A "buffer" result is written to a memref argument that comes after the arguments, one per such result, in their order.
  Where a branch leaves a result unset in one arm, since control left the function there, the other arm writes it.
* An "allocated" result is written to fresh memory and returned as a memref that the caller owns.
* i1 tensors are bytes at the boundary, as NumPy has them: any byte but 0 is true coming in, 0 or 1 going out.

Bufferization may not write to an argument (`to_tensor` without `writable`); all buffers are `restrict`, because results are
fresh memory and arguments are only read.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.ir.structure import hand_over, last_of, maker, set_signature
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.lowering.analysis.stated import LAYOUT, RESULT_KINDS
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of


@register
class MaterializeBoundary(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if RESULT_KINDS not in function.attributes:
            return  # not an entry
        with ir.Location.unknown(function.context):
            _convert(function)


def _convert(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    terminator = last_of(block)
    if terminator.name != "func.return" or len(function.regions[0].blocks) != 1:
        raise PassFailure(function, "needs structured control flow: one block that ends in func.return")
    kinds = b.strings(function.attributes[RESULT_KINDS])
    if not any(isinstance(v.type, ir.RankedTensorType) for v in (*block.arguments, *terminator.operands)):
        return  # it has its buffers already, or needs none
    if len(kinds) != len(terminator.operands):
        raise PassFailure(function, f"has {len(terminator.operands)} results but {RESULT_KINDS} lists {len(kinds)}")
    for number, (result, kind) in enumerate(zip(terminator.operands, kinds, strict=True)):
        if kind not in ("buffer", "allocated", "scalar"):
            raise PassFailure(function, f"has a result of kind '{kind}'; there are buffer, allocated and scalar")
        if (kind == "scalar") == isinstance(result.type, ir.RankedTensorType):
            raise PassFailure(function, f"has result {number} of type {result.type}, which can't be of kind '{kind}'")
    layouts = _layouts(function, len(block.arguments))
    with ir.InsertionPoint.at_block_begin(block):
        for argument, layout in zip(list(block.arguments), layouts, strict=True):
            if isinstance(argument.type, ir.RankedTensorType):
                _argument(argument, layout)
    returned = []
    with ir.InsertionPoint(terminator):
        for result, kind in zip(list(terminator.operands), kinds, strict=True):
            if kind == "scalar":
                returned.append(result)
                continue
            bytes_ = as_bytes(result)
            type_ = ir.RankedTensorType(bytes_.type)
            memref = ir.MemRefType.get(b.shape_of(type_), type_.element_type)
            if kind == "buffer":
                target = block.add_argument(memref, ir.Location.unknown())
            else:
                target = b.alloc(memref, b.dynamic_sizes(bytes_))  # not aligned: the pointer is malloc's own, which the caller frees
                returned.append(target)
            _store(bytes_, target)
    hand_over(block, returned)
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            del function.attributes[name]
    set_signature(function)


def _store(value: ir.Value, target: ir.Value) -> None:
    """Write a tensor to memory. Of a branch with an arm that leaves its result unset, the other arm writes it."""
    branch = maker(value, "scf.if")
    if branch is not None:
        number = ir.OpResult(value).result_number
        terminators = [last_of(region.blocks[0]) for region in branch.regions]
        if any(_is_unset(terminator.operands[number]) for terminator in terminators) and isinstance(target.owner, ir.Block):
            for terminator in terminators:
                if not _is_unset(terminator.operands[number]):
                    with ir.InsertionPoint(terminator):
                        _store(terminator.operands[number], target)
            return
    b.op("bufferization.materialize_in_destination", [value, target], restrict=ir.UnitAttr.get(), writable=ir.UnitAttr.get())


def _is_unset(value: ir.Value) -> bool:
    return maker(value, "tensor.empty") is not None


def _layouts(function: ir.Operation, count: int) -> list[str]:
    if "arg_attrs" not in function.attributes:
        return [""] * count
    attributes = [ir.DictAttr(a) for a in ir.ArrayAttr(function.attributes["arg_attrs"])]
    return [ir.StringAttr(a[LAYOUT]).value if LAYOUT in a else "" for a in attributes]


def _argument(argument: ir.Value, layout: str) -> None:
    tensor = ir.RankedTensorType(argument.type)
    is_bool = str(tensor.element_type) == "i1"
    element = b.integer_type(8) if is_bool else tensor.element_type
    shape = b.shape_of(tensor)
    strides = [ir.ShapedType.get_dynamic_stride_or_offset()] * len(shape)
    strided = ir.StridedLayoutAttr.get(0, strides) if layout == "strided" and shape else None
    bytes_type = ir.RankedTensorType.get(shape, element)
    uses = list(argument.uses)
    argument.set_type(ir.MemRefType.get(shape, element, layout=strided))
    seen = b.value("bufferization.to_tensor", [argument], bytes_type, restrict=ir.UnitAttr.get())
    if is_bool:
        zero = b.integer(0, 8)
        seen = b.elementwise(seen, b.integer_type(1), lambda x: of(x).differs(zero))
    for use in uses:
        use.owner.operands[use.operand_number] = seen


def as_bytes(result: ir.Value) -> ir.Value:
    """A tensor of bools as one of bytes, which is how NumPy has them; any other as it is."""
    if str(ir.RankedTensorType(result.type).element_type) != "i1":
        return result
    return b.elementwise(result, b.integer_type(8), lambda x: of(x).cast(dtypes.u8))
