"""Short spellings for building ops in our lowering passes. They build where the current insertion point stands.

Ops are made by name: the generated op classes of the bindings cost 100 ms to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tierup.dialect.mlir import ir


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
    return ir.IndexType.get()


def integer_type(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def index(number: int) -> ir.Value:
    """A constant of type index."""
    return value("arith.constant", [], index_type(), value=ir.IntegerAttr.get(index_type(), number))


def integer(number: int, bits: int) -> ir.Value:
    """A constant of type i<bits>."""
    type_ = integer_type(bits)
    return value("arith.constant", [], type_, value=ir.IntegerAttr.get(type_, number))


def dim(tensor: ir.Value, axis: int) -> ir.Value:
    """The size of an axis of a tensor or a memref, as index."""
    kind = "tensor.dim" if str(tensor.type).startswith("tensor") else "memref.dim"
    return value(kind, [tensor, index(axis)], index_type())


def dynamic_sizes(shaped: ir.Value) -> list[ir.Value]:
    """The sizes of the dynamic axes of a tensor or a memref."""
    type_ = ir.ShapedType(shaped.type)
    return [dim(shaped, i) for i in range(type_.rank) if type_.is_dynamic_dim(i)]


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
    out = empty_like(tensor, element)
    rank = ir.ShapedType(tensor.type).rank
    maps = ir.ArrayAttr.get([ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))] * 2)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = op(
        "linalg.generic",
        [tensor, out],
        [out.type],
        regions=1,
        indexing_maps=maps,
        iterator_types=ir.ArrayAttr.get([parallel] * rank),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1]),
    )
    unknown = ir.Location.unknown()
    block = generic.regions[0].blocks.append(ir.ShapedType(tensor.type).element_type, element, arg_locs=[unknown, unknown])
    with ir.InsertionPoint(block):
        op("linalg.yield", [body(block.arguments[0])])
    return generic.results[0]


def strings(attribute: ir.Attribute) -> list[str]:
    """The texts of an array of string attributes."""
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(attribute)]


def walk(root: ir.Operation) -> Iterator[ir.Operation]:
    """Every op below `root`, parents first. The list of a block is taken before its ops are given out, so they may be erased."""
    for region in root.regions:
        for block in region.blocks:
            for view in list(block.operations):
                yield view.operation
                yield from walk(view.operation)
