"""refine.specialise: arguments of known value, loops that run once, optionals, wrong types."""

from __future__ import annotations

import pytest

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.inference.refine import specialise
from tierup.dialect.facts.values import Bool, Int, NoneValue, Tensor, Value
from tierup.dialect.language.text import parse_module, verify_module


def specialised(text: str, *arguments: Value, tolerant: bool = False) -> tuple[str, list]:
    module = parse_module(text)
    with module.context:
        ties = specialise(module.body.operations[0].operation, arguments, tolerant=tolerant)
    verify_module(module)
    return str(module), ties


def test_symbols_are_bound_and_ties_returned() -> None:
    text, ties = specialised(
        """func.func @f(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
             %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
             return %0 : !torch.vtensor
           }""",
        Tensor(dtypes.f32, (symbol("s0"), 4)),
        Tensor(dtypes.f64, (symbol("s1"), 1)),
    )
    assert "-> !torch.vtensor<[?,4],f64>" in text
    assert text.count("torch.bind_symbolic_shape") == 2
    assert [(str(t.left), str(t.right)) for t in ties] == [("s0", "s1")]


def test_sizes_that_differ_on_some_path_are_not_one_because_an_arm_needs_them_equal() -> None:
    text, _ = specialised(
        """func.func @f(%y: !torch.vtensor, %begun: !torch.vtensor, %n: !torch.int, %c: !torch.bool, %d: !torch.bool) -> !torch.vtensor {
             %true = torch.constant.bool true
             %0 = torch.prim.Loop %n, %true, init(%begun) {
             ^bb0(%i: !torch.int, %carried: !torch.vtensor):
               %1 = torch.prim.If %c -> (!torch.vtensor) {
                 %2 = torch.prim.If %d -> (!torch.vtensor) {
                   torch.prim.If.yield %y : !torch.vtensor
                 } else {
                   %3 = torch.aten.mul.Tensor %carried, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
                   torch.prim.If.yield %3 : !torch.vtensor
                 }
                 torch.prim.If.yield %2 : !torch.vtensor
               } else {
                 torch.prim.If.yield %carried : !torch.vtensor
               }
               torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
             } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
             return %0 : !torch.vtensor
           }""",
        *(Tensor(dtypes.f32, (size,)) for size in (3, 0)), Int(), Bool(), Bool(),
        tolerant=True,
    )  # fmt: skip
    assert "torch.prim.If %arg3 -> (!torch.vtensor<[?],f32>)" in text  # %carried has no element in the first round, whatever %d's arm needs


def test_a_number_of_known_value_is_a_constant_and_decides_branches() -> None:
    text, _ = specialised(
        """func.func @f(%x: !torch.vtensor, %c: !torch.bool, %n: !torch.int) -> !torch.vtensor {
             %0 = torch.prim.If %c -> (!torch.vtensor) {
               torch.prim.If.yield %x : !torch.vtensor
             } else {
               %1 = torch.aten.mul.Scalar %x, %n : !torch.vtensor, !torch.int -> !torch.vtensor
               torch.prim.If.yield %1 : !torch.vtensor
             }
             return %0 : !torch.vtensor
           }""",
        Tensor(dtypes.f32, (4,)),
        Bool(False),
        Int(7),
    )
    assert "torch.prim.If" not in text
    assert "torch.aten.mul.Scalar %arg0, %int7" in text


def test_a_loop_that_runs_once_keeps_what_is_known_inside_and_after_it() -> None:
    text, _ = specialised(
        """func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
             %true = torch.constant.bool true
             %one = torch.constant.int 1
             %zero = torch.constant.int 0
             %0 = torch.prim.Loop %one, %true, init(%x) {
             ^bb0(%i: !torch.int, %a: !torch.vtensor):
               %t = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
               %l = torch.prim.ListConstruct %t, %x : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
               %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
               torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
             } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
             return %0 : !torch.vtensor
           }""",
        Tensor(dtypes.f32, (3, 2)),
    )
    assert "^bb0(%arg1: !torch.int, %arg2: !torch.vtensor<[?,2],f32>)" in text
    assert "-> !torch.vtensor<[3,2],f32>" in text  # the tanh inside
    assert "return %{} : !torch.vtensor<[6,2],f32>".format(text.split("return %")[1].split(" ")[0]) in text


def test_an_optional_that_is_none_takes_its_branch() -> None:
    text, _ = specialised(
        """func.func @f(%x: !torch.vtensor, %o: !torch.optional<vtensor>) -> !torch.vtensor {
             %none = torch.constant.none
             %c = torch.aten.__is__ %o, %none : !torch.optional<vtensor>, !torch.none -> !torch.bool
             %0 = torch.prim.If %c -> (!torch.vtensor) {
               torch.prim.If.yield %x : !torch.vtensor
             } else {
               %1 = torch.prim.unchecked_cast %o : !torch.optional<vtensor> -> !torch.vtensor
               torch.prim.If.yield %1 : !torch.vtensor
             }
             return %0 : !torch.vtensor
           }""",
        Tensor(dtypes.f32, (4,)),
        NoneValue(),
    )
    assert "torch.prim.If" not in text
    assert "return %arg0 : !torch.vtensor<[4],f32>" in text


def test_an_argument_that_contradicts_its_type_is_refused() -> None:
    with pytest.raises(InferenceError, match="where its type says"):
        specialised("func.func @f(%x: !torch.vtensor<[4],f32>) { return }", Tensor(dtypes.f32, (5,)))


@pytest.mark.parametrize(("trip", "goes_on", "stays"), [(0, True, False), (-2, True, False), (3, False, False), (3, True, True)])
def test_a_loop_that_runs_no_round_is_what_it_begins_with(trip: int, goes_on: bool, stays: bool) -> None:
    text, _ = specialised(
        """func.func @f(%x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor {
             %0 = torch.prim.Loop %n, %c, init(%x) {
             ^bb0(%i: !torch.int, %y: !torch.vtensor):
               %1 = torch.aten.mul.Tensor %y, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
               torch.prim.Loop.condition %c, iter(%1 : !torch.vtensor)
             } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
             return %0 : !torch.vtensor
           }""",
        Tensor(dtypes.f32, (4,)),
        Int(trip),
        Bool(goes_on),
    )
    assert ("torch.prim.Loop" in text) == stays
    assert ("return %arg0 : !torch.vtensor<[4],f32>" in text) != stays
