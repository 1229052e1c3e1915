"""tierup-opt as a function: exit codes, files, streams. Its outputs are tested with FileCheck, in the .mlir files."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.tools.opt.__main__ import main

PROGRAM = "func.func @f(%x: !torch.vtensor) -> !torch.vtensor {\n  return %x : !torch.vtensor\n}\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_success_is_0_and_the_output_is_a_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--cse"]) == 0
    out, err = capsys.readouterr()
    assert "func.func @f" in out
    assert err == ""
    parse_module(out, thread_context())


def test_any_error_is_1_and_leaves_no_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--tierup-verify-specialized"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{program}:1:1: error: 'func.func' op breaks the contract 'specialized'" in err
    assert "func.func @f(%x: !torch.vtensor) -> !torch.vtensor {\n^" in err


def test_o_writes_the_file_and_nothing_else(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.mlir"
    assert main([str(program), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert "func.func @f" in target.read_text()
    assert main([str(program), "-o", str(tmp_path / "no" / "out.mlir")]) == 1
    assert "cannot open output file" in capsys.readouterr().err


def test_bytecode_is_read(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlirbc"
    with path.open("wb") as file:
        parse_module(PROGRAM).operation.write_bytecode(file)
    assert main([str(path)]) == 0
    assert "func.func @f" in capsys.readouterr().out


def test_bytes_that_are_no_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise"
    path.write_bytes(b"\xff\xfe\x00")
    assert main([str(path)]) == 1
    assert "neither MLIR text in UTF-8 nor MLIR bytecode" in capsys.readouterr().err


def test_stdin_is_named_in_messages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"func.func @f() {\n  oops\n}")))
    assert main([]) == 1
    err = capsys.readouterr().err
    assert err.startswith("<stdin>:2:3: error: custom op 'oops' is unknown")
    assert err.endswith("\n  oops\n  ^\n")


def test_an_empty_input_is_an_empty_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "module {\n}\n"


def test_unregistered_ops_pass_only_when_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "foreign.mlir"
    path.write_text('"foo.bar"() : () -> ()')
    assert main([str(path)]) == 1
    assert "unregistered operation 'foo.bar'" in capsys.readouterr().err
    assert main([str(path), "--allow-unregistered-dialect"]) == 0


def test_debug_info_and_generic_form_are_printed_on_request(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--mlir-print-debuginfo", "--mlir-print-op-generic"]) == 0
    out = capsys.readouterr().out
    assert '"func.func"()' in out
    assert f'loc("{program}":1:1)' in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--verify-each=perhaps"], "option --verify-each is true or false, not 'perhaps'"),
        (["-o"], "option --o needs a value"),
        (["--tierup-pipeline"], "option --tierup-pipeline needs a value"),
    ],
)
def test_malformed_command_lines_are_refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert says in capsys.readouterr().err


def test_bytecode_is_written(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlirbc"
    assert main([str(program), "--emit-bytecode", "-o", str(path)]) == 0
    assert path.read_bytes().startswith(b"ML\xefR")
    assert main([str(path)]) == 0
    assert "func.func @f" in capsys.readouterr().out
