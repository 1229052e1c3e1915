"""Why the tierup ops are not declared through dialects.ext: IRDL gives all values of a variadic field one type.

When this test fails, the bindings have lifted the limit, and docs/dialect.md ("How MLIR sees them") can be reconsidered.
"""

import subprocess
import sys

# In a process of its own: a dialect of the same name can be declared once. Annotations must be objects for dialects.ext.
PROGRAM = """
from collections.abc import Sequence
from typing import Any
from torch_mlir import ir
from torch_mlir.dialects import ext

class Trial(ext.Dialect, name="trial"): pass
class Take(Trial.Operation, name="take"):
    values: Sequence[ext.Operand[Any]]

with ir.Context(), ir.Location.unknown():
    Trial.load()
    one = ir.Module.parse('func.func @f(%a: i32, %b: i32) { "trial.take"(%a, %b) : (i32, i32) -> () return }')
    try:
        ir.Module.parse('func.func @f(%a: i32, %b: i64) { "trial.take"(%a, %b) : (i32, i64) -> () return }')
    except ir.MLIRError as e:
        print(e)
"""


def test_irdl_ties_the_types_of_variadic_operands() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "expected 'i32' but got 'i64'" in run.stdout
