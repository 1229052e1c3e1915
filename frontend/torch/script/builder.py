"""What the rules for TorchScript's nodes build with: values, modules and lists by the node that gave them, ops at the user's lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tierup.dialect import optable
from tierup.dialect.base.records import cached_property
from tierup.dialect.facts.values import Tensor
from tierup.dialect.facts.values import Value as Fact
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.facts import declared, fact_of
from tierup.frontend.torch import by_torch, memory_formats
from tierup.frontend.torch.errors import UnsupportedProgram, refusals_at
from tierup.frontend.torch.script import by_script
from tierup.frontend.torch.script.grad_mode import GradMode
from tierup.frontend.torch.script.module import Attributes, Held
from tierup.frontend.torch.script.places import location_of, place_of
from tierup.frontend.torch.script.types import spelled
from tierup.runtime.interpreter.structural import HANDLERS as STRUCTURAL

NUMBERS = ("!torch.int", "!torch.float", "!torch.bool")
OBJECTS = ("ClassType", "InterfaceType")  # the kinds of types of modules


@dataclass(eq=False)
class Contents:
    """What is in a list or a dict while the graph is built. `element`: the type of an item."""

    items: list[ir.Value] | dict[Any, ir.Value]
    element: ir.Type

    def type_of(self, builder: Builder, key: Any) -> ir.Type:
        """Of an item."""
        return self.element


class OutOfSight(Exception):
    """What is in a list is not known when the graph is built, as it seemed to be: `name` is that of the value that TorchScript gave it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Builder:
    """One module of MLIR in the making. `foreign`: "torch" to leave ops that no row knows to PyTorch, "error" to refuse them."""

    handlers: ClassVar[Mapping[str, Callable[[Any, Any], None]]]  # by kind of node: (builder, node); others are ops

    def __init__(
        self, context: ir.Context, name: str, graph: Any, attributes: Attributes, foreign: str, hidden: frozenset[str] = frozenset()
    ) -> None:
        self.em = Emitter(context, mutable=True)
        self.type = self.em.type
        self.name, self.graph, self.attributes, self.foreign = name, graph, attributes, foreign
        self._values: dict[int, ir.Value] = {}
        self._objects: dict[int, Any] = {}  # modules, and objects that the program makes, by the value that stands for them
        self.members: dict[str, Any] = {}  # of enums, by the strings that stand for them
        self.depth = 0  # in how many branches and loops the node stands that is being translated
        self.carried_items: set[tuple[Any, Any]] = set()  # what is in lists, dicts and objects that these set: who holds it, and where
        self._tensors: dict[str, ir.Value] = {}  # of attributes and constants, by the name of their input
        self._attributes: dict[int, tuple[Any, str]] = {}  # owner and name, by the value that stands for a tensor attribute
        self.parameters: dict[int, str] = {}  # the names of the graph's arguments, by the values that stand for them
        self.arguments: dict[ir.Value, str] = {}  # the same, of those that are one value
        self.carried: dict[int, list[Any]] = {}  # by an argument of a loop's body, what it is in the first round and in later ones
        self.ranks: dict[ir.Value, int] = {}  # of arguments: another rank is another structure
        self._typed = Notes[ir.Value, Fact]()  # what is known of values with the dtypes of arguments and attributes
        self._sized = Notes[ir.Value, Fact]()  # with the sizes of arguments
        self.handed_on: set[str] = set()  # by branches that are taken for certain, by the names that TorchScript gave them
        self.out_of_sight = hidden  # lists that are values, whatever changes them
        self._lists: dict[ir.Value, Any] = {}  # lists that nodes write down, and the nodes' outputs
        self.contents: dict[int, Contents] = {}  # what is by now in lists and dicts that are changed where that is seen
        self._wholes: Notes[ir.Value, None] = Notes()  # new ones of these
        self._grad_mode = GradMode(self.em, lambda: str(self.em.location))
        self._block: ir.Block = None  # set by build
        self._here: ir.Location | None = None  # where all nodes stand

    def op(self, node: Any) -> None:
        """Translate a node that calls an op."""
        raise NotImplementedError

    def change(self, node: Any) -> bool:
        """Translate a node that changes or asks a list or dict that is in sight; whether it is one."""
        raise NotImplementedError

    def op_unless(self, node: Any, known: ir.Value | None) -> None:
        """What a node gives where that is known now; else the op that it calls."""
        if known is None:
            self.op(node)
        else:
            self.bind(node, [known])

    def operands(self, node: Any) -> list[ir.Value]:
        """What a node reads, as values of the graph."""
        return [self.value(v) for v in node.inputs()]

    def inlined(self, graph: Any, given: Sequence[Any], here: bool = False) -> list[ir.Value]:
        """What another graph, whose values have names of their own, gives for some values of this one. `here`: its nodes stand where the
        one does that is being translated."""
        before = self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried, self.parameters
        contents, here_before = self.contents, self._here
        modules = {p.unique(): self._objects[v.unique()] for p, v in zip(graph.inputs(), given, strict=True) if v.unique() in self._objects}
        values = {p.unique(): self.value(v) for p, v in zip(graph.inputs(), given, strict=True) if v.unique() not in self._objects}
        self._here = self.em.location if here else self._here
        self.has_tasks = self.has_tasks or not here
        self.graph, self._aliases, self._set = graph, graph.alias_db(), set_names(graph) | self._set
        self._values, self._objects, self._attributes, self.carried, self.parameters, self.contents = values, modules, {}, {}, {}, {}
        self.nodes(graph)
        found = [self.value(v) for v in graph.outputs()]
        self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried, self.parameters = before
        self.contents, self._here = contents, here_before
        return found

    def value(self, of: Any) -> ir.Value:
        """What a TorchScript value is in the graph: of a list or dict that is changed in sight a new one, of what is in it here."""
        contents = self.contents.get(of.unique())
        if contents is None:
            return self._values[of.unique()]
        type_, items = self.type(spelled(of.type())), contents.items
        if isinstance(items, dict):
            return self.dict_of([self.em.constant(key) for key in items], list(items.values()), of.type())
        return self.whole(items, type_)

    def whole(self, items: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
        """A list that is written down here and that nobody changes."""
        made = self.em.create("torch.prim.ListConstruct", items, [type_]).results[0]
        self._wholes[made] = None
        return made

    def put(self, of: Any, value: ir.Value) -> None:
        """Let a value of the graph be a TorchScript value."""
        self._values[of.unique()] = value
        if of.type().kind() == "ListType" and self.is_written(of):  # rules say what a list holds when it is made
            self.em.facts[value] = self._typed[value] = declared(value)

    def bind(self, node: Any, values: Sequence[ir.Value]) -> None:
        """Let values of the graph be the node's outputs."""
        for output, value in zip(node.outputs(), values, strict=True):
            self.put(output, value)

    def fact(self, value: ir.Value, with_dtypes: bool = False) -> Fact:
        """What the rules of ops say of a value, from the ranks of arguments and attributes. `with_dtypes`: from their dtypes, too, which
        are then part of the graph."""
        return fact_of(self.em, value, self._typed if with_dtypes else self.em.facts, lambda given: self._of_input(given, with_dtypes))

    def fact_of_sizes(self, value: ir.Value) -> Fact:
        """The same with the sizes and dtypes of arguments, which then are part of the graph."""
        return fact_of(self.em, value, self._sized, self._of_sized)

    def _of_sized(self, value: ir.Value) -> Fact:
        found = self._of_input(value, True)
        sizes = self.attributes.argument_size(self.arguments[value]) if value in self.arguments else None
        return Tensor(found.dtype, sizes) if isinstance(found, Tensor) and isinstance(sizes, tuple) else found

    def _of_input(self, value: ir.Value, with_dtypes: bool) -> Fact:
        if value.owner != self._block or not torch_types.is_tensor(value.type):
            return declared(value)
        name = next((n for n, v in self._tensors.items() if v == value), None)
        rank = self.ranks.get(value) if name is None else self.attributes.rank(name)
        dtype = None
        if with_dtypes and (name is not None or value in self.arguments):
            dtype = self.attributes.argument_dtype(self.arguments[value]) if name is None else self.attributes.dtype(name)
        return Tensor(dtype, None if rank is None else tuple(self.em.rules.fresh() for _ in range(rank)))

    def result_types(self, node: Any) -> list[ir.Type]:
        """The dialect's types of what a node gives."""
        return [self.type(spelled(o.type())) for o in node.outputs()]

    def derefined(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A value where one of a wider type is expected."""
        if str(value.type) in NUMBERS and str(type_) in ("!torch.tensor", "!torch.optional<tensor>"):
            value = self.tensor_of(value)
        return self.em.derefined(value, type_)

    def create(self, name: str, schema: Any, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
        """The results of an op. Raises UnsupportedProgram for one that is neither in the table nor left to PyTorch. Ops that act are
        `torch.operator`s: torch-mlir knows other forms of some."""
        if not self._is_known(name, schema):
            raise UnsupportedProgram(by_torch.refusal(name, schema))
        return self.emit(name, operands, types)

    def emit(self, name: str, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
        """The results of an op that has a row."""
        operands = self._grad_mode.operands(name, operands)
        row = optable.lookup(name)
        if row is not None and row.acts:
            made = self.em.create("torch.operator", operands, types, {"name": ir.StringAttr.get(name, self.em.context)}).results
        else:
            made = memory_formats.emitted(self.em, name, operands, types)
        return self._grad_mode.results(name, list(made))

    def _is_known(self, name: str, schema: Any) -> bool:
        is_ours = name in optable.table() or f"torch.{name}" in STRUCTURAL
        return is_ours or by_script.known(name, schema) or by_torch.known(name, schema, self.foreign)

    def tensor_of(self, value: ir.Value) -> ir.Value:
        """A number that stands for a tensor as one. Raises UnsupportedProgram for a float, whose dtype its users would choose."""
        if str(value.type) == "!torch.float":
            raise UnsupportedProgram("a float stands for a tensor of rank 0 here: write it as torch.tensor of a dtype")
        return self.em.create("torch.prim.NumToTensor.Scalar", [value], [self.em.types.tensor]).results[0]

    def attribute_of(self, of: Any) -> tuple[Any, str] | None:
        """The owner and the name of the tensor attribute that a TorchScript value is."""
        return self._attributes.get(of.unique())

    def object(self, of: Any) -> Any:
        """The module or object that a TorchScript value is. Raises UnsupportedProgram where only the run can tell which."""
        if of.unique() not in self._objects:
            raise UnsupportedProgram("which module or object is meant is known at run time only")
        return self._objects[of.unique()]

    def object_or_none(self, of: Any) -> Any:
        """The module or object that a TorchScript value is, where that is known by now."""
        return self._objects.get(of.unique())

    def put_object(self, of: Any, module: Any) -> None:
        """Let a module or an object be a TorchScript value."""
        self._objects[of.unique()] = module

    @cached_property
    def _set(self) -> frozenset[tuple[str, str]]:
        return set_names(self.graph)

    @cached_property
    def _aliases(self) -> Any:
        return self.graph.alias_db()

    def is_written(self, of: Any) -> bool:
        """Whether the program may change the list or dict that a TorchScript value is. What tasks do to it no analysis says."""
        return self.has_tasks or bool(self._aliases.has_writers(of))

    @cached_property
    def has_tasks(self) -> bool:
        """Whether the program starts tasks."""
        return bool(self.graph.findAllNodes("prim::fork"))

    def put_list(self, of: Any, made: ir.Value) -> None:
        """Let a list that is written down here be a TorchScript value: what is in it is known while the program does not change it."""
        self._lists[made] = of
        self.put(of, made)

    def items_of(self, value: ir.Value) -> Sequence[ir.Value] | None:
        """What is in a list that the graph writes down, here; None where that is not known."""
        if value not in self._wholes and (value not in self._lists or self.is_written(self._lists[value])):
            return None
        made = maker(value, "torch.prim.ListConstruct")
        return None if made is None else list(made.operands)

    def has_items(self, of: Any) -> bool:
        """Whether it is known by now what is in the list that a TorchScript value is."""
        if isinstance(self._objects.get(of.unique()), list) or of.unique() in self.contents:
            return True
        made = self._values.get(of.unique())
        return made is not None and self.items_of(made) is not None

    def tensor_constant(self, tensor: Any) -> ir.Value:
        """The input that stands for a tensor in the graph, or for one in an attribute."""
        return self._tensor_input(self.attributes.input_of(tensor) if isinstance(tensor, Held) else self.attributes.constant(tensor))

    def _tensor_input(self, name: str) -> ir.Value:
        if name not in self._tensors:
            self._tensors[name] = self._block.add_argument(self.em.types.tensor, self.em.unknown)
        return self._tensors[name]

    def dict_of(self, keys: Sequence[ir.Value], values: Sequence[ir.Value], type_: Any) -> ir.Value:
        """A new dict. The op has all keys first."""
        by_script.known("prim.DictConstruct", None)
        key, value = self.type(spelled(type_.getKeyType())), self.type(spelled(type_.getValueType()))
        parts = [*(self.derefined(v, key) for v in keys), *(self.derefined(v, value) for v in values)]
        return self.em.create("torch.prim.DictConstruct", parts, [self.type(spelled(type_))]).results[0]

    def nodes(self, block: Any) -> None:
        """Translate all nodes of a block."""
        for node in block.nodes():
            self.node(node)

    def node(self, node: Any) -> None:
        """Translate one node. Raises UnsupportedProgram, at its line."""
        self.em.location = self._here or location_of(node, self.em.context)
        with refusals_at(lambda: place_of(node), lambda: f"in the TorchScript node {str(node).strip().splitlines()[0]}"):
            handler: Callable[[Any, Any], None] = self.handlers.get(node.kind(), type(self).op)
            if not self.change(node):
                handler(self, node)


def set_names(graph: Any) -> frozenset[tuple[str, str]]:
    """The attributes that a graph sets, by class and name: all of a module that is handed to a Python function, which may set any."""
    nodes = list(nodes_of(graph))
    handed = {v.type().str() for n in nodes if n.kind() == "prim::PythonOp" for v in n.inputs() if v.type().kind() == "ClassType"}
    named = [(next(n.inputs()).type().str(), n) for n in nodes if n.kind() in ("prim::SetAttr", "prim::GetAttr")]
    return frozenset((owner, n.s("name")) for owner, n in named if n.kind() == "prim::SetAttr" or owner in handed)


def nodes_of(block: Any) -> Iterator[Any]:
    """All nodes in a graph or a block and in the tasks that it starts, outer before inner."""
    for node in block.nodes():
        yield node
        if node.kind() == "prim::fork":
            yield from nodes_of(node.g("Subgraph"))
        for inner in node.blocks():
            yield from nodes_of(inner)
