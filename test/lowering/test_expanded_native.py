"""What the ancestors' pipelines make of selects, chunks and products is native code, with the results of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import build, call, symbolic

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse, pipeline
from tierup.dialect.torchscript.transforms.batch_matmul import BatchMatmul

T = "!torch.vtensor"


def f32(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 4) / 8


CHOICE = f"""
func.func @f(%x: {T}, %n: !torch.int) -> ({T}, !torch.int) {{
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %c = torch.aten.gt.int %n, %three : !torch.int, !torch.int -> !torch.bool
  %a = torch.aten.tanh %x : {T} -> {T}
  %b = torch.aten.neg %x : {T} -> {T}
  %0 = torch.prim.If %c -> ({T}) {{
    torch.prim.If.yield %a : {T}
  }} else {{
    torch.prim.If.yield %b : {T}
  }}
  %1 = torch.prim.If %c -> (!torch.int) {{
    torch.prim.If.yield %n : !torch.int
  }} else {{
    torch.prim.If.yield %three : !torch.int
  }}
  %2 = torch.aten.add.Scalar %0, %1, %one : {T}, !torch.int, !torch.int -> {T}
  return %2, %1 : {T}, !torch.int
}}"""

CHUNK = f"""
func.func @f(%x: {T}) -> {T} {{
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %l = torch.aten.chunk %x, %two, %one : {T}, !torch.int, !torch.int -> !torch.list<vtensor>
  %a, %b = torch.prim.ListUnpack %l : !torch.list<vtensor> -> {T}, {T}
  %0 = torch.aten.sigmoid %a : {T} -> {T}
  %1 = torch.aten.mul.Tensor %0, %b : {T}, {T} -> {T}
  return %1 : {T}
}}"""


def _products(count: int, rest: str, result: str) -> str:
    products = "\n".join(f"%p{{i}} = torch.aten.mm %w, %x{i} : {T}, {T} -> {T}".format(i=i) for i in range(count))
    arguments = "".join(f", %x{i}: {T}" for i in range(count))
    return f"func.func @f(%w: {T}{arguments}) -> {T} {{\n%one = torch.constant.int 1\n{products}\n{rest}\nreturn {result} : {T}\n}}"


def _sum(count: int) -> str:
    adds = [f"%s{i} = torch.aten.add.Tensor {f'%s{i - 1}' if i > 1 else '%p0'}, %p{i}, %one : {T}, {T}, !torch.int -> {T}" for i in range(1, count)]
    return _products(count, "\n".join(adds), f"%s{count - 1}")


def _joined(count: int) -> str:
    parts = ", ".join(f"%p{i}" for i in range(count))
    construct = f"%l = torch.prim.ListConstruct {parts} : ({', '.join([T] * count)}) -> !torch.list<vtensor>"
    return _products(count, f"{construct}\n%r = torch.aten.cat %l, %one : !torch.list<vtensor>, !torch.int -> {T}", "%r")


CASES = {
    "tierup.if_then_else": (CHOICE, "final", [f32(2, 3), 5], lambda x, n: (np.tanh(x) + np.float32(n), n)),
    "tierup.if_then_else, the other": (CHOICE, "final", [f32(2, 3), 2], lambda x, n: (-x + np.float32(3), 3)),
    "tierup.constant_chunk": (CHUNK, "noopt", [f32(2, 5)], None),
    "tierup.constant_chunk, even": (CHUNK, "noopt", [f32(2, 6)], lambda x: 1 / (1 + np.exp(-x[:, :3])) * x[:, 3:]),
    "tierup.batched_mm_tree": (_sum(4), "tierup-batch-matmul", [f32(2, 3), *[f32(3, 4) + i for i in range(4)]], lambda w, *xs: sum(w @ x for x in xs)),
    "tierup.batched_mm_side": (
        _joined(8), "tierup-batch-matmul", [f32(2, 3), *[f32(3, 4) + i for i in range(8)]], lambda w, *xs: np.concatenate([w @ x for x in xs], 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_program_of_the_ancestors_pipelines_becomes_native(case: str, tmp_path: Path) -> None:
    text, passes, arguments, oracle = CASES[case]
    module = parse_module(text)
    (pipeline(passes) if not passes.startswith("tierup-") else parse(passes)).run(module)
    assert case.partition(",")[0] in str(module)
    path = tmp_path / "f.mlir"
    path.write_text(str(module))
    f = tierup.load(path)
    if oracle is None:  # pieces of 3 and 2: the product raises, in each tier
        for _ in range(3):
            with pytest.raises(ValueError, match="3.*2|broadcast"):
                f(*arguments)
        return
    for _ in range(4):
        got, want = f(*arguments), oracle(*arguments)
        for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_allclose(g, w, rtol=1e-5)
            assert np.asarray(g).dtype == np.asarray(w).dtype
    assert f.stats().hits > 0 and "in tier 0:" not in f.explain()


def test_a_users_pass_that_batches_products_leaves_native_code(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(_sum(4))
    f = tierup.load(tmp_path / "f.mlir")
    arguments = [f32(2, 3), *[f32(3, 4) + i for i in range(4)]]
    with tierup.custom_pass(BatchMatmul, "post-fusion"):
        for _ in range(3):
            np.testing.assert_allclose(f(*arguments), sum(arguments[0] @ x for x in arguments[1:]), rtol=1e-5)
        assert "tierup.batched_mm_tree" in f.plan(stage="specialized")
    assert f.stats().hits == 2


@pytest.mark.parametrize("with_symbols", [False, True], ids=["static", "symbolic"])
def test_a_kernel_of_batched_products(with_symbols: bool) -> None:
    body = f"""
  %0 = "tierup.batched_mm_tree"(%a0, %a0, %a1, %a2) : ({T}, {T}, {T}, {T}) -> {T}
  %1:2 = "tierup.batched_mm_side"(%a0, %a1, %0) {{side = "right"}} : ({T}, {T}, {T}) -> ({T}, {T})
  return %0, %1#0, %1#1 : {T}, {T}, {T}"""
    values = [f32(3, 3), f32(3, 3) + 1, f32(3, 3) - 1]
    artifact = build(body, values, symbolic(values) if with_symbols else None)
    a, b, c = values
    for got, want in zip(call(artifact, values), (a @ b + a @ c, b @ a, (a @ b + a @ c) @ a), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("size", ["%t, %one", "%one", "%f", ""])
def test_a_sum_that_undoes_a_broadcast_is_native(size: str, tmp_path: Path) -> None:
    items = size.split(", ") if size else []
    text = f"""
    func.func @f(%x: {T}) -> {T} {{
      %one = torch.constant.int 1
      %t = torch.constant.int 3
      %f = torch.aten.size.int %x, %one : {T}, !torch.int -> !torch.int
      %l = torch.prim.ListConstruct {size} : ({", ".join(["!torch.int"] * len(items))}) -> !torch.list<int>
      %0 = torch.aten.tanh %x : {T} -> {T}
      %1 = torch.operator "aten._grad_sum_to_size"(%0, %l) : ({T}, !torch.list<int>) -> {T}
      return %1 : {T}
    }}"""
    (tmp_path / "f.mlir").write_text(text)
    f = tierup.load(tmp_path / "f.mlir")
    oracle = {"%t, %one": lambda y: y.sum(1, keepdims=True), "%one": lambda y: y.sum(keepdims=True)[0], "%f": lambda y: y.sum(0), "": np.sum}[size]
    for _ in range(3):
        got, want = f(f32(3, 4)), np.asarray(oracle(np.tanh(f32(3, 4))))
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert f.stats().hits == 2 and "in tier 0:" not in f.explain()
