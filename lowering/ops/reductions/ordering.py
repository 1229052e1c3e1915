"""NumPy's sorts: each lane is sorted by NumPy's own loops (externals/numpy_sorts.py), lanes of the last axis where they lie in the result,
others in memory of their own; and its partitions, by a function of its C API, of a copy of all elements. PyTorch's topk, by insertion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, bytes_of, isnan, maximum, minimum, of
from tierup.lowering.building.loops import carried, either, nest, when, while_
from tierup.lowering.building.sizes import Size
from tierup.lowering.externals.numpy_sorts import DEFAULT, PREFIX, STABLE, symbol
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import Known, NotHandled, builtin_type, widened
from tierup.lowering.ops.tensors import Tensor


def own(lengths: Sequence[Size], dtype: DType, copy: Tensor | None = None) -> ir.Value:
    """A buffer that nobody else has, which is freed with all that the kernel allocates; `copy`: what is in it."""
    known = sizes.known(lengths)
    dynamic = [v for v in lengths if not isinstance(v, int)] if copy is None else []
    segments = ir.DenseI32ArrayAttr.get([len(dynamic), int(copy is not None), 0])
    type_ = builtin_type(Known(dtype, known))
    operands = dynamic if copy is None else [copy.value]
    return buffer(b.value("bufferization.alloc_tensor", operands, type_, operandSegmentSizes=segments))


def buffer(tensor: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """Where a tensor lies, in rows."""
    shaped = ir.ShapedType(tensor.type)
    return b.value("bufferization.to_buffer", [tensor], ir.MemRefType.get(list(shaped.shape), shaped.element_type), **attributes)


def _sorted_by(name: str) -> Lowering:
    """`name`: of NumPy's loop, sort or argsort."""

    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        if not x.rank or x.dtype is dtypes.bf16:
            raise NotHandled
        axis, finds = c.axis(1, x.rank), name == "argsort"
        size, is_last, out = x.size(axis), axis == x.rank - 1, tensors.empty(x.lengths, c.dtype())
        if is_last:
            found = own(x.lengths, c.dtype(), None if finds else x)
            lanes = buffer(x.value, read_only=ir.UnitAttr.get()) if finds else found
        else:
            lanes = own([x.length(axis)], x.dtype)
            found = own([x.length(axis)], dtypes.i64) if finds else lanes
        called = symbol(name, x.dtype.numpy, STABLE if c.known(2) else DEFAULT)
        where = ir.InsertionPoint.at_block_begin(module_of(c.op).regions[0].blocks[0])
        starts = [(b.address(m), bytes_of(ir.ShapedType(m.type).element_type)) for m in ([lanes, found] if finds else [found])]

        def lane(outer: list[Scalar], start: list[Any]) -> list[ir.Value]:
            first: Size = 0  # of the lane's elements, in a buffer that has them all
            for i, at in enumerate(outer if is_last else []):
                first = first * x.length(i) + at
            begin = outer if is_last else []

            def take(at: list[Scalar], _: list[Any]) -> list[ir.Value]:
                if not is_last:
                    b.store(tensors.element(x, [*outer[:axis], at[0], *outer[axis:]]), lanes, at[0])
                if finds:
                    b.store(at[0].cast(dtypes.i64), found, *begin, at[0])
                return []

            def put(at: list[Scalar], now: list[Any]) -> list[ir.Value]:
                return [b.value("tensor.insert", [b.load(found, at[0]), now[0], *outer[:axis], at[0], *outer[axis:]], now[0].type)]

            if finds or not is_last:
                nest([size], [], take)
            with when(size > 1):
                numbers = [(address + first * size * width).cast(dtypes.i64) for address, width in starts]
                status = fn.call(called, [*numbers, size.cast(dtypes.i64), b.integer(0, 64)], [b.integer_type(32)], where).results[0]
                tensors.assert_(of(status).equals(0), "no memory to sort in")
            return start if is_last else nest([size], start, put)

        outer = [x.size(i) for i in range(x.rank) if i != axis]
        if not is_last:
            return out.holding(nest(outer, [out.value], lane)[0])
        nest(outer, [], lane)
        return _held(out, found)

    return lower


_FEW = 64  # that insertion finds: among n numbers that come in rising order it moves n times as many


def _top(c: Call) -> list[Tensor]:
    """The best of each lane so far stand in order; an element that is better than the last of them is inserted. Of equal ones the first."""
    x, largest, k = c.tensor(0), c.known(3), c.integer(1)
    if not x.rank or not 0 <= k <= _FEW:
        raise NotHandled
    axis = c.axis(2, x.rank)
    size = x.size(axis)
    if x.sizes[axis] is None:
        tensors.assert_(size >= k, "selected index k out of range")
    lengths = [*x.lengths[:axis], k, *x.lengths[axis + 1 :]]
    outs = [tensors.empty(c.fitted(lengths, i), c.dtype(i)) for i in range(2)]
    best, places = own([k], x.dtype), own([k], dtypes.i64)

    def is_better(one: Scalar, other: Scalar) -> Scalar:
        a, b_ = one.cast(widened(x.dtype)), other.cast(widened(x.dtype))
        if not largest:
            a, b_ = b_, a
        return (a > b_) | (isnan(a) & ~isnan(b_)) if a.is_float else a > b_

    def insert(number: Scalar, place: Scalar, end: Scalar) -> None:
        """Where `end` numbers stand before it."""

        def goes_before(at: list[Scalar]) -> ir.Value:
            return (at[0] > 0) & is_better(number, of(b.load(best, maximum(at[0] - 1, 0)), x.dtype))

        def make_room(at: list[Scalar]) -> list[ir.Value]:
            for memory in (best, places):
                b.store(b.load(memory, at[0] - 1), memory, at[0])
            return [at[0] - 1]

        (at,) = while_(goes_before, [end], make_room)
        b.store(number, best, at)
        b.store(place.cast(dtypes.i64), places, at)

    def lane(outer: list[Scalar], start: list[Any]) -> list[ir.Value]:
        def element(i: Scalar) -> Scalar:
            return tensors.element(x, [*outer[:axis], i, *outer[axis:]])

        def begin(at: list[Scalar], _: list[Any]) -> list[ir.Value]:
            insert(element(at[0]), at[0], at[0])
            return []

        def go_on(i: Scalar, _: list[Any]) -> list[ir.Value]:
            with when(is_better(element(i), of(b.load(best, b.index(k - 1)), x.dtype))):
                insert(element(i), i, b.index(k - 1))
            return []

        def put(at: list[Scalar], now: list[Any]) -> list[ir.Value]:
            where = [*outer[:axis], at[0], *outer[axis:]]
            return [b.value("tensor.insert", [b.load(m, at[0]), n, *where], n.type) for m, n in zip((best, places), now, strict=True)]

        known = minimum(size, k)
        nest([known], [], begin)
        if k:
            carried((known, size, b.index(1)), [], go_on)
        return nest([known], start, put)

    found = nest([x.size(i) for i in range(x.rank) if i != axis], [out.value for out in outs], lane)
    return [out.holding(v) for out, v in zip(outs, found, strict=True)]


_CARRAY = 0x501  # flags of PyArray_New: in rows, aligned, writable (numpy/ndarraytypes.h)


def _partition(c: Call) -> Tensor:
    x = c.tensor(0)
    if not x.rank or x.dtype is dtypes.bf16:
        raise NotHandled
    where = ir.InsertionPoint.at_block_begin(module_of(c.op).regions[0].blocks[0])
    word, int_, none = b.integer_type(64), b.integer_type(32), b.integer(0, 64)

    def python(name: str, given: Sequence[ir.Value], *results: ir.Type) -> list[Scalar]:
        return [of(v) for v in fn.call(f"{PREFIX}{name}", given, results, where).results]

    def numbers(values: Sequence[Size]) -> ir.Value:
        memory = own([len(values)], dtypes.i64)
        for i, v in enumerate(values):
            b.store(sizes.value(v).cast(dtypes.i64), memory, b.index(i))
        return memory

    def array(memory: ir.Value, dtype: DType, lengths: Sequence[Size]) -> Scalar:
        shape, start = (b.address(m).cast(dtypes.i64) for m in (numbers(lengths), memory))
        given = [type_, b.integer(len(lengths), 32), shape, b.integer(dtype.numpy.num, 32), none, start, b.integer(0, 32)]
        return python("PyArray_New", [*given, b.integer(_CARRAY, 32), none], word)[0]

    elements, kth = own(x.lengths, x.dtype, x), c.sizes_list(2)
    [state] = python("PyGILState_Ensure", [], int_)
    type_ = fn.address(f"{PREFIX}PyArray_Type", where)
    arrays = [array(elements, x.dtype, x.lengths), array(numbers(kth), dtypes.i64, [len(kth)])]
    given = [*arrays, b.integer(c.axis(1, x.rank), 32), b.integer(0, 32)]
    there, failed = arrays[0].differs(0) & arrays[1].differs(0), b.integer(-1, 32)
    status = of(either(there, [int_], lambda: python("PyArray_Partition", given, int_), lambda: [failed])[0])
    for made in arrays:
        python("Py_DecRef", [made])
    python("PyErr_Clear", [])
    python("PyGILState_Release", [state])
    tensors.assert_(status.equals(0), "NumPy refuses to partition")
    return _held(tensors.empty(x.lengths, x.dtype), elements)


def _held(out: Tensor, found: ir.Value) -> Tensor:
    """What a buffer holds, when nothing writes to it any more."""
    alone = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    return out.holding(b.value("bufferization.to_tensor", [found], out.value.type, **alone))


def module_of(op: ir.Operation) -> ir.Operation:
    """What an op is in, that is in nothing."""
    while op.parent is not None:
        op = op.parent
    return op.operation


LOWERINGS = {
    "tierup.sort": _sorted_by("sort"), "tierup.argsort": _sorted_by("argsort"), "tierup.partition": _partition,
    "aten.topk": _top,
}  # fmt: skip
