"""What the first context of a process imports, and that MLIR-free modules stay so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

READ_A_PROGRAM = """
import sys
from tierup.dialect.language.text import parse_module
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


@pytest.mark.parametrize("module", ["base.dtypes", "facts.dims", "facts.values", "facts.profiled", "optable", "base.spelling", "speculation.reasons"])
def test_mlir_free_modules_import_no_mlir(module: str) -> None:
    loaded = _run(f"import sys, tierup.dialect.{module}\nprint([m for m in sys.modules if 'mlir' in m or m == 'llvmlite'])")
    assert loaded.strip() == "[]"


def test_what_starts_the_worker_is_there_before_numpy_mlir_and_llvm() -> None:
    """The worker imports while the rest is imported here: what comes before its start is time that both lose."""
    loaded = _run("import sys, tierup.runtime.compiling.processes.early, tierup.lowering.service.service\nprint(*sys.modules)").split()
    assert not {"numpy", "torch_mlir", "llvmlite", "tierup.frontend.jit", "tierup.runtime.compiling.processes.placement"} & set(loaded)
    asks = "import os\nos.environ.update(TIERUP_WORKER='1', TIERUP_CACHE='0')\nimport tierup\ntierup.jit\n"
    started = _run(f"{asks}from tierup.runtime.compiling.processes import workers\nprint(*workers.services)")
    assert started.strip() == "waited for"


FIRST_CALL = """
import os, sys
os.environ["TIERUP_WORKER"] = "0"
import numpy as np, tierup
@tierup.jit
def f(x): return np.tanh(x) * 2
f(np.ones(3, np.float32))
"""


def test_a_first_call_imports_nothing_that_only_other_programs_need(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FIRST_CALL + "print(*sys.modules)")
    there = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=True).stdout.split()
    others = ("tierup.dialect.passes.autodiff", "tierup.dialect.passes.fusion", "tierup.dialect.transforms", "tierup.dialect.torchscript", "tierup.lowering.compiling.compile")
    assert not [m for m in there if m.startswith((*others, "difflib", "importlib.metadata", "typing_extensions", "torch_mlir.dialects"))]


def test_a_first_compile_imports_nothing_that_only_other_programs_need() -> None:
    """The worker comes to it while a call waits. What it imports once it has nothing to do is in `ready.py`."""
    loads = "import sys\nfrom tierup.runtime.compiling import ready\nready._LATER = ()\nready.get_ready(lambda: False)\nprint(*sys.modules)"
    there = _run(loads).split()
    assert "tierup.lowering.math.hyperbolic" in there
    others = ("ops.windows", "ops.indexing", "ops.reductions.normalisation", "ops.movement.patterns", "math.trigonometric", "cuda.cached", "cuda.compile")
    assert not [m for m in there if m.startswith(tuple(f"tierup.lowering.{other}" for other in others))]
    assert not [m for m in there if m.startswith(("importlib.metadata", "typing_extensions", "torch_mlir.dialects."))]


@pytest.mark.parametrize(("before", "after"), [("pass", "True 0"), ("gc.disable()", "False 0"), ("gc.freeze()", "True frozen")])
def test_imports_leave_the_garbage_collector_as_it_was(before: str, after: str) -> None:
    says = "print(gc.isenabled(), 'frozen' if gc.get_freeze_count() else 0)"
    assert _run(f"import gc\n{before}\nimport tierup\ntierup.jit\n{says}").strip() == after


def test_imports_collect_nothing() -> None:
    counts = "sum(g['collections'] for g in gc.get_stats())"
    assert _run(f"import gc, numpy, tierup\nimport tierup.dialect.base.shielded\ngc.collect()\nn = {counts}\ntierup.jit\nprint({counts} - n)").strip() == "0"


def test_no_dialect_of_a_compile_is_searched_for_op_by_op() -> None:
    """A dialect without a stand-in (dialect/mlir.py) costs a failed import (0.1 ms) for each op of it that Python meets."""
    compiles = """
import collections, importlib.machinery, sys
searched = collections.Counter()
find = importlib.machinery.PathFinder.find_spec
class Counting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        searched[name] += 1
        return find(name, path, target)
sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Counting
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Request
from tierup.lowering.compiling.compile import compile
compile(Request('''
func.func @main(%x: !torch.vtensor<[4,4],f32>, %y: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
  %2 = torch.aten.add.Tensor %1, %y, %one : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>, !torch.int -> !torch.vtensor<[4,4],f32>
  return %2 : !torch.vtensor<[4,4],f32>
}''', "main", (ArgumentSpec(ArgumentKind.ARRAY, "f32", (4, 4)),) * 2))
print({name: n for name, n in searched.items() if n > 1 and ("no_op_classes" in name or "torch_mlir.dialects" in name)})
"""
    assert _run(compiles).strip() == "{}"
