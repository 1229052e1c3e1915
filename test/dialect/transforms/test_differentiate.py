"""The gradients of differentiable groups: what backward gives, of what forward captured, is what the whole function's gradient is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES
from gradient_harness import Case, array, differentiated, program, runner
from gradient_operands import X, Y
from sampling import drawn

from tierup.dialect import optable
from tierup.dialect.analysis.requires_grad import set_argument_states
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.passes.registry import parse
from tierup.dialect.rewriting.folding import read_constant
from tierup.runtime.interpreter.translate import translate

GROUP = "builtin.module(tierup-create-differentiable-subgraphs{threshold=1},tierup-differentiate)"


@dataclass
class Group:
    """The one group that a program becomes: its regions as functions in tier 0, which arguments it takes, its index lists."""

    forward: Any
    backward: Any
    operands: list[int | None]
    constants: list[Any]  # what the others are
    lists: dict[str, list[int]]

    def gradients(self, arrays: list[np.ndarray], vjps: list[np.ndarray | None] | None = None) -> tuple[list[Any], list[Any]]:
        """What forward yields; and what backward makes of gradients of results, those of temporaries not being there if not given."""
        given = [c if i is None else arrays[i] for i, c in zip(self.operands, self.constants, strict=True)]
        yielded = listed(self.forward(*given))
        captured = [given[i] for i in self.lists["captured_inputs"]] + [yielded[i] for i in self.lists["captured_outputs"]]
        vjps = (vjps or []) + [None] * (len(self.lists["vjp_outputs"]) - len(vjps or []))
        there = [v is not None for v in vjps]
        found = listed(self.backward(*[np.zeros(()) if v is None else v for v in vjps], *captured, *there))
        return yielded, found if self.lists["gradient_inputs"] else []


def split(text: str, wanted: list[bool]) -> Group:
    module = parse_module(text)
    func = module.body.operations[0].operation
    with module.context:
        set_argument_states(func, wanted)
    parse(GROUP).run(module)
    (group,) = [op for op in walk(module.operation) if op.name == "tierup.differentiable"]
    made = parse_module("module {}")
    for name, region in zip(("forward", "backward"), group.regions, strict=True):
        old = region.blocks[0]
        with made.context, ir.Location.unknown():
            types = [a.type for a in old.arguments]
            results = [v.type for v in list(old.operations)[-1].operation.operands]
            attributes = {"sym_name": ir.StringAttr.get(name), "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results))}
            new = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(made.body))
            block = new.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
            twin = group.clone(ir.InsertionPoint(block)).operation
            source = twin.regions[0 if name == "forward" else 1].blocks[0]
            for a, b in zip(source.arguments, block.arguments, strict=True):
                a.replace_all_uses_with(b)
            for view in list(source.operations):
                block.append(view.operation)
            last = list(block.operations)[-1].operation
            ir.Operation.create("func.return", operands=list(last.operands), ip=ir.InsertionPoint(block))
            last.erase()
            twin.erase()
            if name == "backward":
                _let_be_undefined(new, block, len(ir.DenseI64ArrayAttr(group.attributes["vjp_outputs"])))
    forward, backward = (translate(made, name).function for name in ("forward", "backward"))
    names = ("vjp_outputs", "captured_inputs", "captured_outputs", "gradient_inputs")
    lists = {name: list(ir.DenseI64ArrayAttr(group.attributes[name])) for name in names}
    operands = [ir.BlockArgument(v).arg_number if isinstance(v.owner, ir.Block) else None for v in group.operands]
    constants = [None if isinstance(v.owner, ir.Block) else read_constant(v.owner.operation) for v in group.operands]
    return Group(forward, backward, operands, constants, lists)


def _let_be_undefined(func: ir.Operation, block: ir.Block, count: int) -> None:
    """For each of the first arguments another behind all: whether it is there."""
    first = block.operations[0]
    for argument in list(block.arguments)[:count]:
        there = block.add_argument(ir.Type.parse("!torch.bool"), ir.Location.unknown())
        branch = ir.Operation.create("torch.prim.If", [argument.type], [there], regions=2, ip=ir.InsertionPoint(first)).operation
        argument.replace_all_uses_with(branch.results[0])
        then, otherwise = (ir.InsertionPoint(region.blocks.append()) for region in branch.regions)
        zero = ops.create("autograd_zero", [], [argument.type], ip=otherwise).results[0]
        for ip, value in ((then, argument), (otherwise, zero)):
            ir.Operation.create("torch.prim.If.yield", operands=[value], ip=ip)
    results = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], results))


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def single(given: Case) -> bool:
    """Whether the case gives one tensor, of memory of its own, of an op that the torch dialect has, so that it may stand in a group."""
    row = optable.lookup(given.op)
    assert row is not None
    registered = thread_context().is_registered_operation(f"torch.{given.op}")
    return registered and given.of is not None and row.aliasing is Aliasing.FRESH and not given.numpy


@pytest.mark.parametrize("given", drawn("groups", list(filter(single, CASES)), 12), ids=str)
def test_a_group_has_the_gradient_of_its_op(given: Case) -> None:
    wanted = [a.dtype.kind == "f" for a in given.arrays]
    check(split(program(given), wanted), given.arrays, program(given), wanted)


def check(group: Group, arrays: list[np.ndarray], text: str, wanted: list[bool]) -> None:
    cotangent = array(*runner(text)(*arrays)[0].shape, seed=8)
    _, gradients = group.gradients(arrays, [cotangent])
    wrt = [k for k in (group.operands[i] for i in group.lists["gradient_inputs"]) if k is not None]
    assert set(wrt) <= {i for i, w in enumerate(wanted) if w}
    for got, want in zip(gradients, runner(differentiated(text, wrt))(*arrays, cotangent) if wrt else [], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert got.dtype == want.dtype
    assert group.gradients(arrays)[1] == [None] * len(gradients)  # nothing comes in, nothing goes out


CHAIN = """
func.func @f(%a0: !torch.vtensor, %a1: !torch.vtensor, %a2: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.mul.Tensor %a0, %a1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.add.Tensor %0, %a2, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %2 = torch.aten.sigmoid %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %2, %a0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %3, %3 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %4 : !torch.vtensor
}
"""


@pytest.mark.parametrize("wanted", [[True, True, True], [True, False, False], [False, True, False]])
def test_a_chain_of_ops_is_one_group_and_captures_little(wanted: list[bool]) -> None:
    arrays = [X, array(3, seed=2), Y]
    group = split(CHAIN, wanted)
    check(group, arrays, CHAIN, wanted)
    yielded, _ = group.gradients(arrays)
    assert sum(isinstance(yielded[i], np.ndarray) for i in group.lists["captured_outputs"]) == 2  # of the others only sizes


PRODUCT = """
func.func @f(%a: !torch.vtensor, %b: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %0, %a : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
"""


def test_a_second_derivative_comes_in_through_what_is_captured() -> None:
    group = split(PRODUCT, [True, True])
    assert group.lists["vjp_outputs"] == [0, 1]
    _, gradients = group.gradients([X, Y], [None, np.ones_like(X)])
    wanted = {0: Y, 1: X}  # those of the first product alone
    for i, gradient in zip(group.lists["gradient_inputs"], gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted[group.operands[i]])


# a tensor is cut, its parts are joined again: lists are made and unpacked inside the group
PARTS = """
func.func @f(%a: !torch.vtensor, %b: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %x = torch.aten.sin %a : !torch.vtensor -> !torch.vtensor
  %l = torch.aten.chunk %x, %two, %zero : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %0:2 = torch.prim.ListUnpack %l : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %1 = torch.aten.mul.Tensor %0#0, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.cos %0#1 : !torch.vtensor -> !torch.vtensor
  %m = torch.prim.ListConstruct %1, %2, %b : (!torch.vtensor, !torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %3 = torch.aten.cat %m, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %3, %2 : !torch.vtensor, !torch.vtensor
}
"""


@pytest.mark.parametrize("there", [(True, True), (True, False), (False, True), (False, False)])
def test_lists_in_a_group_let_each_part_be_undefined(there: tuple[bool, bool]) -> None:
    arrays = [array(4, 3), array(2, 3, seed=2)]
    group = split(PARTS, [True, True])
    seeds = [array(6, 3, seed=3), array(2, 3, seed=4)]
    yielded, _ = group.gradients(arrays)
    places = [next(k for k, s in enumerate(seeds) if s.shape == yielded[i].shape) for i in group.lists["vjp_outputs"][:2]]
    _, gradients = group.gradients(arrays, [seeds[k] if there[k] else None for k in places])
    wanted = runner(differentiated(PARTS, [0, 1], (0, 1)))(*arrays, *(s if t else np.zeros_like(s) for s, t in zip(seeds, there, strict=True)))
    for i, got in zip(group.lists["gradient_inputs"], gradients, strict=True):
        k = group.operands[i]
        assert k is not None
        if not there[0] and (not there[1] or k == 1):
            assert got is None
        else:
            np.testing.assert_allclose(got, wanted[k], rtol=1e-12)
