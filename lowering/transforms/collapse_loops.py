"""tierup-collapse-loops: loops that every buffer of an op runs through without a gap become one.

    linalg.generic {parallel, parallel} ins(%x : memref<?x7xf32>) outs(%y : memref<?x7xf32>)
becomes
    %x1 = memref.collapse_shape %x [[0, 1]] : memref<?x7xf32> into memref<?xf32>
    %y1 = memref.collapse_shape %y [[0, 1]]
    linalg.generic {parallel} ins(%x1) outs(%y1)

Neighbouring loops of one kind go together where each buffer either is indexed by neither, or by both in two neighbouring axes between
which nothing lies, and the body asks for the position in neither. So elementwise ops on whole arrays have one loop, and a reduction
over the last axes has one row index and one position in the row: vectors do not end with each short row, and a kernel on a GPU needs no
division to find its place.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import is_identity, set_maps

_MAKERS = frozenset({"memref.alloc", "memref.alloca"})


@register
class CollapseLoops(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk_unfused(function):
            structured = Structured.of(op)
            if structured is None:
                continue
            groups = _groups(structured)
            if len(groups) < len(structured.iterators):
                with op.location, ir.InsertionPoint(op):
                    _collapse(structured, groups)


def _groups(op: Structured) -> list[list[int]]:
    """The loops, those that become one together."""
    asked = {
        ir.IntegerAttr(inner.attributes["dim"]).value for inner in b.walk(op.op) if inner.name == "linalg.index"
    }  # of no nested linalg op: bodies hold none
    groups: list[list[int]] = []
    for loop, kind in enumerate(op.iterators):
        together = (
            bool(groups) and op.iterators[loop - 1] == kind and not {loop - 1, loop} & asked
            and all(_runs_through(buffer, map_, loop - 1) for buffer, map_ in zip(op.buffers, op.maps, strict=True))
        )  # fmt: skip
        if together:
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


def _runs_through(buffer: ir.Value, map_: ir.AffineMap, loop: int) -> bool:
    """Whether `loop` and the next one index neighbouring axes with nothing between their elements, or no axis at all."""
    results = list(map_.results)
    plain = {e.position: axis for axis, e in enumerate(results) if isinstance(e, ir.AffineDimExpr)}
    mentioned = [sum(_mentions(e, d) for e in results) for d in (loop, loop + 1)]
    if mentioned == [0, 0]:
        return True
    if mentioned != [1, 1] or loop not in plain or plain.get(loop + 1) != plain[loop] + 1:
        return False
    return _says_its_sizes(buffer, plain[loop]) and _without_gap(ir.MemRefType(buffer.type), plain[loop])


def _says_its_sizes(buffer: ir.Value, axis: int) -> bool:
    """Whether the product of the sizes of `axis` and the next one is that of the other operands' in all calls.

    Of a reshape it need not be: one that does not fit is an error, which the kernel returns when it has run, and MLIR takes the collapse of
    an expansion for what was expanded.
    """
    type_ = ir.MemRefType(buffer.type)
    if not (type_.is_dynamic_dim(axis) or type_.is_dynamic_dim(axis + 1)):
        return True
    made = b.defining_op(buffer)
    return made is None or made.name in _MAKERS


def _mentions(e: ir.AffineExpr, dim: int) -> bool:
    if isinstance(e, ir.AffineDimExpr):
        return bool(e.position == dim)
    return isinstance(e, ir.AffineBinaryExpr) and (_mentions(e.lhs, dim) or _mentions(e.rhs, dim))


def _without_gap(type_: ir.MemRefType, axis: int) -> bool:
    """Whether a step along `axis` is the whole length of the next one."""
    if _is_dense(type_):
        return True
    strides, _ = type_.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    if type_.is_dynamic_dim(axis + 1) or unknown in strides[axis : axis + 2]:
        return False
    return bool(strides[axis] == strides[axis + 1] * type_.get_dim_size(axis + 1))


def _is_dense(type_: ir.MemRefType) -> bool:
    return isinstance(type_.layout, ir.AffineMapAttr) and is_identity(type_.layout.value)


def _collapse(op: Structured, groups: list[list[int]]) -> None:
    number = {loop: i for i, group in enumerate(groups) for loop in group}
    buffers, maps = [], []
    for buffer, map_ in zip(op.buffers, op.maps, strict=True):
        axes: list[list[int]] = []  # of the buffer, those that become one together
        results = []
        for axis, e in enumerate(map_.results):
            before = list(map_.results)[axis - 1] if axes else None
            if isinstance(e, ir.AffineDimExpr) and isinstance(before, ir.AffineDimExpr) and _goes_on(before.position, e.position, groups):
                axes[-1].append(axis)
                continue
            axes.append([axis])
            results.append(e)
        buffers.append(_collapsed(buffer, axes))
        renumbered = [ir.AffineDimExpr.get(number[loop]) for loop in range(len(op.iterators))]
        inner = ir.AffineMap.get(len(groups), 0, renumbered)
        maps.append(ir.AffineMap.get(len(groups), 0, [e.compose(inner) for e in results]))
    if op.op.name != "linalg.generic":  # all loops, both buffers: identity maps
        for i, buffer in enumerate(buffers, start=0 if op.op.name == "memref.copy" else 1):
            op.op.operands[i] = buffer
        return
    for i, buffer in enumerate(buffers):
        op.op.operands[i] = buffer
    set_maps(op.op, maps)
    kinds = list(ir.ArrayAttr(op.op.attributes["iterator_types"]))
    op.op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[group[0]] for group in groups])
    for inner_op in b.walk(op.op):
        if inner_op.name == "linalg.index":
            loop = ir.IntegerAttr(inner_op.attributes["dim"]).value
            inner_op.attributes["dim"] = ir.IntegerAttr.get(b.integer_type(64), number[loop])


def _goes_on(left: int, right: int, groups: list[list[int]]) -> bool:
    return right == left + 1 and any(left in group and right in group for group in groups)


def _collapsed(buffer: ir.Value, axes: list[list[int]]) -> ir.Value:
    type_ = ir.MemRefType(buffer.type)
    if len(axes) == type_.rank:
        return buffer
    sizes = [_merged([b.shape_of(type_)[axis] for axis in group]) for group in axes]
    layout = None
    if not _is_dense(type_):
        strides, offset = type_.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, [strides[group[-1]] for group in axes])
    merged = ir.MemRefType.get(sizes, type_.element_type, layout=layout, memory_space=type_.memory_space)
    return b.value("memref.collapse_shape", [buffer], merged, reassociation=b.groups(axes))


def _merged(sizes: list[int]) -> int:
    dynamic: int = ir.ShapedType.get_dynamic_size()
    result = 1
    for size in sizes:
        if size == dynamic:
            return dynamic
        result *= size
    return result
