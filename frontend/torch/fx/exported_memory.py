"""Which tensors of an exported program lie in one memory, and which gradients stop there: PyTorch's functional form of it says neither.

    %d = detach(%y);  mul_(%d, 3);  %z = mul(%y, %x)      ->      %z = mul(mul(detach(%y), 3), %x)         `y` has no gradient
    %n = wrap_with_set_grad_enabled(False, block, %y)     ->      the block's ops, which have gradients
    add_(%x, 1);  return %x                               ->      %s = add(%x, 1);  return %s              and `x` gets a copy

So the program is read before it is made functional. What a no_grad block is given is detached first, as what it gives has no gradient.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule, Node

from tierup.dialect.optable.kernels.by_torch import MAY_HAND_ON
from tierup.frontend.torch.fx.nodes import attribute, place_of

_aten = torch.ops.aten
_MAY_BE_OPERAND = MAY_HAND_ON | {"aten.contiguous", "aten.to", "aten.type_as"}
_BY_STRIDES = {"aten.reshape", "aten.reshape_as", "aten.flatten", "aten.ravel", "aten.contiguous"}  # views or copies
_SET_GRAD, _AUTOCAST = "wrap_with_set_grad_enabled", "wrap_with_autocast"


@dataclass(eq=False)
class _Seen:
    """A tensor with all views of it that autograd sees to be such. `of`: what it was detached from, in whose memory it lies; `inputs`: the
    placeholders whose gradients it may have."""

    inputs: set[Node] = field(default_factory=set)
    of: _Seen | None = None
    is_written: bool = False
    touched: set[str] = field(default_factory=set)  # of an owner: "written", and "perhaps copied" by an op that strides tell what to do

    def owner(self) -> _Seen:
        return self if self.of is None else self.of.owner()

    def behind(self) -> set[Node]:
        """The inputs whose gradients stop where this was detached."""
        return set() if self.of is None else self.of.inputs | self.of.behind()


class Memory:
    """`lost`: for inputs, why PyTorch is to make the gradients where they require one; `owners`: of each of the user's results that lies in
    the memory of an input, that input, else None.
    `joined`: inputs that get gradients with what is written to them; batch norm writes its statistics without. `by_strides`: whether what
    is written hangs on strides (`x.reshape(-1)` is a view of a contiguous tensor, a copy of others), which PyTorch's functional form takes
    for those of the example inputs."""

    def __init__(self, program: ExportedProgram) -> None:
        self.lost: dict[Node, str] = {}
        inputs = [n for n in program.graph.nodes if n.op == "placeholder"]
        given = [_Seen({n} if _is_float(n) else set()) for n in inputs]
        self._top = program.graph_module
        self.by_strides = False
        results = self._walk(self._top, given, no_grad=False)
        by_owner = dict(zip(given, inputs, strict=True))
        self.joined = {n for n, tensor in zip(inputs, given, strict=True) if tensor.is_written}
        kinds = [spec.kind for spec in program.graph_signature.output_specs]
        owners = [by_owner.get(r.owner()) if isinstance(r, _Seen) else None for r in results]
        self.owners = [o for o, kind in zip(owners, kinds, strict=True) if kind is OutputKind.USER_OUTPUT]

    def _walk(self, module: GraphModule, given: Sequence[Any], no_grad: bool) -> list[Any]:
        seen: dict[Node, Any] = dict(zip((n for n in module.graph.nodes if n.op == "placeholder"), given, strict=True))
        for node in module.graph.nodes:
            if node.op == "output":
                return [seen.get(n) if isinstance(n, Node) else None for n in torch.utils._pytree.tree_leaves(node.args[0])]
            if node.op == "get_attr":
                seen[node] = _Seen()
            elif node.target is operator.getitem:
                items = seen[node.args[0]]
                seen[node] = items[node.args[1]] if isinstance(items, list) else items
            elif isinstance(node.target, torch._ops.OpOverload):
                seen[node] = self._op(node, seen, no_grad)
            elif isinstance(node.target, torch._ops.HigherOrderOperator):
                seen[node] = self._block(node, module, seen, no_grad)
        raise AssertionError("a graph of torch.fx ends in its output")

    def _op(self, node: Node, seen: dict[Node, Any], no_grad: bool) -> _Seen:
        schema = node.target._schema
        operands = dict(zip([a.name for a in schema.arguments], node.args, strict=False)) | dict(node.kwargs)
        inputs = self._inputs(node.all_input_nodes, seen)
        handed_on: _Seen | None = None
        for argument in schema.arguments:
            operand = operands.get(argument.name)
            tensor = seen.get(operand) if isinstance(operand, Node) else None
            if argument.alias_info is None or not isinstance(tensor, _Seen):
                continue
            handed_on = handed_on or tensor
            if argument.alias_info.is_write:
                others = [n for n in node.all_input_nodes if n is not operand]
                self._write(node, tensor, self._inputs(others, seen))
                self._touch(tensor, "written")
        may_be_operand = _name(node) in _MAY_BE_OPERAND
        if may_be_operand:
            handed_on = seen.get(node.args[0])
        elif not any(r.alias_info for r in schema.returns):
            handed_on = None
        if handed_on is not None and _name(node) in _BY_STRIDES:
            self._touch(handed_on, "perhaps copied")
        if node.target in (_aten.detach.default, _aten.detach_.default):
            if node.target is _aten.detach_.default and handed_on is not None:
                self._lose(node, handed_on.inputs, "detaches in place")
            return _Seen(of=handed_on)
        if handed_on is None:
            return _Seen(inputs if _is_float(node) else set())
        if no_grad and may_be_operand:
            self._lose(node, handed_on.behind(), "may give its operand in a no_grad block")
        return handed_on

    def _touch(self, tensor: _Seen, how: str) -> None:
        touched = tensor.owner().touched
        touched.add(how)
        self.by_strides |= len(touched) == 2

    def _write(self, node: Node, tensor: _Seen, others: set[Node]) -> None:
        if tensor.of is None:
            tensor.inputs |= others
            tensor.is_written = True
        else:
            self._lose(node, tensor.behind() | tensor.inputs | others, "writes where a gradient stops (detach, no_grad)")

    def _block(self, node: Node, module: GraphModule, seen: dict[Node, Any], no_grad: bool) -> list[Any]:
        nodes = [n for n in node.all_input_nodes if not isinstance(_module_of(n, module), GraphModule)]
        blocks = [m for n in node.all_input_nodes if isinstance(m := _module_of(n, module), GraphModule)]
        name = str(node.target)
        if name not in (_SET_GRAD, _AUTOCAST):
            inputs = self._inputs(nodes, seen)
            for block in blocks:
                self._walk(block, [_Seen(set(inputs)) for n in block.graph.nodes if n.op == "placeholder"], no_grad)
            return [_Seen(set(inputs)) for _ in node.meta["val"]]
        first = node.args.index(next(n for n in node.args if isinstance(_module_of(n, module), GraphModule))) + 1
        given = [seen.get(n) if isinstance(n, Node) else None for n in node.args[first:]]
        stops = name == _SET_GRAD and not node.args[0]
        if stops:
            given = [_Seen(of=t) if isinstance(t, _Seen) else t for t in given]
            if module is not self._top and not no_grad:  # `without_gradients_in_blocks` does not get there
                self._lose(node, self._inputs(nodes, seen), "is in another block")
        return self._walk(blocks[0], given, no_grad or stops)

    def _inputs(self, nodes: Sequence[Node], seen: dict[Node, Any]) -> set[Node]:
        found: set[Node] = set()
        for node in nodes:
            tensors = seen.get(node)
            for tensor in tensors if isinstance(tensors, list) else [tensors]:
                found |= tensor.inputs if isinstance(tensor, _Seen) else set()
        return found

    def _lose(self, node: Node, inputs: set[Node], what: str) -> None:
        place = place_of(node)
        for each in inputs:
            self.lost.setdefault(each, f"{node.target} {what}" + (f" ({place[0]}:{place[1]})" if place else ""))


def without_gradients_in_blocks(program: ExportedProgram) -> ExportedProgram:
    """The program in which a no_grad block is given what was detached; itself where there is none."""
    if not any(_is_no_grad(n) for n in program.graph.nodes):
        return program
    graph = copy.deepcopy(program.graph)
    for node in [n for n in graph.nodes if _is_no_grad(n)]:
        for given in [n for n in node.args[2:] if isinstance(n, Node) and isinstance(n.meta.get("val"), torch.Tensor)]:
            with graph.inserting_before(node):
                detached = graph.call_function(_aten.detach.default, (given,))
            detached.meta = dict(given.meta)
            node.args = tuple([detached if n is given else n for n in node.args])
    return ExportedProgram(
        GraphModule(program.graph_module, graph),
        graph,
        program.graph_signature,
        program.state_dict,
        program.range_constraints,
        program.module_call_graph,
        program.example_inputs,
        program.constants,
        verifiers=program.verifiers,
    )


def _is_no_grad(node: Node) -> bool:
    return str(node.target) == _SET_GRAD and not node.args[0]


def _name(node: Node) -> str:
    """An OpOverload's name in the op table."""
    return str(node.target._schema.name).replace("::", ".")


def _module_of(node: Any, module: GraphModule) -> Any:
    return attribute(module, str(node.target)) if isinstance(node, Node) and node.op == "get_attr" else None


def _is_float(node: Node) -> bool:
    found = node.meta.get("val")
    return any(isinstance(t, torch.Tensor) and t.dtype.is_floating_point for t in (found if isinstance(found, (list, tuple)) else [found]))
