"""Compiles one scalar function, applied in a loop over arrays, through tierup-expand-math and LLVM, without the rest of the lowering.

`Kernel(body, dtypes)` where body maps `%x` (and `%y`) to `%r`; call it with NumPy arrays.
"""

from __future__ import annotations

import ctypes
import re
import struct

import llvmlite.binding as llvm
import numpy as np

from tierup.dialect import registry
from tierup.dialect.mlir import ir, passmanager

TO_LLVM = (
    "builtin.module(convert-linalg-to-loops,lower-affine,expand-strided-metadata,convert-scf-to-cf,finalize-memref-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-math-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
    "convert-cf-to-llvm,reconcile-unrealized-casts)"
)
NUMPY = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
_TYPE = re.compile(r"\b(half|float|double)\b")
_LITERAL = re.compile(r"(?<![\w.%@])(?:f0x[0-9A-Fa-f]+|[+-]?\d+\.\d+(?:e[+-]?\d+)?|[+-](?:inf|qnan|nan)\b)")
_UNPACK = {4: "<e", 8: "<f", 16: "<d"}


def mend_literals(text: str) -> str:
    """LLVM 24's float literals, spelled in hexadecimal, which LLVM 22 reads."""
    return "\n".join(_mend_line(line) for line in text.splitlines())


def _mend_line(line: str) -> str:
    kind = _TYPE.search(line)
    if kind is None:
        return line
    round_to = {"half": np.float16, "float": np.float32, "double": np.float64}[kind.group()]

    def spell(match: re.Match[str]) -> str:
        literal = match.group()
        if literal.startswith("f0x"):
            digits = literal[3:]
            value = struct.unpack(_UNPACK[len(digits)], int(digits, 16).to_bytes(len(digits) // 2, "little"))[0]
        else:
            value = float(round_to(literal.replace("qnan", "nan")))
        if kind.group() == "half":
            return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    return _LITERAL.sub(spell, line)


def source(body: str, dtype: str, operands: int) -> str:
    """A linalg.generic over memrefs with `body` as its region."""
    memref = f"memref<?x{dtype}>"
    names = ["%x", "%y"][:operands]
    arrays = ", ".join(f"{n}s: {memref}" for n in names)
    maps = ", ".join(["affine_map<(d) -> (d)>"] * (operands + 1))
    ins = ", ".join(f"{n}s" for n in names) + " : " + ", ".join([memref] * operands)
    # a static size: bare pointers carry none
    return f"""
func.func @kernel({arrays}, %out: {memref}) {{
  linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}} ins({ins}) outs(%out : {memref}) {{
  ^bb0({", ".join(f"{n}: {dtype}" for n in names)}, %o: {dtype}):
    {body}
    linalg.yield %r : {dtype}
  }}
  return
}}""".replace("memref<?x", "memref<4096x")


class Kernel:
    """The compiled function. `ir` is the optimised LLVM IR."""

    block = 4096

    def __init__(self, body: str, dtype: str, operands: int = 1, passes: str = "tierup-expand-math", cpu: str | None = None) -> None:
        with ir.Context():
            module = ir.Module.parse(source(body, dtype, operands))
            registry.parse(f"builtin.module({passes})").run(module)
            self.expanded = str(module)
            passmanager.PassManager.parse(TO_LLVM).run(module.operation)
            from torch_mlir.dialects.llvm import translate_module_to_llvmir  # not needed where nothing is compiled

            text = translate_module_to_llvmir(module.operation)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        parsed = llvm.parse_assembly(mend_literals(text))
        features = llvm.get_host_cpu_features().flatten() if cpu is None else ""
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=cpu or llvm.get_host_cpu_name(), features=features, opt=2, jit=True
        )
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(parsed, builder)
        self.ir = str(parsed)
        self.asm = machine.emit_assembly(parsed)
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()
        self._call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (operands + 1))(self._engine.get_function_address("kernel"))
        self.dtype = NUMPY[dtype]

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        size = arrays[0].size
        padded = -(-size // self.block) * self.block
        arrays = tuple(np.concatenate([np.ascontiguousarray(a, self.dtype), np.ones(padded - size, self.dtype)]) for a in arrays)
        out = np.empty(padded, self.dtype)
        step = self.block * self.dtype.itemsize
        for i in range(padded // self.block):
            self._call(*[a.ctypes.data + i * step for a in (*arrays, out)])
        return out[:size]
