"""ufunc.reduceat: each part of an axis as a loop that combines its elements, dialect/ops/indexing/folds.py.

Floats that may be combined in any order go in eight lanes, as in NumPy's sums (pairwise_sum in loops_utils.h.src): the first element, and
to it what the others give, lane by lane, then those that are left over.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.ops.indexing.folds import FIRST, FOLDS
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, constant, select
from tierup.lowering.building.loops import carried, nest
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.indexing.positions import position
from tierup.lowering.ops.indexing.scatters import unless_empty
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.pointwise.elements import SCALARS
from tierup.lowering.ops.tensors import Tensor

_LANES = 8


def _reduceat(c: Call) -> Tensor:
    x, indices, axis = c.tensor(0), c.tensor(1), c.axis(2, c.tensor(0).rank)
    if not x.rank or indices.rank != 1:
        raise NotHandled
    fold, size, count = FOLDS[str(c.known(3))], x.size(axis), indices.size(0)
    wide, zero, one = widened(x.dtype), b.index(0), b.index(1)

    def combine(v: ir.Value, w: ir.Value) -> Scalar:
        found: Scalar = fold.combine(SCALARS, Scalar(v, wide), Scalar(w, wide))  # what a loop carries has forgotten its sign
        return found

    lengths = [*x.lengths[:axis], indices.length(0), *x.lengths[axis + 1 :]]
    out = tensors.empty(c.fitted(lengths), x.dtype)
    in_lanes = fold.start is not None and wide.is_float
    if x.sizes[axis] == 0:
        raise NotHandled

    def check(at: list[Scalar], _: list[Scalar]) -> list[ir.Value]:
        index = tensors.element(indices, at)
        tensors.assert_((index >= 0) & (index < size.cast(dtypes.i64)), "index out-of-bounds in reduceat")
        return []

    nest([count], [], check)

    def part(positions: list[Scalar], now: list[ir.Value]) -> list[ir.Value]:
        k = positions[axis]
        last = (k + 1).equals(count)
        begin = position(tensors.element(indices, [k]), size, from_end=False)
        following = position(tensors.element(indices, [select(last, k, k + 1)]), size, from_end=False)
        end = select(last, size, following)

        def element(j: Scalar) -> Scalar:
            return tensors.element(x, [*positions[:axis], j, *positions[axis + 1 :]]).cast(wide)

        first = element(begin)
        start = first if fold.start is None or fold.start == FIRST else constant(fold.start, wide)  # type: ignore[arg-type]  # a number
        rest = select(end > begin, end - begin, one) - 1
        done, so_far = zero, start
        if in_lanes:
            done = rest // _LANES * _LANES
            each = carried(
                (zero, done, b.index(_LANES)), [start] * _LANES,
                lambda i, found: [combine(v, element(begin + 1 + i + lane)) for lane, v in enumerate(found)],
            )  # fmt: skip
            while len(each) > 1:
                each = [combine(*pair) for pair in zip(each[::2], each[1::2], strict=True)]
            so_far = each[0]
        (found,) = carried((done, rest, one), [so_far], lambda i, total: [combine(total[0], element(begin + 1 + i))])
        value = (found if fold.start is None else combine(first, found)).cast(x.dtype)
        return [b.value("tensor.insert", [value, now[0], *positions], now[0].type)]

    loops = [out.size(i) for i in range(x.rank)]
    loops[axis] = unless_empty(loops[axis], x, [axis])
    return out.holding(nest(loops, [out.value], part)[0])


LOWERINGS = {"tierup.reduceat": _reduceat}
