"""tierup-run of files that torch.jit.save wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tierup.tools.run.__main__ import main  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 2, 3)

    def forward(self, x: torch.Tensor, by: float = 2.0) -> dict[str, torch.Tensor]:
        return {"mean": torch.relu(self.conv(x)).mean(dim=[2, 3]) * by}

    @torch.jit.export
    def total(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).sum()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(Net().eval()), path)
    return path


def test_a_saved_module_runs_and_gets_fast(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    want = torch.jit.load(file)(torch.ones(1, 3, 8, 8), 3.0)["mean"].tolist()[0]
    assert main([file, "--arg=f32[1x3x8x8]=1", "--arg", "by=3.0", "--repeat=3"]) == 0
    captured = capsys.readouterr()
    assert [line.split()[1:-1] for line in captured.err.splitlines()[1:4]] == [["tier", "0"], ["native"], ["native"]]
    got = [float(number) for number in re.findall(r"-?\d+\.\d*(?:e-?\d+)?", captured.out.partition("array")[2])]
    assert got == pytest.approx(want, abs=1e-5)


def test_a_method_of_a_saved_module_and_its_plan(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--entry=total", "--arg=f32[1,3,8,8]", "--repeat=2", "--emit=linalg"]) == 0
    assert "linalg" in capsys.readouterr().out
    assert main([file, "--emit=graph", "--arg=f32[1x3x8x8]"]) == 0
    assert "torch.aten.convolution" in (text := capsys.readouterr().out) or "torch.aten.conv2d" in text


def test_a_module_with_several_signatures_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "lstm.pt")
    torch.jit.save(torch.jit.script(torch.nn.LSTM(3, 4)), path)
    assert main([path, "--arg=f32[2x1x3]"]) == 0
    assert capsys.readouterr().out.startswith("result 0: f32[2,1,4]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arg=f32[1x3x8x8]", "--entry=none"], "has no method 'none'"),
        ([], "missing x"),
        (["--arg=f32[1x4x8x8]"], "RuntimeError: "),
        (["--instrument"], "takes a program in MLIR"),
    ],
)
def test_what_cannot_be_run_is_one_message(file: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("tierup-run: error: ") and message in captured.err


def test_a_file_that_is_no_saved_module_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.pt").write_text("no")
    for name in ("bad.pt", "gone.pth"):
        assert main([str(tmp_path / name)]) == 1
        assert "is not loaded: " in capsys.readouterr().err
