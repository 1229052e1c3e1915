"""Peepholes, list and tensor rewrites change no result, dtype, exception, and nobody's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewrite_harness import after, assert_kept

F32 = np.array([1.5, -0.0, np.nan, np.inf], np.float32)
ALL = "tierup-peephole{refine-list-len=true}"


def unary(body: str, kind: str = "!torch.vtensor<[4],f32>", result: str | None = None) -> str:
    """%r from %x."""
    result = result or kind
    return f"""
func.func @f(%x: {kind}) -> {result} {{
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  {body}
  return %r : {result}
}}
"""


# --- arithmetic that changes nothing ------------------------------------------------------------------------------------------

DTYPES = {
    "f32": F32, "f64": F32.astype(np.float64), "f16": F32.astype(np.float16), "si64": np.array([3, -1, 0, 2**62]),
    "si32": np.array([3, -1, 0, 7], np.int32), "ui8": np.array([3, 255, 0, 1], np.uint8), "i1": np.array([True, False, True, True]),
}  # fmt: skip
NEUTRAL = [("add", "int", "0"), ("add", "float", "0.0"), ("add", "float", "-0.0"), ("sub", "int", "0"), ("sub", "float", "0.0"),
           ("sub", "float", "-0.0"), ("mul", "int", "1"), ("mul", "float", "1.0"), ("div", "int", "1"), ("div", "float", "1.0"),
           ("add", "int", "1"), ("mul", "int", "0")]  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("mark", ["", ' {tierup.promotion = "numpy"}'])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op,kind,value", NEUTRAL)
def test_arithmetic_keeps_value_and_dtype(op: str, kind: str, value: str, dtype: str, mark: str) -> None:
    if kind == "float" and "e" not in value:
        value = f"{float(value):e}"
    alpha = (", %int1", ", !torch.int") if op in ("add", "sub") else ("", "")
    type_ = f"!torch.vtensor<[4],{dtype}>"
    text = unary(
        f"%c = torch.constant.{kind} {value}\n"
        f"  %s = torch.aten.{op}.Scalar %x, %c{alpha[0]}{mark} : {type_}, !torch.{kind}{alpha[1]} -> !torch.vtensor\n"
        "  %r = torch.aten.neg %s : !torch.vtensor -> !torch.vtensor" if dtype != "i1" else
        f"%c = torch.constant.{kind} {value}\n"
        f"  %s = torch.aten.{op}.Scalar %x, %c{alpha[0]}{mark} : {type_}, !torch.{kind}{alpha[1]} -> !torch.vtensor\n"
        "  %r = torch.aten.logical_not %s : !torch.vtensor -> !torch.vtensor",
        type_, "!torch.vtensor",
    )  # fmt: skip
    new = assert_kept(text, ALL, [[DTYPES[dtype]], [DTYPES[dtype][:0]]] if dtype != "ui8" else [[DTYPES[dtype]]])
    is_float = dtype.startswith("f")
    same = {
        ("add", "0"): not is_float, ("add", "-0.0"): is_float, ("sub", "0"): True, ("sub", "0.0"): is_float,
        ("mul", "1"): True, ("mul", "1.0"): is_float, ("div", "1"): is_float, ("div", "1.0"): is_float,
    }  # fmt: skip
    wanted = same.get((op, str(float(value)) if kind == "float" else value), False) and dtype != "i1"
    assert (f"aten.{op}.Scalar" not in new) is wanted


def test_an_alpha_or_a_factor_that_changes_the_value_stays() -> None:
    text = unary("""%c = torch.constant.int 2
  %r0 = torch.aten.add.Scalar %x, %int0, %c : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
  %r = torch.aten.mul.Scalar %r0, %c : !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[4],si64>""", "!torch.vtensor<[4],si64>")
    assert_kept(text, ALL, [[DTYPES["si64"]]])


RETURNED = """
func.func @f(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %int1 = torch.constant.int 1
  %t = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %a = torch.aten.mul.Scalar %SOURCE, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %b = torch.aten.mul.Scalar %SOURCE, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  return %a, %b : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}
"""


@pytest.mark.parametrize("source,left", [("x", 2), ("t", 1)])
def test_results_share_no_memory_that_they_did_not_share(source: str, left: int) -> None:
    new = assert_kept(RETURNED.replace("SOURCE", source), ALL, [[F32]])
    assert new.count("aten.mul.Scalar") == left


def test_a_later_write_keeps_the_copy() -> None:
    text = """
func.func @f(%x: !torch.tensor<[4],f32>) -> (!torch.tensor, !torch.tensor) {
  %int1 = torch.constant.int 1
  %a = torch.aten.mul.Scalar %x, %int1 : !torch.tensor<[4],f32>, !torch.int -> !torch.tensor<[4],f32>
  %b = torch.aten.tanh %a : !torch.tensor<[4],f32> -> !torch.tensor
  %c = torch.aten.add_.Scalar %x, %int1, %int1 : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor
  %d = torch.aten.exp %a : !torch.tensor<[4],f32> -> !torch.tensor
  return %b, %d : !torch.tensor, !torch.tensor
}
"""
    assert "mul.Scalar" in assert_kept(text, ALL, [[F32]])


def test_a_view_that_the_caller_gets_stays_writable_by_nobody_else() -> None:
    expanded = unary("""%int4 = torch.constant.int 4
  %t = torch.aten.tanh %x : !torch.vtensor<[1],f32> -> !torch.vtensor<[1],f32>
  %l = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  %false = torch.constant.bool false
  %e = torch.aten.expand %t, %l, %false : !torch.vtensor<[1],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[4],f32>
  %r = torch.aten.mul.Scalar %e, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
""", "!torch.vtensor<[1],f32>", "!torch.vtensor<[4],f32>")
    assert "mul.Scalar" in assert_kept(expanded, ALL, [[F32[:1]]])


# --- numbers -----------------------------------------------------------------------------------------------------------------

INTS = [0, 1, -1, 5, (1 << 63) - 1, -(1 << 63), (1 << 53) + 1]
FLOATS = [0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf")]


def scalar(body: str, kind: str, result: str) -> str:
    return f"""
func.func @f(%x: !torch.{kind}) -> !torch.{result} {{
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %f1 = torch.constant.float 1.0
  %least = torch.constant.int {-(1 << 63)}
  %large = torch.constant.int {(1 << 63) - 1}
  %none = torch.constant.none
  {body}
  return %r : !torch.{result}
}}
"""


BINARY = [
    ("eq.int", "int", "bool"), ("ne.int", "int", "bool"), ("lt.int", "int", "bool"), ("ge.int", "int", "bool"), ("eq.float", "float", "bool"),
]  # fmt: skip


@pytest.mark.parametrize("op,kind,result", BINARY)
def test_a_number_compared_with_itself(op: str, kind: str, result: str) -> None:
    text = scalar(f"%r = torch.aten.{op} %x, %x : !torch.{kind}, !torch.{kind} -> !torch.{result}", kind, result)
    new = assert_kept(text, ALL, [[v] for v in (INTS if kind == "int" else FLOATS)])
    assert (f"aten.{op}" in new) is (kind == "float")


@pytest.mark.parametrize("mark", ["", ' {tierup.promotion = "numpy"}'])
@pytest.mark.parametrize("op,operands,result", [
    ("mul.int", "%x, %int1", "int"), ("mul.int", "%int1, %x", "int"), ("add.int", "%x, %int0", "int"), ("add.int", "%int0, %x", "int"),
    ("sub.int", "%x, %int0", "int"), ("sub.int", "%int0, %x", "int"), ("floordiv.int", "%x, %int1", "int"), ("floordiv.int", "%int1, %x", "int"),
    ("div.int", "%x, %int1", "float"),
])  # fmt: skip
def test_neutral_numbers(op: str, operands: str, result: str, mark: str) -> None:
    text = scalar(f"%r = torch.aten.{op} {operands}{mark} : !torch.int, !torch.int -> !torch.{result}", "int", result)
    new = assert_kept(text, ALL, [[v] for v in INTS])
    assert (f"aten.{op}" in new) is ((op, operands) in [("sub.int", "%int0, %x"), ("floordiv.int", "%int1, %x")] or op == "div.int")


@pytest.mark.parametrize("mark", ["", ' {tierup.promotion = "numpy"}'])
@pytest.mark.parametrize("first", ["add.int %x, %int1", "add.int %large, %x", "sub.int %x, %least", "sub.int %x, %int1", "sub.int %int1, %x"])
@pytest.mark.parametrize("second", ["add.int %0, %int1", "sub.int %0, %int1", "add.int %0, %large", "sub.int %0, %least"])
def test_constants_added_one_after_another(first: str, second: str, mark: str) -> None:
    body = f"%0 = torch.aten.{first}{mark} : !torch.int, !torch.int -> !torch.int\n"
    body += f"  %r = torch.aten.{second}{mark} : !torch.int, !torch.int -> !torch.int"
    assert_kept(scalar(body, "int", "int"), ALL, [[v] for v in INTS])


def test_promotions_are_not_mixed() -> None:
    body = """%0 = torch.aten.add.int %x, %large : !torch.int, !torch.int -> !torch.int
  %r = torch.aten.sub.int %0, %large {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.int"""
    assert assert_kept(scalar(body, "int", "int"), ALL, [[v] for v in INTS]).count(" torch.aten.") == 2


@pytest.mark.parametrize("arms", ["%true %false", "%false %true", "%true %true", "%x %false"])
def test_branches_between_booleans(arms: str) -> None:
    then, otherwise = arms.split()
    text = f"""
func.func @f(%x: !torch.bool) -> !torch.bool {{
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %r = torch.prim.If %x -> (!torch.bool) {{
    torch.prim.If.yield {then} : !torch.bool
  }} else {{
    torch.prim.If.yield {otherwise} : !torch.bool
  }}
  return %r : !torch.bool
}}
"""
    new = assert_kept(text, ALL, [[True], [False]])
    assert ("prim.If" in new) is (arms in ("%true %true", "%x %false"))


# --- lists -------------------------------------------------------------------------------------------------------------------

LIST = """
func.func @f(%a: !torch.int, %b: !torch.int, %i: !torch.int) -> !torch.{result} {{
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  %none = torch.constant.none
  %c = torch.constant.int {index}
  %d = torch.constant.int {step}
  {body}
  return %r : !torch.{result}
}}
"""


@pytest.mark.parametrize("index", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("write", ["", "%w = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>"])
def test_items_in_range_are_folded_and_others_still_raise(index: int, write: str) -> None:
    body = f"{write}\n  %r = torch.aten.__getitem__.t %l, %c : !torch.list<int>, !torch.int -> !torch.int"
    new = assert_kept(LIST.format(result="int", index=index, step=1, body=body), ALL, [[7, 8, 0]])
    assert ("__getitem__" in new) is (bool(write) or not -2 <= index < 2)


@pytest.mark.parametrize("start,step", [("%c", 1), ("%c", -1), ("%c", 0), ("%c", 2), ("%none", -1), ("%i", 1)])
def test_slices_with_constant_bounds(start: str, step: int) -> None:
    kind = "none" if start == "%none" else "int"
    body = f"%r = torch.aten.slice.t %l, {start}, %none, %d : !torch.list<int>, !torch.{kind}, !torch.none, !torch.int -> !torch.list<int>"
    text = LIST.format(result="list<int>", index=1, step=step, body=body)
    new = assert_kept(text, ALL, [[7, 8, i] for i in (0, 1, -1, 5)])
    assert ("slice.t" in new) is (start == "%i" or step == 0)


def test_sums_and_copies_are_lists_of_their_own() -> None:
    body = """%s = torch.aten.add.t %l, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  %k = torch.aten.list.t %s : !torch.list<int> -> !torch.list<int>
  %w = torch.aten.append.t %k, %i : !torch.list<int>, !torch.int -> !torch.list<int>
  %r = torch.aten.add.t %s, %k : !torch.list<int>, !torch.list<int> -> !torch.list<int>"""
    assert_kept(LIST.format(result="list<int>", index=0, step=1, body=body), ALL, [[7, 8, 9]])


WRITES = {
    "append": "%w{k} = torch.aten.append.t %l, %b : !torch.list<int>, !torch.int -> !torch.list<int>",
    "insert": "torch.aten.insert.t %l, %n{k}, %b : !torch.list<int>, !torch.int, !torch.int",
    "set": "%w{k} = torch.aten._set_item.t %l, %n{k}, %i : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>",
}


@pytest.mark.parametrize("first", WRITES)
@pytest.mark.parametrize("second", WRITES)
@pytest.mark.parametrize("index", [-9, -3, -2, 0, 1, 2, 3, 9])
def test_lists_are_made_as_they_become(first: str, second: str, index: int) -> None:
    body = "\n  ".join(f"%n{k} = torch.constant.int {index}\n  " + WRITES[w].format(k=k) for k, w in enumerate((first, second)))
    body += "\n  %r = torch.aten.list.t %l : !torch.list<int> -> !torch.list<int>"
    new = assert_kept(LIST.format(result="list<int>", index=0, step=1, body=body), "tierup-remove-list-mutation", [[7, 8, 9]])
    if "set" not in (first, second) or -2 <= index < 2:
        assert not any(name in new for name in ("append", "insert", "_set_item"))


def test_an_unknown_index_and_all_writes_after_it_stay() -> None:
    body = """%w0 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  torch.aten.insert.t %l, %i, %b : !torch.list<int>, !torch.int, !torch.int
  %r = torch.aten.append.t %l, %b : !torch.list<int>, !torch.int -> !torch.list<int>"""
    new = assert_kept(LIST.format(result="list<int>", index=0, step=1, body=body), "tierup-remove-list-mutation", [[7, 8, i] for i in (-9, 0, 1, 9)])
    assert new.count("append") == 1 and new.count("insert") == 1


def test_lists_in_lists_keep_who_is_who() -> None:
    text = """
func.func @f(%a: !torch.int) -> (!torch.list<list<int>>, !torch.list<int>) {
  %l = torch.prim.ListConstruct  : () -> !torch.list<int>
  %m = torch.prim.ListConstruct %l : (!torch.list<int>) -> !torch.list<list<int>>
  %k = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %1 = torch.aten.append.t %k, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %2 = torch.aten.append.t %m, %k : !torch.list<list<int>>, !torch.list<int> -> !torch.list<list<int>>
  %3 = torch.aten.append.t %k, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  return %2, %k : !torch.list<list<int>>, !torch.list<int>
}
"""
    assert_kept(text, "tierup-remove-list-mutation", [[4]])
    assert_kept(text, ALL, [[4]])


# --- in-place ops ------------------------------------------------------------------------------------------------------------


def mutation(body: str, kind: str = "!torch.tensor<[4],f32>") -> str:
    return f"""
func.func @f(%x: {kind}, %y: {kind}, %c: !torch.bool) -> !torch.tensor {{
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %f = torch.constant.float 1.5
  {body}
  return %r : !torch.tensor
}}
"""


T, U = "!torch.tensor<[4],f32>", "!torch.tensor"
FRESH = f"%t = torch.aten.mul.Tensor %x, %y : {T}, {T} -> {T}\n  "
INPLACE = {
    "relu_": ("", f"%w = torch.aten.relu_ %t : {T} -> {T}", 0),
    "add_": ("", f"%w = torch.aten.add_.Tensor %t, %y, %int1 : {T}, {T}, !torch.int -> {T}", 0),
    "itself": ("", f"%w = torch.aten.add_.Tensor %t, %t, %int1 : {T}, {T}, !torch.int -> {T}", 0),
    "fill_": ("", f"%w = torch.aten.fill_.Scalar %t, %f : {T}, !torch.float -> {T}", 0),
    "zero_": ("", f"%w = torch.aten.zero_ %t : {T} -> {T}", 0),
    "read before": (f"%z = torch.aten.exp %t : {T} -> {T}\n  ", f"%w = torch.aten.relu_ %t : {T} -> {T}", 0),
    "view before": (f"%z = torch.aten.t %t : {T} -> {T}\n  ", f"%w = torch.aten.relu_ %t : {T} -> {T}", 1),
    "kept before": (f"%k = torch.prim.ListConstruct %t : ({T}) -> !torch.list<tensor>\n  %z = torch.aten.cat %k, %int0 : !torch.list<tensor>, !torch.int -> {T}\n  ",
                    f"%w = torch.aten.relu_ %t : {T} -> {T}", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", INPLACE)
def test_writes_to_fresh_tensors_become_values(case: str) -> None:
    before, write, left = INPLACE[case]
    uses = f"\n  %z2 = torch.aten.add.Tensor %t, %{'z' if before else 't'}, %int1 : {T}, {T}, !torch.int -> {T}"
    body = FRESH + before + write + uses + f"\n  %r = torch.aten.add.Tensor %z2, %w, %int1 : {T}, {T}, !torch.int -> {U}"
    new = assert_kept(mutation(body), "tierup-remove-tensor-mutation", [[F32, F32[::-1].copy(), True]])
    assert sum(name in new for name in ("relu_ ", "add_.", "fill_.", "zero_ ")) == left


@pytest.mark.parametrize("kind,value,stays", [("si64", "%f : !torch.float", True), ("si64", "%int1 : !torch.int", False), ("i1", "%int1 : !torch.int", True)])
@pytest.mark.parametrize("mark", ["", ' {tierup.promotion = "numpy"}'])
def test_a_write_that_the_dtype_refuses_still_raises(kind: str, value: str, stays: bool, mark: str) -> None:
    t = f"!torch.tensor<[4],{kind}>"
    operand, type_ = value.split(" : ")
    body = f"%t = torch.aten.logical_not %x : {t} -> !torch.tensor<[4],i1>\n  " if kind == "i1" else f"%t = torch.aten.neg %x : {t} -> {t}\n  "
    body += f"%r = torch.aten.add_.Scalar %t, {operand}, %int1{mark} : {t}, {type_}, !torch.int -> {U}"
    arguments = [np.array([1, 0, 3, 4]).astype(bool if kind == "i1" else np.int64)] * 2
    new = assert_kept(mutation(body, t), "tierup-remove-tensor-mutation", [[*arguments, True]])
    assert ("add_.Scalar" in new) is stays


def test_a_write_that_does_not_fit_still_raises() -> None:
    body = f"%t = torch.aten.tanh %x : {U} -> {U}\n  %r = torch.aten.add_.Tensor %t, %y, %int1 : {U}, {U}, !torch.int -> {U}"
    assert "add_.Tensor" in assert_kept(mutation(body, U), "tierup-remove-tensor-mutation", [[F32, F32, True], [F32[:1], F32, True]])


def test_a_write_of_an_argument_stays() -> None:
    body = f"%r = torch.aten.relu_ %x : {T} -> {U}"
    assert "relu_ " in assert_kept(mutation(body), "tierup-remove-tensor-mutation", [[F32, F32, True]])


@pytest.mark.parametrize("leak", ["", "fresh but kept", "argument"])
def test_a_write_of_what_a_branch_made(leak: str) -> None:
    kept = f"%k = torch.prim.ListConstruct %1 : ({T}) -> !torch.list<tensor>\n    %2 = torch.aten.cat %k, %int0 : !torch.list<tensor>, !torch.int -> {T}"
    body = f"""%t = torch.prim.If %c -> ({T}) {{
    %1 = torch.aten.exp %x : {T} -> {T}
    {kept if leak == "fresh but kept" else ""}
    torch.prim.If.yield %1 : {T}
  }} else {{
    %1 = torch.aten.tanh %x : {T} -> {T}
    torch.prim.If.yield {"%y" if leak == "argument" else "%1"} : {T}
  }}
  %r = torch.aten.relu_ %t : {T} -> {U}"""
    new = assert_kept(mutation(body), "tierup-remove-tensor-mutation", [[F32, F32, True], [F32, F32, False]])
    assert ("relu_ " in new) is bool(leak)


def test_a_write_in_a_loop_of_what_was_made_outside_stays() -> None:
    body = FRESH + f"""%true = torch.constant.bool true
  %int3 = torch.constant.int 3
  torch.prim.Loop %int3, %true, init() {{
  ^bb0(%i: !torch.int):
    %w = torch.aten.mul_.Tensor %t, %y : {T}, {T} -> {T}
    torch.prim.Loop.condition %true, iter()
  }} : (!torch.int, !torch.bool) -> ()
  %r = torch.tensor_static_info_cast %t : {T} to {U}"""
    assert "mul_.Tensor" in assert_kept(mutation(body), "tierup-remove-tensor-mutation", [[F32, F32, True]])


def test_a_write_in_every_round_goes_on_from_the_last() -> None:
    body = FRESH + f"""%true = torch.constant.bool true
  %int3 = torch.constant.int 3
  %s = torch.prim.Loop %int3, %true, init(%y) {{
  ^bb0(%i: !torch.int, %a: {T}):
    %w = torch.aten.mul_.Tensor %t, %x : {T}, {T} -> {T}
    %b = torch.aten.add.Tensor %a, %w, %int1 : {T}, {T}, !torch.int -> {T}
    torch.prim.Loop.condition %true, iter(%b : {T})
  }} : (!torch.int, !torch.bool, {T}) -> {T}
  %r = torch.tensor_static_info_cast %s : {T} to {U}"""
    assert "mul_.Tensor" in assert_kept(mutation(body), "tierup-remove-tensor-mutation", [[F32, F32, True]])


# --- facts ---------------------------------------------------------------------------------------------------------------------

CONDITIONS = {
    "eq": "%c = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool",
    "ne": "%c = torch.aten.ne.int %int3, %n : !torch.int, !torch.int -> !torch.bool",
    "and": "%p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool\n  %c = torch.aten.__and__.bool %p, %b : !torch.bool, !torch.bool -> !torch.bool",
    "or": "%p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool\n  %c = torch.aten.__or__.bool %p, %b : !torch.bool, !torch.bool -> !torch.bool",
    "not": "%p = torch.aten.eq.int %n, %int3 : !torch.int, !torch.int -> !torch.bool\n  %c = torch.aten.__not__ %p : !torch.bool -> !torch.bool",
}  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_numbers_that_comparisons_decide(condition: str) -> None:
    text = f"""
func.func @f(%n: !torch.int, %m: !torch.int, %b: !torch.bool) -> (!torch.int, !torch.int) {{
  %int3 = torch.constant.int 3
  {CONDITIONS[condition]}
  %0:2 = torch.prim.If %c -> (!torch.int, !torch.int) {{
    %1 = torch.aten.mul.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1, %int3 : !torch.int, !torch.int
  }} else {{
    %1 = torch.aten.sub.int %n, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %1, %n : !torch.int, !torch.int
  }}
  return %0#0, %0#1 : !torch.int, !torch.int
}}
"""
    new = assert_kept(text, "tierup-refine-integer-values", [[n, 5, b] for n in (2, 3, 4) for b in (True, False)])
    assert ("return %2#0, %arg0" in new or "return %1#0, %arg0" in new) is (condition in ("eq", "and"))
    assert ("mul.int %int3" in new) is (condition in ("eq", "and"))
    assert ("sub.int %int3" in new) is (condition in ("ne", "not"))


def test_the_pass_is_what_changes_the_program() -> None:
    assert after(RETURNED.replace("SOURCE", "t"), "tierup-peephole{disable-shape=true}").count("mul.Scalar") == 2


def test_sizes_and_errors_of_sizes() -> None:
    for dim, kept in ((0, False), (1, False), (-2, False), (2, True), (-3, True)):
        body = f"%d = torch.constant.int {dim}\n  %r = torch.aten.size.int %x, %d : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.int"
        new = assert_kept(unary(body, "!torch.vtensor<[2,3],f32>", "!torch.int"), ALL, [[np.zeros((2, 3), np.float32)]])
        assert ("size.int" in new) is kept


CONCATENATED: list[tuple[str, str, int, int, Any]] = [
    ("f32", "f32", 0, 0, False), ("f32", "si64", 0, 0, True), ("f32", "f32", 0, 1, True), ("f32", "f32", 1, -1, False), ("si64", "si64", 0, 0, False),
]  # fmt: skip


@pytest.mark.parametrize("first,second,inner,outer,stays", CONCATENATED)
def test_concatenations_of_concatenations(first: str, second: str, inner: int, outer: int, stays: bool) -> None:
    a, b = f"!torch.vtensor<[2,2],{first}>", f"!torch.vtensor<[2,2],{second}>"
    text = f"""
func.func @f(%a: {a}, %b: {b}, %c: !torch.vtensor<[?,?],f64>) -> !torch.vtensor {{
  %p = torch.constant.int {inner}
  %q = torch.constant.int {outer}
  %l = torch.prim.ListConstruct %a, %b : ({a}, {b}) -> !torch.list<vtensor>
  %0 = torch.aten.cat %l, %p : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,?],f32>
  %m = torch.prim.ListConstruct %0, %c : (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f64>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %m, %q : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}}
"""
    big = np.array([[2**62 + 1, 1], [2, 3]])
    arrays = [big.astype({"f32": np.float32, "si64": np.int64}[d]) for d in (first, second)]
    if first == "si64":
        text = text.replace("[?,?],f32", "[?,?],si64")
    shape = (4, 2) if inner == 0 and outer == 1 else (2, 2)
    new = assert_kept(text, ALL, [[*arrays, np.ones(shape)]])
    assert (new.count("aten.cat") == 2) is stays
