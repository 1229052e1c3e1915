"""Preparation passes change no result of tier 0, no dtype and no exception; decomposed ops agree with PyTorch's bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewrite_harness import after, assert_kept, outcome

_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "si32": np.int32, "si64": np.int64, "ui8": np.uint8}
_random = np.random.default_rng(5)


def _array(dtype: str, *shape: int) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape) * 5).astype(_DTYPES[dtype])


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("constant", ["2.5", "-0.0", "0.1", "1e300", "7", "300", "-3"])
@pytest.mark.parametrize("operand", list(_DTYPES))
@pytest.mark.parametrize("shape", ["[2,3]", "[]"])
def test_scalar_overloads_keep_dtype_and_value(op: str, constant: str, operand: str, shape: str) -> None:
    of = "f64" if "." in constant or "e" in constant else "si64"
    value = constant if of == "si64" else f"{float(constant):.17e}"
    alpha = ", %one" if op in ("add", "sub") else ""
    comma = ", !torch.int" if alpha else ""
    text = f"""
    func.func @f(%x: !torch.vtensor<{shape},{operand}>) -> !torch.vtensor {{
      %one = torch.constant.int 1
      %c = torch.vtensor.literal(dense<{value}> : tensor<{of}>) : !torch.vtensor<[],{of}>
      %0 = torch.aten.{op}.Tensor %x, %c{alpha} : !torch.vtensor<{shape},{operand}>, !torch.vtensor<[],{of}>{comma} -> !torch.vtensor
      return %0 : !torch.vtensor
    }}"""
    special = _array(operand, *eval(shape))  # noqa: S307 - a literal of this file
    assert_kept(text, "tierup-canonicalize-ops", [[special], [np.zeros_like(special)]])


def test_some_scalar_overload_is_taken() -> None:
    text = """
    func.func @f(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor {
      %c = torch.vtensor.literal(dense<2.5> : tensor<f64>) : !torch.vtensor<[],f64>
      %0 = torch.aten.mul.Tensor %x, %c : !torch.vtensor<[2],f32>, !torch.vtensor<[],f64> -> !torch.vtensor
      return %0 : !torch.vtensor
    }"""
    assert "mul.Scalar" in after(text, "tierup-canonicalize-ops")


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 6])
@pytest.mark.parametrize("typed", [True, False])
def test_constant_chunks_cut_alike_and_raise_alike(chunks: int, size: int, typed: bool) -> None:
    type_ = f"!torch.vtensor<[2,{size}],f32>" if typed else "!torch.vtensor"
    results = ", ".join(["!torch.vtensor"] * chunks)
    values = ", ".join(f"%0#{i}" for i in range(chunks)) if chunks > 1 else "%0"
    text = f"""
    func.func @f(%x: {type_}) -> ({results}) {{
      %n = torch.constant.int {chunks}
      %d = torch.constant.int 1
      %l = torch.aten.chunk %x, %n, %d : {type_}, !torch.int, !torch.int -> !torch.list<vtensor>
      %0{f":{chunks}" if chunks > 1 else ""} = torch.prim.ListUnpack %l : !torch.list<vtensor> -> {results}
      return {values} : {results}
    }}"""
    new = assert_kept(text, "tierup-canonicalize-ops", [[_array("f32", 2, size)]])
    pieces = chunks if size == 0 else -(-size // -(-size // chunks))
    assert ("constant_chunk" in new) == (not typed or pieces == chunks)


@pytest.mark.parametrize(("dim", "chunks"), [(0, 3), (-1, 3), (1, 1)])
def test_an_arm_cuts_what_types_learn_later_cannot_be_cut(dim: int, chunks: int) -> None:
    results = ", ".join(["!torch.vtensor"] * chunks)
    text = f"""
    func.func @f(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor {{
      %y = torch.aten.tanh %x : !torch.vtensor<[2],f32> -> !torch.vtensor
      %r = torch.prim.If %c -> (!torch.vtensor) {{
        %n = torch.constant.int {chunks}
        %d = torch.constant.int {dim}
        %l = torch.aten.chunk %y, %n, %d : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
        %0{f":{chunks}" if chunks > 1 else ""} = torch.prim.ListUnpack %l : !torch.list<vtensor> -> {results}
        torch.prim.If.yield {"%0#0" if chunks > 1 else "%0"} : !torch.vtensor
      }} else {{
        torch.prim.If.yield %y : !torch.vtensor
      }}
      return %r : !torch.vtensor
    }}"""
    calls = [[_array("f32", 2), False], [_array("f32", 2), True]]
    assert "constant_chunk" in assert_kept(text, "tierup-canonicalize-ops,tierup-propagate-input-shapes", calls)
    assert isinstance(outcome(text, calls[1])[0], (ValueError, IndexError))


_COMPOSITES = {
    "addmm": (["[4],f32", "[2,3],f32", "[3,4],f32"], "addmm %a0, %a1, %a2, %one, %one", "!torch.int, !torch.int"),
    "addmm_ints": (["[2,1],si64", "[2,3],si64", "[3,4],si64"], "addmm %a0, %a1, %a2, %one, %one", "!torch.int, !torch.int"),
    "addmm_empty": (["[4],f32", "[2,0],f32", "[0,4],f32"], "addmm %a0, %a1, %a2, %one, %one", "!torch.int, !torch.int"),
    "baddbmm": (["[1],f64", "[2,2,3],f64", "[2,3,4],f64"], "baddbmm %a0, %a1, %a2, %one, %one", "!torch.int, !torch.int"),
    "linear": (["[5,2,3],f32", "[4,3],f32", "[4],f32"], "linear %a0, %a1, %a2", ""),
    "linear_vector": (["[3],f64", "[4,3],f64", "[4],f64"], "linear %a0, %a1, %a2", ""),
    "layer_norm": (["[2,3,4],f32", "[4],f32", "[4],f32"], "layer_norm %a0, %last, %a1, %a2, %eps, %no", "!torch.float, !torch.bool"),
    "layer_norm_f64": (["[3,4],f64", "[3,4],f64", "[3,4],f64"], "layer_norm %a0, %both, %a1, %a2, %eps, %no", "!torch.float, !torch.bool"),
    "batch_norm": (
        ["[2,3,4],f32", "[3],f32", "[3],f32", "[3],f32", "[3],f32"],
        "batch_norm %a0, %a1, %a2, %a3, %a4, %no, %eps, %eps, %no", "!torch.bool, !torch.float, !torch.float, !torch.bool",
    ),
    "batch_norm_matrix": (
        ["[5,3],f64", "[3],f64", "[3],f64", "[3],f64", "[3],f64"],
        "batch_norm %a0, %a1, %a2, %a3, %a4, %no, %eps, %eps, %no", "!torch.bool, !torch.float, !torch.float, !torch.bool",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(_COMPOSITES))
def test_composite_ops_and_their_parts_agree(name: str) -> None:
    types, call, rest = _COMPOSITES[name]
    tensors = [f"!torch.vtensor<{t}>" for t in types]
    listed = "!torch.list<int>, " if "layer_norm" in name else ""
    operands = f"{tensors[0]}, {listed}{', '.join(tensors[1:])}" + (f", {rest}" if rest else "")
    text = f"""
    func.func @f({", ".join(f"%a{i}: {t}" for i, t in enumerate(tensors))}) -> !torch.vtensor {{
      %one = torch.constant.int 1
      %three = torch.constant.int 3
      %four = torch.constant.int 4
      %eps = torch.constant.float 1.000000e-05
      %no = torch.constant.bool false
      %last = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
      %both = torch.prim.ListConstruct %three, %four : (!torch.int, !torch.int) -> !torch.list<int>
      %0 = torch.aten.{call} : {operands} -> !torch.vtensor
      return %0 : !torch.vtensor
    }}"""
    new = after(text, "tierup-decompose-ops")
    assert f"torch.aten.{call.split()[0]} " not in new
    arguments: list[Any] = [np.abs(_array(t.split("],")[1], *map(int, t[1:].split("]")[0].split(",")))) for t in types]
    want, got = outcome(text, arguments)[0], outcome(new, arguments)[0]
    assert isinstance(want, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape
    ulps = 16 * np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=ulps, atol=ulps * np.abs(want).max(initial=1.0))


def test_a_removed_expand_leaves_values_and_errors() -> None:
    text = """
    func.func @f(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[4],f64>) -> !torch.vtensor {
      %true = torch.constant.bool true
      %s = torch.aten.size %x : !torch.vtensor<[2,4],f32> -> !torch.list<int>
      %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[4],f64>, !torch.list<int>, !torch.bool -> !torch.vtensor
      %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor -> !torch.vtensor
      return %1 : !torch.vtensor
    }"""
    new = assert_kept(text, "tierup-remove-expands", [[_array("f32", 2, 4), _array("f64", 4)]])
    assert "expand" not in new
    free = text.replace("<[2,4],f32>", "").replace("<[4],f64>", "")
    calls = [[_array("f32", 2, 4), _array("f64", 4)], [_array("f32", 1), _array("f64", 4)], [_array("f32", 2, 4), _array("f64", 3)]]
    assert "expand" in assert_kept(free, "tierup-remove-expands", calls)


def test_inlined_calls_and_lowered_tuples_leave_results() -> None:
    text = """
    func.func @f(%x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> (!torch.vtensor, !torch.int) {
      %true = torch.constant.bool true
      %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
      %0 = func.call @swap(%t, %c) : (!torch.tuple<vtensor, int>, !torch.bool) -> !torch.tuple<int, vtensor>
      %1:2 = torch.prim.TupleUnpack %0 : !torch.tuple<int, vtensor> -> !torch.int, !torch.vtensor
      %2 = torch.prim.TupleConstruct %1#1, %1#0 : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
      %3 = torch.prim.Loop %n, %true, init(%2) {
      ^bb0(%i: !torch.int, %a: !torch.tuple<vtensor, int>):
        %4 = func.call @swap(%a, %c) : (!torch.tuple<vtensor, int>, !torch.bool) -> !torch.tuple<int, vtensor>
        %5:2 = torch.prim.TupleUnpack %4 : !torch.tuple<int, vtensor> -> !torch.int, !torch.vtensor
        %6 = torch.prim.TupleConstruct %5#1, %i : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
        torch.prim.Loop.condition %true, iter(%6 : !torch.tuple<vtensor, int>)
      } : (!torch.int, !torch.bool, !torch.tuple<vtensor, int>) -> !torch.tuple<vtensor, int>
      %7:2 = torch.prim.TupleUnpack %3 : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
      return %7#0, %7#1 : !torch.vtensor, !torch.int
    }
    func.func private @swap(%t: !torch.tuple<vtensor, int>, %c: !torch.bool) -> !torch.tuple<int, vtensor> {
      %0:2 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
      %1 = torch.prim.If %c -> (!torch.tuple<int, vtensor>) {
        %2 = torch.aten.add.Scalar %0#0, %0#1, %0#1 : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
        %3 = torch.prim.TupleConstruct %0#1, %2 : !torch.int, !torch.vtensor -> !torch.tuple<int, vtensor>
        torch.prim.If.yield %3 : !torch.tuple<int, vtensor>
      } else {
        %2 = torch.prim.TupleConstruct %0#1, %0#0 : !torch.int, !torch.vtensor -> !torch.tuple<int, vtensor>
        torch.prim.If.yield %2 : !torch.tuple<int, vtensor>
      }
      return %1 : !torch.tuple<int, vtensor>
    }"""
    calls: list[list[Any]] = [[_array("f32", 3), n, c] for n in (0, 1, 4) for c in (True, False)]
    for passes in ("tierup-inline", "tierup-lower-simple-tuples", "tierup-lower-all-tuples", "tierup-inline,tierup-lower-simple-tuples"):
        assert_kept(text, f"builtin.module({passes})", calls)
    assert "tuple" not in after(text, "builtin.module(tierup-lower-all-tuples)")
    assert "tuple" not in after(text, "builtin.module(tierup-inline,tierup-lower-all-tuples)")
