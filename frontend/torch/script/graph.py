"""From a TorchScript graph to the torch dialect: node by node, with the user's lines.

    %y : Tensor = aten::add(%x, %one, %one)      ->      %y = torch.aten.add.Tensor %x, %one, %one : !torch.tensor, ...
    %z : Tensor = prim::If(%c) block0(): -> (%y) ...   ->      torch.prim.If with derefined yields

Calls are inlined before. Attributes of modules are resolved here: submodules away, tensors to inputs that are handed over at every
call, numbers and strings to constants that the caller checks (see module.py). Arguments that are tuples, lists and dicts come
flat: a graph serves one structure of calls. So what is None is known, and so are a module's flags: of an If that hangs on them the arm
that is taken stands alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.structure import blocks, maker
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of, under_casts
from tierup.frontend.graph import GraphResult, finish_function, new_function
from tierup.frontend.torch import by_torch
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script import signature as script_signature
from tierup.frontend.torch.script.builder import NUMBERS, OBJECTS, Builder, Contents
from tierup.frontend.torch.script.composites import einsum, multi_head, recurrent
from tierup.frontend.torch.script.grad_mode import is_no_grad
from tierup.frontend.torch.script.nodes import constants as script_constants
from tierup.frontend.torch.script.nodes import containers as script_containers
from tierup.frontend.torch.script.nodes import dropout as script_dropout
from tierup.frontend.torch.script.nodes import flow as script_flow
from tierup.frontend.torch.script.nodes import lists as script_lists
from tierup.frontend.torch.script.nodes import mkldnn as script_mkldnn
from tierup.frontend.torch.script.nodes import norms as script_norms
from tierup.frontend.torch.script.nodes import objects as script_objects
from tierup.frontend.torch.script.nodes import queries as script_queries
from tierup.frontend.torch.script.nodes import sizes as script_sizes
from tierup.frontend.torch.script.nodes import state as script_state
from tierup.frontend.torch.script.nodes import synonyms as script_synonyms
from tierup.frontend.torch.script.nodes import values as script_values
from tierup.frontend.torch.script.types import spelled
from tierup.runtime.arguments.trees import CallShape, Leaf, Tree, leaf_names

_CONTAINERS = ("ListType", "DictType")
_OF_NUMBERS = {  # an overload on tensors, and which operands are numbers -> the overload that takes numbers there
    ("Tensor", 1): "Scalar", ("", 1): "Scalar", ("Tensor_Tensor", 1): "Tensor_Scalar", ("Tensor_Tensor", 0): "Scalar",
    ("Tensor_mode", 1): "Scalar_mode", ("self", 2): "ScalarOther", ("self", 1): "ScalarSelf", ("self", 1, 2): "Scalar",
}  # fmt: skip


class GraphBuilder(Builder):
    """The graph of one TorchScript program."""

    # --- the entry -----------------------------------------------------------------------------------------------------

    def build(self, shape: CallShape) -> GraphResult:
        """The graph for calls of this structure. Raises UnsupportedProgram at the user's line."""
        em = self.em
        module = ir.Module.create(em.unknown)
        leaves = tuple(pair for name, tree in shape.parameters for pair in leaf_names(tree, name))
        types = [self.em.leaf_type(leaf.kind) for _, leaf in leaves]
        func = new_function(module, self.name, types, em.unknown, "torchscript")
        self._block = func.regions[0].blocks[0]
        with em.function(self._block):
            flat = iter(list(self._block.arguments))
            inputs = list(self.graph.inputs())
            for value in inputs:
                if value.type().kind() == "ClassType":
                    self._objects[value.unique()] = self.attributes.root
            given = [v for v in inputs if v.type().kind() != "ClassType"]
            for value, (name, tree) in zip(given, shape.parameters, strict=True):
                made = script_signature.argument(self, tree, value.type(), flat, self.attributes.lengths.get(name))
                self._values[value.unique()] = made
                self._lists[made] = value
                self._see_into(value, made, tree)
            self.parameters = {value.unique(): name for value, (name, _) in zip(given, shape.parameters, strict=True)}
            self.arguments = {under_casts(self._values[unique]): name for unique, name in self.parameters.items()}
            for node in self.graph.nodes():
                self.node(node)
            self._say_without_gradient(leaves)
            results, output = script_signature.results(self, list(self.graph.outputs()))
            em.create("func.return", results, [])
            _drop_unread(self._block)
        finish_function(func, results, [*(n for n, _ in leaves), *self._tensors])
        hidden = tuple(self.attributes.input(name) for name in self._tensors)
        return GraphResult(module, self.name, leaves, output, hidden, writes=True)

    def _see_into(self, value: Any, made: ir.Value, tree: Tree) -> None:
        """Keep what is in a list or dict that is an argument, if the program changes it where that is seen."""
        kind = value.type().kind()
        if kind not in _CONTAINERS or isinstance(tree, Leaf) or not self.is_written(value):
            return
        keys = list(tree.keys) if kind == "DictType" else list(range(len(tree.items)))
        if script_containers.is_in_sight(self, value, keys):
            element = value.type().getValueType() if kind == "DictType" else value.type().getElementType()
            items = list(made.owner.operands)[-len(keys) :] if keys else []
            self.contents[value.unique()] = Contents(
                dict(zip(keys, items, strict=True)) if kind == "DictType" else items, self.type(spelled(element))
            )

    def _say_without_gradient(self, leaves: Sequence[tuple[str, Leaf]]) -> None:
        """Tell the attributes of what a gradient would not be PyTorch's."""
        names = {self._block.arguments[i]: name for i, (name, _) in enumerate(leaves)} | {v: n for n, v in self._tensors.items()}
        self.attributes.without_gradient = self.attributes.without_gradient or self._grad_mode.refused
        self.attributes.without_gradient_of.update({names[v]: why for v, why in self._grad_mode.refused_of.items()})

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def change(self, node: Any) -> bool:
        """Translate a node that changes or asks a list or dict that is in sight; whether it is one."""
        return script_containers.change(self, node)

    def op(self, node: Any) -> None:
        """Translate a node that calls an op: to what it gives, where that is known now, else to an op of the dialect."""
        schema = by_torch.schema_of(node)
        name, operands = self._numbers(script_synonyms.canonical(by_torch.name_of(node, schema)), schema, self.operands(node))
        script_queries.refuse_results(self, name, schema, operands)
        operands = script_queries.with_flags(self, name, operands)
        if node.kind() == "aten::tensor":
            operands = script_constants.of_tensor(self, node, operands)
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
        if multi_head.is_apart(name, operands):
            self.bind(node, multi_head.apart(self, node, name, operands))
            return
        if einsum.is_apart(self, name, operands):
            self.bind(node, einsum.apart(self, node, operands))
            return
        if recurrent.is_apart(self, name, operands):
            self.bind(node, recurrent.apart(self, node, name, operands))
            return
        constant = script_queries.folded(self, name, operands) if self._is_known(name, schema) else None
        if constant is None:
            made = self.create(name, schema, operands, self.result_types(node))
            self.bind(node, [script_queries.settled(self, v) for v in made])
            script_lists.open_result(self, node)
        else:
            self.bind(node, [constant])

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

    def _constant(self, node: Any) -> None:
        output = node.output()
        if output.type().kind() == "FunctionType":
            return  # of a call that was inlined
        self._values[output.unique()] = made = script_constants.constant(self, output.toIValue(), output.type())
        self._lists[made] = output
        for each in _inside(made):  # nobody changes what is in a constant
            self._lists[each] = output

    def _get_attribute(self, node: Any) -> None:
        owner = self._objects[node.input().unique()]
        output = node.output()
        if isinstance(owner, script_objects.Record):
            script_objects.get(self, node, owner)
            return
        if output.type().kind() in OBJECTS:
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
        self._lists[self.value(output)] = output

    def _enter(self, node: Any) -> None:
        """A `with` block begins or ends."""
        if not is_no_grad(node.input().type()):
            raise UnsupportedProgram(f"a with block of the class {node.input().type().annotation_str} is not supported")
        self._grad_mode.deepen(1 if node.kind() == "prim::Enter" else -1)

    def _construct(self, node: Any) -> None:
        type_ = node.output().type()
        op = "torch." + node.kind().replace("::", ".")
        values = list(node.inputs())
        if type_.kind() == "ListType" and type_.getElementType().kind() in OBJECTS and not self.is_written(node.output()):
            self._objects[node.output().unique()] = [self.object(v) for v in values]
            return
        if type_.kind() == "TupleType":
            wanted = [spelled(t) for t in type_.elements()]
        else:
            wanted = [spelled(type_.getElementType())] * len(values)
        operands = [self.derefined(v, self.type(t)) for v, t in zip(self.operands(node), wanted, strict=True)]
        if type_.kind() == "ListType" and self.is_written(node.output()) and script_containers.is_in_sight(
            self, node.output(), range(len(values))
        ):
            self.contents[node.output().unique()] = Contents(operands, self.type(spelled(type_.getElementType())))
            return
        self.bind(node, list(self.em.create(op, operands, self.result_types(node)).results))
        output = node.output()
        self._lists[self.value(output)] = output

    def _construct_dict(self, node: Any) -> None:
        parts = self.operands(node)
        type_ = node.output().type()
        keys = [script_queries.known(self, v) for v in parts[::2]]
        if self.is_written(node.output()) and script_containers.is_in_sight(self, node.output(), keys):
            element = self.type(spelled(type_.getValueType()))
            items = dict(zip(keys, [self.derefined(v, element) for v in parts[1::2]], strict=True))
            self.contents[node.output().unique()] = Contents(items, element)
            return
        self.bind(node, [self.dict_of(parts[::2], parts[1::2], node.output().type())])

    def _primitive(self, node: Any) -> None:
        """A node that is spelled alike in the dialect: no overload, no schema."""
        made = self.em.create("torch." + node.kind().replace("::", "."), self.operands(node), self.result_types(node))
        self.bind(node, list(made.results))

    def _unpack(self, node: Any) -> None:
        """The items of a tuple, or of a list of which all are known here."""
        (value,), types = self.operands(node), self.result_types(node)
        made = maker(under_casts(value), "torch.prim.TupleConstruct")
        items = self.items_of(value) if made is None else list(made.operands)
        if items is None or len(items) != len(types):
            self._primitive(node)
        else:
            self.bind(node, [self.derefined(v, t) for v, t in zip(items, types, strict=True)])

    def _index(self, node: Any) -> None:
        """The item of a tuple."""
        value, index = self.operands(node)
        made, at = maker(under_casts(value), "torch.prim.TupleConstruct"), int_of(index)
        if made is None or at is None or not -len(made.operands) <= at < len(made.operands):
            self._primitive(node)
        else:
            self.bind(node, [self.derefined(made.operands[at], self.result_types(node)[0])])

    def _extend(self, node: Any) -> None:
        """`a += [x, y]` of lists is `a.append(x)`, then y; of all else an op as any other."""
        to, added = list(node.inputs())[:2]
        made = added.node()
        if to.type().kind() != "ListType" or made.kind() != "prim::ListConstruct" or len(added.uses()) != 1:
            script_mkldnn.HANDLERS[node.kind()](self, node)
            return
        grown = self.value(to)
        element = self.type(spelled(to.type().getElementType()))
        for item in self.operands(made):
            self.em.create("torch.aten.append.t", [grown, self.derefined(item, element)], [grown.type])
        self.bind(node, [grown])

    handlers = {
        "prim::Constant": _constant,
        "prim::GetAttr": _get_attribute,
        "prim::CreateObject": script_objects.create,
        "prim::Enter": _enter,
        "prim::Exit": _enter,
        "prim::ListConstruct": _construct,
        "prim::TupleConstruct": _construct,
        "prim::DictConstruct": _construct_dict,
        "prim::ListUnpack": _unpack,
        "prim::TupleUnpack": _unpack,
        "prim::TupleIndex": _index,
        "prim::Uninitialized": _primitive,
        **script_lists.HANDLERS,
        **script_flow.HANDLERS,
        **script_mkldnn.HANDLERS,
        **script_norms.HANDLERS,
        **script_state.HANDLERS,
        **script_synonyms.HANDLERS,
        **script_values.HANDLERS,
        **script_queries.HANDLERS,
        "aten::add_": _extend,
    }


def _inside(value: ir.Value) -> Iterator[ir.Value]:
    """What is in a list or a tuple that is written down, and in its items."""
    made = maker(value, "torch.prim.TupleConstruct") or maker(value, "torch.prim.ListConstruct")
    for item in map(under_casts, made.operands if made is not None else ()):
        yield item
        yield from _inside(item)


_HANDING_ON = frozenset({"torch.derefine", "torch.prim.unchecked_cast", "torch.prim.TupleConstruct", "torch.prim.ListConstruct",
                         "torch.prim.DictConstruct", "torch.prim.Uninitialized", "tierup.autograd_zero"})  # fmt: skip


def _drop_unread(block: ir.Block) -> None:
    """What handed values on to whom it was known to be."""
    for op in reversed([each.operation for each in block.operations]):
        for inner in blocks(op):
            _drop_unread(inner)
        if op.name in _HANDING_ON and not any(True for result in op.results for _ in result.uses):
            op.erase()
