"""Programs that come with bailouts: plans of the ancestors' pipelines, and what people write. Native code runs them, and leaves at their
bailouts to their own continuations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes import registry
from tierup.tools.run.__main__ import main

LOOP = """
func.func @main(%x: !torch.vtensor {tierup.name = "x"}, %n: !torch.int {tierup.name = "n"}) -> !torch.vtensor {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %b = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %c = torch.aten.add.Tensor %b, %x, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%c : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor
}
"""


def loop(x: np.ndarray, n: int) -> np.ndarray:
    a = x
    for _ in range(n):
        a = np.tanh(a) + x
    return a


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The loop as generation 1.7 without its tensor-expression fuser optimises it, from records of tierup-run."""
    source, path = tmp_path / "loop.mlir", tmp_path / "plan.mlir"
    source.write_text(LOOP)
    assert main([str(source), "--arg=f32[4,8]", "--arg=3", "--instrument", "--emit=profiled"]) == 0
    module = parse_module(capsys.readouterr().out)
    for name in ("pre-autodiff-1.7", "no-grad-1.7-bailouts", "final"):
        registry.pipeline(name).run(module)
    path.write_text(str(module))
    assert '"tierup.bailout"' in path.read_text()
    return path


def test_a_plan_of_generation_1_7_runs_natively(plan: Path) -> None:
    f = tierup.load(plan)
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    for _ in range(3):
        np.testing.assert_allclose(f(x, 3), loop(x, 3), rtol=1e-5)
    assert (f.stats().hits, f.stats().bailouts) == (2, 0)
    for shape in ((4, 9), (4, 9), (4, 9), (2, 3, 4), (4, 8)):  # what its assumptions do not hold of
        y = np.ones(shape, np.float32)
        np.testing.assert_allclose(f(y, 3), loop(y, 3), rtol=1e-5)


GIVEN = """
func.func @main(%x: !torch.vtensor, %mask: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %d = torch.aten.mul.Tensor %x, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %n = torch.aten.any %mask : !torch.vtensor -> !torch.vtensor
  %b = torch.aten.Bool.Tensor %n : !torch.vtensor -> !torch.bool
  %k = "tierup.bailout"(%b, %d) {expected = #tierup.profiled<bool=true>, index = INDEX : i64, continuation = @rest} :
      (!torch.bool, !torch.vtensor) -> !torch.bool
  %r = torch.prim.If %k -> (!torch.vtensor) {
    torch.prim.If.yield %d : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  %y = torch.aten.neg %r : !torch.vtensor -> !torch.vtensor
  return %y : !torch.vtensor
}
func.func private @rest(%b: !torch.bool, %d: !torch.vtensor) -> !torch.vtensor attributes {tierup.continuation} {
  %two = torch.constant.int 2
  %y = torch.aten.add.Scalar %d, %two, %two : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %y : !torch.vtensor
}
"""


@pytest.mark.parametrize("index", [0, 5])
@pytest.mark.parametrize("options", [{}, {"bailout_depth": 0}, {"speculate": "bailout"}])
def test_a_failed_assumption_goes_on_in_the_continuation_that_the_program_names(index: int, options: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "given.mlir"
    path.write_text(GIVEN.replace("INDEX", str(index)))
    f, x = tierup.load(path, **options), np.arange(3.0)
    kept, lost = np.array([True, False]), np.array([False, False])
    for mask in (kept, kept, kept, lost, lost, lost, lost, lost, kept, kept):
        np.testing.assert_array_equal(f(x, mask), -(x * x) if mask is kept else x * x + 4)
    if not options.get("bailout_depth", 1) == 0:
        assert f.stats().hits > 4
        assert f.stats().bailouts == 5, "the user's assumptions are not dropped"
