"""Layouts of views of arguments, against NumPy's own strides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_harness import build, call, symbolic

from tierup.dialect.facts.dims import substitute, symbol
from tierup.lowering.analysis.views import contiguous_strides, reshaped_strides
from tierup.lowering.base.abi import ResultKind
from tierup.lowering.base.errors import Unsupported

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def _factorisations(total: int) -> st.SearchStrategy[list[int]]:
    @st.composite
    def draw(draw_from: st.DrawFn) -> list[int]:
        rest, sizes = total, []
        for _ in range(draw_from(st.integers(0, 3))):
            size = draw_from(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
            sizes.append(size)
            rest //= size
        return [*sizes, rest]

    return draw()


@given(st.permutations([0, 1, 2]), _factorisations(24))
def test_reshaped_strides_are_numpys(order: list[int], new: list[int]) -> None:
    x = np.arange(24).reshape(2, 3, 4).transpose(order)
    strides = tuple(s // x.itemsize for s in x.strides)
    found = reshaped_strides(x.shape, strides, tuple(new))
    shares = np.shares_memory(x.reshape(new), x)
    assert (found is not None) == shares
    if found is not None:
        expected = x.reshape(new)
        assert all(f * x.itemsize == s for f, s, n in zip(found, expected.strides, new, strict=True) if n != 1)


def test_reshapes_of_symbolic_sizes() -> None:
    s = symbol("s0")
    assert reshaped_strides((s, 4), contiguous_strides((s, 4)), (4 * s,)) == (1,)
    assert reshaped_strides((s, 4), (8, 1), (s, 2, 2)) == (8, 2, 1)


@pytest.mark.parametrize("sizes", ["static", "symbolic"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "every second"])
@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ("%r = torch.aten.t %a0 : !torch.vtensor -> !torch.vtensor", lambda x: x.T),
        ("%r = torch.aten.movedim.int %a0, %m1, %zero : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor", lambda x: np.moveaxis(x, -1, 0)),
        ("%r = torch.aten.select.int %a0, %one, %m1 : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor", lambda x: x[:, -1]),
        (
            "%s = torch.aten.slice.Tensor %a0, %one, %one, %none, %two : !torch.vtensor, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.vtensor\n"
            "%r = torch.aten.t %s : !torch.vtensor -> !torch.vtensor",
            lambda x: x[:, 1::2].T,
        ),
        ("%r = torch.aten.unsqueeze %a0, %one : !torch.vtensor, !torch.int -> !torch.vtensor", lambda x: x[:, None]),
        ("%r = torch.aten.diagonal %a0, %one, %zero, %one : !torch.vtensor, !torch.int, !torch.int, !torch.int -> !torch.vtensor", lambda x: x.diagonal(1)),
    ],
    ids=["t", "movedim", "select", "slice of t", "unsqueeze", "diagonal"],
)
def test_a_returned_view_lies_where_numpys_does(ops: str, expected, layout: str, sizes: str) -> None:
    x = {"contiguous": X, "transposed": np.asfortranarray(X), "every second": np.repeat(X, 2, axis=1)[:, ::2]}[layout]
    constants = "".join(f"  %{n} = torch.constant.int {v}\n" for n, v in (("zero", 0), ("one", 1), ("two", 2), ("m1", -1)))
    body = f"{constants}  %none = torch.constant.none\n  {ops}\n  return %r : !torch.vtensor"
    artifact = build(body, [x], symbolic([x]) if sizes == "symbolic" else None)
    (spec,) = artifact.results
    assert spec.kind is ResultKind.VIEW
    (view,) = call(artifact, [x])
    np.testing.assert_array_equal(view, expected(x))
    assert view.strides == expected(x).strides


def test_a_reshape_that_may_or_may_not_copy_is_left_to_tier_0() -> None:
    body = """
  %m1 = torch.constant.int -1
  %l = torch.prim.ListConstruct %m1 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.reshape %a0, %l : !torch.vtensor, !torch.list<int> -> !torch.vtensor
  return %r : !torch.vtensor"""
    with pytest.raises(Unsupported, match="whether it is a view depends on"):
        build(body, [np.asfortranarray(X)])


def test_the_offset_of_a_view_may_hang_on_a_size() -> None:
    body = """
  %zero = torch.constant.int 0
  %m1 = torch.constant.int -1
  %r = torch.aten.select.int %a0, %zero, %m1 : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %r : !torch.vtensor"""
    (spec,) = build(body, [X], symbolic([X])).results
    assert substitute(spec.offset, {"s4": 7, "s6": 5}) == 6 * 5
