"""Constants, literals, containers, casts."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from interpreter_programs import main, program

from tierup.runtime.base.errors import GuardFailed, UnsupportedOp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(("op", "type_", "expected"), [
    ("torch.constant.int -9223372036854775808", "!i", -(1 << 63)),
    ("torch.constant.float -1.250000e-01", "!f", -0.125),
    ("torch.constant.float 0x7FF0000000000000", "!f", math.inf),
    ("torch.constant.float 0xFFF0000000000000", "!f", -math.inf),
    ("torch.constant.bool false", "!b", False),
    ('torch.constant.str "it\'s \\22quoted\\22"', "!s", "it's \"quoted\""),
    ('torch.constant.device "cpu"', "!torch.Device", "cpu"),
    ('"torch.constant.number"() {value = 3 : i64} : () -> !torch.number', "!torch.number", 3),
    ('"torch.constant.number"() {value = 2.5 : f64} : () -> !torch.number', "!torch.number", 2.5),
    ("torch.constant.none", "!n", None),
])  # fmt: skip
def test_scalar_constant_is_itself(op: str, type_: str, expected: object) -> None:
    got = main(f"() -> {type_}", f"%r = {op}\n return %r : {type_}")()
    assert got == expected and type(got) is type(expected)


def test_nan_and_negative_zero_keep_their_bits() -> None:
    nan, zero = main("() -> (!f, !f)", """
      %a = torch.constant.float 0x7FF8000000000000
      %b = torch.constant.float -0.000000e+00
      return %a, %b : !f, !f""")()
    assert math.isnan(nan) and math.copysign(1, zero) == -1


@pytest.mark.parametrize(("attribute", "type_", "expected"), [
    ("dense<[1.5, -2.0]> : tensor<2xf32>", "[2],f32", np.array([1.5, -2], np.float32)),
    ("dense<2.5> : tensor<2x3xf64>", "[2,3],f64", np.full((2, 3), 2.5)),
    ("dense<3> : tensor<si64>", "[],si64", np.array(3)),
    ("dense<[[1, 2], [3, 4]]> : tensor<2x2xsi32>", "[2,2],si32", np.array([[1, 2], [3, 4]], np.int32)),
    ("dense<[-1, 127]> : tensor<2xsi8>", "[2],si8", np.array([-1, 127], np.int8)),
    ("dense<[0, 255]> : tensor<2xui8>", "[2],ui8", np.array([0, 255], np.uint8)),
    ("dense<[7, -7]> : tensor<2xsi16>", "[2],si16", np.array([7, -7], np.int16)),
    ("dense<[true, false, true]> : tensor<3xi1>", "[3],i1", np.array([True, False, True])),
    ("dense<true> : tensor<3xi1>", "[3],i1", np.ones(3, bool)),
    ("dense<[1.0, 0.5]> : tensor<2xf16>", "[2],f16", np.array([1, 0.5], np.float16)),
    ("dense<[[1.5, -0.0], [0x7F80, 3.140630e+00]]> : tensor<2x2xbf16>", "[2,2],bf16",
     np.array([[1.5, -0.0], [np.inf, 3.140625]], ml_dtypes.bfloat16)),
    ("dense<0x7FC0> : tensor<2xbf16>", "[2],bf16", np.full(2, np.nan, ml_dtypes.bfloat16)),
    ('dense<"0x803F0040"> : tensor<2xbf16>', "[2],bf16", np.array([1, 2], ml_dtypes.bfloat16)),
    ('dense<"0x0000803F00000040"> : tensor<2xf32>', "[2],f32", np.array([1, 2], np.float32)),
    ("dense<1.0> : tensor<0x3xf32>", "[0,3],f32", np.zeros((0, 3), np.float32)),
    ("dense<[]> : tensor<0xsi64>", "[0],si64", np.zeros(0, np.int64)),
])  # fmt: skip
def test_literal_has_its_dtype_shape_and_bits(attribute: str, type_: str, expected: np.ndarray) -> None:
    type_ = f"!torch.vtensor<{type_}>"
    got = main(f"() -> {type_}", f"%r = torch.vtensor.literal({attribute}) : {type_}\n return %r : {type_}")()
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


def test_dense_resources_are_read_splats_too() -> None:
    f = program("""
      func.func @main() -> (!torch.vtensor<[2],f32>, !torch.vtensor<[3],si64>, !torch.vtensor<[2],bf16>) {
        %a = torch.vtensor.literal(dense_resource<weights> : tensor<2xf32>) : !torch.vtensor<[2],f32>
        %b = torch.vtensor.literal(dense_resource<one> : tensor<3xsi64>) : !torch.vtensor<[3],si64>
        %c = torch.vtensor.literal(dense_resource<half> : tensor<2xbf16>) : !torch.vtensor<[2],bf16>
        return %a, %b, %c : !torch.vtensor<[2],f32>, !torch.vtensor<[3],si64>, !torch.vtensor<[2],bf16>
      }
      {-# dialect_resources: { builtin: {
        weights: "0x040000000000803F00000040", one: "0x080000000700000000000000", half: "0x020000000000803F" } } #-}""")
    a, b, c = f()
    np.testing.assert_array_equal(a, np.array([1, 2], np.float32))
    np.testing.assert_array_equal(b, np.full(3, 7))
    assert c.tobytes() == np.array([0, 1], ml_dtypes.bfloat16).tobytes()


def test_resource_without_data_is_an_error_that_names_it() -> None:
    with pytest.raises(UnsupportedOp, match="no data for dense_resource<gone>"):
        main("() -> !torch.vtensor<[2],f32>", """
          %a = torch.vtensor.literal(dense_resource<gone> : tensor<2xf32>) : !torch.vtensor<[2],f32>
          return %a : !torch.vtensor<[2],f32>""")


def test_returned_literal_is_the_callers_own() -> None:
    f = main("() -> !torch.vtensor<[2],f32>", """
      %a = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
      return %a : !torch.vtensor<[2],f32>""")
    first = f()
    first[:] = 9
    np.testing.assert_array_equal(f(), np.ones(2, np.float32))


def test_literal_reached_through_a_view_or_a_call_is_the_callers_own() -> None:
    f = program("""
      !two = !torch.vtensor<[2],f32>
      func.func @main(%c: !b) -> (!t, !two) {
        %m1 = torch.constant.int -1
        %a = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !two
        %s = torch.prim.ListConstruct %m1 : (!i) -> !li
        %v = torch.aten.view %a, %s : !two, !li -> !t
        %k = func.call @constant() : () -> !two
        return %v, %k : !t, !two
      }
      func.func private @constant() -> !two {
        %a = torch.vtensor.literal(dense<2.0> : tensor<2xf32>) : !two
        return %a : !two
      }""")
    for array in f(True):
        array[:] = 9
    v, k = f(True)
    assert v.tolist() == [1, 1] and k.tolist() == [2, 2]


def test_mutable_literal_is_fresh_in_every_run() -> None:
    f = main("() -> !torch.tensor<[2],f32>", """
      %a = torch.tensor.literal(dense<1.0> : tensor<2xf32>) : !torch.tensor<[2],f32>
      %u = torch.aten.add_.Scalar %a, %c1, %c1 : !torch.tensor<[2],f32>, !i, !i -> !torch.tensor<[2],f32>
      return %a : !torch.tensor<[2],f32>""")
    assert f().tolist() == [2, 2]
    assert f().tolist() == [2, 2]


def test_literal_used_only_inside_is_not_copied() -> None:
    f = main("(%x: !t) -> !t", """
      %a = torch.vtensor.literal(dense<1.0> : tensor<3xf32>) : !torch.vtensor<[3],f32>
      %r = torch.aten.add.Tensor %x, %a, %c1 : !t, !torch.vtensor<[3],f32>, !i -> !t
      return %r : !t""")
    assert "copy" not in f.source
    np.testing.assert_array_equal(f(X), X + 1)


def test_lists_are_built_nested_unpacked_and_returned() -> None:
    f = main("(%x: !t, %y: !t, %n: !i) -> (!lt, !li, !t)", """
      %l = torch.prim.ListConstruct %x, %y : (!t, !t) -> !lt
      %a:2 = torch.prim.ListUnpack %l : !lt -> !t, !t
      %s = torch.prim.ListConstruct %n, %c2 : (!i, !i) -> !li
      %d = torch.aten.sub.Tensor %a#1, %a#0, %c1 : !t, !t, !i -> !t
      return %l, %s, %d : !lt, !li, !t""")
    tensors, sizes, difference = f(X, X + 1, 7)
    assert tensors[0] is X and sizes == [7, 2]
    np.testing.assert_array_equal(difference, np.ones_like(X))


def test_list_that_is_appended_to_keeps_its_identity() -> None:
    f = main("(%n: !i) -> (!li, !i)", """
      %l = torch.prim.ListConstruct : () -> !li
      torch.prim.Loop %n, %true, init() {
      ^bb0(%i: !i):
        %u = torch.aten.append.t %l, %i : !li, !i -> !li
        torch.prim.Loop.condition %true, iter()
      } : (!i, !b) -> ()
      %k = torch.aten.len.t %l : !li -> !i
      return %l, %k : !li, !i""")
    assert f(4) == ([0, 1, 2, 3], 4)


def test_list_items_are_set_and_inserted() -> None:
    f = main("(%n: !i, %k: !i) -> !li", """
      %l = torch.prim.ListConstruct %n, %n : (!i, !i) -> !li
      torch.aten.insert.t %l, %c0, %c3 : !li, !i, !i
      %u = torch.aten._set_item.t %l, %k, %c2 : !li, !i, !i -> !li
      return %u : !li""")
    assert f(7, -1) == [3, 7, 2]
    with pytest.raises(IndexError, match=r"\nat "):
        f(7, 3)


def test_unpacking_a_list_of_the_wrong_length_raises() -> None:
    f = main("(%l: !li) -> !i", "%a, %b = torch.prim.ListUnpack %l : !li -> !i, !i\n return %b : !i")
    assert f([1, 2]) == 2
    with pytest.raises(ValueError, match="too many values"):
        f([1, 2, 3])


def test_unpacking_counts_the_items_that_nobody_reads() -> None:
    f = main("(%l: !li) -> !i", "%a, %b = torch.prim.ListUnpack %l : !li -> !i, !i\n return %c1 : !i")
    assert f([1, 2]) == 1
    with pytest.raises(ValueError, match="too many values"):
        f([1, 2, 3])


def test_list_of_one_is_unpacked() -> None:
    f = main("(%l: !li) -> !i", "%a = torch.prim.ListUnpack %l : !li -> !i\n return %a : !i")
    assert f([5]) == 5
    with pytest.raises(ValueError, match="too many values"):
        f([1, 2])


def test_tuples_of_one_and_two_unpack() -> None:
    f = main("(%x: !t, %n: !i) -> (!torch.tuple<vtensor, int>, !torch.tuple<int>, !i)", """
      %p = torch.prim.TupleConstruct %x, %n : !t, !i -> !torch.tuple<vtensor, int>
      %q = torch.prim.TupleConstruct %n : !i -> !torch.tuple<int>
      %a:2 = torch.prim.TupleUnpack %p : !torch.tuple<vtensor, int> -> !t, !i
      return %p, %q, %a#1 : !torch.tuple<vtensor, int>, !torch.tuple<int>, !i""")
    p, q, n = f(X, 3)
    assert p[0] is X and p[1] == 3 and q == (3,) and n == 3


def test_derefine_and_unchecked_cast_are_identities() -> None:
    f = main("(%x: !t) -> !t", """
      %o = torch.derefine %x : !t to !torch.optional<vtensor>
      %y = torch.prim.unchecked_cast %o : !torch.optional<vtensor> -> !t
      return %y : !t""")
    assert f(X) is X


def test_static_info_cast_checks_what_the_type_adds() -> None:
    f = main("(%x: !t) -> !torch.vtensor<[2,?],f32>", """
      %y = torch.tensor_static_info_cast %x : !t to !torch.vtensor<[2,?],f32>
      return %y : !torch.vtensor<[2,?],f32>""")
    assert f(X) is X
    with pytest.raises(TypeError, match="expected a tensor of dtype float32, got float64"):
        f(X.astype(np.float64))
    with pytest.raises(ValueError, match=r"expected a tensor of shape \(2, \?\), got \(3, 2\)"):
        f(X.T.copy())


def test_casts_guards_and_copies_of_what_stands_for_no_value_ask_nothing() -> None:
    f = program("""
      func.func @main(%x: !t, %c: !b) -> (!b, !t, !t) {
        %v = torch.prim.If %c -> (!t) {
          %u = torch.prim.Uninitialized : !t
          torch.prim.If.yield %u : !t
        } else {
          torch.prim.If.yield %x : !t
        }
        %none = torch.constant.none
        %copy = torch.aten.clone %v, %none : !t, !torch.none -> !t
        %g = "tierup.guard"(%copy) {expected = #tierup.profiled<f64[2,3]>} : (!t) -> !torch.vtensor<[2,3],f64>
        %w = torch.tensor_static_info_cast %v : !t to !torch.vtensor<[2,3],f64>
        %y = torch.tensor_static_info_cast %w : !torch.vtensor<[2,3],f64> to !t
        %z = torch.tensor_static_info_cast %g : !torch.vtensor<[2,3],f64> to !t
        return %c, %y, %z : !b, !t, !t
      }""")
    assert f(X, True)[0] is True
    assert f(X.astype(np.float64), False)[0] is False
    with pytest.raises(GuardFailed, match=r"expected f64\[2,3\]"):
        f(X, False)


def test_static_info_cast_to_less_is_free() -> None:
    f = main("(%x: !torch.vtensor<[2,3],f32>) -> !t", """
      %y = torch.tensor_static_info_cast %x : !torch.vtensor<[2,3],f32> to !t
      return %y : !t""")
    assert "static_cast" not in f.source
    assert f(X) is X


def test_symbolic_shapes_are_declarations_only() -> None:
    f = main("(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32>", """
      %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
      torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 3)> : !torch.vtensor<[?,3],f32>
      return %x : !torch.vtensor<[?,3],f32>""")
    assert f(X) is X
    with pytest.raises(UnsupportedOp, match=r"torch.aten.add.int reads a torch.symbolic_int"):
        main("() -> !i", """
          %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9} : !torch.int
          %r = torch.aten.add.int %s0, %c1 : !i, !i -> !i
          return %r : !i""")


def test_torch_operator_runs_when_the_table_has_the_op() -> None:
    f = main("(%x: !t) -> !t", """
      %y = torch.operator "aten.tanh"(%x) : (!t) -> !t
      return %y : !t""")
    np.testing.assert_array_equal(f(X), np.tanh(X))


def test_unknown_ops_are_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedOp, match=r'no kernel for torch.operator "custom.thing" \(at model.py:7'):
        main("(%x: !t) -> !t", """
          %y = torch.operator "custom.thing"(%x) : (!t) -> !t loc("model.py":7:3)
          return %y : !t""")
    with pytest.raises(UnsupportedOp, match=r"no kernel for torch.aten.fft_fft \(at "):
        main("(%x: !t, %p: !f) -> !t", """
          %y = torch.aten.fft_fft %x, %none, %c0, %none : !t, !torch.none, !i, !torch.none -> !t
          return %y : !t""")


def test_function_without_results_returns_none() -> None:
    assert program("func.func @f() { return }")() is None
