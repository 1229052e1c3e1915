"""Backward graphs in versions by what is there: the same results for every mix of gradients, and the version only when assumptions hold."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from rewrite_harness import assert_kept, outcome

from tierup.dialect.facts import profiled
from tierup.dialect.ir.attributes import profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import parse
from tierup.runtime.interpreter.translate import translate

_BACKWARD = """
func.func @f(%x: !torch.vtensor, %a: !torch.bool, %b: !torch.bool, %d: !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.bool) {
  %g = torch.prim.If %a -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    %z = "tierup.autograd_zero"() : () -> !torch.vtensor
    torch.prim.If.yield %z : !torch.vtensor
  }
  %h = torch.prim.If %b -> (!torch.vtensor) {
    %n = torch.aten.neg %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %n : !torch.vtensor
  } else {
    %z = "tierup.autograd_zero"() : () -> !torch.vtensor
    torch.prim.If.yield %z : !torch.vtensor
  }
  %0:3 = func.call @backward(%g, %h, %x, %d) : (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.bool)
  return %0#0, %0#1, %0#2 : !torch.vtensor, !torch.vtensor, !torch.bool
}
func.func private @backward(%g: !torch.vtensor, %h: !torch.vtensor, %x: !torch.vtensor, %c: !torch.bool)
    -> (!torch.vtensor, !torch.vtensor, !torch.bool) {
  %0 = "tierup.grad_of"(%g) ({
    %1 = torch.aten.mul.Tensor %g, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.mul"} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.autograd_add"(%0, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %3 = torch.prim.If %c -> (!torch.vtensor) {
    %4 = "tierup.autograd_add"(%2, %g) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    torch.prim.If.yield %h : !torch.vtensor
  }
  %5 = "tierup.all_nonzero"(%g, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
  %6 = "tierup.all_zero"(%3) : (!torch.vtensor) -> !torch.bool
  %7 = torch.aten.__or__.bool %5, %6 : !torch.bool, !torch.bool -> !torch.bool
  return %2, %3, %7 : !torch.vtensor, !torch.vtensor, !torch.bool
}
"""
FLAGS = list(itertools.product([True, False], repeat=3))
PASSES = "builtin.module(tierup-specialize-autograd-zero)"


def _recorded(lower: bool, calls: list[list[Any]]) -> str:
    """The program with what these calls recorded."""
    module = parse_module(_BACKWARD)
    parse("builtin.module(" + ("tierup-lower-grad-of," if lower else "") + "tierup-profile-autograd-zero)").run(module)
    seen: dict[int, Any] = {}

    def record(slot: int, value: object) -> None:
        fact = profiled.observe(value)
        if slot >= 0 and fact is not None:
            seen[slot] = profiled.join(seen.get(slot, fact), fact)

    tier0 = translate(module, "f", record=True)
    for arguments in calls:
        tier0.call(*arguments, record=record)
    for op in walk(module.operation):
        if op.name == "tierup.profile":
            op.attributes["profiled"] = profiled_attr(seen[ir.IntegerAttr(op.attributes["slot"]).value], module.context)
    return str(module)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("seen", [(True, True), (True, False), (False, True), (False, False)])
def test_each_mix_of_gradients_gives_the_same_and_takes_its_side(lower: bool, seen: tuple[bool, bool]) -> None:
    x = np.arange(4, dtype=np.float32)
    text = _recorded(lower, [[x, *seen, True], [x, *seen, False]])
    new = assert_kept(text, PASSES, [[x, *flags] for flags in FLAGS])
    fast, slow = new.split("tierup.fallback")
    assert "autograd_add" in slow
    assert "autograd_add" not in fast[fast.index("@backward") :]  # all is known there
    for a, b, c in FLAGS:
        recorded: list[int] = []
        translate(parse_module(new), "f", record=True).call(x, a, b, c, record=lambda slot, value: recorded.append(slot))
        assert (0 in recorded) == ((a, b) == seen)  # only the version has profiles


def test_a_gradient_that_was_there_now_and_then_is_no_assumption() -> None:
    x = np.arange(4, dtype=np.float32)
    text = _recorded(True, [[x, True, True, True], [x, True, False, True]])
    new = assert_kept(text, PASSES, [[x, *flags] for flags in FLAGS])
    assert new.count("tierup.all_nonzero") > text.count("tierup.all_nonzero")
    assert "tierup.autograd_add" in new.split("tierup.fallback")[0]
    nothing = _recorded(True, [[x, a, b, True] for a in (True, False) for b in (True, False)])
    assert "tierup.fallback" not in assert_kept(nothing, PASSES, [[x, *flags] for flags in FLAGS])


def test_lowered_gradients_are_the_regions_they_were() -> None:
    x = np.arange(4, dtype=np.float32)
    for flags in FLAGS:
        got, want = outcome(_recorded(True, [[x, *flags]]), [x, *flags])[0], outcome(_BACKWARD, [x, *flags])[0]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)
