"""Programs in MLIR: text and bytecode, the entry, messages."""

from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.frontend.errors import ProgramError
from tierup.frontend.mlir.file import load, load_text
from tierup.runtime.arguments.trees import Leaf, Output, OutputNode

ONE = """func.func @f(%x: !torch.vtensor<[2,?],f32> {tierup.name = "x"}, %n: !torch.int) -> !torch.vtensor<[2,?],f32> {
  %0 = torch.aten.mul.Scalar %x, %n : !torch.vtensor<[2,?],f32>, !torch.int -> !torch.vtensor<[2,?],f32>
  return %0 : !torch.vtensor<[2,?],f32>
}
"""
TWO = ONE + ONE.replace("@f", "@g")


def test_text():
    program = load_text(ONE)
    assert program.entry == "f" and not program.writes
    assert program.leaves == (("x", Leaf("array", 2)), ("arg1", Leaf("int")))
    assert program.output == Output("array")
    assert 'tierup.source = "mlir"' in str(program.module)


def test_file_and_bytecode(tmp_path):
    path = tmp_path / "p.mlir"
    path.write_text(ONE)
    program = load(path)
    assert f'loc("{path}":2:8)' in program.module.operation.get_asm(enable_debug_info=True)
    with (tmp_path / "p.mlirbc").open("wb") as f:
        program.module.operation.write_bytecode(f)
    assert str(load(tmp_path / "p.mlirbc").module) == str(program.module)


def test_several_results_and_mutable_tensors():
    program = load_text(
        "func.func @f(%x: !torch.tensor, %l: !torch.list<int>) -> (!torch.tensor, !torch.list<int>) {\n return %x, %l : !torch.tensor, !torch.list<int>\n}"
    )
    assert program.writes
    assert program.leaves == (("arg0", Leaf("array")), ("arg1", Leaf("other")))
    assert program.output == OutputNode("tuple", (Output("array"), Output("other")))


def test_the_entry():
    assert load_text(TWO, "g").entry == "g"
    assert load_text(TWO, "@g").entry == "g"
    assert load_text(TWO.replace("@g", "@main")).entry == "main"
    assert load_text(TWO.replace("func.func @g", "func.func private @g")).entry == "f"
    with pytest.raises(ProgramError, match="the module has @f, @g: name the entry"):
        load_text(TWO)
    with pytest.raises(ProgramError, match="no function @gg; did you mean 'g'.*it has @f, @g"):
        load_text(TWO, "gg")
    with pytest.raises(ProgramError, match="no public function"):
        load_text("")


def test_messages_name_the_line(tmp_path):
    path = tmp_path / "bad.mlir"
    path.write_text(ONE.replace("mul.Scalar", "foo"))
    with pytest.raises(ProgramError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2:8: error: custom op 'torch.aten.foo' is unknown\n      %0 = torch.aten.foo")
    with pytest.raises(ProgramError, match=r"2:\d+: error: .*must be"):
        load_text(
            ONE.replace("%n : !torch.vtensor<[2,?],f32>, !torch.int ->", "%x : !torch.vtensor<[2,?],f32>, !torch.vtensor<[2,?],f32> ->")
        )
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.mlir")


@pytest.mark.parametrize("code", [
    "func.call @abort() : () -> ()",
    "llvm.call @exit() : () -> ()",
    'llvm.inline_asm "int3", "" : () -> ()',
    "%p = llvm.mlir.zero : !llvm.ptr\n  %q = llvm.load %p : !llvm.ptr -> i8",
])  # fmt: skip
def test_a_file_reaches_no_symbol_and_no_memory_of_the_process(code: str, tmp_path: Path) -> None:
    """Ops of the table are run, and no others: what only LLVM knows is refused before anything runs."""
    path = tmp_path / "m.mlir"
    body = f"func.func @main(%x: !torch.vtensor) -> !torch.vtensor {{\n  {code}\n  return %x : !torch.vtensor\n}}"
    path.write_text(f"func.func private @abort() -> ()\nllvm.func @exit()\n{body}")
    with pytest.raises(Exception, match="no kernel for|has no body"):
        tierup.load(path, entry="main")(np.ones(3))
