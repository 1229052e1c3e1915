"""TIERUP_DUMP_DIR: every compile leaves its stages, and one that fails a reproducer; the program runs on whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.lowering.compiling import compile as lowering
from tierup.lowering.transforms.fuse_pointwise import FusePointwise
from tierup.runtime.code import dump
from tierup.tools.opt import __main__ as opt

STAGES = ["pristine", "values", "specialized", "torch", "linalg", "buffers", "loops", "llvm", "optimized", "asm"]


def doubled(x):
    return np.tanh(x) * 2.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(dump.VARIABLE, str(tmp_path / "dump"))
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "dump"


def call(function, times: int = 2):
    f, x = tierup.jit(function), np.linspace(-1, 1, 12).reshape(3, 4)
    for _ in range(times):
        np.testing.assert_allclose(f(x), function(x), rtol=1e-13)
    return f


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def said(path: Path) -> dict:
    return json.loads((path / "request.json").read_text())


def test_a_compile_leaves_each_stage_and_what_it_was_asked_for(folder: Path) -> None:
    f = call(doubled)
    (made,) = folder.iterdir()
    assert made.name == "000-doubled-x_f64_3_4"
    suffixes = {"llvm": "ll", "optimized": "ll", "asm": "s"}
    assert names(made) == [*(f"{i:02}-{s}.{suffixes.get(s, 'mlir')}" for i, s in enumerate(STAGES)), "kernel.o", "request.json"]
    text = {name: (made / name).read_text() for name in names(made) if name != "kernel.o"}
    assert text["00-pristine.mlir"] == f.graph and "linalg.generic" in text["04-linalg.mlir"] and "define" in text["07-llvm.ll"]
    assert "kernel:" in text["09-asm.s"]
    for stage in STAGES[1:]:
        assert text[f"{STAGES.index(stage):02}-{stage}.{suffixes.get(stage, 'mlir')}"] == f.plan(stage), stage
    assert (made / "kernel.o").read_bytes() == f.versions[0].compiled.artifact.object
    request = said(made)
    assert request["outcome"] == "compiled" and request["function"] == "doubled" and request["place"].startswith(__file__)
    assert request["request"]["arguments"] == [{"kind": "array", "dtype": "f64", "sizes": [3, 4], "layout": "contiguous"}]
    assert request["options"]["level"] == 2 and "tierup-fuse-pointwise" in request["pipelines"]["lower-tensors"]
    assert set(request["timings_ms"]) >= {"torch", "optimise+emit"} and request["total_ms"] >= sum(request["timings_ms"].values())


def test_code_from_disk_says_so_and_runs_no_stage(folder: Path) -> None:
    call(doubled)
    assert call(doubled).versions[0].compiled.from_disk
    second = sorted(folder.iterdir())[1]
    assert names(second) == ["00-pristine.mlir", "01-specialized.mlir", "kernel.o", "request.json"]
    assert said(second)["outcome"].startswith("from disk") and said(second)["object_bytes"] > 0


def test_a_split_program_leaves_its_cut_and_its_regions(folder: Path) -> None:
    def ranks(x):
        return np.exp(np.argpartition(np.tanh(x) * 2, -1, axis=1)) - 1

    call(ranks, 4)
    whole, cut, *regions = sorted(folder.iterdir())
    assert said(whole)["outcome"] == "failed" and "has no native code" in said(whole)["error"]
    assert names(cut) == ["00-profiled.mlir", "01-guarded.mlir", "02-split.mlir", "request.json"]
    assert [said(region)["outcome"] for region in regions] == ["compiled", "compiled"]


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("out of registers")


@pytest.mark.parametrize("kept", [True, False])
def test_a_failure_in_llvm(kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering.llvm, "emit", broken)
    if kept:
        monkeypatch.setenv(dump.VARIABLE, str(tmp_path / "dump"))
    f = call(doubled, 3)
    assert "out of registers" in f.explain() and not f.versions
    if not kept:
        assert not any(tmp_path.iterdir())
        return
    (made,) = (tmp_path / "dump").iterdir()
    assert "07-llvm.ll" in names(made) and "08-optimized.ll" not in names(made)
    assert said(made)["outcome"] == "failed" and "out of registers" in said(made)["error"]
    assert str(made / "reproducer.mlir") in f.explain()


def test_a_reproducer_replays_the_error_of_the_step_that_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_on_function(self, func) -> None:
        raise ValueError("no such loop")

    monkeypatch.setattr(FusePointwise, "run_on_function", run_on_function)
    f = call(doubled, 3)
    assert "no such loop" in f.explain() and not f.versions
    (made,) = folder.iterdir()
    file = made / "reproducer.mlir"
    assert "04-linalg.mlir" not in names(made) and "tierup-fuse-pointwise" in file.read_text()
    assert opt.main([str(file), "--run-reproducer"]) == 1
    assert "error: pass 'tierup-fuse-pointwise' raised ValueError: no such loop" in capsys.readouterr().err
    monkeypatch.undo()
    assert opt.main([str(file), "--run-reproducer"]) == 0
    assert "linalg.generic" in capsys.readouterr().out


PROGRAM = """
func.func @main(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %none = torch.aten.isnan %0 : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.masked_scatter %0, %none, %0 : !torch.vtensor, !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
"""


def test_a_refused_program_leaves_a_reproducer_too(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.mlir").write_text(PROGRAM)
    f = tierup.load(tmp_path / "p.mlir")
    for _ in range(2):
        np.testing.assert_array_equal(f(np.arange(3.0)), np.tanh(np.arange(3.0)))
    file = sorted(folder.iterdir())[0] / "reproducer.mlir"
    assert opt.main([str(file), "--run-reproducer"]) == 1
    line = PROGRAM[: PROGRAM.index("%1 =")].count("\n") + 1
    assert f"{tmp_path / 'p.mlir'}:{line}:8: error: 'torch.aten.masked_scatter' op has no native code" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(dump.VARIABLE, str(tmp_path / "file" / "below"))
    assert len(call(doubled).versions) == 1
    assert "cannot make a folder" in caplog.text
    assert dump.write("f", "text") == ""


def test_what_is_written_in_a_compile_is_part_of_it(folder: Path) -> None:
    with dump.compiling("outer", "x: f32[2]") as outer:
        assert outer is not None
        path = dump.write("inner", "text")
        with dump.compiling("another") as inner:
            assert inner is outer
    assert [p.name for p in folder.iterdir()] == ["000-outer-x_f32_2"] and Path(path).parent == outer.folder
    assert Path(dump.write("alone", "text")).parent.name == "001-alone"
