"""From a TorchScript graph to the torch dialect: node by node, with the user's lines.

    %y : Tensor = aten::add(%x, %one, %one)      ->      %y = torch.aten.add.Tensor %x, %one, %one : !torch.tensor, ...
    %z : Tensor = prim::If(%c) block0(): -> (%y) ...   ->      torch.prim.If with derefined yields

Calls are inlined before. Attributes of modules are resolved here: submodules away, tensors to inputs that are handed over at every
call, numbers and strings to constants that the caller checks (see script_module.py). Arguments that are tuples, lists and dicts come
flat: a graph serves one structure of calls. So what is None is known, and so are a module's flags: of an If that hangs on them the arm
that is taken stands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.rewriting import maker
from tierup.dialect.mlir import ir
from tierup.dialect.records import cached_property
from tierup.frontend.graph import GraphResult
from tierup.frontend.python.emit import Emitter
from tierup.frontend.torch import (
    by_script,
    by_torch,
    script_constants,
    script_dropout,
    script_flow,
    script_mkldnn,
    script_norms,
    script_queries,
    script_signature,
    script_sizes,
    script_state,
    script_synonyms,
    script_values,
)
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script_grad_mode import GradMode, is_no_grad
from tierup.frontend.torch.script_module import Attributes, Held
from tierup.frontend.torch.script_places import location_of, place_of
from tierup.frontend.torch.script_signature import NUMBERS
from tierup.frontend.torch.script_types import spelled
from tierup.runtime.arguments.trees import CallShape, Leaf, leaf_names
from tierup.runtime.interpreter.structural import HANDLERS as STRUCTURAL

_ASKING = frozenset({"aten::all", "aten::any", "aten::len", "aten::__contains__"})
_CONTAINERS = ("ListType", "DictType")
_OF_NUMBERS = {  # an overload on tensors, and which operands are numbers -> the overload that takes numbers there
    ("Tensor", 1): "Scalar", ("", 1): "Scalar", ("Tensor_Tensor", 1): "Tensor_Scalar", ("Tensor_Tensor", 0): "Scalar",
    ("Tensor_mode", 1): "Scalar_mode", ("self", 2): "ScalarOther", ("self", 1): "ScalarSelf", ("self", 1, 2): "Scalar",
}  # fmt: skip


class GraphBuilder:
    """One module of MLIR in the making. `foreign`: "torch" to leave ops that no row knows to PyTorch, "error" to refuse them."""

    def __init__(self, context: ir.Context, name: str, graph: Any, attributes: Attributes, foreign: str) -> None:
        self.em = Emitter(context, mutable=True)
        self.name, self.graph, self.attributes, self.foreign = name, graph, attributes, foreign
        self._values: dict[int, ir.Value] = {}
        self._objects: dict[int, Any] = {}  # modules, by the value that stands for them
        self._tensors: dict[str, ir.Value] = {}  # of attributes and constants, by the name of their input
        self._attributes: dict[int, tuple[Any, str]] = {}  # owner and name, by the value that stands for a tensor attribute
        self.carried: dict[int, list[Any]] = {}  # by an argument of a loop's body, what it is in the first round and in later ones
        self.ranks: dict[ir.Value, int] = {}  # of arguments: another rank is another structure
        self._lists: dict[ir.Value, Any] = {}  # lists that nodes write down, and the nodes' outputs
        self._growing: dict[ir.Value, list[ir.Value]] = {}  # lists that are appended to where that is seen, and what is in them by now
        self._types: dict[str, ir.Type] = {}
        self._grad_mode = GradMode(self.em, lambda: str(self.em.location))
        self._block: ir.Block = None  # type: ignore[assignment]  # set by build
        self._here: ir.Location | None = None  # where all nodes stand

    def type(self, text: str) -> ir.Type:
        if text not in self._types:
            self._types[text] = ir.Type.parse(f"!torch.{text}", self.em.context)
        return self._types[text]

    # --- the entry -----------------------------------------------------------------------------------------------------

    def build(self, shape: CallShape) -> GraphResult:
        """The graph for calls of this structure. Raises UnsupportedProgram at the user's line."""
        em = self.em
        module = ir.Module.create(em.unknown)
        leaves = tuple(pair for name, tree in shape.parameters for pair in leaf_names(tree, name))
        types = [script_signature.leaf_type(self, leaf) for _, leaf in leaves]
        function_type = ir.FunctionType.get(types, [], context=em.context)
        named = [ir.DictAttr.get({"tierup.name": ir.StringAttr.get(n, em.context)}, em.context) for n, _ in leaves]
        func = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(self.name, em.context),
                "function_type": ir.TypeAttr.get(function_type, em.context),
                "tierup.source": ir.StringAttr.get("torchscript", em.context),
            },
            regions=1,
            loc=em.unknown,
            ip=ir.InsertionPoint(module.body),
        )
        self._block = func.regions[0].blocks.append(*types, arg_locs=[em.unknown] * len(types))
        with em.function(self._block):
            flat = iter(list(self._block.arguments))
            inputs = list(self.graph.inputs())
            for value in inputs:
                if value.type().kind() == "ClassType":
                    self._objects[value.unique()] = self.attributes.root
            given = [v for v in inputs if v.type().kind() != "ClassType"]
            for value, (_, tree) in zip(given, shape.parameters, strict=True):
                self._values[value.unique()] = script_signature.argument(self, tree, value.type(), flat)
            for node in self.graph.nodes():
                self.node(node)
            self._say_without_gradient(leaves)
            results, output = script_signature.results(self, list(self.graph.outputs()))
            self._drop_unread_lists()
            em.create("func.return", results, [])
        arguments = [a.type for a in self._block.arguments]
        made = ir.FunctionType.get(arguments, [r.type for r in results], context=em.context)
        func.attributes["function_type"] = ir.TypeAttr.get(made, em.context)
        named += [ir.DictAttr.get({"tierup.name": ir.StringAttr.get(n, em.context)}, em.context) for n in self._tensors]
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(named, em.context)
        hidden = tuple(self.attributes.input(name) for name in self._tensors)
        return GraphResult(module, self.name, leaves, output, hidden, writes=True)

    def _say_without_gradient(self, leaves: Sequence[tuple[str, Leaf]]) -> None:
        """Tell the attributes of what a gradient would not be PyTorch's."""
        names = {self._block.arguments[i]: name for i, (name, _) in enumerate(leaves)} | {v: n for n, v in self._tensors.items()}
        self.attributes.without_gradient = self.attributes.without_gradient or self._grad_mode.refused
        self.attributes.without_gradient_of.update({names[v]: why for v, why in self._grad_mode.refused_of.items()})

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def node(self, node: Any) -> None:
        """Translate one node. Raises UnsupportedProgram, at its line."""
        self.em.location = self._here or location_of(node, self.em.context)
        try:
            handler = _HANDLERS.get(node.kind(), GraphBuilder.op)
            handler(self, node)
        except UnsupportedProgram as e:
            if hasattr(e, "__notes__"):  # from a node inside this one
                raise
            place = place_of(node)
            where = f"{place[0]}:{place[1]}: " if place else ""
            error = type(e)(f"{where}{e}")
            error.add_note(f"in the TorchScript node {str(node).strip().splitlines()[0]}")
            raise error from None

    def operands(self, node: Any) -> list[ir.Value]:
        """What a node reads, as values of the graph."""
        return [self.value(v) for v in node.inputs()]

    def inlined(self, graph: Any, given: Sequence[Any], here: bool = False) -> list[ir.Value]:
        """What another graph, whose values have names of their own, gives for some values of this one. `here`: its nodes stand where the
        one does that is being translated."""
        outer = self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried
        modules = {p.unique(): self._objects[v.unique()] for p, v in zip(graph.inputs(), given, strict=True) if v.unique() in self._objects}
        values = {p.unique(): self.value(v) for p, v in zip(graph.inputs(), given, strict=True) if v.unique() not in self._objects}
        before, self._here = self._here, self.em.location if here else self._here
        self._has_tasks = self._has_tasks or not here
        self.graph, self._aliases, self._set = graph, graph.alias_db(), script_state.set_names(graph) | self._set
        self._values, self._objects, self._attributes, self.carried = values, modules, {}, {}
        self.nodes(graph)
        found = [self.value(v) for v in graph.outputs()]
        self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried = outer
        self._here = before
        return found

    def value(self, of: Any) -> ir.Value:
        """What a TorchScript value is in the graph."""
        return self._values[of.unique()]

    def put(self, of: Any, value: ir.Value) -> None:
        """Let a value of the graph be a TorchScript value."""
        self._values[of.unique()] = value

    def bind(self, node: Any, values: Sequence[ir.Value]) -> None:
        """Let values of the graph be the node's outputs."""
        for output, value in zip(node.outputs(), values, strict=True):
            self._values[output.unique()] = value

    def result_types(self, node: Any) -> list[ir.Type]:
        return [self.type(spelled(o.type())) for o in node.outputs()]

    def derefined(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A value where one of a wider type is expected."""
        if str(value.type) in NUMBERS and str(type_) in ("!torch.tensor", "!torch.optional<tensor>"):
            value = self.tensor_of(value)
        return value if value.type == type_ else self.em.create("torch.derefine", [value], [type_]).results[0]

    def op(self, node: Any) -> None:
        schema = by_torch.schema_of(node)
        name, operands = self._numbers(script_synonyms.canonical(by_torch.name_of(node, schema)), schema, self.operands(node))
        script_queries.refuse_devices(self, name, operands)
        same = script_dropout.identity(name, operands)
        if same is None:
            same = script_dropout.training(self, name, operands) or script_dropout.drawn(self, name, operands)
        if same is None:
            same = script_sizes.folded(self, name, operands)
        if same is not None:
            self.bind(node, [same])
            return
        if script_dropout.drops(name, operands):
            self.bind(node, [script_dropout.attention(self, node)])
            return
        constant = script_queries.folded(self, name, operands) if self._is_known(name, schema) else None
        self.bind(node, self.create(name, schema, operands, self.result_types(node)) if constant is None else [constant])

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
            self._grad_mode.refuse(f"{name} acts: only tier 0 does that, once a call")
        if self.em.context.is_registered_operation(f"torch.{name}") and not (row is not None and row.acts):
            made = self.em.create(f"torch.{name}", operands, types)
        else:
            made = self.em.create("torch.operator", operands, types, {"name": ir.StringAttr.get(name, self.em.context)})
        return self._grad_mode.results(name, list(made.results))

    def _is_known(self, name: str, schema: Any) -> bool:
        return self._is_ours(name) or by_script.known(name, schema) or by_torch.known(name, schema, self.foreign)

    def _numbers(self, name: str, schema: Any, operands: list[ir.Value]) -> tuple[str, list[ir.Value]]:
        """Numbers where a traced graph has tensors that were numbers (`x * 0.5`): for the overload that takes numbers, `aten.mul.Scalar`,
        whose dtype rules are theirs. Else an int is a tensor of rank 0, which has the same rules among tensors."""
        if schema is None:
            return name, operands
        given = list(zip(operands, schema.arguments, strict=False))
        numbers = [i for i, (v, a) in enumerate(given) if a.type.kind() == "TensorType" and str(v.type) in NUMBERS]
        if not numbers:
            return name, operands
        op, _, overload = name.removeprefix("aten.").partition(".")
        scalar = f"aten.{op}.{_OF_NUMBERS.get((overload, *numbers))}"
        if scalar in optable.table():
            return scalar, operands
        return name, [self.tensor_of(v) if i in numbers else v for i, v in enumerate(operands)]

    def tensor_of(self, value: ir.Value) -> ir.Value:
        """A number that stands for a tensor as one. Raises UnsupportedProgram for a float, whose dtype its users would choose."""
        if str(value.type) == "!torch.float":
            raise UnsupportedProgram("a float stands for a tensor of rank 0 here: write it as torch.tensor of a dtype")
        return self.em.create("torch.prim.NumToTensor.Scalar", [value], [self.em.types.tensor]).results[0]

    def _is_ours(self, name: str) -> bool:
        return name in optable.table() or f"torch.{name}" in STRUCTURAL

    def attribute_of(self, of: Any) -> tuple[Any, str] | None:
        """The owner and the name of the tensor attribute that a TorchScript value is."""
        return self._attributes.get(of.unique())

    def object(self, of: Any) -> Any:
        """The module that a TorchScript value is."""
        return self._objects[of.unique()]

    @cached_property
    def _set(self) -> frozenset[tuple[str, str]]:
        return script_state.set_names(self.graph)

    @cached_property
    def _aliases(self) -> Any:
        return self.graph.alias_db()

    def is_written(self, of: Any) -> bool:
        """Whether the program may change the list or dict that a TorchScript value is. What tasks do to it no analysis says."""
        return self._has_tasks or bool(self._aliases.has_writers(of))

    @cached_property
    def _has_tasks(self) -> bool:
        return bool(self.graph.findAllNodes("prim::fork"))

    def items_of(self, value: ir.Value) -> Sequence[ir.Value] | None:
        """What is in a list that the graph writes down, here; None where that is not known."""
        if value in self._growing:
            return self._growing[value]
        if value not in self._lists or self.is_written(self._lists[value]):
            return None
        made = maker(value, "torch.prim.ListConstruct")
        return None if made is None else list(made.operands)

    def _constant(self, node: Any) -> None:
        output = node.output()
        if output.type().kind() == "FunctionType":
            return  # of a call that was inlined
        self._values[output.unique()] = script_constants.constant(self, output.toIValue(), output.type())
        self._lists[self.value(output)] = output

    def tensor_constant(self, tensor: Any) -> ir.Value:
        """The input that stands for a tensor in the graph, or for one in an attribute."""
        return self._tensor_input(self.attributes.input_of(tensor) if isinstance(tensor, Held) else self.attributes.constant(tensor))

    def _tensor_input(self, name: str) -> ir.Value:
        if name not in self._tensors:
            self._tensors[name] = self._block.add_argument(self.em.types.tensor, self.em.unknown)
        return self._tensors[name]

    def _get_attribute(self, node: Any) -> None:
        owner = self._objects[node.input().unique()]
        output = node.output()
        if output.type().kind() == "ClassType":
            self._objects[output.unique()] = self.attributes.child(owner, node.s("name"))
            return
        if (node.input().type().str(), node.s("name")) in self._set:
            script_state.get(self, node, owner)
            return
        if output.type().kind() in _CONTAINERS and script_state.is_changed(self, output):
            raise UnsupportedProgram(f"the program changes {node.s('name')!r} of the module in place: set the attribute to a new one")
        self._attributes[output.unique()] = owner, node.s("name")
        if output.type().kind() == "TensorType":
            self._values[output.unique()] = self._tensor_input(self.attributes.tensor(owner, node.s("name")))
            return
        made = script_constants.constant(self, self.attributes.value(owner, node.s("name")), output.type())
        self._values[output.unique()] = self.derefined(made, self.type(spelled(output.type())))

    def _create_object(self, node: Any) -> None:
        type_ = node.output().type()
        if not is_no_grad(type_):
            raise UnsupportedProgram(f"objects of the class {type_.annotation_str} are not supported")
        self._objects[node.output().unique()] = type_

    def _enter(self, node: Any) -> None:
        self._grad_mode.enter()

    def _exit(self, node: Any) -> None:
        self._grad_mode.leave()

    def _construct(self, node: Any) -> None:
        type_ = node.output().type()
        op = "torch." + node.kind().replace("::", ".")
        values = list(node.inputs())
        if type_.kind() == "TupleType":
            wanted = [spelled(t) for t in type_.elements()]
        else:
            wanted = [spelled(type_.getElementType())] * len(values)
        operands = [self.derefined(v, self.type(t)) for v, t in zip(self.operands(node), wanted, strict=True)]
        self.bind(node, list(self.em.create(op, operands, self.result_types(node)).results))
        output = node.output()
        self._lists[self.value(output)] = output
        if type_.kind() == "ListType" and self.is_written(output) and _grows_in_sight(node):
            self._growing[self.value(output)] = list(operands)

    def _construct_dict(self, node: Any) -> None:
        parts = self.operands(node)
        self.bind(node, [self.dict_of(parts[::2], parts[1::2], node.output().type())])

    def dict_of(self, keys: Sequence[ir.Value], values: Sequence[ir.Value], type_: Any) -> ir.Value:
        """A new dict. The op has all keys first."""
        by_script.known("prim.DictConstruct", None)
        key, value = self.type(spelled(type_.getKeyType())), self.type(spelled(type_.getValueType()))
        parts = [*(self.derefined(v, key) for v in keys), *(self.derefined(v, value) for v in values)]
        return self.em.create("torch.prim.DictConstruct", parts, [self.type(spelled(type_))]).results[0]

    def _primitive(self, node: Any) -> None:
        """A node that is spelled alike in the dialect: no overload, no schema."""
        made = self.em.create("torch." + node.kind().replace("::", "."), self.operands(node), self.result_types(node))
        self.bind(node, list(made.results))

    def _append(self, node: Any) -> None:
        self.op(node)
        to, item = self.operands(node)
        if to in self._growing:
            self._growing[to].append(item)

    def _drop_unread_lists(self) -> None:
        """Lists of which all that was asked was known."""
        for value in self._growing:
            users = [use.owner.operation for use in value.uses]
            if all(op.name == "torch.aten.append.t" and not any(True for _ in op.results[0].uses) for op in users):
                for op in users:
                    op.erase()
                value.owner.operation.erase()

    def nodes(self, block: Any) -> None:
        """Translate all nodes of a block."""
        for node in block.nodes():
            self.node(node)


def _grows_in_sight(node: Any) -> bool:
    """Whether a new list is only asked for its items, and appended to in the block that makes it: what is in it then follows from the order
    of the text, wherever it is asked."""
    uses = node.output().uses()
    if any(use.user.kind() not in _ASKING and (use.user.kind(), use.offset) != ("aten::append", 0) for use in uses):
        return False
    here = node.owningBlock()  # one object while it is held
    return all(use.user.owningBlock() is here and not use.user.output().uses() for use in uses if use.user.kind() == "aten::append")


_HANDLERS: dict[str, Callable[[GraphBuilder, Any], None]] = {
    "prim::Constant": GraphBuilder._constant,
    "prim::GetAttr": GraphBuilder._get_attribute,
    "prim::CreateObject": GraphBuilder._create_object,
    "prim::Enter": GraphBuilder._enter,
    "prim::Exit": GraphBuilder._exit,
    "prim::ListConstruct": GraphBuilder._construct,
    "prim::TupleConstruct": GraphBuilder._construct,
    "prim::DictConstruct": GraphBuilder._construct_dict,
    "prim::ListUnpack": GraphBuilder._primitive,
    "prim::TupleUnpack": GraphBuilder._primitive,
    "prim::TupleIndex": GraphBuilder._primitive,
    "prim::Uninitialized": GraphBuilder._primitive,
    "aten::append": GraphBuilder._append,
    **script_flow.HANDLERS,
    **script_mkldnn.HANDLERS,
    **script_norms.HANDLERS,
    **script_state.HANDLERS,
    **script_synonyms.HANDLERS,
    **script_values.HANDLERS,
    **script_queries.HANDLERS,
}
