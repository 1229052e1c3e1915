"""Two parts of a dim with the same bounds have one size, whoever knows the bounds; parts with other bounds, or in other calls, do not."""

import pytest

from tierup.dialect.base import dtypes
from tierup.dialect.facts import dims
from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.facts.values import Int, Tensor
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import functions

SLICE = "!torch.vtensor, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor"
PROGRAM = f"""
func.func @part(%x: !torch.vtensor, %i: !torch.int) -> !torch.vtensor {{
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.slice.Tensor %x, %zero, %zero, %i, %one : {SLICE}
  return %0 : !torch.vtensor
}}
func.func @main(%x: !torch.vtensor, %i: !torch.int, %j: !torch.int) -> (!torch.vtensor, !torch.vtensor) {{
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %again = torch.constant.int 1
  FIRST
  SECOND
  return %a, %b : !torch.vtensor, !torch.vtensor
}}
"""
CALL = "func.call @part(%x, {}) : (!torch.vtensor, !torch.int) -> !torch.vtensor"


def sizes(first: str, second: str) -> list[object]:
    module = parse_module(PROGRAM.replace("FIRST", f"%a = {first}").replace("SECOND", f"%b = {second}"))
    found = {str(f.attributes["sym_name"]).strip('"'): f for f in functions(module.operation)}
    inferred = infer_function(found["main"], [Tensor(dtypes.f32, (dims.symbol("s0"),)), Int(), Int()])
    return [value.shape[0] for value in inferred.results]


def part(start: str, end: str, step: str = "%one") -> str:
    return f"torch.aten.slice.Tensor %x, %zero, {start}, {end}, {step} : {SLICE}"


@pytest.mark.parametrize(
    ("first", "second", "are_equal"),
    [
        (part("%i", "%j"), part("%i", "%j", "%again"), True),
        (part("%i", "%j"), part("%j", "%i"), False),
        (part("%zero", "%i"), part("%zero", "%j"), False),
        (CALL.format("%i"), CALL.format("%j"), False),
        (part("%zero", "%i"), CALL.format("%j"), False),
    ],
)
def test_sizes_are_equal_where_bounds_are(first: str, second: str, are_equal: bool) -> None:
    a, b = sizes(first, second)
    assert (a == b) is are_equal
