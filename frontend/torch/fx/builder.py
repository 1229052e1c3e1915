"""What the rules for nodes of torch.fx build with: what a node was given, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.torch import by_torch
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.module import Attributes
from tierup.frontend.torch.script.types import spelled


class Builder:
    """One module of MLIR in the making. `foreign`: "torch" to leave ops that no row knows to PyTorch, "error" to refuse them."""

    def __init__(self, context: ir.Context, name: str, graph: GraphModule, attributes: Attributes, foreign: str, writes: bool) -> None:
        self.em = Emitter(context, mutable=writes)
        self.type, self.derefined = self.em.type, self.em.derefined
        self.name, self.module, self.attributes, self.foreign, self.writes = name, graph, attributes, foreign, writes
        self.values: dict[Node, Any] = {}  # an ir.Value, a Python constant, or a list of these for a node of several results
        self._hidden: dict[str, ir.Value] = {}
        self._sizes: dict[Any, tuple[Node, int]] = {}  # a symbol -> an input that has it as a size
        self._block: ir.Block = None  # set by build

    # --- nodes -----------------------------------------------------------------------------------------------------------

    def node(self, node: Node, module: GraphModule) -> None:
        """Translate one node. Raises UnsupportedProgram, at its line."""
        raise NotImplementedError

    def op(self, target: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], meta: Mapping[str, Any]) -> Any:
        """A call of an op of ATen, `meta` as its node has it: a value, None, or the list of its results."""
        raise NotImplementedError

    def inside(self, module: GraphModule, arguments: Sequence[Any]) -> list[Any]:
        """The nodes of a subgraph, put where the builder stands; what it gives."""
        inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
        self.values.update(zip(inputs, arguments, strict=True))
        for node in module.graph.nodes:
            if node.op == "output":
                given = node.args[0]
                return [self.operand(v) for v in (given if isinstance(given, (list, tuple)) else [given])]
            if node.op != "placeholder":
                self.node(node, module)
        raise AssertionError("a graph of torch.fx ends in its output")

    # --- operands ------------------------------------------------------------------------------------------------------

    def hidden_input(self, name: str) -> ir.Value:
        """The argument of the graph that stands for the hidden input of this name; added when it is first asked for."""
        if name not in self._hidden:
            self._hidden[name] = self._block.add_argument(self.em.types.tensor, self.em.unknown)
        return self._hidden[name]

    def given(self, arguments: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """What a node is given for each argument of a schema: values, and constants."""
        found = [kwargs.get(a.name, args[i] if i < len(args) else a.default_value) for i, a in enumerate(arguments)]
        return [self.values[v] if isinstance(v, Node) else v for v in found]

    def operand(self, given: Any, type_: Any = None, length: int | None = None) -> ir.Value:
        """What a node is given, as a value. `type_`: the schema's, where it decides (an int for a float, a list of tensors or None);
        `length`: of a list that one item may stand for."""
        if isinstance(given, Node):
            given = self.values[given]
        kind = None if type_ is None else type_.kind()
        if kind == "OptionalType" and given is not None:
            return self.operand(given, type_.getElementType(), length)
        if kind == "ListType":
            element = type_.getElementType()
            item = self.type(spelled(element))
            given = given if isinstance(given, (list, tuple)) else [given] * (length or 1)
            items = [self.derefined(self.operand(v, element), item) for v in given]
            return self.em.create("torch.prim.ListConstruct", items, [self.type(f"list<{spelled(element)}>")]).results[0]
        if isinstance(given, ir.Value):
            types = self.em.types
            if kind == "NumberType" and given.type == types.bool:
                return self.em.scalar("aten.Int.bool", [given], types.int)
            is_int = kind == "FloatType" and given.type == types.int
            return self.em.scalar("aten.Float.Scalar", [given], types.float) if is_int else given
        return self._constant(given, kind)

    def _constant(self, given: Any, kind: str | None) -> ir.Value:
        if type(given) is int and kind == "FloatType":
            given = float(given)
        if type(given) is bool and kind == "NumberType":
            given = int(given)  # the number of an op is none to MLIR where it is a bool
        if given is None or isinstance(given, (int, float, str)):
            return self.em.constant(given)
        if isinstance(given, torch.device):
            return self.em.device(str(given))
        if isinstance(given, (torch.dtype, torch.layout, torch.memory_format)) and (code := by_torch.code_of(given)) is not None:
            return self.em.int(code)
        raise UnsupportedProgram(f"the operand {given!r} of type {type(given).__name__} is not supported")
