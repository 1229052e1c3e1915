"""Short spellings for building ops in our lowering passes. They build where the current insertion point stands.

Ops are made by name: the generated op classes of the bindings cost 100 ms to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tierup.dialect.base.dtypes import BY_NAME, bool_
from tierup.dialect.ir.structure import is_used, maker
from tierup.dialect.ir.walking import ops_of as ops_of
from tierup.dialect.ir.walking import unerased as unerased
from tierup.dialect.ir.walking import walk as walk
from tierup.dialect.mlir import ir
from tierup.lowering.building.arith import INDEX, Scalar, constant, lifted, of

defining_op = maker


def op(
    name: str,
    operands: Sequence[ir.Value] = (),
    results: Sequence[ir.Type] = (),
    *,
    regions: int = 0,
    loc: ir.Location | None = None,
    **attributes: ir.Attribute,
) -> ir.Operation:
    """An op by name, at the insertion point."""
    return ir.Operation.create(name, results=list(results), operands=list(operands), attributes=attributes, regions=regions, loc=loc)


def value(name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    """The one result of a new op."""
    return op(name, operands, [result], **attributes).results[0]


def index_type() -> ir.Type:
    """The type `index`, of the current context."""
    return ir.IndexType.get()


def integer_type(bits: int) -> ir.Type:
    """The signless integer type of so many bits, of the current context."""
    return ir.IntegerType.get_signless(bits)


def index(number: int) -> Scalar:
    """A constant of type index."""
    return constant(number, INDEX)


def integer(number: int, bits: int) -> Scalar:
    """A constant of type i<bits>, of signed integers and truth values."""
    return constant(number, bool_ if bits == 1 else BY_NAME[f"i{bits}"])


def load(buffer: ir.Value, *at: ir.Value) -> Scalar:
    """An element of a memref."""
    return of(value("memref.load", [buffer, *at], ir.ShapedType(buffer.type).element_type))


def store(number: ir.Value, buffer: ir.Value, *at: ir.Value) -> None:
    """Write an element of a memref."""
    op("memref.store", [number, buffer, *at])


def alloc(type_: ir.Type, sizes: Sequence[ir.Value] = (), name: str = "memref.alloc", **attributes: ir.Attribute) -> ir.Value:
    """A memref; `sizes`: its dynamic ones."""
    return value(name, sizes, type_, operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(sizes), 0]), **attributes)


def alloca(type_: ir.Type) -> ir.Value:
    """A memref of static sizes on the stack."""
    return alloc(type_, name="memref.alloca")


def alloc_like(memref: ir.Value) -> ir.Value:
    """A memref of the shape and elements of another, row-major."""
    return alloc(ir.MemRefType.get(shape_of(memref.type), ir.ShapedType(memref.type).element_type), dynamic_sizes(memref))


def dim(tensor: ir.Value, axis: int) -> Scalar:
    """The size of an axis of a tensor or a memref, as index."""
    kind = "tensor.dim" if str(tensor.type).startswith("tensor") else "memref.dim"
    return Scalar(value(kind, [tensor, index(axis)], index_type()), INDEX)


def address(buffer: ir.Value) -> Scalar:
    """Where a memref's elements lie, as index."""
    return Scalar(value("memref.extract_aligned_pointer_as_index", [buffer], index_type()), INDEX)


def metadata(buffer: ir.Value) -> list[Any]:
    """A memref's buffer without dims, then offset, sizes and strides, as index."""
    type_ = ir.MemRefType(buffer.type)
    types = [ir.MemRefType.get([], type_.element_type), *[index_type()] * (1 + 2 * type_.rank)]
    return lifted(op("memref.extract_strided_metadata", [buffer], types).results)


def dynamic_sizes(shaped: ir.Value) -> list[Scalar]:
    """The sizes of the dynamic axes of a tensor or a memref."""
    return dynamic_sizes_from(shaped, 0)


def dynamic_sizes_from(shaped: ir.Value, first: int) -> list[Scalar]:
    """The sizes of the dynamic axes from axis `first` on."""
    type_ = ir.ShapedType(shaped.type)
    return [dim(shaped, i) for i in range(first, type_.rank) if type_.is_dynamic_dim(i)]


def empty_like(tensor: ir.Value, element: ir.Type) -> ir.Value:
    """tensor.empty of the shape of `tensor`."""
    type_ = ir.RankedTensorType.get(shape_of(tensor.type), element)
    return value("tensor.empty", dynamic_sizes(tensor), type_)


def shape_of(type_: ir.Type) -> list[int]:
    """Sizes with MLIR's own marker for the dynamic ones."""
    shaped = ir.ShapedType(type_)
    return [ir.ShapedType.get_dynamic_size() if shaped.is_dynamic_dim(i) else shaped.get_dim_size(i) for i in range(shaped.rank)]


def elementwise(tensor: ir.Value, element: ir.Type, body: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """linalg.generic that computes `body` of each element of `tensor`; the result has element type `element`."""
    identity = ir.AffineMap.get_identity(ir.ShapedType(tensor.type).rank)
    return generic([tensor], [identity], empty_like(tensor, element), lambda xs: body(xs[0]))


def generic(
    inputs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], out: ir.Value, body: Callable[[list[ir.Value]], ir.Value]
) -> ir.Value:
    """A parallel linalg.generic over the shape of `out`, which it overwrites; `maps` says where each input is read."""
    rank = ir.ShapedType(out.type).rank
    return loops(inputs, [*maps, ir.AffineMap.get_identity(rank)], [out], ["parallel"] * rank, lambda xs, _: [body(xs)])[0]


def loops(
    inputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    outs: Sequence[ir.Value],
    iterators: Sequence[str],
    body: Callable[[list[ir.Value], list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """linalg.generic: `body` is given the elements of inputs and of outs and returns the new elements of outs. On tensors the new
    outs are returned; on buffers there is nothing to return."""
    kinds = ir.Attribute.parse(f"[{', '.join(f'#linalg.iterator_type<{kind}>' for kind in iterators)}]")
    results = [out.type for out in outs if isinstance(out.type, ir.RankedTensorType)]
    made, block = empty_generic([*inputs, *outs], len(inputs), maps, kinds, results)
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        op("linalg.yield", body(arguments[: len(inputs)], arguments[len(inputs) :]))
    return list(made.results)


def empty_generic(
    operands: Sequence[ir.Value], inputs: int, maps: Sequence[ir.AffineMap], iterators: ir.Attribute, results: Sequence[ir.Type]
) -> tuple[ir.Operation, ir.Block]:
    """linalg.generic without ops in its body. The first `inputs` operands are inputs; one that is no tensor and no buffer is a number."""
    made = op(
        "linalg.generic",
        operands,
        results,
        regions=1,
        indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
        iterator_types=iterators,
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([inputs, len(operands) - inputs]),
    )
    types = [ir.ShapedType(v.type).element_type if isinstance(v.type, ir.ShapedType) else v.type for v in operands]
    return made, made.regions[0].blocks.append(*types, arg_locs=[ir.Location.current] * len(types))


def row(buffer: ir.Value, index: ir.Value) -> ir.Value:
    """Row `index` of a buffer, one dim less."""
    type_ = ir.MemRefType(buffer.type)
    strides, _ = type_.get_strides_and_offset()
    sizes, inner = shape_of(type_), dynamic_sizes_from(buffer, 1)
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), strides[1:])
    return value(
        "memref.subview",
        [buffer, index, *inner],
        ir.MemRefType.get(sizes[1:], type_.element_type, layout=layout, memory_space=type_.memory_space),
        static_offsets=ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size(), *[0] * (type_.rank - 1)]),
        static_sizes=ir.DenseI64ArrayAttr.get([1, *sizes[1:]]),
        static_strides=ir.DenseI64ArrayAttr.get([1] * type_.rank),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(inner), 0]),
    )


def loop_index(axis: int) -> Scalar:
    """The position in a loop of the linalg.generic whose body is being built."""
    return Scalar(value("linalg.index", [], index_type(), dim=ir.IntegerAttr.get(integer_type(64), axis)), INDEX)


def groups(axes: Sequence[Sequence[int]]) -> ir.Attribute:
    """Which axes are one in a reshape: its `reassociation`."""
    i64 = integer_type(64)
    return ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, axis) for axis in group]) for group in axes])


def broadcast_map(shape: Sequence[int | None], rank: int) -> ir.AffineMap:
    """Where a tensor of `shape` is read in a loop nest of `rank` dims: NumPy's and torch's broadcasting, static 1s repeated."""
    lead = rank - len(shape)
    reads = [ir.AffineConstantExpr.get(0) if size == 1 else ir.AffineDimExpr.get(lead + i) for i, size in enumerate(shape)]
    return ir.AffineMap.get(rank, 0, reads)


def discard_before(op: ir.Operation) -> None:
    """Erase what a lowering of `op` had built when it gave up: the unused ops right before it of the dialects that we lower to."""
    before, _ = around(op)
    while before and before[-1].name.startswith(_BUILT) and not any(map(is_used, before[-1].results)):
        before.pop().erase()


_BUILT = ("arith.", "linalg.", "math.", "tensor.", "torch_c.")  # no op of these that works on tensors or numbers has an effect


def strings(attribute: ir.Attribute) -> list[str]:
    """The texts of an array of string attributes."""
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(attribute)]


def around(op: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The ops before an op in its block, and those after it."""
    ops = list(ops_of(op.block))
    at = ops.index(op)
    return ops[:at], ops[at + 1 :]


def once_more(value: ir.Value, known: dict[ir.Value, ir.Value], is_copied: Callable[[ir.Operation], bool]) -> ir.Value:
    """A value that is computed again at the insertion point, by copies of the ops that may be. `known`: what stands for values; those of
    the copies come to it."""
    made = maker(value)
    if value not in known and made is not None and is_copied(made):
        operands = [once_more(v, known, is_copied) for v in made.operands]
        copy = made.clone().operation
        for i, operand in enumerate(operands):
            copy.operands[i] = operand
        known[value] = copy.results[0]
    return known.get(value, value)


def take(ops: Iterable[ir.Operation]) -> None:
    """Move ops to the end of the block that is being built."""
    for op in ops:
        ir.InsertionPoint.current.block.append(op)


def inline(block: ir.Block, arguments: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """Move the ops of a block to the end of the one that is being built, all but its terminator; what that hands over. `arguments`: what
    stands for the block's."""
    for argument, stand_in in zip(block.arguments, arguments, strict=False):
        argument.replace_all_uses_with(stand_in)
    *inner, last = ops_of(block)
    take(inner)
    return list(last.operands)


def copied(memref: ir.Value) -> ir.Value:
    """A copy, row-major."""
    made = alloc_like(memref)
    op("memref.copy", [memref, made])
    return made


def is_within(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an op of a function is `outer`, or stands in it."""
    while op.name != "func.func":
        if op == outer:
            return True
        op = op.parent.operation
    return False


def first(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> ir.Operation | None:
    """The first op below `root` of which something is true. By MLIR's own walk: half the time of `walk`, for those who change nothing."""
    found: list[ir.Operation] = []

    def visit(view: ir.Operation) -> ir.WalkResult:
        op = view.operation
        if not wanted(op):
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.INTERRUPT

    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                view.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
                if found:
                    return found[0]
    return None


def walk_unfused(root: ir.Operation) -> list[ir.Operation]:
    """Every op below `root` but those inside linalg ops, parents first: all places where an op of the torch dialect can be."""
    found: list[ir.Operation] = []

    def visit(view: ir.Operation) -> ir.WalkResult:
        op = view.operation
        found.append(op)
        return ir.WalkResult.SKIP if op.name.startswith("linalg.") else ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:]
