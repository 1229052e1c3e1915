"""tierup-expand-math: replace math functions by range reduction and polynomials in `arith`, so that loops vectorise.

    %y = math.exp %x : f32
becomes
    %k = ... ; some thirty arith ops on f32 and i32, no branch, no call
    %y = arith.mulf %m, %scale : f32

Of arith.remf there is a branch, since quotients of 23 bits in f32, of 52 in f64, and more are worked out bit by bit. So it is LLVM's on the
CPU by a power of two, which takes it no branch, and beside other functions, of which it would make no vectors any more.

Works on scalars and vectors of f16, bf16 (through f32), f32 and f64, in bodies of linalg.generic, in loops, or in a plain
function. Tensor-typed math ops are left alone: convert them to linalg first. What has an instruction of its own (math.sqrt,
math.floor, math.absf, ...) is left to LLVM, and what is marked `tierup.library_call` to a library. Accuracy: docs/math-accuracy.md.
"""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.lowering.analysis.stated import NO_FMA
from tierup.lowering.building.arith import Scalar, dtype_of, known
from tierup.lowering.math import table
from tierup.lowering.math.constants import Constants
from tierup.lowering.math.emit import LIBRARY_CALL, Emit


@register
class ExpandMath(Pass):
    fma: bool = True  # the target has fused multiply-add; without it, or in a module with `tierup.no_fma`, no math.fma is made
    functions: tuple[str, ...] = ()  # only these (exp, tanh, ...); all when empty

    def run_on_function(self, function: ir.Operation) -> None:
        has_fma = self.fma and NO_FMA not in function.parent.attributes
        wanted = self._wanted(function) | (set() if has_fma else {table.UNFUSED})
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in wanted and _supported(op.operation.results[0].type) and LIBRARY_CALL not in op.attributes:
                if op.name == "arith.remf" and _is_llvms(op.operation):
                    op.attributes[LIBRARY_CALL] = ir.UnitAttr.get(op.context)
                else:
                    found.append(op.operation)
            return ir.WalkResult.ADVANCE

        function.walk(visit)
        if not found:
            return
        homes: dict[tuple[int, ...] | None, Constants] = {}
        for op in found:
            type_ = op.results[0].type
            shape = tuple(ir.VectorType(type_).shape) if isinstance(type_, ir.VectorType) else None
            if shape not in homes:
                homes[shape] = Constants(function.regions[0].blocks[0], shape)
            self._expand(op, homes[shape], has_fma)

    def _wanted(self, function: ir.Operation) -> set[str]:
        known = {name.partition(".")[2]: name for name in table.NAMES}
        unknown = set(self.functions) - known.keys()
        if unknown:
            raise PassFailure(function, f"no expansion for {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
        return {known[name] for name in self.functions or known}

    def _expand(self, op: ir.Operation, constants: Constants, has_fma: bool) -> None:
        dtype = dtype_of(op.results[0].type)
        compute = dtypes.f64 if dtype is dtypes.f64 else dtypes.f32
        with op.location, ir.InsertionPoint(op):
            given = [Scalar(v, dtype_of(v.type), constants) for v in op.operands]
            operands = [v.cast(compute) if v.is_float else v for v in given]
            result = table.build(op.name, Emit(constants, compute, has_fma), operands).cast(dtype)
        take_place(op, [result])


def _is_llvms(remainder: ir.Operation) -> bool:
    """Whether a remainder stays for LLVM, as this file says."""
    if isinstance(remainder.results[0].type, ir.VectorType):
        return True
    outer = remainder.parent.operation
    while outer.name not in ("func.func", "gpu.launch", "gpu.func"):
        outer = outer.parent.operation
    divisor = known(remainder.operands[1])
    by_power_of_two = isinstance(divisor, float) and abs(math.frexp(divisor)[0]) == 0.5
    beside_others = any(op.name in table.NAMES - {"arith.remf"} for op in ops_of(remainder.block))
    return bool(outer.name == "func.func" and (by_power_of_two or beside_others))


def _supported(type_: ir.Type) -> bool:
    element = ir.VectorType(type_).element_type if isinstance(type_, ir.VectorType) else type_
    return str(element) in ("f16", "bf16", "f32", "f64")
