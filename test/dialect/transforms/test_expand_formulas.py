"""Losses in native code, alone and in a training step: what tier 0 gives, for static and symbolic sizes; and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases_losses import CASES
from gradient_harness import Case, array, case, differentiated, program, runner
from test_losses import WEIGHTED

import tierup

ROWS = (5, 5, 5, 7, 7, 7, 6, 9, 11)  # static versions first, then one with symbolic sizes


def _one_of_each() -> list[Case]:
    """The first case of each loss, and one of each with weights."""
    found = {(given.op, weighted): given for weighted, cases in ((True, WEIGHTED), (False, CASES)) for given in reversed(cases)}
    return [found[key] for key in sorted(found)]


def _load(text: str, folder: Path) -> Any:
    (folder / "f.mlir").write_text(text)
    return tierup.load(folder / "f.mlir")


def test_losses_are_native(tmp_path: Path) -> None:
    cases = [given for given in _one_of_each() if not given.of]
    arrays = [a for given in cases for a in given.arrays]
    text = program(*cases)
    f, tier0 = _load(text, tmp_path), runner(text)
    for _ in range(3):
        for got, want in zip(f(*arrays), tier0(*arrays), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()


def _step(given: Callable[[int], Case], folder: Path) -> None:
    """A loss with its gradients, for several numbers of rows."""
    first = given(ROWS[0])
    wrt = [i for i, a in enumerate(first.arrays) if a.dtype.kind == "f"]
    text = differentiated(program(first), wrt)
    f, tier0 = _load(text, folder), runner(text)
    for rows in ROWS:
        arrays = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in given(rows).arrays]
        value = runner(program(first))(*arrays)[0]
        cotangent = array(*value.shape, low=0.5, high=1.5).astype(np.float32)
        for got, want in zip(_listed(f(*arrays, cotangent)), tier0(*arrays, cotangent), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert "in tier 0: aten" not in f.explain(), f.explain()
    assert f.stats().hits and any(v.speculation.kind != "static" for v in f.versions)


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _classes(rows: int) -> np.ndarray:
    return np.arange(rows) % 3


@pytest.mark.parametrize("given", [
    lambda n: case("aten.mse_loss", array(n, 3), array(n, 3, seed=1), 1),
    lambda n: case("aten.binary_cross_entropy_with_logits", array(n, 3), array(n, 3, low=0, high=1), None, array(3, low=1, high=2), 1),
    lambda n: case("aten.cross_entropy_loss", array(n, 3), _classes(n), None, 1, -100, 0.0),
    lambda n: case("aten.cross_entropy_loss", array(n, 3, 2), np.stack([_classes(n), _classes(n)[::-1]], 1), array(3, low=1, high=2), 1, 1, 0.1),
    lambda n: case("aten.cross_entropy_loss", array(n, 3), array(n, 3, low=0, high=1), None, 0, -100, 0.1),
    lambda n: case("aten.nll_loss_forward", array(n, 3), _classes(n), None, 0, 1),
], ids=lambda given: given(2).op)  # fmt: skip
def test_a_loss_and_its_gradients_are_native_for_all_sizes(given: Callable[[int], Case], tmp_path: Path) -> None:
    _step(given, tmp_path)


def _native(given: Case, folder: Path) -> Any:
    """The loss with a version for its operands."""
    f = _load(program(given), folder)
    for _ in range(3):
        f(*given.arrays)
    assert f.stats().hits
    return f


def test_a_class_out_of_range_raises_in_native_code_too(tmp_path: Path) -> None:
    f = _native(case("aten.cross_entropy_loss", array(4, 3), np.array([0, 1, 2, 0]), None, 1, -100, 0.0), tmp_path)
    for wrong in (3, -1):
        with pytest.raises(IndexError):
            f(array(4, 3), np.array([0, 1, wrong, 0]))


def test_so_does_what_is_no_probability(tmp_path: Path) -> None:
    x = array(2, 3, low=0.1, high=0.9)
    f = _native(case("aten.binary_cross_entropy", x, x, None, 1), tmp_path)
    for wrong in (-0.1, 1.1, np.nan):
        bad = x.copy()
        bad[1, 1] = wrong
        with pytest.raises(ValueError, match="between 0 and 1"):
            f(bad, x)


def test_so_do_sizes_that_differ_where_they_are_symbols(tmp_path: Path) -> None:
    given = case("aten.nll_loss_nd", array(4, 3), np.array([0, 1, 2, 0]), None, 1, -100)
    f = _load(program(given), tmp_path)
    for rows in ROWS:
        f(array(rows, 3), _classes(rows))
    assert any(v.speculation.kind != "static" for v in f.versions)
    for targets in (4, 6):
        with pytest.raises(ValueError, match="expected input batch_size to match target batch_size"):
            f(array(5, 3), _classes(targets))


SPLIT = """
func.func @f(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %int1 = torch.constant.int 1
  %int0 = torch.constant.int 0
  %delta = torch.constant.float 5.000000e-01
  %positive = torch.aten.gt.Scalar %x, %int0 : !torch.vtensor, !torch.int -> !torch.vtensor
  %s = torch.aten.masked_scatter %x, %positive, %x : !torch.vtensor, !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %t = torch.aten.tanh %s : !torch.vtensor -> !torch.vtensor
  %0 = torch.operator "aten.huber_loss"(%t, %y, %int1, %delta) : (!torch.vtensor, !torch.vtensor, !torch.int, !torch.float) -> !torch.vtensor
  %1 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}"""


def test_a_loss_stands_in_the_native_region_of_a_program_that_is_cut(tmp_path: Path) -> None:
    f, tier0 = _load(SPLIT, tmp_path), runner(SPLIT)
    x, y = array(5, 3).astype(np.float32), array(5, 3, seed=1).astype(np.float32)
    for _ in range(4):
        np.testing.assert_allclose(f(x, y), tier0(x, y)[0], rtol=1e-6)
    assert "in tier 0: aten.masked_scatter" in f.explain() and "in tier 0: aten.huber_loss" not in f.explain(), f.explain()
    assert "1 native region" in f.explain(), f.explain()
