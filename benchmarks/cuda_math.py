"""What math functions cost on a GPU, our expansions and NVIDIA's libdevice, and how exact they are: a table in docs/math-accuracy.md.

    python benchmarks/cuda_math.py

Needs ptxas and libdevice, no GPU: kernels of one function are assembled and their instructions counted. Which of the two kernels use,
lowering/cuda/transforms/math_to_libdevice.py says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir, translate_module_to_llvmir
from tierup.dialect.passes.registry import parse
from tierup.lowering.building import literals
from tierup.lowering.cuda import targets
from tierup.lowering.cuda.assembling import libdevice, ptx, ptxas
from tierup.lowering.cuda.transforms.math_to_libdevice import BETTER
from tierup.lowering.math import table
from tierup.lowering.objects import elf
from tierup.lowering.transforms.expand_math import LIBRARY_CALL, ExpandMath

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "math-accuracy.md"
BEGIN, END = "<!-- cuda: written by benchmarks/cuda_math.py -->\n", "<!-- end of cuda -->\n"
TARGET = "sm_90"
_BYTES = 16  # of an instruction, from sm_70 on
# NVIDIA, CUDA C++ Programming Guide, "Mathematical Functions: Standard Functions": the largest distance from the correctly rounded result
NVIDIAS = {
    "f32": {
        "acos": 3, "acosh": 4, "asin": 4, "asinh": 3, "atan": 2, "atanh": 3, "cbrt": 1, "cos": 2, "cosh": 2, "erf": 2, "erfc": 4, "exp": 2,
        "exp2": 2, "expm1": 1, "log": 1, "log10": 2, "log1p": 1, "log2": 1, "rsqrt": 2, "sin": 2, "sinh": 3, "tan": 4, "tanh": 2,
        "atan2": 3, "powf": 8, "remf": 0,
    },
    "f64": {
        "acos": 1, "acosh": 2, "asin": 2, "asinh": 2, "atan": 2, "atanh": 2, "cbrt": 1, "cos": 1, "cosh": 1, "erf": 2, "erfc": 4, "exp": 1,
        "exp2": 1, "expm1": 1, "log": 1, "log10": 1, "log1p": 1, "log2": 1, "rsqrt": 1, "sin": 1, "sinh": 1, "tan": 2, "tanh": 1,
        "atan2": 2, "powf": 2, "remf": 0,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Of a kernel: instructions in its code, those of them in f64 (in PTX), registers."""

    instructions: int
    doubles: int
    registers: int

    def __str__(self) -> str:
        return f"{self.instructions} | {self.doubles} | {self.registers}"


def cost(name: str, dtype: str, *, by_library: bool) -> Cost:
    """Of loading an argument, the function, and storing what it gives."""
    operands = 2 if name in ("math.atan2", "math.powf", "arith.remf") else 1
    made = ptx.emit(_kernel(name, dtype, operands, by_library), targets.target(TARGET), library=libdevice.find())
    assert bool(made.linked) == by_library
    assembled = ptxas.assemble(made.ptx, TARGET)
    size = next(function.size for function in elf.Object(assembled.cubin).functions() if function.name == "k")  # parts of it have names too
    return Cost(size // _BYTES, len(re.findall(r"\.f64\s", made.ptx)), assembled.report[0].registers)


def _kernel(name: str, dtype: str, operands: int, by_library: bool) -> str:
    """LLVM IR."""
    values, pointers = [f"%a{i}" for i in range(operands)], [f"%p{i}" for i in range(operands)]
    loads = "\n".join(f"{v} = llvm.load {p} : !llvm.ptr<1> -> {dtype}" for v, p in zip(values, pointers, strict=True))
    text = f"""gpu.module @kernels {{
      gpu.func @k({", ".join(f"{p}: !llvm.ptr<1>" for p in (*pointers, "%out"))}) kernel {{
        {loads}
        %r = {name} {", ".join(values)} {f"{{{LIBRARY_CALL}}}" if by_library else ""} : {dtype}
        llvm.store %r, %out : {dtype}, !llvm.ptr<1>
        gpu.return
      }}
    }}"""
    with thread_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        kernels = module.body.operations[0].operation.regions[0].blocks[0]
        kernel = kernels.operations[0].operation
        ExpandMath().run_on_function(kernel)
        parse(
            "builtin.module(canonicalize,cse,tierup-math-to-intrinsics,gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,"
            "convert-arith-to-llvm,convert-index-to-llvm,reconcile-unrealized-casts),canonicalize,cse)"
        ).run(module)
        apart = ir.Module.create()
        for view in list(module.body.operations[0].operation.regions[0].blocks[0].operations):
            apart.body.append(view.operation.detach_from_parent())
        return literals.mend(translate_module_to_llvmir(apart.operation))


def main() -> None:
    lines = []
    for dtype in ("f32", "f64"):
        for op in sorted(table.NAMES - {"math.fpowi"}, key=lambda op: (op == "arith.remf", op)):
            ours, theirs = cost(op, dtype, by_library=False), cost(op, dtype, by_library=True)
            name = op.rpartition(".")[2]
            used = "libdevice" if name in BETTER[dtype] else "ours"
            lines.append(f"| {name} | {dtype} | {ours} | {theirs} | {NVIDIAS[dtype][name]} | {used} |")
            print(lines[-1], flush=True)
    before, _, rest = OUTPUT.read_text().partition(BEGIN)
    OUTPUT.write_text(before + BEGIN + TEXT.format(rows="\n".join(lines), target=TARGET) + END + rest.partition(END)[2])


TEXT = """## On a GPU

Written by `python benchmarks/cuda_math.py`; do not edit. Kernels on NVIDIA's GPUs have the expansions above, with the same errors, or where
the column "used" says so, and libdevice is installed when they are compiled, NVIDIA's functions. *Assembled, not run.*

Instructions: all in the code of a kernel of one function, assembled for {target}, paths for rare arguments included; "f64": those in f64,
for which many devices have one unit for 64 threads. NVIDIA's ulp: the largest distance from the correctly rounded result, by the CUDA
C++ Programming Guide ("Mathematical Functions"); the error may be half an ulp more. libdevice is used where its figure is at most 2, so
that with half an ulp for rounding and tier 0's own error tiers agree within 4 ulp, and where it takes at most half of the instructions, or
of those in f64. remf, the remainder of fmod, % and //, is exact either way. cbrt: of np.cbrt alone, and so ours.

| function | type | ours: instructions | f64 | registers | libdevice: instructions | f64 | registers | NVIDIA's ulp | used |
|---|---|---|---|---|---|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
