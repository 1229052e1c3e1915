"""What the first context of a process imports, and that MLIR-free modules stay so."""

from __future__ import annotations

import subprocess
import sys

import pytest

READ_A_PROGRAM = """
import sys
from tierup.dialect.ir_text import parse_module
module = parse_module('''
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}''')
block = module.body.operations[0].operation.regions[0].blocks[0]
print([op.operation.name for op in block.operations])
print(sorted(m for m in sys.modules if m in ("torch_mlir.dialects._torch_ops_gen", "torch_mlir.dialects.ext", "torch")))
"""


def _run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_reading_torch_ops_imports_no_generated_classes() -> None:
    assert _run(READ_A_PROGRAM).splitlines() == ["['torch.aten.tanh', 'func.return']", "[]"]


def test_who_wants_the_generated_classes_gets_them() -> None:
    wants = "import torch_mlir.dialects.torch\n" + READ_A_PROGRAM + "print(type(block.operations[0]).__name__)"
    assert _run(wants).splitlines()[-1] == "AtenTanhOp"


@pytest.mark.parametrize("module", ["dtypes", "dims", "values", "profiled", "optable", "spelling", "reasons"])
def test_mlir_free_modules_import_no_mlir(module: str) -> None:
    loaded = _run(f"import sys, tierup.dialect.{module}\nprint([m for m in sys.modules if 'mlir' in m or m == 'llvmlite'])")
    assert loaded.strip() == "[]"
