"""Symbolic sizes through the rules of scalar ops: exact polynomials, decided comparisons, or nothing; never a wrong number."""

from __future__ import annotations

import itertools

import pytest

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import evaluate, symbol
from tierup.dialect.facts.values import Bool, Float, Int, List, Number, Str, Tensor, Tuple
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, Promotion, ShapeError

S, T = symbol("s0"), symbol("s1")


def infer(op: str, *operands: object) -> object:
    return optable.lookup(op).infer(Infer(), list(operands))


ARITHMETIC = ["aten.add.int", "aten.sub.int", "aten.mul.int", "aten.floordiv.int", "aten.remainder.int", "prim.max.int", "prim.min.int"]
COMPARISONS = [f"aten.{op}.int" for op in ("eq", "ne", "lt", "le", "gt", "ge")]
SIZES = [S, T, S + 1, S - T, 2 * S, S * T, S * 0 + 3, 1, 0, -2]


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_what_is_inferred_of_sizes_holds_for_every_size(op: str) -> None:
    kernel = kernels.resolve(optable.lookup(op).kernel)
    for a, b in itertools.product(SIZES, repeat=2):
        if op in ("aten.floordiv.int", "aten.remainder.int") and b == 0:
            continue
        value = infer(op, Int(a), Int(b)).value
        if value is None:
            continue
        for s, t in itertools.product((2, 3, 5), repeat=2):
            sizes = {"s0": s, "s1": t}
            right = evaluate(b, sizes)
            expected = kernel(evaluate(a, sizes), right)
            assert (value if isinstance(value, bool) else evaluate(value, sizes)) == expected, f"{op}({a}, {b}) is {value} at {sizes}"


def test_sums_and_products_of_sizes_are_known() -> None:
    assert infer("aten.add.int", Int(S), Int(1)) == Int(S + 1)
    assert infer("aten.mul.int", Int(S), Int(T)) == Int(S * T)
    assert infer("aten.floordiv.int", Int(S * T), Int(T)) == Int(S)
    assert infer("aten.remainder.int", Int(2 * S), Int(2)) == Int(0)
    assert infer("aten.neg.int", Int(S)) == Int(-1 * S)


def test_comparisons_of_sizes_are_decided_by_their_bounds() -> None:
    assert infer("aten.gt.int", Int(S), Int(1)) == Bool(True)
    assert infer("aten.eq.int", Int(S), Int(1)) == Bool(False)
    assert infer("aten.eq.int", Int(S), Int(T)) == Bool()
    assert infer("aten.lt.int", Int(S), Int(S + 1)) == Bool(True)


def test_lists_of_sizes_are_compared_item_by_item() -> None:
    of = {name: List(tuple(map(Int, sizes))) for name, sizes in (("rows", (S, 4)), ("more", (S + 1, 4)), ("others", (T, 4)), ("long", (S, 4, 4)))}
    for other, equal in (("rows", True), ("more", False), ("others", None), ("long", False)):
        assert infer("aten.eq.int_list", of["rows"], of[other]) == Bool(equal)
        assert infer("aten.ne.int_list", of["rows"], of[other]) == Bool(None if equal is None else not equal)


def test_sizes_of_tensors_are_their_symbols() -> None:
    x = Tensor(dtypes.f32, (S, 3))
    assert infer("aten.size", x) == List((Int(S), Int(3)))
    assert infer("aten.size.int", x, Int(-2)) == Int(S)
    assert infer("aten.numel", x) == Int(3 * S)
    assert infer("aten.dim", x) == Int(2)
    assert infer("aten.len.Tensor", x) == Int(S)
    assert infer("aten.size.int", x, Int()) == Int()
    assert infer("aten.size", Tensor(dtypes.f32)) == List(None, Int())


def test_unknown_numbers_keep_their_kind() -> None:
    assert infer("aten.add", Int(), Float()) == Float()
    assert infer("aten.add", Int(), Int()) == Int()
    assert infer("aten.add", Number(), Int()) == Number()
    assert infer("aten.div.int", Int(S), Int(2)) == Float()
    assert infer("aten.item", Tensor(dtypes.i64, ())) == Int()
    assert infer("aten.item", Tensor(dtypes.bool_, ())) == Bool()
    assert infer("aten.item", Tensor(None, ())) == Number()
    assert infer("aten.add.str", Str(), Str("a")) == Str()


def test_item_of_more_than_one_element_is_refused() -> None:
    for shape in ((2,), (S,), (0,), (1, 3)):
        with pytest.raises(ShapeError):
            infer("aten.item", Tensor(dtypes.f32, shape))


def test_lists_keep_their_items() -> None:
    x = Tensor(dtypes.f32, (S,))
    assert infer("prim.ListConstruct", x, Int(1)) == List((x, Int(1)))
    assert infer("prim.TupleUnpack", Tuple((x, Int(1)))) == (x, Int(1))
    assert infer("aten.add.t", List((Int(S),)), List((Int(2),))) == List((Int(S), Int(2)))
    assert infer("aten.__getitem__.t", List((x, x)), Int()) == x
    assert infer("aten.__getitem__.t", List((Int(1), Int(2))), Int()) == Int()


def test_a_list_repeated_beyond_what_is_kept_has_a_kind_only() -> None:
    assert infer("aten.mul.left_t", List((Int(1), Int(2))), Int(2)) == List((Int(1), Int(2), Int(1), Int(2)))
    assert infer("aten.mul.left_t", List((Int(1),)), Int(-3)) == List(())
    assert infer("aten.mul.left_t", List((Int(1),)), Int(1 << 62)) == List(None, Int())


def test_python_numbers_do_not_wrap_and_divide_as_python_does() -> None:
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY
    assert optable.lookup("aten.mul.int").infer(ctx, [Int(2**62), Int(-2)]) == Int(-(2**63))
    assert optable.lookup("aten.mul.int").infer(ctx, [Int(2**62), Int(4)]) == Int()  # beyond what passes hold
    with pytest.raises(ZeroDivisionError):
        optable.lookup("aten.div.int").infer(ctx, [Int(1), Int(0)])
    assert infer("aten.mul.int", Int(2**62), Int(4)) == Int(0)
    assert infer("aten.div.int", Int(1), Int(0)) == Float(float("inf"))
