"""Batched products give to the bit what the products and sums give, whatever the matrices are, and raise what they raise."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewrite_harness import after, assert_kept, outcome
from sampling import examples

_T = "!torch.vtensor"
_DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.uint8]
_random = np.random.default_rng(3)


def _matrix(dtype: Any, *shape: int) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape) * 3).astype(dtype)


def _program(body: list[str], results: list[str], arguments: str = "xyzw") -> str:
    lines = "\n      ".join(["%one = torch.constant.int 1", *body])
    types = ", ".join([_T] * len(results))
    parameters = ", ".join(f"%{a}: {_T}" for a in arguments)
    return f"""
    func.func @f({parameters}) -> ({types}) {{
      {lines}
      return {", ".join(f"%{r}" for r in results)} : {types}
    }}"""


def _mm(name: str, a: str, b: str) -> str:
    return f"%{name} = torch.aten.mm %{a}, %{b} : {_T}, {_T} -> {_T}"


def _add(name: str, a: str, b: str) -> str:
    return f"%{name} = torch.aten.add.Tensor %{a}, %{b}, %one : {_T}, {_T}, !torch.int -> {_T}"


def _t(name: str, a: str) -> str:
    return f"%{name} = torch.aten.t %{a} : {_T} -> {_T}"


SUM = _program([_mm("a", "x", "y"), _mm("b", "z", "w"), _mm("c", "z", "y"), _mm("d", "x", "w"),
                _add("e", "a", "b"), _add("f", "c", "e"), _add("g", "f", "d")], ["g"])  # fmt: skip
TRANSPOSED = _program([_mm("a", "x", "y"), _t("ta", "a"), _mm("b", "z", "w"), _t("tb", "b"), _mm("c", "z", "y"), _t("tc", "c"),
                       _add("e", "ta", "tb"), _add("g", "e", "tc")], ["g"])  # fmt: skip
SIDES = _program([_mm("a", "x", "y"), _add("i", "a", "a"), _mm("b", "z", "y"), _mm("c", "x", "y"), _mm("d", "w", "y"),
                  _mm("k", "i", "y")], list("abcdik"))  # fmt: skip
LEFT = _program([_mm("a", "x", "y"), _mm("b", "x", "z"), _mm("c", "x", "w")], list("abc"))
PASS = "tierup-batch-matmul{min-tree=3 min-side=3}"


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 5, 1), (4, 1, 4), (0, 2, 3), (3, 0, 2), (17, 33, 9), (64, 64, 64)])
def test_batches_compute_what_the_products_do(dtype: Any, shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    left, right = (lambda: _matrix(dtype, n, k)), (lambda: _matrix(dtype, k, m))
    assert "mm_tree" in assert_kept(SUM, PASS, [[left(), right(), left(), right()]])
    assert "mm_tree" in assert_kept(TRANSPOSED, PASS, [[left(), right(), left(), right()]])
    assert "mm_side" in assert_kept(LEFT, PASS, [[left(), right(), right(), right()]])
    if n >= k == m:
        assert "mm_side" in assert_kept(SIDES, PASS, [[left(), right(), left(), left()]])


# Matrices that are no batch: of several shapes, dtypes and layouts, that broadcast in a sum, or that raise.
F32 = np.float32
ODD = {
    "several_shapes": (SUM, [_matrix(F32, 2, 3), _matrix(F32, 3, 4), _matrix(F32, 2, 3), _matrix(F32, 3, 4)][:4]),
    "inner_sizes_differ": (LEFT, [_matrix(F32, 2, 3), _matrix(F32, 3, 4), _matrix(F32, 3, 1), _matrix(F32, 3, 0)]),
    "layouts": (LEFT, [_matrix(F32, 20, 30), _matrix(F32, 30, 40), _matrix(F32, 40, 30).T, _matrix(F32, 30, 80)[:, ::2]]),
    "fortran_common": (LEFT, [_matrix(F32, 30, 20).T, _matrix(F32, 30, 40), _matrix(F32, 30, 40), _matrix(F32, 30, 40)]),
    "own_transpose": (LEFT, [x := _matrix(F32, 30, 30), x.T, x.T, x.T]),
    "broadcasts": (SUM, [_matrix(F32, 1, 3), _matrix(F32, 3, 4), _matrix(F32, 5, 3), _matrix(F32, 3, 4)]),
    "dtypes": (LEFT, [_matrix(F32, 2, 3), _matrix(F32, 3, 4), _matrix(F32, 3, 4), _matrix(np.float64, 3, 4)]),
    "dtypes_of_a_pair": (LEFT, [_matrix(F32, 2, 3), *(_matrix(np.int32, 3, 4) for _ in range(3))]),
    "bools": (LEFT, [np.ones((2, 2), bool)] * 4),
    "vectors": (LEFT, [_matrix(F32, 3)] * 4),
    "sizes_do_not_fit": (LEFT, [_matrix(F32, 2, 3), _matrix(F32, 3, 4), _matrix(F32, 4, 4), _matrix(F32, 3, 4)]),
    "sum_does_not_fit": (SUM, [_matrix(F32, 2, 3), _matrix(F32, 3, 4), _matrix(F32, 3, 3), _matrix(F32, 3, 4)]),
    "nans": (SUM, [np.full((2, 2), np.nan, F32), np.full((2, 2), np.inf, F32), np.full((2, 2), -np.inf, F32), _matrix(F32, 2, 2)]),
}


@pytest.mark.parametrize("name", list(ODD))
def test_matrices_that_make_no_batch(name: str) -> None:
    text, arguments = ODD[name]
    assert "tierup.batched" in assert_kept(text, PASS, [arguments])


def test_more_elements_than_the_option_says_are_multiplied_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from tierup.runtime.interpreter import speculation

    answers = []
    original = speculation._is_batch
    monkeypatch.setattr(speculation, "_is_batch", lambda *a: answers.append(original(*a)) or answers[-1])
    arguments = [_matrix(np.float32, 2, 3), *(_matrix(np.float32, 3, 4) for _ in range(3))]
    for limit in (41, 42):
        assert_kept(LEFT, f"tierup-batch-matmul{{min-side=3 max-elements={limit}}}", [arguments])
    assert answers == [False, True]


def test_matrices_of_other_layouts_are_multiplied_one_by_one() -> None:
    from tierup.runtime.interpreter.speculation import _is_batch

    a, b = _matrix(np.float32, 4, 6), _matrix(np.float32, 6, 8)
    assert _is_batch([a], [b, b], None)
    for other in (_matrix(np.float32, 8, 6).T, _matrix(np.float32, 6, 16)[:, ::2], b.astype(np.float64), b[:, :1], b[0]):
        assert not _is_batch([a], [b, other], None)
    assert not _is_batch([_matrix(np.float32, 6, 4).T], [b, b], None)


M = "!torch.tensor"


def test_what_is_written_between_products_is_read_when_it_was() -> None:
    """A buffer takes one product, is read, takes nothing more: the read stays behind the write though it uses no product."""
    text = f"""
    func.func @f(%x: {_T}, %y: {_T}, %z: {_T}, %w: {_T}) -> ({_T}, {_T}, {_T}, {M}) {{
      %one = torch.constant.int 1
      %none = torch.constant.none
      %0 = torch.aten.mm %x, %w : {_T}, {_T} -> {_T}
      %m = torch.copy.to_tensor %x : {M}
      %p = torch.copy.to_tensor %0 : {M}
      %1 = torch.aten.add_.Tensor %m, %p, %one : {M}, {M}, !torch.int -> {M}
      %2 = torch.aten.mul.Tensor %m, %m : {M}, {M} -> {M}
      %3 = torch.aten.mm %y, %w : {_T}, {_T} -> {_T}
      %4 = torch.aten.mm %z, %w : {_T}, {_T} -> {_T}
      return %0, %3, %4, %2 : {_T}, {_T}, {_T}, {M}
    }}"""
    new = assert_kept(text, "tierup-batch-matmul{min-side=3}", [[_matrix(np.float32, 3, 3) for _ in range(4)]])
    assert "mm_side" in new and new.index("mm_side") < new.index("add_.Tensor") < new.index("mul.Tensor")


def test_a_product_that_is_written_later_may_be_in_a_batch() -> None:
    """The first batch gives a matrix that an op between the products of the second writes, and another reads."""
    text = f"""
    func.func @f(%x: {_T}, %y: {_T}, %w: {_T}, %v: {_T}) -> ({M}, {_T}, {_T}, {_T}, {_T}, {M}) {{
      %one = torch.constant.int 1
      %0 = torch.aten.mm %x, %w : {_T}, {_T} -> {M}
      %1 = torch.aten.mm %y, %w : {_T}, {_T} -> {_T}
      %2 = torch.aten.mm %v, %w : {_T}, {_T} -> {_T}
      %3 = torch.aten.mm %x, %v : {_T}, {_T} -> {_T}
      %p = torch.copy.to_tensor %3 : {M}
      %4 = torch.aten.add_.Tensor %0, %p, %one : {M}, {M}, !torch.int -> {M}
      %5 = torch.aten.mul.Tensor %0, %0 : {M}, {M} -> {M}
      %6 = torch.aten.mm %y, %v : {_T}, {_T} -> {_T}
      return %0, %1, %2, %3, %6, %5 : {M}, {_T}, {_T}, {_T}, {_T}, {M}
    }}"""
    new = assert_kept(text, "tierup-batch-matmul{min-side=2}", [[_matrix(np.float32, 3, 3) for _ in range(4)]])
    assert new.count("mm_side") == 2


def test_results_are_memory_of_their_own() -> None:
    results, _ = outcome(after(LEFT, PASS), [np.eye(3, dtype=np.float32)] + [_matrix(np.float32, 3, 3) for _ in range(3)])
    results[0][...] = 0
    assert all(r.flags.c_contiguous and r.flags.writeable for r in results)
    assert results[1].any() and results[2].any()


PAIRS = _program([_mm("a", "x", "y"), _mm("b", "z", "w"), _mm("c", "y", "x"), _mm("d", "w", "z"), _t("td", "d"),
                  _add("e", "a", "b"), _add("f", "c", "td"), _add("g", "e", "f")], ["g"])  # fmt: skip


def test_reassociated_sums_are_as_close_to_float64_as_the_programs_own() -> None:
    new = after(PAIRS, "tierup-batch-matmul{reassociate=true}")
    assert "mm_tree" in new and "aten.mm" not in new
    x, y, z, w = (_matrix(np.float64, 20, 20) for _ in range(4))
    exact = (x @ y + z @ w) + (y @ x + (w @ z).T)
    got = outcome(new, [a.astype(np.float32) for a in (x, y, z, w)])[0]
    scale = sum(np.abs(a) @ np.abs(b) for a, b in ((x, y), (z, w), (y, x), (w, z))).max()
    np.testing.assert_allclose(got, exact, rtol=0, atol=float(80 * np.finfo(np.float32).eps * scale))
    ints = [_matrix(np.int32, 4, 4) for _ in range(4)]
    np.testing.assert_array_equal(outcome(new, ints)[0], outcome(PAIRS, ints)[0])


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_random_sums_and_products(data: st.DataObject) -> None:
    body: list[str] = []
    names = list("xyzw")
    for i in range(data.draw(st.integers(4, 16))):
        kind = data.draw(st.sampled_from([_mm, _mm, _add, _t]))
        a, b = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names[-4:]))
        body.append(_t(f"v{i}", a) if kind is _t else kind(f"v{i}", a, b))
        names.append(f"v{i}")
    text = _program(body, names[-2:])
    square = [_matrix(np.int64, 3, 3) for _ in range(4)]
    assert_kept(text, "tierup-batch-matmul{min-tree=2 min-side=2}", [square, [a.astype(np.float32) for a in square]])
    assert_kept(text, "tierup-batch-matmul{min-tree=2 min-side=2 reassociate=true}", [square])
