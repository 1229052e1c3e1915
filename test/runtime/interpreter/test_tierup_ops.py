"""The tierup dialect in tier 0: recording, guards, checks, inlined regions, gradients that may be undefined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreter_programs import main, program

from tierup.runtime.base.errors import GuardFailed
from tierup.runtime.interpreter.tier0 import COUNT_RUN

X = np.arange(6, dtype=np.float32).reshape(2, 3)

PROFILED = """
  %p = "tierup.profile"(%x) {slot = 0 : i64} : (!t) -> !t
  %q = "tierup.profile"(%n) {slot = 1 : i64} : (!i) -> !i
  %y = torch.aten.add.Tensor %p, %p, %q : !t, !t, !i -> !t
  %r = "tierup.profile"(%y) {slot = 2 : i64} : (!t) -> !t
  "tierup.count_run"() : () -> ()
  return %r : !t"""


def test_profile_records_slots_and_values_in_order() -> None:
    f = main("(%x: !t, %n: !i) -> !t", PROFILED, record=True)
    seen: list[tuple[int, Any]] = []
    result = f.call(X, 3, record=lambda slot, value: seen.append((slot, value)))
    assert [slot for slot, _ in seen] == [0, 1, 2, COUNT_RUN]
    assert seen[0][1] is X and seen[1][1] == 3 and seen[2][1] is result and seen[3][1] is None


def test_profile_is_nothing_without_recording() -> None:
    f = main("(%x: !t, %n: !i) -> !t", PROFILED)
    assert "record" not in f.source
    np.testing.assert_array_equal(f(X, 3), X + 3 * X)


def test_recording_program_needs_a_recorder() -> None:
    f = main("(%x: !t, %n: !i) -> !t", PROFILED, record=True)
    with pytest.raises(TypeError, match="record"):
        f.call(X, 3)


def test_recording_counts_arguments_and_locates_errors_as_ever() -> None:
    f = main("(%x: !t, %n: !i) -> !t", """
      %p = "tierup.profile"(%n) {slot = 0 : i64} : (!i) -> !i
      %y = torch.aten.select.int %x, %c0, %p : !t, !i, !i -> !t loc("f.py":2:1)
      return %y : !t""", record=True)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f.call(X, record=print)
    with pytest.raises(IndexError, match="at f.py:2"):
        f.call(X, 5, record=lambda slot, value: None)


def test_recorders_exception_reaches_the_caller() -> None:
    f = main("(%x: !t, %n: !i) -> !t", PROFILED, record=True)

    def record(slot: int, value: object) -> None:
        raise LookupError("full")

    with pytest.raises(LookupError, match="full"):
        f.call(X, 3, record=record)


def test_profile_in_a_loop_records_every_iteration_in_callees_too() -> None:
    f = program("""
      func.func @main(%x: !t, %n: !i) -> !t {
        %true = torch.constant.bool true
        %r = torch.prim.Loop %n, %true, init(%x) {
        ^bb0(%i: !i, %a: !t):
          %b = func.call @step(%a) : (!t) -> !t
          torch.prim.Loop.condition %true, iter(%b : !t)
        } : (!i, !b, !t) -> !t
        return %r : !t
      }
      func.func private @step(%x: !t) -> !t {
        %c1 = torch.constant.int 1
        %y = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t
        %p = "tierup.profile"(%y) {slot = 4 : i64} : (!t) -> !t
        return %p : !t
      }""", record=True)
    seen: list[float] = []
    f.call(X, 3, record=lambda slot, value: seen.append(float(value[0, 1])))
    assert seen == [2, 4, 8]


F23 = '#tierup.profiled<"f32[2,3]">'


def test_guard_passes_what_fits_and_leaves_otherwise() -> None:
    f = main("(%x: !t) -> !torch.vtensor<[2,3],f32>", f"""
      %g = "tierup.guard"(%x) {{expected = {F23}}} : (!t) -> !torch.vtensor<[2,3],f32>
      return %g : !torch.vtensor<[2,3],f32>""")
    assert f(X) is X
    with pytest.raises(GuardFailed, match=r"expected f32\[2,3\], got f32\[3,2\]"):
        f(X.T.copy())


def test_scalar_guard_assumes_the_value() -> None:
    f = main("(%n: !i) -> !i", """
      %g = "tierup.guard"(%n) {expected = #tierup.profiled<"int=3">} : (!i) -> !i
      return %g : !i""")
    assert f(3) == 3
    with pytest.raises(GuardFailed, match="expected int=3, got 4"):
        f(4)


CHECK = """
  %v:3 = "tierup.check"(%x, %y) {expected = [#tierup.profiled<"f32[s0,3]">, #tierup.profiled<"f32[s0]">]}
    : (!t, !t) -> (!torch.vtensor<[?,3],f32>, !torch.vtensor<[?],f32>, !b)
  %r = torch.prim.If %v#2 -> (!i) {
    torch.prim.If.yield %c1 : !i
  } else {
    torch.prim.If.yield %c0 : !i
  }
  return %r : !i"""


@pytest.mark.parametrize(("x", "y", "fits"), [
    ((2, 3), (2,), 1), ((5, 3), (5,), 1), ((2, 3), (3,), 0), ((1, 3), (1,), 0), ((2, 4), (2,), 0), ((2, 3), (2, 1), 0),
])  # fmt: skip
def test_check_holds_all_values_to_one_binding_of_the_symbols(x: tuple[int, ...], y: tuple[int, ...], fits: int) -> None:
    f = main("(%x: !t, %y: !t) -> !i", CHECK)
    assert f(np.zeros(x, np.float32), np.zeros(y, np.float32)) == fits
    assert f(np.zeros(x), np.zeros(y)) == 0


def test_check_requires_grad_sees_plain_arrays() -> None:
    text = """
      %v:2 = "tierup.check_requires_grad"(%x) {requires_grad = [WANTED]} : (!t) -> (!t, !b)
      return %v#0, %v#1 : !t, !b"""
    got = main("(%x: !t) -> (!t, !b)", text.replace("WANTED", "false"))(X)
    assert got[0] is X and got[1] is True
    assert main("(%x: !t) -> (!t, !b)", text.replace("WANTED", "true"))(X)[1] is False


def test_check_shapes_looks_at_layouts_too() -> None:
    f = main("(%x: !t) -> !b", """
      %ok = "tierup.check_shapes"(%x) {expected = [#tierup.profiled<"f32[s0,s1]">], layouts = ["contiguous"]} : (!t) -> !b
      return %ok : !b""")
    assert f(X) is True
    assert f(X.T) is False
    assert f(np.zeros((2, 1), np.float32)) is False


VERSIONED = """
  %v:2 = "tierup.check"(%x) {expected = [#tierup.profiled<"f32[2,3]">]} : (!t) -> (!torch.vtensor<[2,3],f32>, !b)
  %r = torch.prim.If %v#1 -> (!t) {
    %f = "tierup.fusion_group"(%v#0) ({
    ^bb0(%a: !torch.vtensor<[2,3],f32>):
      %k = torch.constant.int 1
      %b = torch.aten.add.Tensor %a, %a, %k : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !i -> !torch.vtensor<[2,3],f32>
      %c = torch.aten.mul.Tensor %b, %b : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !t
      "tierup.yield"(%c) : (!t) -> ()
    }, {}) : (!torch.vtensor<[2,3],f32>) -> !t
    torch.prim.If.yield %f : !t
  } else {
    %f = "tierup.fallback"(%x) ({
    ^bb0(%a: !t):
      %k = torch.constant.int 1
      %b = torch.aten.add.Tensor %a, %a, %k : !t, !t, !i -> !t loc("slow.py":9:1)
      %c = torch.aten.mul.Tensor %b, %b : !t, !t -> !t
      "tierup.yield"(%c) : (!t) -> ()
    }, {}) : (!t) -> !t
    torch.prim.If.yield %f : !t
  }
  return %r : !t"""


def test_versioned_region_runs_inline_on_either_side() -> None:
    f = main("(%x: !t) -> !t", VERSIONED)
    np.testing.assert_array_equal(f(X), 4 * X * X)
    y = np.arange(8.0)
    np.testing.assert_array_equal(f(y), 4 * y * y)
    assert any(o.file == "slow.py" for o in f.origins.values())


def test_differentiable_runs_forward() -> None:
    f = main("(%x: !t) -> !t", """
      %r = "tierup.differentiable"(%x) ({
      ^bb0(%a: !t):
        %b = torch.aten.mul.Tensor %a, %a : !t, !t -> !t
        "tierup.yield"(%b, %a) : (!t, !t) -> ()
      }, {
      ^bb0(%g: !t, %a: !t):
        %b = torch.aten.mul.Tensor %g, %a : !t, !t -> !t
        "tierup.yield"(%b) : (!t) -> ()
      }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64>, captured_outputs = array<i64: 1>,
          gradient_inputs = array<i64: 0>} : (!t) -> !t
      return %r : !t""")
    np.testing.assert_array_equal(f(X), X * X)


GRAD = """
  %z = "tierup.autograd_zero"() : () -> !t
  %g = torch.prim.If %c -> (!t) {
    torch.prim.If.yield %x : !t
  } else {
    torch.prim.If.yield %z : !t
  }
  %d = "tierup.grad_of"(%g) ({
    %two = torch.aten.add.Tensor %g, %g, %c1 : !t, !t, !i -> !t
    "tierup.yield"(%two) : (!t) -> ()
  }, {}) {op = "aten.double"} : (!t) -> !t
  %s = "tierup.autograd_add"(%d, %g) : (!t, !t) -> !t
  %any = "tierup.any_nonzero"(%g, %z) : (!t, !t) -> !b
  %all = "tierup.all_nonzero"(%g, %z) : (!t, !t) -> !b
  %no = "tierup.all_zero"(%g, %z) : (!t, !t) -> !b
  return %s, %any, %all, %no : !t, !b, !b, !b"""


def test_undefined_gradients_count_as_zero() -> None:
    f = main("(%x: !t, %c: !b) -> (!t, !b, !b, !b)", GRAD)
    total, some, every, none = f(X, True)
    np.testing.assert_array_equal(total, 3 * X)
    assert (some, every, none) == (True, False, False)
    assert f(X, False) == (None, False, False, True)


def test_autograd_add_takes_the_defined_side() -> None:
    f = main("(%x: !t) -> (!t, !t, !t)", """
      %z = "tierup.autograd_zero"() : () -> !t
      %a = "tierup.autograd_add"(%x, %z) : (!t, !t) -> !t
      %b = "tierup.autograd_add"(%z, %x) : (!t, !t) -> !t
      %c = "tierup.autograd_add"(%z, %z) : (!t, !t) -> !t
      return %a, %b, %c : !t, !t, !t""")
    a, b, c = f(X)
    assert a is X and b is X and c is None


def test_batched_products() -> None:
    f = main("(%a: !t, %b: !t, %c: !t, %d: !t) -> (!t, !t, !t, !t)", """
      %tree = "tierup.batched_mm_tree"(%a, %b, %c, %d) : (!t, !t, !t, !t) -> !t
      %l:2 = "tierup.batched_mm_side"(%a, %c, %d) {side = "left"} : (!t, !t, !t) -> (!t, !t)
      %r = "tierup.batched_mm_side"(%c, %b) {side = "right"} : (!t, !t) -> !t
      return %tree, %l#0, %l#1, %r : !t, !t, !t, !t""")
    a, b, c, d = X, X + 1, X.T.copy(), X.T - 2
    tree, left, left2, right = f(a, b, c, d)
    np.testing.assert_allclose(tree, a @ c + b @ d, rtol=1e-6)
    np.testing.assert_allclose(left, a @ c, rtol=1e-6)
    np.testing.assert_allclose(left2, a @ d, rtol=1e-6)
    np.testing.assert_allclose(right, b @ c, rtol=1e-6)


def test_if_then_else_selects() -> None:
    f = main("(%c: !b, %x: !t, %y: !t) -> !t", '%r = "tierup.if_then_else"(%c, %x, %y) : (!b, !t, !t) -> !t\n return %r : !t')
    y = X + 1
    assert f(True, X, y) is X and f(False, X, y) is y


def test_constant_chunk_gives_views() -> None:
    f = main("(%x: !t) -> (!t, !t, !t)", """
      %a:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = 1 : i64} : (!t) -> (!t, !t)
      %b = "tierup.constant_chunk"(%x) {chunks = 1 : i64, dim = -1 : i64} : (!t) -> !t
      return %a#0, %a#1, %b : !t, !t, !t""")
    a, b, c = f(X)
    np.testing.assert_array_equal(a, X[:, :2])
    np.testing.assert_array_equal(b, X[:, 2:])
    np.testing.assert_array_equal(c, X)
    assert np.shares_memory(a, X)


BAILOUT = """
  func.func @main(%x: !t, %n: !i) -> (!t, !i) {
    %true = torch.constant.bool true
    %c0 = torch.constant.int 0
    %c1 = torch.constant.int 1
    %r:2 = torch.prim.Loop %n, %true, init(%x, %c0) {
    ^bb0(%i: !i, %a: !t, %k: !i):
      %g = "tierup.bailout"(%k, %a, %n) {index = 0 : i64, expected = #tierup.profiled<"int=0">, continuation = @rest} : (!i, !t, !i) -> !i
      %b = torch.aten.add.Tensor %a, %a, %c1 : !t, !t, !i -> !t
      torch.prim.Loop.condition %true, iter(%b, %i : !t, !i)
    } : (!i, !b, !t, !i) -> (!t, !i)
    return %r#0, %r#1 : !t, !i
  }
  func.func private @rest(%k: !i, %a: !t, %n: !i) -> (!t, !i) {
    %left = torch.constant.int -1
    return %a, %left : !t, !i
  }"""


def test_bailout_leaves_a_loop_for_its_continuation() -> None:
    f = program(BAILOUT)
    a, k = f(X, 2)
    np.testing.assert_array_equal(a, 4 * X)
    assert k == 1
    a, k = f(X, 5)  # the third iteration sees k == 1
    np.testing.assert_array_equal(a, 4 * X)
    assert k == -1


def test_bailout_without_continuation_is_a_guard() -> None:
    f = main("(%n: !i) -> !i", """
      %g = "tierup.bailout"(%n) {index = 0 : i64, expected = #tierup.profiled<"int=0">} : (!i) -> !i
      return %g : !i""")
    assert f(0) == 0
    with pytest.raises(GuardFailed):
        f(1)
