"""Every program of the corpus is compiled in a mode in which whoever reads an op that was erased gets an exception."""

from __future__ import annotations

import ast
import re
from typing import Any

import corpus_modes
import numpy as np
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from graveyard import ReadAfterErase, graveyard
from sampling import drawn
from sources import trees
from stale_keys import StaleKey, stale_keys

from tierup.dialect.ir.walking import ops_of, unerased, walk
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.frontend.jit import jit

WAYS: dict[str, dict[str, Any]] = {
    "versions": {},
    "bailouts": {"speculate": "bailout"},
    "plans": {"executor": "specializing"},
    "the plan of depth 0": {"bailout_depth": 0},
}


@pytest.mark.parametrize(
    ("program", "way"),
    [pytest.param(program, way, id=f"{way}-{program.name}") for way in WAYS for program in drawn(f"erased {way}", PROGRAMS, 48)],
)
def test_no_pass_reads_an_op_that_was_erased(program: Program, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    steps = corpus_modes.Mode(way, corpus_modes.cut, lambda program: None, {"level": 0, **WAYS[way]})
    with graveyard() as dead:
        corpus_modes.run(program, steps)
    assert not dead.found, "\n".join(dead.found)


@pytest.mark.parametrize("program", drawn("stale keys", PROGRAMS, 36), ids=lambda program: program.name)
def test_no_pass_takes_a_new_value_for_an_erased_one(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    for way, options in WAYS.items():
        with stale_keys() as keys:
            corpus_modes.run(program, corpus_modes.Mode(way, corpus_modes.cut, lambda program: None, {"level": 0, **options}))
        assert not keys.found, f"{way}: " + "\n".join(keys.found)
        assert keys.asked


def test_what_is_known_while_a_graph_is_built_is_not_taken_for_known_of_what_is_made_later() -> None:
    def function(x: Any, p: Any) -> Any:  # bodies are built again once the kinds of what loops carry are known; NumPy's functions ask for ranks
        v = p
        for i in range(3):
            v = x[100:i:3]
            w = (v * np.sum(v)).sum(axis=0)
            for j in range(2):
                w = np.median(np.diff(np.cov(x) * j, axis=-1), axis=-1) + np.quantile(w, 0.5, axis=-1) + v.sum()
        return w, v

    x = np.arange(18.0).reshape(3, 6)
    with stale_keys() as keys:
        for _ in range(5):
            for given, wanted in zip(jit(function, optimize=False)(x, False), function(x, False), strict=True):
                np.testing.assert_allclose(given, wanted)
    assert not keys.found, "\n".join(keys.found)
    assert keys.asked


def test_products_in_a_loop_with_a_branch_are_compiled_without_reading_what_was_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(a: Any, b: Any, c: Any, d: Any, k: int) -> Any:
        acc = a * 0
        for i in range(k):
            acc = acc + (a @ b + c @ d + a @ d + b @ c) * i
            if acc.sum() > 10:
                acc = acc - (b @ b + c @ a)
        return acc

    monkeypatch.setenv("TIERUP_CACHE", "0")
    compiled = jit(function)
    ones = np.ones((3, 3), np.float32)
    with graveyard() as dead:
        for _ in range(3):
            np.testing.assert_array_equal(compiled(ones, ones, ones, ones, 2), function(ones, ones, ones, ones, 2))
    assert not dead.found, "\n".join(dead.found)
    assert compiled.stats().hits, compiled.explain()
    assert dead.erased


def test_no_loop_goes_through_a_list_of_ops_that_nobody_keeps_up_to_date() -> None:
    """`for op in list(block.operations)` gives out what was erased meanwhile; `ops_of(block)` does not."""
    found = []
    for name, tree in trees(r"\blist\(.*(\.operations|walk\()"):
        for node in ast.walk(tree):
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and _LISTED.fullmatch(ast.unparse(node.iter)):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node.iter)}")
    assert not found, "\n".join(found)


_LISTED = re.compile(r"(reversed\()?list\((.*\.operations|(\w+\.)?walk\(.*\))\)\)?")


# --- the mode, and what walks promise ------------------------------------------------------------------------------------

TEXT = """func.func @main(%x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %1 = torch.aten.add.int %x, %x : !torch.int, !torch.int -> !torch.int
  %2 = torch.prim.If %true -> (!torch.int) {
    %3 = torch.aten.mul.int %x, %x : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %3 : !torch.int
  } else {
    torch.prim.If.yield %x : !torch.int
  }
  return %x : !torch.int
}"""


def entry() -> tuple[ir.Module, ir.Operation]:
    module = parse_module(TEXT, thread_context())
    return module, module.body.operations[0].operation


def test_the_mode_finds_who_reads_an_erased_op() -> None:
    module, func = entry()
    with graveyard() as dead:
        again, first = list(walk(func))[1], list(walk(func))[1]
        first.erase()
        with pytest.raises(ReadAfterErase, match=r"aten.add.int .* is read after it was erased"):
            _ = again.name
        with pytest.raises(ReadAfterErase, match=r"constant.bool is erased while torch.prim.If uses it"):
            next(walk(func)).erase()
    assert dead.erased == 1
    assert "aten.add" not in str(module)


@pytest.mark.parametrize("found", [walk, lambda func: ops_of(func.regions[0].blocks[0]), lambda func: unerased(list(walk(func)))])
def test_a_walk_leaves_out_what_is_erased_before_its_turn(found: Any) -> None:
    module, func = entry()
    names = []
    with graveyard() as dead:
        for op in found(func):
            names.append(op.name)
            if op.name == "torch.constant.bool":
                list(walk(func))[1].erase()
            elif op.name == "torch.prim.If":
                list(walk(func))[1].erase()  # itself, and with it what is in it
    assert names == ["torch.constant.bool", "torch.prim.If", "func.return"]
    assert not dead.found
    assert module.operation.verify()


def test_the_mode_finds_who_takes_a_new_value_for_an_erased_one() -> None:
    module, func = entry()
    with stale_keys() as keys:
        first = list(walk(func))[1]
        block, first_type = func.regions[0].blocks[0], first.results[0].type
        known, argument, at = {first.results[0]: "the first", func: "the function"}, block.arguments[0], ir.InsertionPoint.at_block_begin(block)
        first.erase()
        assert known[func] == "the function"
        with module.context, ir.Location.unknown(), pytest.raises(StaleKey, match=r"an? OpResult is taken for one that was erased"):
            for _ in range(1000):  # until one lies where the first lay, or another that is gone
                made = ir.Operation.create("torch.aten.add.int", [first_type], [argument, argument], ip=at)
                assert made.results[0] not in known
                known[made.results[0]] = "another"
                made.erase()
    assert len(keys.found) == 1


def test_dicts_and_sets_know_ops_by_where_they_lie() -> None:
    module, func = entry()
    op, again, other = list(walk(func))[1], list(walk(func))[1], func.regions[0].blocks[0].operations[1]
    known = {op}
    with module.context:
        op.attributes["said"] = ir.UnitAttr.get()
        op.operands[0] = op.operands[1]
    assert again in known
    assert other in known
    copied = op.clone(ir.InsertionPoint(op))
    assert copied not in known
    other.operation.erase()
    assert again in known  # reads nothing there


@pytest.mark.parametrize("of", [lambda op: op.regions[0], lambda op: op.location, lambda op: next(iter(op.operands[0].uses))])
def test_what_has_another_wrapper_each_time_is_no_key(of: Any) -> None:
    module, func = entry()
    with pytest.raises(TypeError, match="unhashable"):
        hash(of(list(walk(func))[2]))
    assert module.operation.verify()
