"""tierup-run: programs and arguments in, results or one clear message out."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tierup.tools.opt import __main__ as opt
from tierup.tools.run.__main__ import main
from tierup.tools.run.arguments import BadArgument, read_arguments, value_of

RANDOM = np.random.default_rng(0)

PROGRAM = """
func.func @main(%x: !torch.vtensor {tierup.name = "x"}, %n: !torch.int {tierup.name = "n"}) -> (!torch.vtensor, !torch.int) {
  %y = torch.aten.add.Tensor %x, %x, %n : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  return %y, %n : !torch.vtensor, !torch.int
}
func.func @row(%x: !torch.vtensor {tierup.name = "x"}, %n: !torch.int {tierup.name = "n"}) -> !torch.vtensor {
  %c0 = torch.constant.int 0
  %y = torch.aten.select.int %x, %c0, %n : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %y : !torch.vtensor
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_results_are_printed_with_their_types(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--entry=main", "--arg=f32[2,2]=iota", "--arg", "2"]) == 0
    assert capsys.readouterr().out == "result 0: f32[2,2]\n[[0. 3.]\n [6. 9.]]\nresult 1: int\n2\n"


def test_program_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(PROGRAM))
    assert main(["-", "--entry", "row", "--arg", "n=1", "--arg", "i64[2,2]=iota"]) == 0
    assert capsys.readouterr().out == "result 0: i64[2]\n[2 3]\n"


def test_source_is_emitted_without_arguments(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--entry=row", "--emit=source"]) == 0
    assert "def row(x, n):" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "message"), [
    (["--entry=main"], "takes 2 arguments (x, n): missing x, n"),
    (["--entry=main", "--arg=1", "--arg=1", "--arg=1"], "takes 2 arguments (x, n): 1 too many"),
    (["--entry=none"], "has no function @none; it has @main, @row"),
    (["--entry=main", "--option=max_version=2", "--arg=1"], "did you mean 'max_versions'"),
    (["--entry=main", "--arg=f32[2]", "--arg=1", "--emit=llvm"], "no compiled version yet that --emit=llvm could show: a first call only records what comes: --repeat 2"),
    (["--entry=main", "--arg=oops", "--arg=1"], "cannot read the argument oops"),
    (["--entry=main", "--arg=q8[2]", "--arg=1"], "q8 is no element type"),
    (["--entry=main", "--arg=gone.npy", "--arg=1"], "gone.npy"),
    (["--entry=main", "--arg=f32[2]", "--arg=1.5"], "TypeError: argument n: expected an int, got float"),
    (["--entry=row", "--arg=f32[2]", "--arg=5"], "IndexError: "),
])  # fmt: skip
def test_what_cannot_be_run_is_one_message_and_exit_code_1(
    file: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("tierup-run: error: ") and message in captured.err
    assert captured.out == ""


def test_repeated_calls_are_listed_with_the_tier_that_answered(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--entry=main", "--arg=f32[2]=iota", "--arg=2", "--repeat=3", "--explain"]) == 0
    captured = capsys.readouterr()
    told = [line for line in captured.err.splitlines() if line.startswith("tierup: ")]
    assert [line.split("; ")[0].split(": ")[-1] for line in told] == ["profiled", "compiled"]
    lines = [line for line in captured.err.splitlines() if line not in told]
    assert captured.err.index(told[1]) < captured.err.index(lines[2]), "as it happens, before the call is over"
    assert [line.split()[1:-1] for line in lines[1:]] == [["tier", "0"], ["native"], ["native"]]
    assert "result 0: f32[2]" in captured.out
    assert "3 calls = 2 hits" in captured.out


def test_a_stage_of_the_compiled_version_is_emitted(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--entry=main", "--arg=f32[2]=iota", "--arg=2", "--repeat=2", "--emit=linalg"]) == 0
    assert "linalg.generic" in capsys.readouterr().out


def test_users_line_is_in_the_message(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([file, "--entry=row", "--arg=f32[2]", "--arg=5"])
    assert "\nat program.mlir:8: %y = torch.aten.select.int %x, %c0, %n" in capsys.readouterr().err


def test_malformed_program_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f( {\n}\n")
    assert main([str(path)]) == 1
    assert "bad.mlir:1:" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "expected"), [
    ("3", 3), ("-2.5", -2.5), ("true", True), ("none", None), ("-inf", -np.inf), ("[1,2,-1]", [1, 2, -1]), ("'mean'", "mean"),
])  # fmt: skip
def test_scalars_and_lists(text: str, expected: object) -> None:
    got = value_of(text, RANDOM)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize(("text", "dtype", "shape", "first"), [
    ("f32[2,3]=1.5", "float32", (2, 3), 1.5), ("f64[]=nan", "float64", (), np.nan), ("bool[2]=true", "bool", (2,), True),
    ("u8[3]=255", "uint8", (3,), 255), ("i64[4]=9007199254740993", "int64", (4,), 9007199254740993), ("bf16[2]=iota", "bfloat16", (2,), 0),
    ("f32[0,2]=1", "float32", (0, 2), None),
])  # fmt: skip
def test_arrays_by_type_shape_and_value(text: str, dtype: str, shape: tuple[int, ...], first: object) -> None:
    got = value_of(text, RANDOM)
    assert isinstance(got, np.ndarray) and got.dtype.name == dtype and got.shape == shape
    if first is not None:
        np.testing.assert_array_equal(got.reshape(-1)[0], first)


def test_random_arrays_come_from_the_seed() -> None:
    a, b, c = (read_arguments(["f32[8]", "i8[8]", "bool[8]"], ["x", "y", "z"], seed) for seed in (1, 1, 2))
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(a[0], c[0])
    assert [v.dtype.name for v in a] == ["float32", "int8", "bool"]  # type: ignore[attr-defined]  # arrays


def test_files_give_arrays_by_position_key_and_name(tmp_path: Path) -> None:
    x, w = np.arange(3.0), np.ones((2, 2), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "all.npz", x=x, w=w, other=x)
    got = read_arguments([f"{tmp_path}/x.npy", f"w={tmp_path}/all.npz:other"], ["x", "w"], 0)
    np.testing.assert_array_equal(got[0], x)  # type: ignore[arg-type]  # an array
    np.testing.assert_array_equal(got[1], x)  # type: ignore[arg-type]  # an array
    got = read_arguments([f"{tmp_path}/all.npz", "7"], ["x", "n", "w"], 0)
    assert got[1] == 7
    np.testing.assert_array_equal(got[2], w)  # type: ignore[arg-type]  # an array
    with pytest.raises(BadArgument, match="has x, w, other, none of y"):
        read_arguments([f"{tmp_path}/all.npz"], ["y"], 0)


@pytest.mark.parametrize("form", ["f64[4000000000000]", "f32[99999999999999999999]", "empty.npy", "cut.npz", "cut.npz:x", "nothing.npy"])
def test_an_argument_that_cannot_be_read_is_named(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.npy").touch()
    Path("cut.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(BadArgument, match=f"argument {re.escape(form)}"):
        read_arguments([form], ["x"], 0)



def test_an_instrumented_program_records_every_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, instrumented = tmp_path / "a.mlir", tmp_path / "b.mlir"
    source.write_text(PROGRAM)
    arguments = ["--entry=main", "--arg=f32[2,3]", "--arg=2"]
    assert main([str(source), *arguments, "--instrument", "--emit=profiled", "--repeat=3"]) == 0
    recorded = capsys.readouterr().out
    assert recorded.count("profiled = #tierup.profiled<f32[2,3] strides=[3,1]") == 3  # both operands of the sum, and the result
    assert "runs = 3" in recorded
    assert opt.main([str(source), "--tierup-pipeline=instrument", "-o", str(instrumented)]) == 0
    assert main([str(instrumented), *arguments, "--emit=profiled"]) == 0
    assert capsys.readouterr().out.count("profiled = #tierup.profiled<f32[2,3]") == 3
    assert main([str(instrumented), "--entry=main", "--arg=f32[2]=1", "--arg=2", "--instrument"]) == 0
    assert capsys.readouterr().out == "result 0: f32[2]\n[3. 3.]\nresult 1: int\n2\n"
    assert main([str(instrumented), *arguments, "--instrument", "--emit=llvm"]) == 1
    assert "--instrument goes with --emit=profiled" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["i32[2]=1.5", "i8[2]=300", "i8[200]=iota", "bool[2]=2", "i64[1]=nan", "f32[2]=none", "f32[2]=(1,2)"])
def test_an_array_is_not_filled_with_what_its_elements_cannot_be(form: str) -> None:
    with pytest.raises(BadArgument, match="cannot fill an array of"):
        value_of(form, RANDOM)


def test_a_file_that_never_ends_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tierup.dialect.language.text.LARGEST", 1 << 20)
    assert main(["/dev/zero"]) != 0
    assert "more than 1 MiB: '/dev/zero'" in capsys.readouterr().err


def test_a_number_from_an_archive_is_one_where_the_program_wants_one(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "z.npz", x=np.ones(2, np.float32), n=3)
    assert main([file, "--entry=main", f"--arg={tmp_path}/z.npz"]) == 0
    assert capsys.readouterr().out == "result 0: f32[2]\n[4. 4.]\nresult 1: int\n3\n"


def test_a_negative_seed_is_refused_by_name(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([file, "--seed", "-1"])
    assert "argument --seed: expected a whole number from 0, got '-1'" in capsys.readouterr().err


@pytest.mark.parametrize("tool", ["tierup.tools.run", "tierup.tools.opt", "tierup.tools.reduce", "tierup.tools.compile"])
def test_ctrl_c_is_one_line_and_a_signal(tool: str) -> None:
    code = "import importlib, signal, sys; m = importlib.import_module(sys.argv[1])\n" \
        "m.main.__wrapped__  # the program's own\n" \
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is started without\n" \
        "from tierup.tools.interrupts import interruptible\n" \
        "@interruptible('tierup-x')\ndef main(arguments=None): print('so far'); signal.raise_signal(signal.SIGINT)\nmain()"
    name = tool if tool.endswith("compile") else f"{tool}.__main__"
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "so far\n", "tierup-x: interrupted\n")


def test_a_profile_that_one_run_saves_makes_the_first_call_of_the_next_native(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "p.json"
    call = [file, "--entry=main", "--arg=f32[2,3]=iota", "--arg", "2"]
    assert main([*call, "--save-profile", str(kept)]) == 0
    before = capsys.readouterr().out
    assert main([*call, "--use-profile", str(kept), "--explain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(before) and "1 call = 1 hit + 0 misses + 0 profiled" in out
    kept.write_text("{}")
    assert main([*call, "--use-profile", str(kept)]) == 1
    assert "not a profile" in capsys.readouterr().err
    assert main([*call, "--use-profile", str(tmp_path / "none.json")]) == 1
    assert main([*call, "--save-profile", str(tmp_path / "none" / "p.json")]) == 1
