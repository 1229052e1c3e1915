"""What the shape rules say of symbolic sizes: exact where algebra decides, a tie where the run must, open where nothing is known."""

from __future__ import annotations

import pytest

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import at_least, evaluate, floordiv, maximum, minimum, mod, symbol
from tierup.dialect.facts.values import Bool, Int, List, NoneValue, Opaque, Str, Tensor
from tierup.dialect.optable.core import Infer, Promotion, ShapeError

S0, S1 = symbol("s0"), symbol("s1")
NONE = NoneValue()


def tensor(*sizes: object, dtype: dtypes.DType = dtypes.f32) -> Tensor:
    return Tensor(dtype, tuple(sizes))  # type: ignore[arg-type]  # sizes


def ints(*values: object) -> List:
    return List(tuple(Int(v) for v in values))  # type: ignore[arg-type]  # sizes


def infer(op: str, *operands: object, numpy: bool = False) -> tuple[object, Infer]:
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY if numpy else Promotion.TORCH
    row = optable.lookup(op)
    assert row is not None
    return row.infer(ctx, list(operands)), ctx  # type: ignore[arg-type]  # values


def shape_of(op: str, *operands: object, numpy: bool = False) -> tuple:
    result, ctx = infer(op, *operands, numpy=numpy)
    assert isinstance(result, Tensor) and not ctx.ties
    return result.shape  # type: ignore[return-value]


@pytest.mark.parametrize(
    "start, end, step, length",
    [
        (None, None, 1, S0),
        (1, None, 1, S0 - 1),
        (None, -1, 1, S0 - 1),
        (1, -1, 1, S0 - 2),
        (0, 2**63 - 1, 1, S0),
        (-1, None, 1, 1),
        (0, 1, 1, 1),
        (0, 2, 1, 2),
        (5, 5, 1, 0),
    ],
)
def test_slices_of_a_symbol_are_exact(start: int | None, end: int | None, step: int, length: object) -> None:
    bound = lambda b: NONE if b is None else Int(b)
    (found,) = shape_of("aten.slice.Tensor", tensor(S0), Int(0), bound(start), bound(end), Int(step))
    for n in range(2, 9):
        assert evaluate(found, {"s0": n}) == len(range(n)[start:end:step])
    if length not in (S0 - 2, 0):
        assert found == length


def test_a_slice_with_a_step_counts_what_is_left() -> None:
    (found,) = shape_of("aten.slice.Tensor", tensor(S0), Int(0), Int(1), NONE, Int(3))
    (back,) = shape_of("aten.slice.Tensor", tensor(S0), Int(0), NONE, NONE, Int(-2), numpy=True)
    for n in range(2, 12):
        assert evaluate(found, {"s0": n}) == len(range(n)[1::3])
        assert evaluate(back, {"s0": n}) == len(range(n)[::-2])


def test_a_bound_that_only_the_run_tells_leaves_its_size_open() -> None:
    (found,) = shape_of("aten.slice.Tensor", tensor(S0), Int(0), NONE, Int(), Int(1))
    assert [s.name for s in found.symbols()] == ["u0"]


def test_view_divides_exactly_where_it_can() -> None:
    assert shape_of("aten.view", tensor(S0, 4, S1), ints(S0, -1)) == (S0, 4 * S1)
    assert shape_of("aten.view", tensor(S0, 6), ints(-1, 3)) == (2 * S0, 3)
    assert shape_of("aten.view", tensor(S0, 6), ints(-1)) == (6 * S0,)


def test_view_ties_what_must_divide() -> None:
    result, ctx = infer("aten.view", tensor(S0), ints(-1, 4))
    (tie,) = ctx.ties
    assert evaluate(result.shape[0], {"s0": 12}) == 3
    assert evaluate(tie.left, {"s0": 12}) == evaluate(tie.right, {"s0": 12})
    assert evaluate(tie.left, {"s0": 13}) != evaluate(tie.right, {"s0": 13})


def test_view_refuses_what_cannot_fit() -> None:
    with pytest.raises(ShapeError, match="invalid for input of size 6"):
        infer("aten.view", tensor(2, 3), ints(4))
    with pytest.raises(ShapeError, match="only one dimension can be inferred"):
        infer("aten.view", tensor(S0), ints(-1, -1))


def test_squeeze_knows_that_a_symbol_is_not_one_but_not_that_a_difference_is_not() -> None:
    assert shape_of("aten.squeeze", tensor(1, S0, 1)) == (S0,)
    assert shape_of("aten.squeeze", tensor(S0 - 1)) is None
    assert not at_least(S0 - 1, 2)


@pytest.mark.parametrize(
    "dim, least",
    [
        (maximum(S0 - 3, S1), 2), (maximum(S0 - S1, 1), 1), (maximum(S0 - S1, S1 - S0), None), (floordiv(S0 * 3, 2), 3), (floordiv(S0 - 3, 2), None),
        (floordiv(S0 - S1, 2), None), (floordiv(S0 + 1, 2) * S1, 2), (floordiv(S0 - 3, 2) * S1, None), (minimum(S0, S1), 2), (minimum(S0 - S1, S1), None), (mod(S0, 3), None), (8 - maximum(S0, S1), None),
    ],
    ids=str,
)  # fmt: skip
def test_bounds_of_extremes_and_quotients_hold_for_all_sizes(dim, least):
    assert dim.lower_bound() == least
    assert least is None or all(evaluate(dim, {"s0": a, "s1": b}) >= least for a in range(2, 9) for b in range(2, 9))


def test_products_tie_their_inner_sizes() -> None:
    result, ctx = infer("aten.mm", tensor(S0, S1), tensor(4, 5))
    assert result.shape == (S0, 5)
    assert {ctx.ties[0].left, ctx.ties[0].right} == {S1, 4}
    with pytest.raises(ShapeError, match="cannot be multiplied"):
        infer("aten.mm", tensor(S0, 3), tensor(4, 5))


def test_convolutions_of_symbols_are_exact_and_tie_what_must_not_be_too_small() -> None:
    weight, rest = tensor(8, 3, 5, 3), (NONE, ints(2, 1), ints(1), ints(1), Bool(False), ints(0), Int(1))
    result, ctx = infer("aten.convolution", tensor(S0, 3, S1, 9), weight, *rest)
    assert result.shape[:2] == (S0, 8) and result.shape[3] == 9
    (tie,) = ctx.ties  # two of padding: only a size of 2 is too small
    for n in range(2, 9):
        holds = evaluate(tie.left, {"s1": n}) == evaluate(tie.right, {"s1": n})
        assert holds == (n >= 3) and (not holds or evaluate(result.shape[2], {"s1": n}) == (n + 2 - 5) // 2 + 1)
    result, ctx = infer("aten.conv2d.padding", tensor(S0, 3, S1, 9), weight, NONE, ints(1), Str("same"), ints(2), Int(1))
    assert result.shape == (S0, 8, S1, 9)
    result, ctx = infer("aten.convolution", tensor(S0, 8, S1, 9), weight, NONE, ints(2), ints(1), ints(1), Bool(True), ints(1), Int(1))
    assert result.shape == (S0, 3, 2 * S1 + 2, 18) and not ctx.ties
    with pytest.raises(ShapeError, match="channels of the input do not fit"):
        infer("aten.convolution", tensor(S0, 4, S1, 9), weight, *rest)


def test_matmul_broadcasts_batches() -> None:
    assert shape_of("aten.matmul", tensor(S1, 1, 2, 3), tensor(S0, 3, 4)) == (S1, S0, 2, 4)
    assert shape_of("aten.matmul", tensor(S0, 3), tensor(3)) == (S0,)


def test_cat_sums_and_ties() -> None:
    tensors = List((tensor(S0, S1), tensor(3, S1), tensor(S0, 7)))
    result, ctx = infer("aten.cat", tensors, Int(0))
    assert result.shape == (2 * S0 + 3, 7) or result.shape == (2 * S0 + 3, S1)
    assert len(ctx.ties) == 1


def test_chunks_of_a_symbol_are_known_only_where_it_divides() -> None:
    whole, _ = infer("aten.chunk", tensor(4 * S0), Int(4), Int(0))
    assert [t.shape for t in whole.items] == [(S0,)] * 4
    unknown, _ = infer("aten.chunk", tensor(S0), Int(4), Int(0))
    assert unknown.items is None
    parts, ctx = infer("aten.split_with_sizes", tensor(S0), ints(2, 3), Int(0))
    assert [t.shape for t in parts.items] == [(2,), (3,)] and len(ctx.ties) == 1


def test_sizes_that_values_decide_are_fresh_symbols() -> None:
    found, _ = infer("aten.nonzero", tensor(S0, 3))
    assert found.shape[1] == 2 and found.shape[0].symbols() != tensor(S0).shape[0].symbols()
    selected, ctx = infer("aten.masked_select", tensor(S0), tensor(S0, dtype=dtypes.bool_))
    assert not ctx.ties and selected.rank == 1
    indexed, _ = infer("aten.index.Tensor", tensor(S0, 3), List((tensor(S0, dtype=dtypes.bool_),)))
    assert indexed.rank == 2 and indexed.shape[1] == 3


def test_an_in_place_op_ties_its_operand_to_the_target() -> None:
    result, ctx = infer("aten.add_.Tensor", tensor(S0, 4), tensor(S1, 4), Int(1))
    assert result.shape == (S0, 4) and len(ctx.ties) == 1
    with pytest.raises(ShapeError, match="doesn't match the broadcast shape"):
        infer("aten.add_.Tensor", tensor(1, 4), tensor(S1, 4), Int(1))
    with pytest.raises(TypeError, match="can't be cast"):
        infer("aten.add_.Tensor", tensor(S0, dtype=dtypes.i32), tensor(S0), Int(1))


FAMILIES = (
    "reductions.sums", "reductions.extremes", "reductions.statistics", "reductions.normalisation", "products", "windows.convolution", "windows.pooling", "movement.views", "movement.moving", "indexing.by_tensors", "inplace",
)  # fmt: skip


@pytest.mark.parametrize("op", [op.name for family in FAMILIES for op in optable.rows_of(family)])
@pytest.mark.parametrize("promotion", list(Promotion))
def test_a_rule_bears_operands_of_which_nothing_is_known(op: str, promotion: Promotion) -> None:
    row = optable.lookup(op)
    assert row is not None
    ctx = Infer()
    ctx.promotion = promotion
    results = row.infer(ctx, [Tensor(), *[Opaque()] * (len_of_schema(op) - 1)])
    assert len(results if isinstance(results, tuple) else (results,)) == row.results


def len_of_schema(op: str) -> int:
    """More operands than a rule reads, but for the two that unpack theirs."""
    return {"aten.fill_.Scalar": 2, "aten.fill_.Tensor": 2}.get(op, 9)
