"""Alias questions: sharing, writers, replacing and moving."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir


@dataclass
class Program:
    """A function with its values and ops by the names in its locations: `... loc("name")`."""

    module: ir.Module
    aliases: AliasAnalysis
    ops: dict[str, ir.Operation]

    def __getitem__(self, name: str) -> ir.Value:
        arguments = self.module.body.operations[0].operation.regions[0].blocks[0].arguments
        return arguments[int(name[1:])] if name not in self.ops else self.ops[name].results[0]


def program(text: str) -> Program:
    module = parse_module(text)
    func = module.body.operations[0].operation
    ops = {}
    for op in walk(func):
        name = str(op.location).removeprefix('loc("').removesuffix('")')
        ops.setdefault(name, op)
    return Program(module, AliasAnalysis(func), ops)


T = "!torch.tensor"
V = "!torch.vtensor"


def unary(name: str, op: str, operand: str, kind: str = T) -> str:
    return f'%{name} = torch.aten.{op} %{operand} : {kind} -> {kind} loc("{name}")\n'


def test_arguments_overlap_and_new_memory_does_not() -> None:
    p = program(f"""func.func @f(%a: {T}, %b: {T}, %v: {V}) {{
      {unary("x", "tanh", "a")}{unary("t", "t", "a")}{unary("y", "exp", "x")}
      return }}""")
    assert p.aliases.may_alias(p["a0"], p["a1"])
    assert p.aliases.may_alias(p["t"], p["a1"])
    assert not p.aliases.may_alias(p["a0"], p["a2"])  # nobody writes a value tensor
    assert not p.aliases.may_alias(p["x"], p["a0"])
    assert not p.aliases.may_alias(p["x"], p["y"])


def test_what_is_put_into_a_list_is_in_it_under_every_name() -> None:
    p = program(f"""func.func @f(%a: {T}, %c: !torch.bool) {{
      %zero = torch.constant.int 0
      {unary("x", "tanh", "a")}{unary("y", "exp", "a")}
      %l = torch.prim.ListConstruct : () -> !torch.list<tensor> loc("l")
      %m = torch.prim.ListConstruct %y : ({T}) -> !torch.list<tensor> loc("m")
      %n = torch.prim.If %c -> (!torch.list<tensor>) {{
        torch.prim.If.yield %l : !torch.list<tensor>
      }} else {{
        torch.prim.If.yield %m : !torch.list<tensor>
      }} loc("n")
      %p = torch.aten.append.t %n, %x : !torch.list<tensor>, {T} -> !torch.list<tensor> loc("append")
      %i = torch.aten.__getitem__.t %l, %zero : !torch.list<tensor>, !torch.int -> {T} loc("i")
      %j = torch.aten.__getitem__.t %m, %zero : !torch.list<tensor>, !torch.int -> {T} loc("j")
      {unary("z", "zero_", "j")}
      return }}""")
    assert p.aliases.may_alias(p["i"], p["x"]) and p.aliases.may_alias(p["j"], p["y"])
    assert not p.aliases.may_alias(p["i"], p["y"])
    assert p.aliases.may_contain_alias(p["l"], p["m"]) and not p.aliases.may_alias(p["l"], p["m"])
    assert p.aliases.writers(p["l"]) == [p.ops["append"], p.ops["z"]]
    assert p.aliases.writers(p["x"]) == [p.ops["z"]]


def test_an_unknown_op_may_do_anything_to_what_it_reaches() -> None:
    p = program(f"""func.func @f(%a: {T}, %v: {V}) {{
      {unary("x", "tanh", "a")}{unary("y", "exp", "a")}
      %u = torch.operator "mine.op"(%x) : ({T}) -> {T} loc("u")
      return }}""")
    assert p.aliases.may_alias(p["u"], p["a0"]) and p.aliases.may_alias(p["u"], p["x"])
    assert p.aliases.has_writers(p["x"]) and p.aliases.has_writers(p["a0"])
    assert not p.aliases.has_writers(p["y"]) and not p.aliases.has_writers(p["a1"])
    assert p.aliases.has_side_effects(p.ops["u"])


def test_a_call_is_what_its_function_does() -> None:
    p = program(f"""func.func @f(%a: {T}, %v: {V}) {{
      {unary("x", "tanh", "a")}{unary("y", "tanh", "a")}
      %r = func.call @reads(%x) : ({T}) -> {T} loc("r")
      %w = func.call @writes(%y) : ({T}) -> {T} loc("w")
      return }}
    func.func private @reads(%a: {T}) -> {T} {{
      {unary("x", "tanh", "a")}{unary("z", "zero_", "x")}
      return %a : {T} }}
    func.func private @writes(%a: {T}) -> {T} {{
      {unary("z", "zero_", "a")}
      return %z : {T} }}""")
    assert p.aliases.may_alias(p["r"], p["x"])
    assert not p.aliases.has_writers(p["x"]) and not p.aliases.has_side_effects(p.ops["r"])
    assert p.aliases.writers(p["y"]) == [p.ops["w"]]


# --- replacing ----------------------------------------------------------------------------------------------------------


def test_replacing_a_result_by_an_argument_shows_but_a_temporary_may() -> None:
    p = program(f"""func.func @f(%v: {V}) -> ({V}, {V}) {{
      {unary("x", "tanh", "v", V)}{unary("y", "exp", "v", V)}{unary("z", "exp", "y", V)}{unary("t", "t", "v", V)}
      return %x, %z : {V}, {V} }}""")
    assert not p.aliases.is_safe_to_replace(p["x"], p["a0"])
    assert not p.aliases.is_safe_to_replace(p["x"], p["z"])
    assert p.aliases.is_safe_to_replace(p["y"], p["a0"])
    assert p.aliases.is_safe_to_replace(p["y"], p["x"])
    assert p.aliases.is_safe_to_replace(p["x"], p["y"])
    assert not p.aliases.is_safe_to_replace(p["x"], p["t"])  # the argument's memory


def test_written_memory_is_never_replaced() -> None:
    p = program(f"""func.func @f(%a: {T}) {{
      {unary("x", "tanh", "a")}{unary("y", "tanh", "a")}{unary("u", "t", "y")}{unary("z", "zero_", "u")}
      return }}""")
    assert not p.aliases.is_safe_to_replace(p["x"], p["y"])
    assert not p.aliases.is_safe_to_replace(p["y"], p["x"])
    assert p.aliases.is_safe_to_replace(p["x"], p["a0"])


def test_what_took_the_place_of_an_output_is_one() -> None:
    p = program(f"""func.func @f(%v: {V}) -> ({V}, {V}) {{
      {unary("x", "tanh", "v", V)}{unary("y", "tanh", "v", V)}{unary("z", "tanh", "v", V)}{unary("t", "t", "y", V)}
      return %t, %z : {V}, {V} }}""")
    assert not p.aliases.returned(p["x"])
    assert p.aliases.replace(p["y"], p["x"])
    assert p.aliases.returned(p["x"]) and p.aliases.may_alias(p["t"], p["x"])
    assert not p.aliases.replace(p["z"], p["x"])


def test_two_outputs_that_view_one_tensor_stay_two() -> None:
    p = program(f"""func.func @f(%v: {V}) -> ({V}, {V}) {{
      {unary("x", "t", "v", V)}{unary("y", "t", "v", V)}{unary("z", "t", "v", V)}
      return %x, %y : {V}, {V} }}""")
    assert not p.aliases.is_safe_to_replace(p["y"], p["x"])
    assert p.aliases.is_safe_to_replace(p["y"], p["z"])


def test_a_view_of_what_took_the_place_of_an_output_is_the_callers_memory() -> None:
    p = program(f"""func.func @f(%v: {V}) -> ({V}, {V}) {{
      {unary("x", "tanh", "v", V)}{unary("y", "tanh", "v", V)}{unary("view", "t", "x", V)}{unary("w", "exp", "v", V)}
      return %y, %w : {V}, {V} }}""")
    assert p.aliases.is_safe_to_replace(p["w"], p["view"])
    assert p.aliases.replace(p["y"], p["x"])
    assert not p.aliases.is_safe_to_replace(p["w"], p["view"])


def test_rounds_of_a_loop_do_not_share_an_output() -> None:
    p = program(f"""func.func @f(%v: {V}, %n: !torch.int, %l: !torch.list<vtensor>) {{
      %true = torch.constant.bool true
      {unary("x", "tanh", "v", V)}
      torch.prim.Loop %n, %true, init() {{
      ^bb0(%i: !torch.int):
        {unary("y", "tanh", "v", V)}{unary("z", "tanh", "v", V)}
        %p = torch.aten.append.t %l, %y : !torch.list<vtensor>, {V} -> !torch.list<vtensor>
        torch.prim.Loop.condition %true, iter()
      }} : (!torch.int, !torch.bool) -> ()
      return }}""")
    assert not p.aliases.is_safe_to_replace(p["y"], p["x"])
    assert p.aliases.is_safe_to_replace(p["y"], p["z"])
    assert p.aliases.is_safe_to_replace(p["z"], p["x"])


# --- moving -------------------------------------------------------------------------------------------------------------

MOVES = f"""func.func @f(%a: {T}, %c: !torch.bool, %n: !torch.int) {{
      {unary("x", "tanh", "a")}
      {unary("y", "exp", "x")}
      {unary("free", "exp", "a")}
      {unary("w", "zero_", "x")}
      {unary("z", "exp", "x")}
      torch.runtime.assert %c, "no" loc("assert")
      %q = torch.aten.floordiv.int %n, %n : !torch.int, !torch.int -> !torch.int loc("q")
      {unary("p", "exp", "y")}
      torch.runtime.assert %c, "no" loc("second")
      return loc("return") }}"""


@pytest.mark.parametrize(
    ("op", "where", "point", "allowed"),
    [
        ("p", "before", "free", True),
        ("p", "before", "y", False),  # it reads %y
        ("p", "after", "y", True),
        ("z", "after", "w", True),
        ("z", "before", "w", False),  # %w writes what it reads
        ("y", "after", "w", False),
        ("y", "before", "w", True),
        ("x", "after", "free", True),  # with %y
        ("x", "before", "p", True),  # with %y, %w and %z
        ("x", "after", "p", False),
        ("free", "after", "p", True),
        ("free", "before", "return", True),
        ("free", "after", "return", False),
        ("assert", "before", "x", True),
        ("assert", "after", "q", False),  # which error is raised would change
        ("assert", "after", "second", False),
        ("second", "before", "q", False),
        ("q", "before", "p", True),
        ("w", "before", "y", False),  # %y reads what it writes
        ("p", "before", "p", True),
    ],
)
def test_moves(op: str, where: str, point: str, allowed: bool) -> None:
    p = program(MOVES)
    can, move = (getattr(p.aliases, f"{verb}_{where}") for verb in ("can_move", "move"))
    before = str(p.module)
    assert can(p.ops[op], p.ops[point]) is allowed
    assert str(p.module) == before
    assert move(p.ops[op], p.ops[point]) is allowed
    p.module.operation.verify()
    order = list(walk(p.module.body.operations[0].operation))
    places = {name: order.index(found) for name, found in p.ops.items()}
    if not allowed:
        assert str(p.module) == before
    elif op != point:
        assert (places[op] < places[point]) is (where == "before")
        assert places["x"] < places["w"] < places["z"] and places["y"] < places["w"]


def test_what_travels_along_keeps_its_order() -> None:
    p = program(MOVES)
    assert p.aliases.move_before(p.ops["x"], p.ops["p"])
    names = [str(op.location).removeprefix('loc("').removesuffix('")') for op in walk(p.module.body.operations[0].operation)]
    assert names == ["free", "assert", "q", "x", "y", "w", "z", "p", "second", "return"]


def test_what_writes_the_memory_that_the_moving_op_reads_travels_along() -> None:
    p = program(MOVES)
    assert p.aliases.move_before(p.ops["z"], p.ops["free"])
    names = [str(op.location).removeprefix('loc("').removesuffix('")') for op in walk(p.module.body.operations[0].operation)]
    assert names == ["x", "y", "w", "z", "free", "assert", "q", "p", "second", "return"]


def test_two_writes_keep_their_order() -> None:
    p = program(f"""func.func @f(%a: {T}, %u: {V}, %v: {V}) {{
      torch.overwrite.tensor.contents %u overwrites %a : {V}, {T} loc("first")
      torch.overwrite.tensor.contents %v overwrites %a : {V}, {T} loc("second")
      return }}""")
    assert not p.aliases.can_move_before(p.ops["second"], p.ops["first"])


def test_ops_of_two_blocks_cannot_be_ordered() -> None:
    p = program(f"""func.func @f(%a: {T}, %c: !torch.bool) {{
      {unary("x", "tanh", "a")}
      torch.prim.If %c -> () {{
        {unary("y", "tanh", "a")}
        torch.prim.If.yield
      }} else {{
        torch.prim.If.yield
      }}
      return }}""")
    with pytest.raises(ValueError, match="different blocks"):
        p.aliases.can_move_before(p.ops["x"], p.ops["y"])
