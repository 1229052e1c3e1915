"""Groups by policy, static groups, sizes in place of tensors, merged groups, strict fusion: results are what they were, on both sides of checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewrite_harness import assert_kept
from spine_harness import Spine

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import PassFailure, parse, pipeline

_T = "!torch.vtensor"


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _function(arguments: str, body: str, results: str, types: str) -> str:
    return f"""
    func.func @f({arguments}) -> ({types}) {{
      %none = torch.constant.none
      %zero = torch.constant.int 0
      %one = torch.constant.int 1
      %two = torch.constant.int 2
      %true = torch.constant.bool true
      {body}
      return {results} : {types}
    }}"""


EDGES = _function(f"%x: {_T}, %y: {_T}", f"""
      %0 = torch.aten.tanh %x : {_T} -> {_T}
      %1 = torch.aten.add.Tensor %0, %y, %two : {_T}, {_T}, !torch.int -> {_T}
      %l = torch.aten.chunk %1, %two, %one : {_T}, !torch.int, !torch.int -> !torch.list<vtensor>
      %2:2 = torch.prim.ListUnpack %l : !torch.list<vtensor> -> {_T}, {_T}
      %3 = torch.aten.sigmoid %2#0 : {_T} -> {_T}
      %4 = torch.aten.mul.Tensor %3, %2#1 : {_T}, {_T} -> {_T}
      %parts = torch.prim.ListConstruct %4, %3, %3 : ({_T}, {_T}, {_T}) -> !torch.list<vtensor>
      %5 = torch.aten.cat %parts, %zero : !torch.list<vtensor>, !torch.int -> {_T}
      %6 = torch.aten.relu %5 : {_T} -> {_T}
      %7 = torch.aten.neg %6 : {_T} -> {_T}
      %8 = torch.aten.sum %7, %none : {_T}, !torch.none -> {_T}""", "%7, %8", f"{_T}, {_T}")  # fmt: skip


@pytest.mark.parametrize("options", ["", "policy=legacy", "policy=legacy min-group-size=1", "symbolic=false"])
def test_policies_keep_results(options: str) -> None:
    s = Spine(EDGES, "f", [[f32(4, 4), f32(4)]], fuse=options)
    grouped = s.stages["tierup-fuse-groups"]
    assert grouped.count('"tierup.fusion_group"') == (3 if "legacy" in options else 1)
    assert all(s.assert_same([f32(4, 4), f32(4)], as_recorded=True))
    for other in ([f32(4, 6), f32(6)], [f32(4, 3), f32(3)], [f32(2, 4).astype(np.float64), f32(4)], [f32(4, 4), f32(3)]):
        assert not all(s.assert_same(other))


def test_static_groups_leave_sizes_that_vary() -> None:
    examples: list[list[Any]] = [[f32(4, 4), f32(4)], [f32(6, 4), f32(4)]]
    assert "tierup.fusion_group" in Spine(EDGES, "f", examples, symbolic=True).final
    s = Spine(EDGES, "f", examples, symbolic=True, fuse="symbolic=false")
    assert "tierup.fusion_group" not in s.final
    s.assert_same([f32(5, 4), f32(4)])


SIZES = _function(f"%x: {_T}, %y: {_T}, %i: {_T}", f"""
      %0 = torch.aten.mul.Tensor %x, %y : {_T}, {_T} -> {_T}
      %1 = torch.aten.index_select %0, %zero, %i : {_T}, !torch.int, {_T} -> {_T}
      %n = torch.aten.size.int %1, %zero : {_T}, !torch.int -> !torch.int
      %2, %3 = torch.aten.sort %x, %zero, %true : {_T}, !torch.int, !torch.bool -> {_T}, {_T}
      %m = torch.aten.numel %1 : {_T} -> !torch.int
      %4 = torch.aten.mul.Scalar %2, %n : {_T}, !torch.int -> {_T}""", "%4, %n, %m", f"{_T}, !torch.int, !torch.int")  # fmt: skip


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_group_gives_the_sizes_of_what_only_they_are_asked_of(symbolic: bool) -> None:
    i, j = np.array([0, 2, 1]), np.array([1, 0])
    s = Spine(SIZES, "f", [[f32(3, 2), f32(2), i], [f32(4, 2), f32(2), j]] if symbolic else [[f32(3, 2), f32(2), i]], symbolic=symbolic)
    group = s.stages["tierup-fuse-groups"].partition('"tierup.fusion_group"')[2]
    assert "-> (!torch.int, !torch.int, !torch.vtensor" in group
    assert all(s.assert_same([f32(3, 2), f32(2), i], as_recorded=True))
    assert all(s.assert_same([f32(3, 2), f32(2), i + 9], as_recorded=True))  # an index out of range raises all the same
    answers = s.assert_same([f32(5, 2), f32(2), i], as_recorded=symbolic)
    assert all(answers) is symbolic
    for other in ([f32(3, 3), f32(2), i], [f32(3, 2).astype(np.float64), f32(2), i], [f32(3), f32(1), i]):
        assert not all(s.assert_same(other))


BEHIND = _function(f"%x: {_T}", f"""
      %0 = torch.aten.tanh %x : {_T} -> {_T}
      %1 = torch.aten.exp %0 : {_T} -> {_T}
      %l = torch.aten.unbind.int %0, %zero : {_T}, !torch.int -> !torch.list<vtensor>
      %s = torch.aten.size.int %1, %zero : {_T}, !torch.int -> !torch.int
      %2, %3 = torch.aten.sort %0, %zero, %true : {_T}, !torch.int, !torch.bool -> {_T}, {_T}""", "%2, %s", f"{_T}, !torch.int")  # fmt: skip


def test_a_size_stays_behind_what_raises_before_it_and_needs_the_group() -> None:
    s = Spine(BEHIND, "f", [[f32(3, 2)]])
    assert all(s.assert_same([f32(3, 2)], as_recorded=True))
    assert isinstance(s.outcome(s.values, [f32()])[0], IndexError)
    assert not all(s.assert_same([f32()]))
    assert '"tierup.fusion_group"' in s.stages["tierup-fuse-groups"]


NUMBER = _function(f"%x: {_T}", f"""
      %0 = torch.aten.tanh %x : {_T} -> {_T}
      %1 = torch.aten.exp %0 : {_T} -> {_T}
      %n = torch.aten.numel %1 : {_T} -> !torch.int
      %2, %3 = torch.aten.sort %1, %zero, %true : {_T}, !torch.int, !torch.bool -> {_T}, {_T}
      %l = torch.prim.ListConstruct %n, %one : (!torch.int, !torch.int) -> !torch.list<int>
      %4 = torch.aten.reshape %2, %l : {_T}, !torch.list<int> -> {_T}
      %5 = torch.aten.relu %4 : {_T} -> {_T}
      %6 = torch.aten.neg %5 : {_T} -> {_T}""", "%1, %6", f"{_T}, {_T}")  # fmt: skip


def test_a_group_knows_no_size_that_a_number_from_outside_gives() -> None:
    s = Spine(NUMBER, "f", [[f32(2)]], fuse="excluded=aten.sort")
    checked = s.stages["tierup-insert-checks"]
    assert checked.count('"tierup.fusion_group"') == 2 and "-> !torch.vtensor<[?,1],f32>" in checked
    assert all(s.assert_same([f32(2)], as_recorded=True))
    assert not any(s.assert_same([f32(3)]))


def _size_of_a_part(x: np.ndarray, y: np.ndarray, i: np.ndarray) -> Any:
    z = np.exp(x[i]) * y
    return np.argpartition(y, -1) * z.shape[0], z.shape[0]


def test_native_groups_give_sizes_and_still_raise() -> None:
    f = tierup.jit(_size_of_a_part)
    i = np.array([0, 2, 1])
    for x in (f32(3), f32(3), f32(3), f32(3), f32(4), f32(4), f32(4)):
        got, want = f(x, f32(3), i), _size_of_a_part(x, f32(3), i)
        assert got[1] == want[1] and type(got[1]) is int
        np.testing.assert_array_equal(got[0], want[0])
    assert "split, 1 native region" in str(f.explain())
    with pytest.raises(IndexError):
        f(f32(3), f32(3), i + 9)


UNROLLED = """
    func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
      %zero = torch.constant.int 0
      %true = torch.constant.bool true
      %0 = "tierup.fusion_group"(%x, %y) ({
      ^bb0(%a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>):
        %one = torch.constant.int 1
        %6 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        %7 = torch.aten.add.Tensor %6, %b, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
        "tierup.yield"(%7) : (!torch.vtensor<[4],f32>) -> ()
      }, {}) : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      %1, %2 = torch.aten.sort %BETWEEN, %zero, %true : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor
      %3 = "tierup.fusion_group"(%0, %SECOND) ({
      ^bb0(%a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>):
        %one = torch.constant.int 1
        %6 = torch.aten.exp %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        %7 = torch.aten.sub.Tensor %6, %b, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
        "tierup.yield"(%7) : (!torch.vtensor<[4],f32>) -> ()
      }, {}) : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      return %1, %3 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
    }"""


@pytest.mark.parametrize(("between", "second", "groups"), [("x", "y", 1), ("0", "y", 1), ("x", "1", 1), ("0", "1", 2)])
def test_merged_groups_keep_results(between: str, second: str, groups: int) -> None:
    text = UNROLLED.replace("%BETWEEN", f"%{between}").replace("%SECOND", f"%{second}")
    new = assert_kept(text, "tierup-fuse-groups", [[f32(4), f32(4) + 1]])
    assert new.count('"tierup.fusion_group"') == groups


def _checked(text: str, examples: list[list[Any]], options: str = "") -> str:
    module = parse_module(Spine(text, "f", examples).final)
    parse(f"tierup-check-strict-fusion{options}").run(module)
    return str(module)


def test_strict_fusion_takes_what_fused_and_names_what_did_not() -> None:
    example = [f32(4, 4), f32(4)]
    final = Spine(EDGES, "f", [example]).final
    assert _checked(EDGES, [example], "{single=true}") == str(parse_module(final))
    sorting = f"%2, %3 = torch.aten.sort %x, %zero, %true : {_T}, !torch.int, !torch.bool -> {_T}, {_T}"
    scattering = f"%3 = torch.aten.isnan %x : {_T} -> {_T}\n      %2 = torch.aten.masked_scatter %x, %3, %x : {_T}, {_T}, {_T} -> {_T}"
    with pytest.raises(PassFailure, match=r"'torch.aten.masked_scatter' op is left out of fusion") as e:
        _checked(SIZES.replace(sorting, scattering), [[f32(3, 2), f32(2), np.array([0, 2, 1])]])
    assert "torch.aten.masked_scatter" in [d.message.split("'")[1] for d in e.value.diagnostics]


CERTAIN_TO_RAISE = """
func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %zero = torch.constant.int 0
  %nine = torch.constant.int 9
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  {raises}
  %3 = torch.aten.mul.Tensor %1, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %4 = torch.aten.sin %3 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %4 : !torch.vtensor<[4],f32>
}
"""
SELECT = "%2 = torch.aten.select.int %1, %zero, %nine : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>"
GETITEM = """%l = torch.prim.ListConstruct %zero, %nine : (!torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.aten.__getitem__.t %l, %nine : !torch.list<int>, !torch.int -> !torch.int"""
LEAVE_WHAT_RAISES = ("no-grad", "no-grad-dynamic", "no-grad-1.7", "no-grad-1.7-bailouts", "diff-graph", "legacy-nondiff", "legacy-specialize")


@pytest.mark.parametrize("raises", [SELECT, GETITEM], ids=["select", "getitem"])
@pytest.mark.parametrize("name", LEAVE_WHAT_RAISES)
def test_an_exception_is_a_result_that_the_ancestors_pipelines_keep(name: str, raises: str) -> None:
    text = CERTAIN_TO_RAISE.replace("{raises}", raises)
    new = assert_kept(text, str(pipeline(name)), [[f32(4), f32(4)]])  # raises before and after, the same
    groups = 1 if raises == GETITEM else 2  # what never raises may move behind the item, which reads none of it
    assert new.count('"tierup.fusion_group"') == (0 if name == "legacy-specialize" else groups)


@pytest.mark.parametrize("raises", [SELECT, GETITEM], ids=["select", "getitem"])
@pytest.mark.parametrize("passes", ["tierup-infer-types", str(pipeline("versioned"))])
def test_who_types_a_program_for_native_code_says_that_it_raises(passes: str, raises: str) -> None:
    with pytest.raises(PassFailure, match="cannot run on operands of these types: .*out of range"):
        parse(passes).run(parse_module(CERTAIN_TO_RAISE.replace("{raises}", raises)))
