"""Ops that keep their place among the others like them when groups are formed."""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.core import functions
from tierup.dialect.passes.fusion.nativeness import Nativeness

TEXT = """
func.func @f(%x: !torch.vtensor<[3],f32>, %l: !torch.list<vtensor>, %i: !torch.int) -> !torch.vtensor {
  %one = torch.constant.int 1
  %known = torch.prim.ListConstruct %x, %x : (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>) -> !torch.list<vtensor>
  %a:2 = torch.prim.ListUnpack %known : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %b:2 = torch.prim.ListUnpack %l : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %c = torch.aten.__getitem__.t %l, %i : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %d = torch.aten.add.int %i, %one : !torch.int, !torch.int -> !torch.int
  return %c : !torch.vtensor
}
"""


def test_unpacking_a_list_of_unknown_length_keeps_its_place_as_taking_an_item_does() -> None:
    module = parse_module(TEXT)
    (function,) = functions(module.operation)
    nativeness = Nativeness(infer_function(function))
    ordered = [nativeness.is_ordered(op) for op in walk(function) if op.name.startswith(("torch.prim.ListUnpack", "torch.aten"))]
    assert ordered == [False, True, True, False]
