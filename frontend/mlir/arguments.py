"""Arguments of MLIR programs that are no arrays and no numbers: None for an optional, strings, lists and tuples.

Native code takes arrays and numbers. So a program that takes anything else is made again for each structure of its arguments: which are
None, how long lists are, what strings say. The entry takes the leaves then, and puts its arguments together of them itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.facts.inference.refine import is_called
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import set_signature, signature
from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir
from tierup.frontend.graph import GraphResult
from tierup.runtime.arguments.trees import CallShape, Leaf, Tree, leaf_names

_NUMBERS = {"int": "!torch.int", "float": "!torch.float", "bool": "!torch.bool"}
_CONTAINERS = {"list": "torch.prim.ListConstruct", "tuple": "torch.prim.TupleConstruct"}
_NONE = "!torch.none"


def takes_only_leaves(leaves: tuple[tuple[str, Leaf], ...]) -> bool:
    """Whether all arguments are arrays and Python's numbers, so that one graph serves all calls."""
    return all(leaf.kind in ("array", *_NUMBERS) for _, leaf in leaves)


def specialise(graph: GraphResult, shape: CallShape) -> GraphResult:
    """The program for calls of this structure; `graph` is changed. The arguments fit their types (`Parameter.convert`)."""
    func, entry = _entry(graph)
    with graph.module.context, func.location:
        block = func.regions[0].blocks[0]
        old = list(block.arguments)
        stated = func.attributes
        attributes = list(ir.ArrayAttr(stated["arg_attrs"])) if "arg_attrs" in stated else [ir.DictAttr.get({}) for _ in old]
        maker = _Maker(block)
        for argument, given, (name, tree) in zip(old, attributes, shape.parameters, strict=True):
            value = maker.value(tree, argument.type, name, ir.DictAttr(given))
            argument.replace_all_uses_with(value)
        for _ in old:
            block.erase_argument(0)
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(maker.attributes)
        set_signature(func, signature(func).results)
    graph.module.operation.verify()
    leaves = tuple(pair for name, tree in shape.parameters for pair in leaf_names(tree, name))
    return GraphResult(graph.module, entry, leaves, graph.output, writes=graph.writes)


def _entry(graph: GraphResult) -> tuple[ir.Operation, str]:
    """The function to change: the entry, or its copy where the program calls it itself."""
    functions = function_names(graph.module)
    func, name = functions[graph.entry], graph.entry
    if is_called(func):
        copy = func.clone(ir.InsertionPoint(func)).operation
        while name in functions:
            name += "_entry"
        copy.attributes["sym_name"] = ir.StringAttr.get(name, func.context)
        func.attributes["sym_visibility"] = ir.StringAttr.get("private", func.context)
        return copy, name
    return func, name


class _Maker:
    """Adds the leaves to the entry's arguments, and what is made of them before its first op."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._ip = ir.InsertionPoint.at_block_begin(block)
        self.attributes: list[ir.Attribute] = []

    def value(self, tree: Tree, type_: ir.Type, name: str, given: ir.DictAttr) -> ir.Value:
        """The value of this type for what the call gives."""
        text = str(type_)
        if text.startswith("!torch.optional<"):
            is_none = isinstance(tree, Leaf) and tree.kind == "none"
            inner = ir.Type.parse(_NONE if is_none else torch_types.elements(text)[0])
            return self._derefined(self.value(tree, inner, name, given), type_)
        if isinstance(tree, Leaf):
            return self._derefined(self._leaf(tree, type_, name, given), type_)
        if not text.startswith(("!torch.list<", "!torch.tuple<")):
            items = [self.value(item, type_, f"{name}[{i}]", given) for i, item in enumerate(tree.items)]  # of !torch.any
            made = ", ".join(str(v.type).removeprefix("!torch.") for v in items)
            type_ = ir.Type.parse(f"!torch.tuple<{made}>" if tree.kind == "tuple" else "!torch.list<any>")
            return self._create(_CONTAINERS[tree.kind], items, type_)
        elements = iter(torch_types.elements(text)) if tree.kind == "tuple" else _forever(torch_types.elements(text)[0])
        items = [self.value(item, ir.Type.parse(next(elements)), f"{name}[{i}]", ir.DictAttr.get({})) for i, item in enumerate(tree.items)]
        return self._create(_CONTAINERS[tree.kind], items, type_)

    def _leaf(self, leaf: Leaf, type_: ir.Type, name: str, given: ir.DictAttr) -> ir.Value:
        if leaf.kind == "none":
            return self._create("torch.constant.none", [], ir.Type.parse(_NONE))
        if leaf.kind == "str":
            text = ir.StringAttr.get(str(leaf.value))
            if str(type_) == "!torch.Device":
                return self._create("torch.constant.device", [], type_, text)
            return self._create("torch.constant.str", [], ir.Type.parse("!torch.str"), text)
        kept = {a.name: a.attr for a in given}
        kept["tierup.name"] = ir.StringAttr.get(name)
        self.attributes.append(ir.DictAttr.get(kept))
        own = type_ if torch_types.is_tensor(type_) else ir.Type.parse(_NUMBERS.get(leaf.kind, "!torch.vtensor"))
        return self._block.add_argument(own, ir.Location.current)

    def _derefined(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        return value if value.type == type_ else self._create("torch.derefine", [value], type_)

    def _create(self, name: str, operands: list[ir.Value], type_: ir.Type, value: ir.Attribute | None = None) -> ir.Value:
        attributes = {} if value is None else {"value": value}
        return ir.Operation.create(name, results=[type_], operands=operands, attributes=attributes, ip=self._ip).results[0]


def _forever(text: str) -> Iterator[str]:
    while True:
        yield text
