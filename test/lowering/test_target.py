"""Code for a target without fused multiply-add: no call to libm in its place, and the same accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_harness import call
from single_op import difference, program, tier0

from tierup.lowering.base import llvm
from tierup.lowering.compiling.compile import compile

_X = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -0.0, np.inf, -np.inf, np.nan]])


def _without_fma() -> str:
    triple, _, features = llvm.host().split(":", 2)
    wide = ("avx", "fma", "f16c", "xop", "gfni", "vaes", "vpclmulqdq")  # the baseline of x86-64 stays: without it LLVM ends the process
    return f"{triple}:x86-64:{','.join('-' + name[1:] for name in features.split(',') if name[1:].startswith(wide))}"


@pytest.mark.skipif(not llvm.host().startswith("x86_64"), reason="other targets have a fused multiply-add")
@pytest.mark.parametrize("op", ["exp", "tanh", "log1p", "sin", "erf", "gelu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_math_is_expanded_without_fused_multiply_add(op: str, dtype: type) -> None:
    operands = (np.abs(_X).astype(dtype) if op == "log1p" else _X.astype(dtype), *(["tanh"] if op == "gelu" else []))
    request, arrays = program(f"aten.{op}", operands)
    artifact = compile(replace(request, target=_without_fma()), stages=("llvm", "asm"))
    assert "llvm.fma" not in artifact.stages["llvm"] and "fma" not in artifact.stages["asm"]
    with np.errstate(all="ignore"):
        assert difference(call(artifact, arrays)[0], tier0(f"aten.{op}", operands), 4) == ""


def test_the_host_s_own_features_decide() -> None:
    assert llvm.has_fma("x86_64-unknown-linux-gnu:haswell:+avx2,+fma,+sse2")
    assert not llvm.has_fma("x86_64-unknown-linux-gnu:x86-64:+sse2,-fma")
    assert llvm.has_fma("aarch64-unknown-linux-gnu:generic:+neon")
    assert llvm.has_fma("") == llvm.has_fma(llvm.host())


_PAIR = """define void @f(ptr noalias %p, ptr noalias %q) {
  %a = load double, ptr %p
  %p1 = getelementptr double, ptr %p, i64 1
  %b = load double, ptr %p1
  %c = fmul double %a, %a
  %d = fmul double %b, %b
  store double %c, ptr %q
  %q1 = getelementptr double, ptr %q, i64 1
  store double %d, ptr %q1
  ret void
}
"""


@pytest.mark.skipif(not llvm.host().startswith("x86_64"), reason="vectors of two doubles")
def test_statements_are_put_together_in_vectors_where_a_program_is_not_long() -> None:
    long = _PAIR + "; a line of the program\n" * llvm.MOST_LINES
    found = [llvm.emit(text, target="", level=2, want_ir=True).ir for text in (_PAIR, long)]
    assert ["<2 x double>" in ir for ir in found] == [True, False]
