"""One scalar function as native code over arrays, without the rest of tierup, and errors in units in the last place: for measuring and
testing the expansions.

f = Function("%r = math.exp %x : f32", "f32")
f(np.linspace(0, 1, 100, dtype=np.float32))
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import ml_dtypes
import numpy as np

from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.lowering.base.llvm import emit
from tierup.lowering.building import literals
from tierup.lowering.objects import linking

NUMPY = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
BLOCK = 4096  # elements a call; arrays are padded to a multiple
TO_LLVM = (
    "func.func(convert-linalg-to-loops,tierup-legalize-bf16)", "lower-affine", "expand-strided-metadata", "convert-scf-to-cf",
    "finalize-memref-to-llvm", "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "convert-math-to-llvm",
    "convert-math-to-libm", "convert-arith-to-llvm", "convert-index-to-llvm", "convert-cf-to-llvm", "reconcile-unrealized-casts",
)  # fmt: skip


def source(body: str, dtype: str, operands: int) -> str:
    """A linalg.generic over memrefs with `body`, from %x (and %y) to %r, as its region."""
    memref = f"memref<{BLOCK}x{dtype}>"
    names = ["x", "y"][:operands]
    maps = ", ".join(["affine_map<(d) -> (d)>"] * (operands + 1))
    return f"""
func.func @kernel({"".join(f"%{n}s: {memref}, " for n in names)}%out: {memref}) {{
  linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({", ".join(f"%{n}s" for n in names)} : {", ".join([memref] * operands)}) outs(%out : {memref}) {{
  ^bb0({"".join(f"%{n}: {dtype}, " for n in names)}%o: {dtype}):
    {body}
    linalg.yield %r : {dtype}
  }}
  return
}}"""


class Function:
    """The compiled function. `expanded` is the MLIR text after `passes`, `ir` and `asm` what LLVM made of it.

    `target` is a `triple:cpu:features` text, the host by default. Call it with one array per operand, of any equal sizes;
    they are converted to `dtype`.
    """

    def __init__(self, body: str, dtype: str, operands: int = 1, passes: str = "tierup-expand-math", target: str = "") -> None:
        from torch_mlir.dialects.llvm import translate_module_to_llvmir  # loads a library that only compiling needs

        with ir.Context():
            module = ir.Module.parse(source(body, dtype, operands))
            registry.parse(f"builtin.module(func.func({passes}))").run(module)
            self.expanded = str(module)
            registry.parse(f"builtin.module({','.join(TO_LLVM)})").run(module)
            text = literals.mend(translate_module_to_llvmir(module.operation))
        emitted = emit(text, target=target, level=2, want_ir=True, want_asm=True)
        self.ir, self.asm, self.dtype = emitted.ir, emitted.asm, NUMPY[dtype]
        self._code = linking.link(emitted.object, {}, ("kernel",))
        self._call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (operands + 1))(self._code["kernel"])

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        size = arrays[0].size
        blocks = -(-size // BLOCK)
        padding = np.ones(blocks * BLOCK - size, self.dtype)
        inputs = [np.concatenate([np.ascontiguousarray(a, self.dtype), padding]) for a in arrays]
        out = np.empty(blocks * BLOCK, self.dtype)
        for i in range(blocks):
            self._call(*[a.ctypes.data + i * BLOCK * self.dtype.itemsize for a in (*inputs, out)])
        return out[:size]

    def bound(self, out: np.ndarray, *arrays: np.ndarray) -> Callable[[], None]:
        """A call on arrays of exactly BLOCK contiguous elements of the dtype: for timing."""
        call, addresses = self._call, [a.ctypes.data for a in (*arrays, out)]
        return lambda: call(*addresses)

    def calls(self) -> list[str]:
        """The functions that the code calls out of line."""
        return [line for line in self.ir.splitlines() if line.startswith("declare ") and "@llvm." not in line]


def ulps(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|got - reference| in ulps of got's dtype at the reference, elementwise, as float64.

    `reference` is of a wider float dtype. An ulp is the spacing of the binade the reference lies in (Muller et al., "Handbook
    of Floating-Point Arithmetic", 2.3.2), never less than the spacing of denormals. A zero of the wrong sign, a NaN or an
    infinity that the rounded reference is not, or is and `got` is not, counts as infinite.
    """
    info = np.finfo(got.dtype)
    wide = np.asarray(reference)
    with np.errstate(all="ignore"):
        rounded = wide.astype(got.dtype)
        _, exponent = np.frexp(wide)
        exponent = np.maximum(exponent - 1, info.minexp)
        error = np.abs(got.astype(wide.dtype) - wide) / np.ldexp(np.ones((), wide.dtype), exponent - info.nmant)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    wrong_zero = (rounded == 0) & (got == 0) & (np.signbit(rounded) != np.signbit(got))
    return np.where(wrong_zero | ~(finite | same), np.inf, np.where(finite, error, 0.0)).astype(np.float64)
