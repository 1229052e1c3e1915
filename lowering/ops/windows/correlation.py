"""np.correlate: each place of one vector along the other is a product by NumPy's own loop (externals/numpy_sorts.py), but where the shorter
is of 11 floats at most and all of it is read: NumPy (small_correlate, arraytypes.c.src) then adds one product after the other."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import INDEX, Scalar, constant, maximum, minimum, select
from tierup.lowering.building.loops import carried, either, nest
from tierup.lowering.externals.numpy_sorts import DEFAULT, symbol
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.reductions.ordering import buffer, module_of, own
from tierup.lowering.ops.tensors import Tensor

_SMALL = 11


def _correlate(c: Call) -> Tensor:
    of, mode = c.dtype(), c.integer(2)
    if of is dtypes.bf16:
        raise NotHandled
    a, v = c.tensor(0).cast(of), c.tensor(1).cast(of)
    n, m = (t.size(0).cast(dtypes.i64) for t in (a, v))  # an index has no sign
    longer, shorter = maximum(n, m), minimum(n, m)
    tensors.assert_(shorter > 0, "an array that is empty")
    # how far the shorter one begins before the longer one, or the other way round
    before = (shorter * 0, shorter.call("arith.shrui", 1), shorter - 1)[mode]
    length = (longer - shorter + 1, longer, longer + shorter - 1)[mode]
    first = select(n < m, before - length + 1, before * -1)
    [size] = c.fitted([maximum(length, 0).cast(INDEX)])  # of two that are empty it is less
    out = own([size], of)
    places = [buffer(t.value, read_only=ir.UnitAttr.get()) for t in (a, v)]
    starts = [b.address(memory) for memory in (*places, out)]
    called, width = symbol("dot", of.numpy, DEFAULT), of.itemsize
    where = ir.InsertionPoint.at_block_begin(module_of(c.op).regions[0].blocks[0])

    by_calls = of not in (dtypes.f32, dtypes.f64)

    def edge(at: Scalar, _: list[Any]) -> list[ir.Value]:
        return one([at], [])

    def one(at: list[Scalar], _: list[Any]) -> list[ir.Value]:
        shift = first + at[0].cast(dtypes.i64)
        i, j = maximum(shift, 0), maximum(shift * -1, 0)
        count = minimum(n - i, m - j)

        def by_products() -> list[ir.Value]:
            def added(k: list[Scalar], total: list[Any]) -> list[ir.Value]:
                return [total[0] + tensors.element(a, [i.cast(INDEX) + k[0]]) * tensors.element(v, [j.cast(INDEX) + k[0]])]

            b.store(nest([count.cast(INDEX)], [constant(0, of)], added)[0], out, at[0])
            return []

        def by_numpy() -> list[ir.Value]:
            reached = zip(starts, (i, j, at[0].cast(dtypes.i64)), strict=True)
            x, y, result = (start.cast(dtypes.i64) + place * width for start, place in reached)
            step, nothing = b.integer(width, 64), b.integer(0, 64)
            fn.call(called, [x, step, y, step, result, count, nothing], [], where)
            return []

        if not by_calls:
            either((shorter <= _SMALL) & count.equals(shorter), [], by_products, by_numpy)
        else:
            by_numpy()
        return []

    longest, window = a.sizes[0], v.sizes[0]
    if not isinstance(size, int) or longest is None or window is None or not 0 < window <= min(longest, _SMALL) or by_calls:
        nest([b.index(size) if isinstance(size, int) else size], [], one)
    else:  # places that read all of a window known to be short are written out, in a loop that goes in vectors
        begin = (0, window // 2, window - 1)[mode]
        end = begin + longest - window + 1
        weights = [tensors.element(v, [k]) for k in range(window)]

        def whole(at: Scalar, values: list[Any]) -> list[ir.Value]:
            products = [tensors.element(a, [(at + k).cast(INDEX)]) * weight for k, weight in enumerate(weights)]
            b.store(reduce(add, products, constant(0, of)), out, at + begin)
            return values

        for low, high, body in ((0, begin, edge), (0, end - begin, whole), (end, size, edge)):
            carried((b.index(low), b.index(high), b.index(1)), [], body)
    made = tensors.empty([size], of)
    alone = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    return made.holding(b.value("bufferization.to_tensor", [out], made.value.type, **alone))


LOWERINGS: dict[str, Lowering] = {"tierup.correlate": _correlate}
