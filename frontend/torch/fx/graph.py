"""From a graph of torch.fx over ATen to the torch dialect: node by node, with the user's lines.

    %add : call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1))     ->     %2 = torch.aten.add.Tensor %x, %int1, %int1 : ...
    %s : call_function[target=torch.ops.aten.sym_size.int](args = (%x, 0))     ->     %3 = torch.aten.size.int %x, %int0 : ...

What comes here is functional (torch.export and AOTAutograd make it so); who writes to an input or a buffer says so with `writes`. A size
that PyTorch hands over beside the tensors (a SymInt) is asked of a tensor that has it: one number less to guard. Tensors that the graph
holds are inputs that are handed over at every call (script/module.py). torch-mlir's own FX importer is not used: it makes typed graphs
with their weights inside, and calls through PyTorch are nothing that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.base.spelling import printable
from tierup.dialect.mlir import ir
from tierup.frontend.graph import GraphResult, finish_function, new_function
from tierup.frontend.torch import by_torch, memory_formats
from tierup.frontend.torch.errors import UnsupportedProgram, refusals_at
from tierup.frontend.torch.fx import control as fx_control
from tierup.frontend.torch.fx import layouts as fx_layouts
from tierup.frontend.torch.fx import scalars as fx_scalars
from tierup.frontend.torch.fx.builder import Builder
from tierup.frontend.torch.fx.nodes import TENSORS, attribute, check, draws_first, for_numbers, leaf_of, place_of
from tierup.frontend.torch.script.nodes.synonyms import canonical
from tierup.frontend.torch.script.types import spelled
from tierup.runtime.arguments.trees import Output, OutputNode, OutputTree
from tierup.runtime.interpreter.structural import HANDLERS as STRUCTURAL

_SCALARS = {"!torch.int": "int", "!torch.float": "float", "!torch.bool": "bool"}

# what PyTorch calls by another name when sizes are symbols, or spells as an op of its own
_RENAMED = {
    "aten.sym_size.int": "aten.size.int",
    "aten.sym_numel": "aten.numel",
    "aten.view": "aten.reshape",  # tensors may lie otherwise here than where the graph was traced
    "aten._unsafe_view": "aten.reshape",
    "aten._embedding_bag_forward_only": "aten._embedding_bag",  # traced where nothing required a gradient: it has none
    "aten._assert_tensor_metadata": "",
    "aten.sym_constrain_range": "",
    "aten.sym_constrain_range_for_size": "",
}


class Written(NamedTuple):
    """An input that the program writes, and the node that it holds afterwards: with its gradient or without."""

    target: Node
    content: Node
    has_gradient: bool


class FxBuilder(Builder):
    """The graph of one program."""

    # --- the entry -----------------------------------------------------------------------------------------------------

    def build(
        self,
        used: Sequence[Node],
        read: Mapping[Node, Callable[[], str]],
        written: Sequence[Written],
        outputs: Sequence[Any],
        shown: Set[int] = frozenset(),
    ) -> GraphResult:
        """The graph. `used`: the placeholders that a call hands over; `read`: those that are hidden inputs, with what names them;
        `written`: what inputs have afterwards; `outputs`: what the user gets, nodes or constants; `shown`: which of
        these are what was written, or views of it. Raises UnsupportedProgram at the user's line."""
        em = self.em
        module = ir.Module.create(em.unknown)
        leaves = tuple((n.name, leaf_of(n)) for n in used)
        types = [self.em.leaf_type(leaf.kind) for _, leaf in leaves]
        func = new_function(module, self.name, types, em.unknown, "fx")
        self._block = func.regions[0].blocks[0]
        with em.function(self._block):
            for node in [*used, *read]:
                check(node)
            for node, value in zip(used, list(self._block.arguments), strict=True):
                self.values[node] = value
            for node, name in read.items():
                self.values[node] = self.hidden_input(name())
            self._note_sizes([*used, *read])
            for node in draws_first(self.module.graph.nodes):
                if node.op != "output" and node not in self.values:
                    self.node(node, self.module)
            results: list[ir.Value] = []
            given = [self.values[n] if isinstance(n, Node) else n for n in outputs]
            for target, content, has_gradient in written:
                value = self.values[content]
                if not has_gradient:
                    value = em.create("torch.aten.detach", [value], [em.types.tensor]).results[0]
                em.create("torch.aten.copy_", [self.values[target], value, em.bool(False)], [em.types.tensor])
            contents = {w.content: self.values[w.target] for w in written}
            given = [self._shown(outputs[k], contents) if k in shown else v for k, v in enumerate(given)]
            output = self._output(given, results)
            em.create("func.return", results, [])
        finish_function(func, results, [*(n for n, _ in leaves), *self._hidden])
        hidden = tuple(self.attributes.input(name) for name in self._hidden)
        return GraphResult(module, self.name, leaves, output, hidden, writes=self.writes)

    def _note_sizes(self, inputs: Sequence[Node]) -> None:
        for node in inputs:
            found = node.meta.get("val")
            if isinstance(found, torch.Tensor):
                for dim, size in enumerate(found.shape):
                    if isinstance(size, torch.SymInt):
                        self._sizes.setdefault(size.node.expr, (node, dim))

    def _shown(self, node: Node, contents: Mapping[Node, ir.Value]) -> Any:
        """A view of what was written: its steps once more, from there."""
        if node in contents:
            return contents[node]
        source: Node = node.args[0]
        before = self.values[source]
        self.values[source] = self._shown(source, contents)
        try:
            return self._value(node, self.module)
        finally:
            self.values[source] = before

    def _output(self, given: Any, results: list[ir.Value]) -> OutputTree:
        if isinstance(given, (list, tuple)):
            return OutputNode("tuple", tuple(self._output(v, results) for v in given))
        if given is None:  # also of a token of an order
            return Output("const")
        value = self.operand(given)
        results.append(value)
        return Output("array" if value.type == self.em.types.tensor else _SCALARS.get(str(value.type), "other"))

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def node(self, node: Node, module: GraphModule) -> None:
        """Translate one node. Raises UnsupportedProgram, at its line."""
        place = place_of(node)
        self.em.location = ir.Location.file(printable(place[0]), place[1], 0, self.em.context) if place else self.em.unknown
        with refusals_at(lambda: place, lambda: f"in the node {node.format_node()}"):
            check(node)
            self.values[node] = self._value(node, module)

    def _value(self, node: Node, module: GraphModule) -> Any:
        if node.op == "placeholder":
            return self._size(node) if node.users and isinstance(node.meta.get("val"), torch.SymInt) else None
        if node.op == "get_attr":
            found = attribute(module, str(node.target))
            return found if isinstance(found, GraphModule) else self.hidden_input(self.attributes.constant(found))
        if node.op != "call_function":
            raise UnsupportedProgram(f"a {node.op} node is not ATen")
        target = node.target
        if isinstance(target, torch._ops.OpOverload):
            return self.op(target, node.args, node.kwargs, node.meta)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return fx_control.emit(self, target, node)
        return fx_scalars.emit(self, target, node)

    def _size(self, node: Node) -> Any:
        """A size that PyTorch hands over, asked of a tensor."""
        found = self._sizes.get(node.meta["val"].node.expr)
        if found is None:
            raise UnsupportedProgram(f"the size {node.name} is no tensor's")
        tensor, dim = found
        return self.em.scalar("aten.size.int", [self.values[tensor], self.em.int(dim)], self.em.types.int)

    def op(self, target: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], meta: Mapping[str, Any]) -> Any:
        """A call of an op of ATen, `meta` as its node has it: a value, None, or the list of its results."""
        target = for_numbers(target, args)
        schema = target._schema
        name = canonical(schema.name.replace("::", ".") + (f".{schema.overload_name}" if schema.overload_name else ""))
        same = fx_layouts.restrided(name, args, kwargs)
        if same is not None:
            return self.op(*same, {}, meta)
        if by_torch.asks_of_memory(name):
            raise UnsupportedProgram(by_torch.refusal(name, schema))
        if name in ("aten._assert_scalar", "aten._assert_async.msg"):
            return self._assert(args)
        if name in ("aten._local_scalar_dense", "aten.item"):
            return fx_scalars.item(self, args[0], meta.get("val"))
        if name == "aten.squeeze.dims":
            return self._squeeze(args)
        if name in _RENAMED:
            name = _RENAMED[name]
            if not name:
                return None
        if not (name in optable.table() or f"torch.{name}" in STRUCTURAL) and not by_torch.known(name, schema, self.foreign):
            raise UnsupportedProgram(by_torch.refusal(name, schema))
        given = self.given(schema.arguments, args, kwargs)
        operands = [self.operand(v, a.type, a.N) for v, a in zip(given, schema.arguments, strict=True)]
        types = [self.type(spelled(r.type)) for r in schema.returns]
        if name not in optable.table():
            types = self._traced(types, meta.get("val"))
        results = [self._plain(r) for r in memory_formats.emitted(self.em, name, operands, types)]
        if len(results) != 1:
            return results
        if schema.returns[0].type.kind() == "ListType":
            return self._items(results[0], schema.returns[0].type, len(meta["val"]))
        bools = any(a.type.kind() == "NumberType" and self._is_bool(v) for v, a in zip(given, schema.arguments, strict=True))
        return self._of_bools(results[0]) if bools and meta["val"].dtype is torch.bool else results[0]

    def _is_bool(self, given: Any) -> bool:
        return given.type == self.em.types.bool if isinstance(given, ir.Value) else isinstance(given, bool)

    def _of_bools(self, value: ir.Value) -> ir.Value:
        """A result of bools: a number that is a bool is an int among the operands, as the dialect's numbers are ints or floats."""
        em = self.em
        operands = [value, em.int(dtypes.bool_.code), em.bool(False), em.bool(False), em.none]
        return em.create("torch.aten.to.dtype", operands, [em.types.tensor]).results[0]

    def _traced(self, types: list[ir.Type], found: Any) -> list[ir.Type]:
        """The types of results that no rule infers, as PyTorch traced them: guards or checks see to it that they are still these."""
        values = [found] if len(types) == 1 else list(found or [])
        return [self._refined(v) if isinstance(v, torch.Tensor) else t for t, v in zip(types, values, strict=True)]

    def _refined(self, found: torch.Tensor) -> ir.Type:
        sizes = ",".join(str(s) if isinstance(s, int) else "?" for s in found.shape)
        return self.type(f"tensor<[{sizes}],{dtypes.BY_CODE[TENSORS[found.dtype]].mlir}>")

    def _plain(self, value: ir.Value) -> ir.Value:
        """A tensor of a refined type as one of any."""
        tensor = self.em.types.tensor
        is_refined = str(value.type).startswith(f"{tensor}<")
        return self.em.create("torch.tensor_static_info_cast", [value], [tensor]).results[0] if is_refined else value

    def _items(self, value: ir.Value, type_: Any, count: int) -> list[ir.Value]:
        """The items of a list, whose number the graph was traced for."""
        element = self.type(spelled(type_.getElementType()))
        return list(self.em.create("torch.prim.ListUnpack", [value], [element] * count).results)

    def _squeeze(self, args: Sequence[Any]) -> ir.Value:
        """One dim after the other, the last first: those before it keep their places."""
        value, dims = self.operand(args[0]), args[1]
        rank = max(1, args[0].meta["val"].ndim)
        for dim in sorted({d % rank for d in dims}, reverse=True):
            value = self.em.create("torch.aten.squeeze.dim", [value, self.em.int(dim)], [self.em.types.tensor]).results[0]
        return value

    def _assert(self, args: Sequence[Any]) -> None:
        condition, message = args[0], args[1]
        value = self.operand(condition)
        if value.type == self.em.types.tensor:
            value = self.em.scalar("aten.Bool.Tensor", [value], self.em.types.bool)
        elif value.type == self.em.types.int:
            value = self.em.scalar("aten.Bool.int", [value], self.em.types.bool)
        self.em.raise_unless(value, "builtins.RuntimeError", str(message))
