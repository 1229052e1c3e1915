"""The option tf32: who asks for it gets code of its own, nobody else does. That the kernels are right: test/lowering/cuda."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tierup
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import request_for
from tierup.tools.compile import main

_ROUNDED = b"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
_PRODUCT = """func.func @f(%x: !torch.vtensor<[20,16],f32>, %y: !torch.vtensor<[16,12],f32>) -> !torch.vtensor<[20,12],f32> {
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[20,16],f32>, !torch.vtensor<[16,12],f32> -> !torch.vtensor<[20,12],f32>
  return %0 : !torch.vtensor<[20,12],f32>
}"""


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x @ y


def test_versions_for_a_device_are_others_and_those_for_the_cpu_the_same() -> None:
    assert Options(backend="cuda").code != Options(backend="cuda", tf32=True).code
    assert Options().code == Options(tf32=True).code
    requests = [request_for("", "f", (), Options(backend=kind, tf32=True)) for kind in ("cpu", "cuda")]
    assert [r.tf32 for r in requests] == [False, True]


def test_the_ptx_that_is_shown_is_the_options() -> None:
    f, x, y = tierup.jit(product), np.ones((20, 16), np.float32), np.ones((16, 12), np.float32)
    f(x, y), f(x, y)
    assert _ROUNDED.decode() not in f.plan("ptx")
    with tierup.options(tf32=True):
        assert _ROUNDED.decode() in f.plan("ptx")


def test_bundles_are_compiled_so_by_a_flag(tmp_path: Path) -> None:
    program, bundle = tmp_path / "f.mlir", tmp_path / "f.tierup"
    program.write_text(_PRODUCT)
    for flags in ([], ["--tf32"]):
        assert main([str(program), "--target", "sm_80", "--no-cubin", "-q", "-o", str(bundle), *flags]) == 0
        assert (_ROUNDED in bundle.read_bytes()) == bool(flags)
