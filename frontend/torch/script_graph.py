"""From a TorchScript graph to the torch dialect: node by node, with the user's lines.

    %y : Tensor = aten::add(%x, %one, %one)      ->      %y = torch.aten.add.Tensor %x, %one, %one : !torch.tensor, ...
    %z : Tensor = prim::If(%c) block0(): -> (%y) ...   ->      torch.prim.If with derefined yields

Calls are inlined before. Attributes of modules are resolved here: submodules away, tensors to inputs that are handed over at every
call, numbers and strings to constants that the caller checks (see script_module.py). Arguments that are tuples, lists and dicts come
flat: a graph serves one structure of calls. So what is None is known, and so are a module's flags: of an If that hangs on them the arm
that is taken stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.rewriting import bool_of, is_none, maker, under_casts
from tierup.dialect.mlir import ir
from tierup.frontend.graph import GraphResult
from tierup.frontend.python.emit import Emitter
from tierup.frontend.torch import (
    by_script,
    by_torch,
    script_constants,
    script_dropout,
    script_mkldnn,
    script_norms,
    script_queries,
    script_results,
    script_sizes,
    script_state,
    script_synonyms,
    script_values,
)
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script_grad_mode import GradMode, is_no_grad
from tierup.frontend.torch.script_module import Attributes
from tierup.frontend.torch.script_types import spelled
from tierup.runtime.arguments.trees import CallShape, Leaf, Output, OutputNode, OutputTree, Tree, leaf_names
from tierup.runtime.interpreter.structural import HANDLERS as STRUCTURAL

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_NUMBERS = ("!torch.int", "!torch.float", "!torch.bool")
_ASKING = frozenset({"aten::all", "aten::any", "aten::len", "aten::__contains__"})
_CONTAINERS = ("ListType", "DictType")
_OF_NUMBERS = {  # an overload on tensors, and which operands are numbers -> the overload that takes numbers there
    ("Tensor", 1): "Scalar", ("", 1): "Scalar", ("Tensor_Tensor", 1): "Tensor_Scalar", ("Tensor_Tensor", 0): "Scalar",
    ("Tensor_mode", 1): "Scalar_mode", ("self", 2): "ScalarOther", ("self", 1): "ScalarSelf", ("self", 1, 2): "Scalar",
}  # fmt: skip
_SCALARS = {"IntType": "int", "FloatType": "float", "BoolType": "bool"}


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
        types = [self._leaf_type(leaf) for _, leaf in leaves]
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
                self._values[value.unique()] = self._argument(tree, value.type(), flat)
            for node in self.graph.nodes():
                self.node(node)
            self._say_without_gradient(leaves)
            results, output = self._results(list(self.graph.outputs()))
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

    def _leaf_type(self, leaf: Leaf) -> ir.Type:
        return self.em.types.tensor if leaf.kind in ("array", "scalar") else self.type(leaf.kind)

    def _argument(self, tree: Tree, type_: Any, flat: Any) -> ir.Value:
        """What the call hands over, put together again as the graph takes it."""
        kind = type_.kind()
        if isinstance(tree, Leaf):
            if tree.kind == "none":
                return self.derefined(self.em.none, self.type(spelled(type_)))
            if tree.kind == "str":
                return self.derefined(self.em.str(str(tree.value)), self.type(spelled(type_)))
            if tree.is_static:
                raise UnsupportedProgram(f"{self.name}: an argument of type {tree.value} is not supported")
            given = next(flat)
            if tree.kind == "array" and tree.ndim is not None:
                self.ranks[given] = tree.ndim
            return self.derefined(self._number(given, tree, type_), self.type(spelled(type_)))
        if kind == "OptionalType":
            return self.derefined(self._argument(tree, type_.getElementType(), flat), self.type(spelled(type_)))
        element: Callable[[int], Any]
        if kind == "TupleType":
            elements = list(type_.elements())
            op, element = "TupleConstruct", lambda i: elements[i]
        elif kind == "ListType":
            op, element = "ListConstruct", lambda i: type_.getElementType()
        elif kind == "DictType":
            keys = [script_constants.constant(self, key, type_.getKeyType()) for key in tree.keys]
            return self.dict_of(keys, [self._argument(item, type_.getValueType(), flat) for item in tree.items], type_)
        else:
            raise UnsupportedProgram(f"{self.name}: a {tree.kind} for an argument of type {type_.annotation_str}")
        items = [self._argument(item, element(i), flat) for i, item in enumerate(tree.items)]
        return self.em.create(f"torch.prim.{op}", items, [self.type(spelled(type_))]).results[0]

    def _number(self, value: ir.Value, leaf: Leaf, type_: Any) -> ir.Value:
        """An int where the graph takes a float, and a number where it takes a tensor, as PyTorch converts them."""
        kind = type_.getElementType().kind() if type_.kind() == "OptionalType" else type_.kind()
        if kind == "FloatType" and leaf.kind == "int":
            return self.em.create("torch.aten.Float.Scalar", [value], [self.em.types.float]).results[0]
        return value

    def _results(self, outputs: Sequence[Any]) -> tuple[list[ir.Value], OutputTree]:
        results: list[ir.Value] = []
        trees = [self._output(self._values[o.unique()], o.type(), results) for o in outputs]
        return results, trees[0] if len(trees) == 1 else OutputNode("tuple", tuple(trees)) if trees else Output("const")

    def _output(self, value: ir.Value, type_: Any, results: list[ir.Value]) -> OutputTree:
        kind = type_.kind()
        if kind == "NoneType":
            return Output("const")
        if kind == "TupleType":
            elements = list(type_.elements())
            types = [self.type(spelled(t)) for t in elements]
            made = maker(value, "torch.prim.TupleConstruct")
            if made is not None and not any(True for _ in value.uses):
                items = list(made.operands)
            else:
                items = list(self.em.create("torch.prim.TupleUnpack", [value], types).results)
            return OutputNode("tuple", tuple(self._output(v, t, results) for v, t in zip(items, elements, strict=True)))
        if kind == "OptionalType" and (under := under_casts(value)).type != value.type:
            return Output("const") if is_none(under) else self._output(under, type_.getElementType(), results)
        if kind == "DictType" and (items := script_results.items_of(value)) is not None:
            element = type_.getValueType()
            return OutputNode("dict", tuple(self._output(v, element, results) for v in items.values()), tuple(items))
        results.append(self._tensor_of(value) if kind == "TensorType" and str(value.type) in _NUMBERS else value)
        return Output("array" if kind == "TensorType" else _SCALARS.get(kind, "other"))

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def node(self, node: Any) -> None:
        """Translate one node. Raises UnsupportedProgram, at its line."""
        self.em.location = _location(node, self.em.context)
        try:
            handler = _HANDLERS.get(node.kind(), GraphBuilder.op)
            handler(self, node)
        except UnsupportedProgram as e:
            if hasattr(e, "__notes__"):  # from a node inside this one
                raise
            place = _place(node)
            where = f"{place['file']}:{place['line']}: " if place else ""
            error = type(e)(f"{where}{e}")
            error.add_note(f"in the TorchScript node {str(node).strip().splitlines()[0]}")
            raise error from None

    def operands(self, node: Any) -> list[ir.Value]:
        """What a node reads, as values of the graph."""
        return [self.value(v) for v in node.inputs()]

    def inlined(self, graph: Any, given: Sequence[Any]) -> list[ir.Value]:
        """What another graph, whose values have names of their own, gives for some values of this one."""
        outer = self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried
        modules = {p.unique(): self._objects[v.unique()] for p, v in zip(graph.inputs(), given, strict=True) if v.unique() in self._objects}
        values = {p.unique(): self.value(v) for p, v in zip(graph.inputs(), given, strict=True) if v.unique() not in self._objects}
        self._has_tasks = True
        self.graph, self._aliases, self._set = graph, graph.alias_db(), script_state.set_names(graph) | self._set
        self._values, self._objects, self._attributes, self.carried = values, modules, {}, {}
        self.nodes(graph)
        found = [self.value(v) for v in graph.outputs()]
        self.graph, self._aliases, self._set, self._values, self._objects, self._attributes, self.carried = outer
        return found

    def value(self, of: Any) -> ir.Value:
        """What a TorchScript value is in the graph."""
        return self._values[of.unique()]

    def bind(self, node: Any, values: Sequence[ir.Value]) -> None:
        """Let values of the graph be the node's outputs."""
        for output, value in zip(node.outputs(), values, strict=True):
            self._values[output.unique()] = value

    def result_types(self, node: Any) -> list[ir.Type]:
        return [self.type(spelled(o.type())) for o in node.outputs()]

    def derefined(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A value where one of a wider type is expected."""
        if str(value.type) in _NUMBERS and str(type_) in ("!torch.tensor", "!torch.optional<tensor>"):
            value = self._tensor_of(value)
        return value if value.type == type_ else self.em.create("torch.derefine", [value], [type_]).results[0]

    def op(self, node: Any) -> None:
        schema = by_torch.schema_of(node)
        name, operands = self._numbers(script_synonyms.canonical(by_torch.name_of(node, schema)), schema, self.operands(node))
        script_queries.refuse_devices(self, name, operands)
        same = script_dropout.identity(name, operands)
        if same is None:
            same = script_dropout.training(self, name, operands)
        if same is None:
            same = script_sizes.folded(self, name, operands)
        if same is not None:
            self.bind(node, [same])
            return
        if script_dropout.drops(name, operands):
            self.bind(node, [script_dropout.attention(self, operands)])
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
        numbers = [i for i, (v, a) in enumerate(given) if a.type.kind() == "TensorType" and str(v.type) in _NUMBERS]
        if not numbers:
            return name, operands
        op, _, overload = name.removeprefix("aten.").partition(".")
        scalar = f"aten.{op}.{_OF_NUMBERS.get((overload, *numbers))}"
        if scalar in optable.table():
            return scalar, operands
        return name, [self._tensor_of(v) if i in numbers else v for i, v in enumerate(operands)]

    def _tensor_of(self, value: ir.Value) -> ir.Value:
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

    def _is(self, node: Any) -> None:
        """Whether something is None, where that is known."""
        a, b = self.operands(node)
        nones = [is_none(under_casts(v)) for v in (a, b)]
        text = [str(v.type) for v in (a, b)]
        if not any(nones) or (not all(nones) and any(t.startswith("!torch.optional") for t, n in zip(text, nones, strict=True) if not n)):
            self.op(node)
            return
        self.bind(node, [self.em.bool(all(nones) == (node.kind() == "aten::__is__"))])

    def _not(self, node: Any) -> None:
        known = bool_of(self.operands(node)[0])
        if known is None:
            self.op(node)
        else:
            self.bind(node, [self.em.bool(not known)])

    def _constant(self, node: Any) -> None:
        output = node.output()
        if output.type().kind() == "FunctionType":
            return  # of a call that was inlined
        self._values[output.unique()] = script_constants.constant(self, output.toIValue(), output.type())
        self._lists[self.value(output)] = output

    def tensor_constant(self, tensor: Any) -> ir.Value:
        return self._tensor_input(self.attributes.constant(tensor))

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
        if output.type().kind() == "TensorType":
            self._attributes[output.unique()] = owner, node.s("name")
            self._values[output.unique()] = self._tensor_input(self.attributes.tensor(owner, node.s("name")))
            return
        value = self.attributes.value(owner, node.s("name"))
        if self.attributes.is_tensor(value):  # of the type Tensor?
            given = self._tensor_input(self.attributes.tensor(owner, node.s("name")))
            self._values[output.unique()] = self.derefined(given, self.type(spelled(output.type())))
            return
        self._values[output.unique()] = script_constants.constant(self, value, output.type())

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

    def _warn(self, node: Any) -> None:
        by_script.known("aten.warn", None)
        place = _place(node)
        file, line = (place["file"], int(place["line"])) if place else (self.name, 0)
        self.emit("aten.warn", [self.operands(node)[0], self.em.str(file), self.em.int(line)], [])

    def _raise(self, node: Any) -> None:
        operands = self.operands(node)
        if len(operands) == 1:
            operands.append(self.em.none)
        self.em.create("torch.prim.RaiseException", operands, [])

    def _cast(self, node: Any) -> None:
        (value,), (type_,) = self.operands(node), self.result_types(node)
        if value.type != type_:
            value = self.em.create("torch.prim.unchecked_cast", [value], [type_]).results[0]
        self.bind(node, [value])

    def _branch(self, node: Any) -> None:
        types = self.result_types(node)
        taken = bool_of(self.operands(node)[0])
        if taken is not None:
            block = list(node.blocks())[0 if taken else 1]
            self.nodes(block)
            self.bind(node, [self.derefined(self._values[o.unique()], t) for o, t in zip(block.outputs(), types, strict=True)])
            return
        made = self.em.create("torch.prim.If", self.operands(node), types, regions=2)
        for block, region in zip(node.blocks(), made.regions, strict=True):
            with self.em.at_end(region.blocks.append()):
                self.nodes(block)
                yields = [self.derefined(self._values[o.unique()], t) for o, t in zip(block.outputs(), types, strict=True)]
                self.em.create("torch.prim.If.yield", yields, [])
        arms = [list(region.blocks[0].operations)[-1].operation.operands for region in made.regions]
        self.bind(node, [script_queries.agreed(self, r, a, b) for r, a, b in zip(made.results, *arms, strict=True)])

    def _loop(self, node: Any) -> None:
        types = self.result_types(node)
        trip, condition, *carried = self.operands(node)
        carried = [self.derefined(v, t) for v, t in zip(carried, types, strict=True)]
        made = self.em.create("torch.prim.Loop", [trip, condition, *carried], types, regions=1)
        (block,) = node.blocks()
        body = made.regions[0].blocks.append(self.em.types.int, *types, arg_locs=[self.em.unknown] * (1 + len(types)))
        for value, argument in zip(block.inputs(), body.arguments, strict=True):
            self._values[value.unique()] = argument
        for value, *given in zip(list(block.inputs())[1:], list(node.inputs())[2:], list(block.outputs())[1:], strict=True):
            self.carried[value.unique()] = given
        with self.em.at_end(body):
            self.nodes(block)
            goes_on, *values = (self._values[o.unique()] for o in block.outputs())
            values = [self.derefined(v, t) for v, t in zip(values, types, strict=True)]
            self.em.create("torch.prim.Loop.condition", [goes_on, *values], [])
        self.bind(node, list(made.results))

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


def _place(node: Any) -> re.Match[str] | None:
    """Where a node stands in the user's program; of a node that stands nowhere, where what it gives is used first."""
    ranges = (n.sourceRange() for n in (node, *(use.user for o in node.outputs() for use in o.uses())))
    return next((found for text in ranges if (found := _PLACE.search(text))), None)


def _location(node: Any, context: ir.Context) -> ir.Location:
    place = _place(node) if node.kind() == "prim::GetAttr" else _PLACE.search(node.sourceRange())
    if place is None:
        return ir.Location.unknown(context)
    return ir.Location.file(place["file"], int(place["line"]), 0, context)


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
    "prim::unchecked_cast": GraphBuilder._cast,
    "aten::__is__": GraphBuilder._is,
    "aten::__isnot__": GraphBuilder._is,
    "aten::__not__": GraphBuilder._not,
    "prim::RaiseException": GraphBuilder._raise,
    "aten::append": GraphBuilder._append,
    "aten::warn": GraphBuilder._warn,
    "prim::If": GraphBuilder._branch,
    "prim::Loop": GraphBuilder._loop,
    **script_mkldnn.HANDLERS,
    **script_norms.HANDLERS,
    **script_state.HANDLERS,
    **script_synonyms.HANDLERS,
    **script_values.HANDLERS,
    **script_queries.HANDLERS,
}
