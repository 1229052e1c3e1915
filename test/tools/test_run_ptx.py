"""tierup-run --emit=ptx: the kernels of a program, without a device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierup.tools.run.__main__ import main

PROGRAM = """\
func.func @soft(%x: !torch.vtensor<[?,?],f32>) -> !torch.vtensor<[?,?],f32> {
  %r = torch.aten.tanh %x : !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
  return %r : !torch.vtensor<[?,?],f32>
}
"""


def test_ptx_is_printed_for_the_target_with_what_ptxas_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "soft.mlir").write_text(PROGRAM)
    arguments = [str(tmp_path / "soft.mlir"), "--arg", "f32[4,8]", "--repeat", "2"]
    assert main([*arguments, "--emit", "ptx", "--option", "target=sm_90"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("// assembled for sm_90, not run") or said.startswith("// not assembled: ptxas is not installed")
    assert ".target sm_90" in said and ".entry soft_0(" in said


def test_without_a_device_the_run_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from tierup.runtime.cuda.device import devices
    from tierup.runtime.cuda.errors import NoDevice

    def none() -> None:
        raise NoDevice("NVIDIA's Python bindings of the driver are not installed")

    monkeypatch.setattr(devices, "bindings", none)
    devices.forget()
    (tmp_path / "soft.mlir").write_text(PROGRAM)
    assert main([str(tmp_path / "soft.mlir"), "--arg", "f32[4,8]", "--option", "backend=cuda"]) == 1
    assert "NoDevice: NVIDIA's Python bindings" in capsys.readouterr().err
