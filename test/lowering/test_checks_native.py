"""What tier 0 raises for a value, native code reports as an error site, reading and writing nothing out of range."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Failed, build, call, symbolic
from single_op import native, tier0

X = np.arange(12, dtype=np.float32).reshape(3, 4)
LOW, FAR = -(1 << 63), 1 << 40  # an unclamped read that far away crashes


@pytest.mark.parametrize("symbolic_sizes", [False, True])
@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("aten.index_select", (X, 0, np.array([0, 3]))),
        ("aten.index_select", (X, 1, np.array([-1, 0]))),
        ("aten.index_select", (X, 1, np.array([FAR]))),
        ("aten.gather", (X, 1, np.array([[0], [4], [0]]), False)),
        ("aten.gather", (X, 0, np.array([[-FAR]]), False)),
        ("aten.embedding", (X, np.array([[0, FAR]]), -1, False, False)),
        ("aten.scatter.src", (X, 1, np.array([[FAR]]), X[:1, :1].copy())),
        ("aten.scatter.value", (X, 0, np.array([[-1]]), 1.0)),
        ("aten.scatter_add", (X, 1, np.array([[LOW]]), X[:1, :1].copy())),
        ("aten.index.Tensor", (X, [np.array([-4])])),
        ("aten.index.Tensor", (X, [np.array([0]), np.array([FAR])])),
        ("aten.index_put", (X, [np.array([3])], X[:1].copy(), False)),
        ("aten.index_put", (X, [X > 0], np.ones(2, X.dtype), False)),
        ("aten.index_put", (X, [np.array([False] * len(X))], np.ones((2, 4), X.dtype), True)),
        ("aten.floor_divide", (np.array([1, 2]), np.array([1, 0]))),
        ("aten.remainder.Tensor", (np.array([1, 2], np.int8), np.array([1, 0], np.int8))),
        ("aten.fmod.Tensor", (np.array([1, 2], np.uint8), np.array([1, 0], np.uint8))),
        ("aten.div.Tensor_mode", (np.array([1, 2], np.int32), np.array([0, 1], np.int32), "trunc")),
        ("aten.remainder.Scalar", (np.array([1, 2]), 0)),
    ],
)
def test_a_value_that_raises_in_tier_0_is_an_error_site(op: str, operands: tuple, symbolic_sizes: bool) -> None:
    with pytest.raises((IndexError, ValueError, ZeroDivisionError)):
        tier0(op, operands)
    before = [o.copy() for o in operands if isinstance(o, np.ndarray)]
    with pytest.raises(Failed) as e:
        native(op, operands, symbolic=symbolic_sizes)
    assert e.value.site.op == op
    for now, then in zip((o for o in operands if isinstance(o, np.ndarray)), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("aten.index_select", (np.zeros((0, 4), np.float32), 1, np.array([0, 3]))),
        ("aten.index_select", (X, 0, np.array([], np.int64))),
        ("aten.floor_divide", (np.array([], np.int64), np.array([], np.int64))),
        ("aten.floor_divide", (np.array([1.0, -1.0, 0.0]), np.array([0.0, 0.0, 0.0]))),
        ("aten.floor_divide", (np.array([LOW]), np.array([-1]))),
        ("aten.remainder.Tensor", (np.array([LOW, -128]), np.array([-1, -1]))),
        ("aten.div.Tensor_mode", (np.array([-128], np.int8), np.array([-1], np.int8), "floor")),
    ],
)
def test_what_does_not_raise_in_tier_0_does_not_in_native_code(op: str, operands: tuple) -> None:
    with np.errstate(all="ignore"):
        expected = tier0(op, operands)
    np.testing.assert_array_equal(native(op, operands)[0], expected)


SELECT = """
  %zero = torch.constant.int 0
  %r = torch.aten.select.int %a0, %zero, %a1 : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %n = torch.aten.neg %r : !torch.vtensor -> !torch.vtensor
  return %n : !torch.vtensor"""


@pytest.mark.parametrize("sizes", [None, symbolic([X, 1])], ids=["static", "symbolic"])
def test_a_position_that_the_run_computes(sizes: list | None) -> None:
    artifact = build(SELECT, [X, 1], sizes)
    for i in range(-3, 3):
        np.testing.assert_array_equal(call(artifact, [X, i])[0], -X[i])
    for i in (3, -4, FAR, LOW):
        with pytest.raises(Failed):
            call(artifact, [X, i])


def test_proven_positions_are_not_checked() -> None:
    fixed = SELECT.replace("%a1", "%zero")
    assert build(fixed, [X]).error_sites == ()


def test_divisors_of_numbers_of_the_program() -> None:
    body = """
  %q = torch.aten.floordiv.int %a0, %a1 : !torch.int, !torch.int -> !torch.int
  %m = torch.aten.remainder.int %a0, %a1 : !torch.int, !torch.int -> !torch.int
  return %q, %m : !torch.int, !torch.int"""
    artifact = build(body, [1, 1])
    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2), (LOW, 3)):
        assert call(artifact, [a, b]) == (a // b, a % b)
    assert call(artifact, [LOW, -1]) == (LOW, 0)  # wraps
    with pytest.raises(Failed):
        call(artifact, [1, 0])


def test_a_loop_that_would_not_end_on_clamped_values_is_left() -> None:
    body = """
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %true = torch.constant.bool true
  %max = torch.constant.int 9223372036854775807
  %limit = torch.constant.float 1.000000e+02
  %r = torch.prim.Loop %max, %true, init(%zero) {
  ^bb0(%i: !torch.int, %k: !torch.int):
    %e = torch.aten.select.int %a0, %zero, %k : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    %f = torch.aten.Float.Tensor %e : !torch.vtensor -> !torch.float
    %c = torch.aten.lt.float %f, %limit : !torch.float, !torch.float -> !torch.bool
    %n = torch.aten.add.int %k, %one : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %c, iter(%n : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %r : !torch.int"""
    found, missing = np.array([1, 2, 500, 3], np.float32), np.array([1, 2, 3], np.float32)
    assert call(build(body, [found]), [found]) == (3,)
    with pytest.raises(Failed):
        call(build(body, [missing]), [missing])
