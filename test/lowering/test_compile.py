"""What `compile` promises: kinds of results, error sites, purity, and whom it blames."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernel_harness import Failed, build, call, spec_of, symbolic, typed

from tierup.lowering.artifacts.load import load
from tierup.lowering.base.abi import ERROR_BASE, ArgumentKind, ArgumentSpec, Request, ResultKind
from tierup.lowering.base.errors import BadRequest, CompileError, Unsupported
from tierup.lowering.compiling.compile import compile

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
ADD = """
  %one = torch.constant.int 1
  %r = torch.aten.add.Tensor %a0, %a1, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  return %r : !torch.vtensor"""


def test_a_buffer_is_filled_to_the_last_element() -> None:
    assert np.array_equal(call(build(ADD, [X, X]), [X, X])[0], X + X)


def test_equal_symbols_are_one_size() -> None:
    artifact = build(ADD, [X, X], symbolic([X, X]))
    for shape in ((2, 2), (5, 9)):
        x, y = np.random.rand(2, *shape).astype(np.float32)
        assert np.array_equal(call(artifact, [x, y])[0], x + y)


def test_sizes_that_must_be_equal_and_are_not_are_an_error_site() -> None:
    artifact = build(ADD, [X, X], [("s0", 4), ("s1", 4)])
    assert np.array_equal(call(artifact, [X, X])[0], X + X)
    with pytest.raises(Failed) as e:
        call(artifact, [X, X[:2]])
    assert e.value.status == ERROR_BASE
    assert "s0" in e.value.site.location


def test_results_by_kind() -> None:
    body = """
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %none = torch.constant.none
  %new = torch.aten.add.Scalar %a0, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %view = torch.aten.t %new : !torch.vtensor -> !torch.vtensor
  %n = torch.aten.size.int %a0, %zero : !torch.vtensor, !torch.int -> !torch.int
  %half = torch.constant.float 5.000000e-01
  %yes = torch.aten.gt.int %n, %one : !torch.int, !torch.int -> !torch.bool
  %neg = torch.aten.neg %a0 : !torch.vtensor -> !torch.vtensor
  return %a0, %view, %neg, %n, %half, %yes, %none, %new
    : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int, !torch.float, !torch.bool, !torch.none, !torch.vtensor"""
    body = body.replace("%new\n    :", "%new :")
    attributes = '{tierup.writebacks = array<i64: 0>, tierup.result_aliases = ["argument:0", "view:0", "fresh", "fresh", "fresh", "fresh", "fresh"]}'
    artifact = build(body, [X], symbolic([X]), attributes=attributes)
    kinds = [r.kind for r in artifact.results]
    assert kinds == [
        ResultKind.ALIAS, ResultKind.VIEW, ResultKind.BUFFER, ResultKind.SCALAR, ResultKind.SCALAR, ResultKind.SCALAR, ResultKind.NONE,
        ResultKind.ARGUMENT,
    ]  # fmt: skip
    alias, view, neg, n, half, yes, _, new = call(artifact, [X])
    assert alias is X
    np.testing.assert_array_equal(view, X.T)  # before the caller copies the new contents over
    np.testing.assert_array_equal(neg, -X)
    assert (n, half, yes) == (3, 0.5, True)
    np.testing.assert_array_equal(new, X + 1)


def test_a_size_that_only_the_run_knows_is_allocated_by_the_kernel() -> None:
    body = """
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %r = torch.aten.slice.Tensor %a0, %zero, %a1, %a2, %one : !torch.vtensor, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  %n = torch.aten.neg %r : !torch.vtensor -> !torch.vtensor
  return %n : !torch.vtensor"""
    artifact = build(body, [X, 0, 2], symbolic([X, 0, 2]))
    assert artifact.results[0].kind is ResultKind.ALLOCATED
    for start, end in ((0, 2), (1, 9), (-2, 3), (2, 1), (5, 9), (-9, -1)):
        np.testing.assert_array_equal(call(artifact, [X, start, end])[0], -X[start:end])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.float16, np.float64])
@pytest.mark.parametrize("layout", [lambda x: x, np.asfortranarray, lambda x: x[::-1], lambda x: x[:, ::2]], ids=["c", "f", "reversed", "gaps"])
def test_arguments_of_any_layout(dtype: type, layout) -> None:
    x = layout((X > 0).astype(dtype) if dtype is np.bool_ else np.abs(X).astype(dtype))
    body = """
  %none = torch.constant.none
  %r = torch.aten.clone %a0, %none : !torch.vtensor, !torch.none -> !torch.vtensor
  return %r : !torch.vtensor"""
    for sizes in (None, symbolic([x])):
        np.testing.assert_array_equal(call(build(body, [x], sizes), [x])[0], x)


def test_a_bool_of_any_byte_but_0_is_true() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    body = """
  %r = torch.aten.logical_not %a0 : !torch.vtensor -> !torch.vtensor
  %s = torch.aten.logical_not %r : !torch.vtensor -> !torch.vtensor
  return %r, %s : !torch.vtensor, !torch.vtensor"""
    first, second = call(build(body, [odd]), [odd])
    assert first.view(np.uint8).tolist() == [1, 0, 0, 0]
    assert second.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_an_argument_is_never_written() -> None:
    body = """
  %zero = torch.constant.int 0
  %r = torch.aten.select_scatter %a0, %a1, %zero, %zero : !torch.vtensor, !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %s = torch.aten.cumsum %r, %zero, %n : !torch.vtensor, !torch.int, !torch.none -> !torch.vtensor
  return %r, %s : !torch.vtensor, !torch.vtensor"""
    body = "  %n = torch.constant.none" + body
    x, row, before = X.copy(), np.ones(4, np.float32), X.copy()
    r, s = call(build(body, [x, row]), [x, row])
    expected = X.copy()
    expected[0] = 1
    np.testing.assert_array_equal(r, expected)
    np.testing.assert_array_equal(s, np.cumsum(expected, 0))
    np.testing.assert_array_equal(x, before)


def test_scalar_arguments_may_be_compiled_in() -> None:
    body = """
  %r = torch.aten.mul.Scalar %a0, %a1 : !torch.vtensor, !torch.float -> !torch.vtensor
  return %r : !torch.vtensor"""
    free, fixed = build(body, [X, 2.5]), build(body, [X, 2.5], baked=(1,))
    np.testing.assert_array_equal(call(free, [X, 3.0])[0], X * 3)
    np.testing.assert_array_equal(call(fixed, [X, 2.5])[0], X * 2.5)


def test_equal_requests_give_equal_artifacts_that_pickle() -> None:
    specs = (spec_of(X), spec_of(X))
    request = Request(typed(ADD, specs), "main", specs)
    first, second = compile(request), compile(pickle.loads(pickle.dumps(request)))
    assert first.object == second.object
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(call(again, [X, X])[0], X + X)


def test_stages_are_kept_when_asked_for() -> None:
    artifact = build(ADD, [X, X], stages=("torch", "linalg", "buffers", "loops", "llvm", "asm"))
    assert "torch.aten.add.Tensor" in artifact.stages["torch"]
    assert "linalg.generic" in artifact.stages["linalg"]
    assert "memref.alloc" not in artifact.stages["buffers"], "the result is computed in the caller's buffer"
    assert "scf.for" in artifact.stages["loops"] or "affine" in artifact.stages["loops"]
    assert "define i32 @kernel" in artifact.stages["llvm"]
    assert "kernel:" in artifact.stages["asm"]
    assert build(ADD, [X, X]).stages == {}


def test_an_op_without_native_code_is_named_with_its_line() -> None:
    specs = (spec_of(X),)
    text = """#loc = loc("user.py":12:4)
func.func @main(%x: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %0 = torch.constant.int 1
  %false = torch.constant.bool false
  %v, %i = torch.aten.sort %x, %0, %false : !torch.vtensor<[3,4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],si64> loc(#loc)
  return %v : !torch.vtensor<[3,4],f32>
}"""
    with pytest.raises(Unsupported) as e:
        compile(Request(text, "main", specs))
    assert (e.value.op, e.value.location) == ("aten.sort", "user.py:12:4")
    assert pickle.loads(pickle.dumps(e.value)).reason == e.value.reason


def test_requests_that_contradict_themselves_are_refused() -> None:
    specs = (spec_of(X), spec_of(X))
    text = typed(ADD, specs)
    with pytest.raises(BadRequest, match="no function 'other'"):
        compile(Request(text, "other", specs))
    with pytest.raises(BadRequest, match="takes"):
        compile(Request(text, "main", specs[:1]))
    with pytest.raises(BadRequest, match="takes"):
        compile(Request(text, "main", (specs[0], ArgumentSpec(ArgumentKind.INT))))


def test_malformed_text_is_a_compile_error_with_a_reproducer() -> None:
    with pytest.raises(CompileError) as e:
        compile(Request("func.func @main( {", "main", ()))
    assert "func.func @main(" in e.value.reproducer
    assert pickle.loads(pickle.dumps(e.value)).stage == e.value.stage


def test_calls_are_inlined_and_recursion_is_refused() -> None:
    text = """
func.func private @twice(%x: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %two = torch.constant.int 2
  %0 = torch.aten.mul.Scalar %x, %two : !torch.vtensor<[3,4],f32>, !torch.int -> !torch.vtensor<[3,4],f32>
  return %0 : !torch.vtensor<[3,4],f32>
}
func.func @main(%x: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %0 = call @twice(%x) : (!torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32>
  %1 = call @twice(%0) : (!torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32>
  return %1 : !torch.vtensor<[3,4],f32>
}"""
    np.testing.assert_array_equal(call(compile(Request(text, "main", (spec_of(X),))), [X])[0], X * 4)
    loop = text.replace("%0 = torch.aten.mul.Scalar %x, %two : !torch.vtensor<[3,4],f32>, !torch.int", "%0 = call @twice(%x) : (!torch.vtensor<[3,4],f32>)")
    with pytest.raises(Unsupported, match="recursive"):
        compile(Request(loop, "main", (spec_of(X),)))


def test_closing_frees_the_code_once() -> None:
    code = load(build(ADD, [X, X]))
    assert code.address
    code.close()
    code.close()
    assert code.address == 0
