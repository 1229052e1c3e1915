"""tierup-differentiate: groups made by tierup-create-differentiable-subgraphs get their gradients.

    %0 = "tierup.differentiable"(%x, %y) ({
    ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
      %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      %2 = torch.aten.mul.Tensor %1, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      "tierup.yield"(%2) : (!torch.vtensor) -> ()
    }, {
      "tierup.yield"() : () -> ()
    }) {real_outputs = 1 : i64, ...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor

becomes, where only %x requires a gradient,

    %0 = "tierup.differentiable"(%x, %y) ({
    ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
      %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      %2 = torch.aten.mul.Tensor %1, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      "tierup.yield"(%2, %1) : (!torch.vtensor, !torch.vtensor) -> ()       the result, and what the gradient needs
    }, {
    ^bb0(%g: !torch.vtensor, %h: !torch.vtensor, %b: !torch.vtensor, %1: !torch.vtensor):
      ...
      "tierup.yield"(%5) : (!torch.vtensor) -> ()
    }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0, 1>, captured_inputs = array<i64: 1>, captured_outputs = array<i64: 1>,
        gradient_inputs = array<i64: 0>} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor

Forward then yields the results and behind them what is captured (autodiff/capturing.py says what that is). Backward takes the gradients of
the results, and of the temporaries through which a second derivative comes; then captured operands; then captured forward values. Each of
these gradients may be undefined: an op's gradient is a `tierup.grad_of`, one for each of several results or items of a list, a sum of two
a `tierup.autograd_add`. What requires a gradient is
what follows from arguments, checks and profiles. A group that has its gradient stays. An op without a rule is an error, and so is a list
or tensor that backward reads and somebody writes; with `undo`, the group goes back into the graph, for autograd to differentiate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.requires_grad import RequiresGrad
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import last_of, read_others
from tierup.dialect.ir.walking import Notes, backwards, ops_of
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.passes.autodiff.capturing import Captures, drop_unused
from tierup.dialect.passes.autodiff.differentiable import groups, has_gradient, undo
from tierup.dialect.passes.autodiff.reverse.reverse import Reverse
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class Differentiate(Pass):
    undo: bool = False  # a group with an op that has no rule goes back into the graph

    def run_on_function(self, func: ir.Operation) -> None:
        for group in groups(func, lambda op: not has_gradient(op)):
            made = _Group(func, group)
            try:
                made.differentiate()
            except PassFailure:
                if not self.undo:
                    raise
                made.drop_gradient()
                undo(group)


class _Group:
    def __init__(self, func: ir.Operation, group: ir.Operation) -> None:
        self.func, self.group = func, group
        self.block = group.regions[0].blocks[0]
        self.inputs = list(self.block.arguments)
        states = RequiresGrad(func, profiles=True)
        self.inference = states.inference
        self.last = last_of(self.block)
        self.body = [view.operation for view in self.block.operations][:-1]
        self.outputs = list(self.last.operands)[: len(group.results)]
        self.active = {v: states.may(v) for v in (*self.inputs, *(r for op in self.body for r in op.results))}

    def differentiate(self) -> None:
        seeded = [v for i, v in enumerate(self.outputs) if self.active.get(v, False) and v not in self.outputs[:i]]
        if not seeded:
            return
        marker, seeds, gradients = self._reverse(seeded)
        captured = Captures(self.block, marker).minimal()
        temporaries = [v for v in captured if v not in self.inputs and v not in self.outputs]
        more = [v for v in temporaries if self.active.get(v, False) and torch_types.is_tensor(v.type)]
        if more:  # a second derivative comes in through what is captured, too
            self.drop_gradient()
            seeded = [*seeded, *more]
            marker, seeds, gradients = self._reverse(seeded)
            captured = Captures(self.block, marker).minimal()
            temporaries = [v for v in captured if v not in self.inputs and v not in self.outputs]
        self._refuse_written(captured)
        self._lift(marker, seeds, seeded, gradients, captured, temporaries)

    def _refuse_written(self, captured: Sequence[ir.Value]) -> None:
        """Backward would see what is written, by whoever, to what forward read. Groups that the pipelines make hold values alone."""
        outside = dict(zip([*self.inputs, *self.outputs], [*self.group.operands, *self.group.results], strict=True))
        memory = [outside[v] for v in captured if v in outside and _is_memory(v.type)]
        aliases = AliasAnalysis(self.func) if memory else None
        if aliases is not None and any(map(aliases.has_writers, memory)):
            raise PassFailure(self.group, "has a gradient that reads a tensor or list that is written: run tierup-functionalize first")

    def _reverse(self, seeded: Sequence[ir.Value]) -> tuple[ir.Operation, list[ir.Operation], dict[int, ir.Value]]:
        """The gradient, behind the forward ops: a marker, stand-ins for incoming gradients, and the gradient of each input that has one."""
        e = Emitter(ir.InsertionPoint(self.last), self.group.location, replace(self.inference, values=Notes(self.inference.values)))
        marker = constant(None, e.ip).owner.operation
        seeds = [e.create("torch.prim.Uninitialized", [v.type], []) for v in seeded]
        reverse = Reverse(e, Notes(self.active), {}, undefined=True)
        for value, seed in zip(seeded, seeds, strict=True):
            e.inference.values[seed.results[0]] = e.known(value)
            reverse.give(value, seed.results[0])
        reverse.run(self.body)
        found = [reverse.take(v) for v in self.inputs]
        gradients = {i: g for i, g in enumerate(found) if isinstance(g, ir.Value)}
        ops.yield_(list(gradients.values()), loc=e.location, ip=ir.InsertionPoint(self.last))  # keeps what they need
        drop_unused(self.block, seeds[-1])
        return marker, seeds, gradients

    def drop_gradient(self) -> None:
        """Take the gradient back, and what was captured for it."""
        for view in reversed(list(self.block.operations)[len(self.body) : -1]):
            view.operation.erase()

    def _lift(
        self,
        marker: ir.Operation,
        seeds: Sequence[ir.Operation],
        seeded: Sequence[ir.Value],
        gradients: Mapping[int, ir.Value],
        captured: Sequence[ir.Value],
        temporaries: Sequence[ir.Value],
    ) -> None:
        """Move the gradient into the backward region."""
        yielded = [*self.outputs, *temporaries]
        inputs = [v for v in captured if v in self.inputs]
        outputs = [v for v in captured if v not in self.inputs]
        given = [*seeded, *inputs, *outputs]
        old = self.group.regions[1].blocks[0]
        for each in backwards(old):
            each.erase()
        for value in given:
            old.add_argument(value.type, self.group.location)
        found = [view.operation for view in self.block.operations]
        at = next(i for i, op in enumerate(found) if op == marker)
        for op in found[at + 1 : -1]:
            old.append(op)
        arguments = list(old.arguments)
        for seed, argument in zip(seeds, arguments, strict=False):
            seed.results[0].replace_all_uses_with(argument)
            seed.erase()
        read_others(ops_of(old), dict(zip([*inputs, *outputs], arguments[len(seeds) :], strict=True)))
        marker.erase()
        ops.yield_(yielded, loc=self.last.location, ip=ir.InsertionPoint(self.last))
        self.last.erase()
        numbers = {
            "vjp_outputs": [yielded.index(v) for v in seeded],
            "captured_inputs": [self.inputs.index(v) for v in inputs],
            "captured_outputs": [yielded.index(v) for v in outputs],
            "gradient_inputs": list(gradients),
        }
        for name, indices in numbers.items():
            self.group.attributes[name] = ir.DenseI64ArrayAttr.get(indices)


def _is_memory(type_: ir.Type) -> bool:
    """Whether values of a type can be written: lists, and tensors that are none of values."""
    return str(type_).startswith("!torch.list") or (torch_types.is_tensor(type_) and not torch_types.is_value_tensor(type_))
