"""The time, in generated code."""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.entry.generated.ir import I32, I64, Emitter, function
from tierup.lowering.entry.generated.python import api

# Clocks of Linux that never go back: to the nanosecond, read in 20 ns; in ticks of some ms, read in 5.
FINE, COARSE = I32(1), I32(6)


@function(I64, I32, outline=True)
def nanoseconds(f: Emitter, clock: ir.Value) -> None:
    """i64 nanoseconds(clock)."""
    time = f.variable(ir.ArrayType(I64, 2), ir.Constant(ir.ArrayType(I64, 2), [0, 0]))
    api(f, "clock_gettime", clock, time)
    f.b.ret(f.b.add(f.b.mul(f.load(time, 0), I64(1_000_000_000)), f.load(time, 8)))
