"""Differentiable groups: tier 0 gives the same before and after they are made, guarded, undone; the side that runs is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewrite_harness import after, assert_kept

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse
from tierup.runtime.interpreter.translate import translate

_random = np.random.default_rng(3)


def _array(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


PROGRAM = """
func.func @f(%x: !torch.vtensor, %w: !torch.vtensor, %m: !torch.tensor, %n: !torch.int, %c: !torch.bool)
    -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %0 = torch.aten.mul.Tensor %x, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.t %1 : !torch.vtensor -> !torch.vtensor
  %before = torch.copy.to_vtensor %m : !torch.vtensor
  %wr = torch.aten.add_.Scalar %m, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %3 = torch.aten.exp %2 : !torch.vtensor -> !torch.vtensor
  %behind = torch.copy.to_vtensor %m : !torch.vtensor
  %4 = torch.prim.If %c -> (!torch.vtensor) {
    %5 = torch.aten.sub.Tensor %3, %2, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
    %6 = torch.aten.sigmoid %5 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %6 : !torch.vtensor
  } else {
    torch.prim.If.yield %3 : !torch.vtensor
  }
  %7 = torch.prim.Loop %n, %true, init(%4) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %8 = torch.aten.mul.Tensor %a, %4 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %9 = torch.aten.sin %8 : !torch.vtensor -> !torch.vtensor
    %10 = torch.aten.add.Scalar %9, %i, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%10 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %7, %2, %before, %behind : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}
"""
CALLS: list[list[Any]] = [
    [_array(3, 4), _array(3, 4), _array(2), 3, True],
    [_array(3, 3), _array(3), _array(2), 0, False],
    [_array(3, 4), _array(5, 4), _array(2), 3, True],  # raises before anything is written
    [_array(2, 2, 2), _array(2), _array(2), 1, True],  # t of rank 3 raises
]


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("undone", [2, 100])
def test_grouping_and_undoing_change_no_result_and_no_exception(threshold: int, undone: int) -> None:
    create = f"tierup-create-differentiable-subgraphs{{threshold={threshold}}}"
    grouped = assert_kept(PROGRAM, f"builtin.module({create})", CALLS)
    assert grouped.count('"tierup.differentiable"') == {1: 3, 2: 3, 3: 2}[threshold]
    flat = assert_kept(grouped, f"builtin.module(tierup-inline-differentiable{{threshold={undone}}})", CALLS)
    assert flat.count('"tierup.differentiable"') == (0 if undone == 100 else grouped.count('"tierup.differentiable"'))


@pytest.mark.parametrize("state", ["true", "false"])
def test_the_group_runs_when_gradients_are_required_as_recorded_and_the_fallback_otherwise(state: str) -> None:
    text = f"""
    func.func @f(%x: !torch.vtensor, %w: !torch.vtensor) -> !torch.vtensor {{
      %0 = "tierup.profile"(%x) {{slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad={state}>}} : (!torch.vtensor) -> !torch.vtensor
      %1 = "tierup.profile"(%w) {{slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>}} : (!torch.vtensor) -> !torch.vtensor
      %2 = "tierup.differentiable"(%0, %1) ({{
      ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
        %3 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
        %4 = "tierup.profile"(%3) {{slot = 2 : i64}} : (!torch.vtensor) -> !torch.vtensor
        "tierup.yield"(%4) : (!torch.vtensor) -> ()
      }}, {{
        "tierup.yield"() : () -> ()
      }}) {{real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>,
          gradient_inputs = array<i64>}} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
      return %2 : !torch.vtensor
    }}"""
    x, w = _array(4), _array(4)
    seen: list[int] = []
    module = parse_module(after(text, "tierup-guard-differentiable"))
    (result,) = [translate(module, "f", record=True).call(x, w, record=lambda slot, value: seen.append(slot))]
    np.testing.assert_array_equal(result, x * w)
    assert (2 in seen) == (state == "false")  # an array requires no gradient; only the group has slot 2


def test_a_grouped_guarded_and_inlined_program_gives_the_same() -> None:
    facts = {"%x: !torch.vtensor": 0, "%w: !torch.vtensor": 1}
    lines = [f'%p{i} = "tierup.profile"({name.split(":")[0]}) {{slot = {i} : i64, profiled = #tierup.profiled<?[*] requires_grad=false>}} '
             ": (!torch.vtensor) -> !torch.vtensor" for name, i in facts.items()]  # fmt: skip
    text = PROGRAM.replace("  %zero =", "\n".join(lines) + "\n  %zero =").replace("mul.Tensor %x, %w", "mul.Tensor %p0, %p1")
    passes = "builtin.module(tierup-create-differentiable-subgraphs{threshold=1},tierup-guard-differentiable,tierup-inline-differentiable)"
    module = parse_module(text)
    parse(passes).run(module)
    assert "check_requires_grad" not in str(module)  # nothing there requires a gradient: no group
    assert_kept(text.replace("requires_grad=false", "requires_grad=true"), passes, CALLS)
