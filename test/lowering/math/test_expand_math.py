"""The pass: where it works, what it leaves alone, and that what comes out vectorises."""

from __future__ import annotations

import re

import numpy as np
import pytest
from math_samples import FUNCTIONS, compiled

from benchmarks.math_functions import Function
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.core import PassFailure
from tierup.lowering.math.table import NAMES


def run(text: str, options: str = "") -> str:
    with ir.Context():
        module = ir.Module.parse(text)
        registry.parse(f"builtin.module(func.func(tierup-expand-math{options}))").run(module)
        module.operation.verify()
        return str(module)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loop_is_vector_code_without_calls(name: str, dtype: str) -> None:
    function = compiled(name, dtype)
    lanes = {"f32": r"<(4|8|16) x (float|i32)>", "f64": r"<(2|4|8) x (double|i64)>"}[dtype]
    assert re.search(rf"store {lanes}", function.ir)
    assert function.calls() == []


def test_pow_and_atan2_are_vector_code_without_calls() -> None:
    for name in ("powf", "atan2"):
        function = Function(f"%r = math.{name} %x, %y : f64", "f64", 2)
        assert " x double>" in function.ir and function.calls() == []


def test_every_float_function_of_the_math_dialect_that_has_no_instruction_is_expanded() -> None:
    from torch_mlir.dialects import math as dialect

    ops = {op.OPERATION_NAME for op in vars(dialect).values() if hasattr(op, "OPERATION_NAME")}
    instructions = {"absf", "absi", "ceil", "floor", "trunc", "round", "roundeven", "copysign", "fma", "sqrt", "clampf"}
    integers = {"ctlz", "ctpop", "cttz", "ipowi", "isfinite", "isinf", "isnan", "isnormal"}
    left = {f"math.{n}" for n in instructions | integers | {"sincos"}}
    assert ops - left == NAMES - {"arith.remf"}


def test_loops_and_vectors_and_plain_code() -> None:
    text = run("""
      func.func @f(%m: memref<?xf32>, %v: vector<8xf64>, %n: index) -> vector<8xf64> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          %x = memref.load %m[%i] : memref<?xf32>
          %y = math.exp %x : f32
          memref.store %y, %m[%i] : memref<?xf32>
        }
        %w = math.sin %v : vector<8xf64>
        return %w : vector<8xf64>
      }""")
    assert "math.exp" not in text and "math.sin" not in text
    assert "vector<8xi64>" in text


def test_bodies_of_linalg_on_tensors() -> None:
    text = run("""
      #id = affine_map<(d) -> (d)>
      func.func @f(%a: tensor<?xbf16>, %o: tensor<?xbf16>) -> tensor<?xbf16> {
        %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
            ins(%a : tensor<?xbf16>) outs(%o : tensor<?xbf16>) {
        ^bb0(%x: bf16, %y: bf16):
          %e = math.exp %x : bf16
          linalg.yield %e : bf16
        } -> tensor<?xbf16>
        return %r : tensor<?xbf16>
      }""")
    assert "math.exp" not in text
    assert text.index("arith.constant") < text.index("linalg.generic")


def test_ops_on_tensors_and_wide_formats_stay() -> None:
    text = run("""
      func.func @f(%a: tensor<4xf32>, %b: f128) -> (tensor<4xf32>, f128) {
        %r = math.exp %a : tensor<4xf32>
        %s = math.exp %b : f128
        return %r, %s : tensor<4xf32>, f128
      }""")
    assert text.count("math.exp") == 2


def test_chosen_functions_only() -> None:
    text = "func.func @f(%x: f32) -> (f32, f32) {\n%a = math.exp %x : f32\n%b = math.log %x : f32\nreturn %a, %b : f32, f32\n}"
    assert "math.exp" in (only_log := run(text, "{functions=log}")) and "math.log" not in only_log
    neither = run(text, "{functions=log,exp}")
    assert "math.exp" not in neither and "math.log" not in neither


def test_unknown_function_is_an_error_that_names_the_known() -> None:
    with pytest.raises(PassFailure, match=r"no expansion for gamma; there are acos"):
        run("func.func @f() {\nreturn\n}", "{functions=gamma}")


def test_constants_are_shared_and_a_second_run_changes_nothing() -> None:
    text = "func.func @f(%x: f32) -> f32 {\n%a = math.exp %x : f32\n%b = math.exp %a : f32\n%c = math.exp %b : f32\nreturn %c : f32\n}"
    once = run(text)
    assert once.count("arith.constant") == run(text.replace("%c = math.exp", "%c = math.absf")).count("arith.constant")
    assert run(once) == once


def test_no_step_carries_fastmath() -> None:
    text = "".join(run(f"func.func @f(%x: f32) -> f32 {{\n%a = math.{n} %x : f32\nreturn %a : f32\n}}") for n in FUNCTIONS)
    assert "fastmath" not in text


def test_a_result_that_is_a_constant_of_the_program_is_no_obstacle() -> None:
    zero = Function("%c = arith.constant 0.0 : f32\n%r = math.powf %x, %c : f32", "f32")
    assert np.array_equal(zero(np.array([np.nan, 0.0, 5.0], np.float32)), np.ones(3, np.float32))
