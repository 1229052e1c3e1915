"""What is computed of constants alone is in native code what tier 0 computes: torch-mlir's canonicalizer would fold it by rules of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup

MADE = {
    "zeros": "torch.aten.zeros %sizes, %f32, %none, %none, %none : !torch.list<int>, !torch.int, !torch.none, !torch.none, !torch.none -> !torch.vtensor",
    "ones": "torch.aten.ones %sizes, %f32, %none, %none, %none : !torch.list<int>, !torch.int, !torch.none, !torch.none, !torch.none -> !torch.vtensor",
    "literal": "torch.vtensor.literal(dense<[0.5, 0.5]> : tensor<2xf32>) : !torch.vtensor<[2],f32>",
}
DONE = {
    "add.Scalar %a, %m, %one": lambda a: a - 3,
    "sub.Scalar %a, %m, %one": lambda a: a + 3,
    "rsub.Scalar %a, %m, %one": lambda a: -3 - a,
    "mul.Scalar %a, %m": lambda a: a * -3,
    "div.Scalar %a, %m": lambda a: a / -3,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("done", DONE)
def test_a_tensor_of_numbers_and_a_negative_number(made: str, done: str, tmp_path: Path) -> None:
    operands = "!torch.int, !torch.int" if "%one" in done else "!torch.int"
    kind = "!torch.vtensor<[2],f32>" if made == "literal" else "!torch.vtensor"
    path = tmp_path / "constants.mlir"
    path.write_text(f"""
func.func @main(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {{
  %none = torch.constant.none
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %f32 = torch.constant.int 6
  %m = torch.constant.int -3
  %sizes = torch.prim.ListConstruct %two : (!torch.int) -> !torch.list<int>
  %a = {MADE[made]}
  %r = torch.aten.{done} : {kind}, {operands} -> !torch.vtensor
  %y = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %r, %y : !torch.vtensor, !torch.vtensor
}}""")
    f = tierup.load(path)
    start = np.full(2, {"zeros": 0, "ones": 1, "literal": 0.5}[made], np.float32)
    for _ in range(3):
        np.testing.assert_allclose(f(np.ones(2, np.float32))[0], DONE[done](start), rtol=1e-6)
    assert f.stats().hits == 2


def test_floats_divided_by_zero(tmp_path: Path) -> None:
    path = tmp_path / "floats.mlir"
    path.write_text("""
func.func @main(%x: !torch.vtensor, %v: !torch.float) -> (!torch.vtensor, !torch.float, !torch.float) {
  %zero = torch.constant.float 0.0
  %0 = torch.aten.div.float %zero, %v : !torch.float, !torch.float -> !torch.float
  %1 = torch.aten.mul.float %zero, %v : !torch.float, !torch.float -> !torch.float
  %y = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %y, %0, %1 : !torch.vtensor, !torch.float, !torch.float
}""")
    f = tierup.load(path)
    for v in (2.0, 3.0, 4.0, 5.0, 6.0, np.nan, np.inf, -np.inf):
        _, quotient, product = f(np.ones(2), v)
        np.testing.assert_array_equal([quotient, product], [0.0 / v, 0.0 * v])
    assert f.stats().hits


_CASES: dict[str, tuple[str, str, Any, Any]] = {  # what is done, its kind, %x, what comes
    "a choice of an element that is not there": (
        "index_select %x, %zero, %i : !torch.vtensor, !torch.int, !torch.vtensor", "vtensor", np.ones(1), IndexError),
    "a view of a size that the run brings": (
        "view %x, %dims : !torch.vtensor, !torch.list<int>", "vtensor", np.ones(3), ValueError),
    "a truth of a byte": (
        "any.dims %x, %none, %true : !torch.vtensor, !torch.none, !torch.bool", "vtensor", np.array(255, np.uint8), np.array(1, np.uint8)),
    "two as a truth value": (
        "full %empty, %two, %bool, %none, %none, %none : !torch.list<int>, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none", "vtensor",
        np.ones(1), np.array(True)),
    "half of the largest int": ("floordiv.int %most, %two : !torch.int, !torch.int", "int", np.ones(1), (2**63 - 1) // 2),
    "a rest of the largest int": ("remainder.int %most, %seven : !torch.int, !torch.int", "int", np.ones(1), (2**63 - 1) % -7),
    "the length of a range backwards": ("__range_length %two, %zero, %one : !torch.int, !torch.int, !torch.int", "int", np.ones(1), 0),
    "parts without elements": ("cat %parts, %zero : !torch.list<vtensor>, !torch.int", "vtensor", np.ones((0, 3)), np.ones((0, 3))),
}  # fmt: skip


@pytest.mark.parametrize("case", _CASES)
def test_what_the_canonicalizer_would_fold_otherwise(case: str, tmp_path: Path) -> None:
    done, kind, x, want = _CASES[case]
    path = tmp_path / "folded.mlir"
    path.write_text(f"""
func.func @main(%x: !torch.vtensor, %i: !torch.vtensor, %n: !torch.int) -> !torch.{kind} {{
  %none = torch.constant.none
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %seven = torch.constant.int -7
  %bool = torch.constant.int 11
  %most = torch.constant.int 9223372036854775807
  %empty = torch.prim.ListConstruct : () -> !torch.list<int>
  %dims = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %parts = torch.prim.ListConstruct %x, %x : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %r = torch.aten.{done} -> !torch.{kind}
  return %r : !torch.{kind}
}}""")
    f = tierup.load(path)
    for _ in range(3):
        if isinstance(want, type):
            with pytest.raises(want):
                f(x, np.array([1]), -3)
        else:
            got = f(x, np.array([1]), -3)
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == np.asarray(want).dtype
