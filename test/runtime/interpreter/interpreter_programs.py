"""Programs for the interpreter's tests: MLIR with short type names."""

from __future__ import annotations

from pathlib import Path

from tierup.dialect.language.text import parse_file, parse_module
from tierup.dialect.mlir import ir
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate

ALIASES = """
!t = !torch.vtensor
!m = !torch.tensor
!i = !torch.int
!f = !torch.float
!b = !torch.bool
!s = !torch.str
!n = !torch.none
!li = !torch.list<int>
!lt = !torch.list<vtensor>
!lm = !torch.list<tensor>
"""

CONSTANTS = """
  %none = torch.constant.none
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %m1 = torch.constant.int -1
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %c2 = torch.constant.int 2
  %c3 = torch.constant.int 3
  %forever = torch.constant.int 9223372036854775807
  %half = torch.constant.float 5.000000e-01
"""

FOLDER = Path(__file__).parent / "programs"


def parse(text: str) -> ir.Module:
    return parse_module(ALIASES + text)


def program(text: str, entry: str | None = None, *, record: bool = False) -> Tier0:
    """Tier 0 of a module's text; `!t` is a vtensor, `!m` a tensor, `!i` an int, ..."""
    return translate(parse(text), entry, record=record)


def main(signature: str, body: str, *, record: bool = False) -> Tier0:
    """Tier 0 of one function. `signature`: "(%x: !t) -> !t". The constants above are there."""
    arguments, _, results = signature.partition("->")
    return program(f"func.func @main{arguments} -> ({results.strip().strip('()')}) {{{CONSTANTS}{body}}}", record=record)


def load(name: str) -> Tier0:
    """Tier 0 of programs/<name>.mlir."""
    return translate(parse_file(FOLDER / f"{name}.mlir"))
