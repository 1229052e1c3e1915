"""tierup-compile: from MLIR to a bundle for the CPU or for GPUs, what it says on the way, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout
from tierup.lowering.cuda.assembling import ptxas
from tierup.runtime.cuda import bundle_file
from tierup.tools.argument_specs import BadSpec, read_specs
from tierup.tools.compile import main

PROGRAM = """\
func.func @soft(%x: !torch.vtensor<[?,128],f32> {tierup.name = "x"}, %k: !torch.float {tierup.name = "k"}) -> !torch.vtensor<[?,128],f32> {
  %a = torch.aten.mul.Scalar %x, %k : !torch.vtensor<[?,128],f32>, !torch.float -> !torch.vtensor<[?,128],f32>
  %r = torch.aten.tanh %a : !torch.vtensor<[?,128],f32> -> !torch.vtensor<[?,128],f32>
  return %r : !torch.vtensor<[?,128],f32>
}
"""
GPU = ["--target", "sm_80"]
LOOSE = PROGRAM.replace("[?,128]", "[?,?]")
OPEN = """\
func.func @mm(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %r = torch.aten.mm %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor
}
"""
SCATTERED = """\
func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.isnan %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],i1>
  %v = torch.aten.masked_scatter %x, %0, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],i1>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %v : !torch.vtensor<[4],f32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "soft.mlir").write_text(PROGRAM)
    return str(tmp_path / "soft.mlir")


def test_the_programs_types_say_what_it_takes(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "b.tierup")
    assert main([program, "--target", "sm_90", "--target", "sm_80", "-o", out]) == 0
    said = capsys.readouterr().err
    assert "soft: version 1 of 1, for (x: f32[s0, 128], k: float)\n  1 kernel for sm_80 in " in said
    assembled = "assembled" if ptxas.find() else "not assembled"
    assert said.endswith(f"wrote {out}: {Path(out).stat().st_size:,} bytes; {assembled}, not run: load it with tierup.load_plan\n")
    [packed] = bundle_file.read(out)
    assert packed.name == "soft" and packed.arguments == ("x", "k")
    assert set(packed.versions[0].cubins) == ({"sm_80", "sm_90"} if ptxas.find() else set())
    assert ".target sm_80" in packed.versions[0].artifact.ptx
    assert main(["--show", out]) == 0
    assert capsys.readouterr().out.startswith("soft(x, k)\n  (x: f32[s0, 128], k: float): 1 kernel, PTX for sm_80 and later")


def test_each_call_is_a_version_in_their_order(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "b.tierup")
    calls = ["--call", "f32[64x128], float=2", "--call", "f32[nx128] strided, float"]
    assert main([program, *GPU, "--no-cubin", "--quiet", *calls, "-o", out]) == 0
    assert capsys.readouterr().err == ""
    [packed] = bundle_file.read(out)
    assert [v.artifact.arguments for v in packed.versions] == [
        (ArgumentSpec(ArgumentKind.ARRAY, "f32", (64, 128)), ArgumentSpec(ArgumentKind.FLOAT, value=2.0)),
        (ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0", 128), Layout.STRIDED), ArgumentSpec(ArgumentKind.FLOAT)),
    ]
    assert not packed.versions[0].cubins


def test_one_argument_after_the_other_is_one_version(program: str, tmp_path: Path) -> None:
    out = str(tmp_path / "b.tierup")
    assert main([program, *GPU, "-q", "--no-cubin", "--argument", "f32[8x128]", "--argument", "float", "-o", out]) == 0
    assert bundle_file.read(out)[0].versions[0].artifact.arguments[0].sizes == (8, 128)


def test_without_ptxas_the_bundle_has_ptx_alone_and_the_tool_says_so(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ptxas, "find", lambda: None)
    assert main([program, *GPU, "-o", str(tmp_path / "b")]) == 0
    assert "no cubin: ptxas is not installed" in capsys.readouterr().err


def _tool(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ptxas that does this."""
    (folder / "ptxas").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ptxas").chmod(0o755)
    monkeypatch.setenv("TIERUP_PTXAS", str(folder / "ptxas"))


def test_a_target_that_ptxas_does_not_know_has_ptx_alone_and_the_tool_says_so(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _tool(tmp_path, "echo \"ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'\" >&2; exit 1", monkeypatch)
    assert main([program, "--target", "sm_70", "-o", str(tmp_path / "b")]) == 0
    said = capsys.readouterr().err
    assert "  no cubin for sm_70, where the driver assembles the PTX when it is loaded: " in said and "TIERUP_PTXAS" in said
    assert "; not assembled, not run: " in said
    assert not bundle_file.read(tmp_path / "b")[0].versions[0].cubins


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "wrote no code: is it NVIDIA's ptxas?"),
        ("echo no such instruction >&2; exit 2", "ptxas refuses the code for sm_80: no such instruction"),
        (None, "/ptxas (TIERUP_PTXAS names it): "),
    ],
    ids=["writes_nothing", "refuses", "is_not_there"],
)
def test_a_ptxas_that_does_not_assemble_is_named(
    script: str | None, said: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is None:
        monkeypatch.setenv("TIERUP_PTXAS", str(tmp_path / "ptxas"))
    else:
        _tool(tmp_path, script, monkeypatch)
    assert main([program, *GPU, "-o", str(tmp_path / "b")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("target", [[], GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (PROGRAM, ["--argument", "f32[8x128]"], "soft takes 2 arguments (x, k), and was given 1"),
        (PROGRAM, ["--argument", "f23[8]", "--argument", "float"], "f23 is no element type; did you mean"),
        (PROGRAM, ["--argument", "f32[8,128]", "--argument", "float"], "cannot read 'f32[8'"),
        (PROGRAM, ["--call", "f32[8x9], float"], "argument x is f32[?x128] by the program's type, not f32[8, 9]"),
        (PROGRAM, ["--call", "f32[nxn], float"], "argument x is f32[?x128] by the program's type, not f32[s0, s0]"),
        (PROGRAM, ["--call", "f64[8x128], float"], "argument x is f32[?x128] by the program's type, not f64[8, 128]"),
        (PROGRAM, ["--call", "f32[8x128], int=2"], "argument k is float by the program's type, not int = 2"),
        (LOOSE.replace("[?,?]", "*"), ["--call", "int, float"], "argument x is f32 of any sizes by the program's type, not int"),
        (OPEN, ["--call", "f32[4x8], f32[4x8]"], "no code can be made of the program"),
        (PROGRAM, ["--call", "f32[99999999999999999999x128], float"], "99999999999999999999 is no size: they are at most"),
        (PROGRAM.replace("torch.float", "torch.int"), ["--call", f"f32[8x128], int={2**63}"], "that is no int"),
        (SCATTERED, [], "aten.masked_scatter"),
        ("func.func @f(", [], "soft.mlir:1:"),
        (LOOSE.replace("!torch.vtensor<[?,?],f32>", "!torch.vtensor"), [], "the type of argument x, tensor, does not say what it is"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_a_line_and_nothing_is_written(
    text: str, arguments: list[str], said: str, target: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "soft.mlir").write_text(text)
    assert main([str(tmp_path / "soft.mlir"), *target, *arguments, "-o", str(tmp_path / "b")]) == 1
    error = capsys.readouterr().err
    assert "tierup-compile: error: " in error and said in error
    assert not (tmp_path / "b").exists()


def test_a_bundle_that_is_none_is_refused_by_show(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--show", program]) == 1
    assert "is no bundle of tierup's" in capsys.readouterr().err
    assert main([program]) == 1 and "give -o FILE" in capsys.readouterr().err


def test_the_program_is_not_written_over(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-o", program]) == 1 and "is the program itself" in capsys.readouterr().err
    assert Path(program).read_text() == PROGRAM
    assert main([program, "-o", str(tmp_path)]) == 1 and "is a folder: name the file" in capsys.readouterr().err


def test_the_help_teaches_by_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    for part in ("f32[nx128]", "--call 'f32[64x64], f32[64x64]'", "tierup.load_plan", "sm_90"):
        assert part in said


def test_arrays_in_fortran_order_are_refused_for_a_gpu(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, *GPU, "-o", str(tmp_path / "p.tierup"), "--call", "f32[64x128] columns, float=2"]) != 0
    assert "none in `columns`" in capsys.readouterr().err


def test_by_default_a_plan_for_this_cpu_is_written(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, x = str(tmp_path / "p.tierup"), np.ones((4, 128), np.float32)
    (tmp_path / "key").write_bytes(b"secret")
    calls = ["--call", "f32[4x128], float=2", "--call", "f32[nx128] columns, float"]
    assert main([program, *calls, "--key", str(tmp_path / "key"), "-o", out]) == 0
    assert "soft: version 1 of 2, for (x: f32[4, 128], k: float = 2.0)\n" in capsys.readouterr().err
    plan = tierup.load_plan(out, key=b"secret", on_miss="error")
    for call, native in (((x, 2.0), True), ((np.asfortranarray(x), 3.0), True), ((x, 3.0), False)):
        if native:
            np.testing.assert_allclose(plan(*call), np.tanh(x * np.float32(call[1])), rtol=1e-6)
        else:
            with pytest.raises(tierup.NotOptimized):
                plan(*call)
    assert plan.stats().hits == 2
    assert main(["--show", out]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("for the CPU that it was made on (x86_64: ")
    assert shown.endswith("soft(x: array of rank 2, k: float)\n  (x: f32[4, 128], k: float = 2.0)\n  (x: f32[s0, 128] columns, k: float)\n")


def test_a_plan_has_the_versions_that_calls_of_a_profile_would_get(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function, x, profile = tierup.load(program), np.ones((4, 128), np.float32), str(tmp_path / "p.json")
    for n in (2, 3, 4):
        function(x[:n], 2.0)
    Path(profile).write_text(function.profile())
    out = str(tmp_path / "p.tierup")
    assert main([program, "--profile", profile, "--target", "x86-64-v2", "-q", "-o", out]) == 0
    assert main(["--show", out]) == 0 and "  (x: f32[s0, 128], k: float)" in capsys.readouterr().out
    tierup.load_plan(out, on_miss="error")(x[:3], 2.0)
    for more, said in (
        (["--call", "f32[4x128], float"], "give a profile, or --argument and --call"),
        (GPU, "a bundle is for one level of CPUs, or for GPUs"),
    ):
        assert main([program, "--profile", profile, "--target", "x86-64-v2", *more, "-o", out]) == 1
        assert said in capsys.readouterr().err
    assert main([program, "--profile", profile, *GPU, "-o", out]) == 1 and "a profile is for CPUs" in capsys.readouterr().err


def test_forms_of_arguments() -> None:
    array, i = ArgumentKind.ARRAY, ArgumentSpec(ArgumentKind.INT, value=3)
    assert read_specs("f32[], i64[nxn], bf16[n x k] strided") == (
        ArgumentSpec(array, "f32", ()), ArgumentSpec(array, "i64", ("s0", "s0")), ArgumentSpec(array, "bf16", ("s0", "s1"), Layout.STRIDED),
    )  # fmt: skip
    assert read_specs("f32[2x3] columns") == (ArgumentSpec(array, "f32", (2, 3), Layout.COLUMNS),)
    assert read_specs("int=3, float=2, float=-inf, bool=true, bool") == (
        i, ArgumentSpec(ArgumentKind.FLOAT, value=2.0), ArgumentSpec(ArgumentKind.FLOAT, value=float("-inf")),
        ArgumentSpec(ArgumentKind.BOOL, value=True), ArgumentSpec(ArgumentKind.BOOL),
    )  # fmt: skip
    for wrong in ("int=2.5", "bool=1", "f32", "f32[4x]", "f32[-1]", "", "str"):
        with pytest.raises(BadSpec):
            read_specs(wrong)
