"""Attributes that a TorchScript program sets, and Python functions that it calls. Tier 0 does both, once a call and in the user's order:
such a program has native code only where that happens in a branch.

    prim::SetAttr[name="h"](%self, %new)  ->  torch.operator "prim.SetAttr"(%number, %h, %new)      (%number: which module)
    prim::GetAttr[name="h"](%self)        ->  torch.operator "prim.GetAttr"(%number, %h)            as it is at that moment
    ^f(%x)                                ->  torch.operator "prim.PythonOp"(%number, %x)

And calls that PyTorch's inliner leaves, of modules of which the program knows the interface alone: a graph is for those there are now.

    %m : InterfaceType<I> = prim::GetAttr[name="m"](%self)         the submodule, as any other
    %m : InterfaceType<I> = prim::ModuleContainerIndex(%d, %k)     the one of a key that is known when the graph is built
    prim::CallMethod[name="forward"](%m, %x)                       its graph
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tierup.dialect import optable
from tierup.dialect.optable.core import Kind, Op, declared
from tierup.dialect.optable.kernels import script_objects
from tierup.frontend.torch.by_torch import schema_of
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.grad_mode import is_no_grad
from tierup.frontend.torch.script.inlining import inlined
from tierup.frontend.torch.script.nodes import objects
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known

# What they give is, or holds, what they take.
_HANDS_ON = frozenset({
    "aten::__getitem__", "aten::get", "aten::items", "aten::values", "prim::DictConstruct", "prim::ListConstruct", "prim::ListUnpack",
    "prim::TupleConstruct", "prim::TupleIndex", "prim::TupleUnpack", "prim::unchecked_cast",
})  # fmt: skip


def _row(name: str, kernel: str, results: int) -> None:
    optable.add_foreign(
        Op(
            name, Kind.OTHER, f"script_objects.{kernel}", declared,
            results=results, native=False, raises=True, acts=True, random=True, differentiable=False, note="TorchScript's",
        )  # fmt: skip
    )


def is_changed(builder: Builder, value: Any) -> bool:
    """Whether the program may change a list or dict of a module, or one in it. TorchScript takes it for any argument of that type
    as well; here it is an object of its own."""
    pending, seen = [value], set()
    while pending:
        at = pending.pop()
        if at.unique() in seen:
            continue
        seen.add(at.unique())
        for use in at.uses():
            kind, schema = use.user.kind(), schema_of(use.user)
            alias = None if schema is None or use.offset >= len(schema.arguments) else schema.arguments[use.offset].alias_info
            if alias is not None and alias.is_write:
                return True
            if kind in _HANDS_ON:
                pending += use.user.outputs()
            elif schema is None or alias is not None:  # into another container, or out of a block
                return builder.is_written(value)
    return False


def get(builder: Builder, node: Any, owner: Any) -> None:
    """An attribute that the program sets somewhere."""
    _row("prim.GetAttr", "get_attribute", 1)
    builder.bind(node, builder.emit("prim.GetAttr", _place(builder, node, owner), builder.result_types(node)))


def set_(builder: Builder, node: Any) -> None:
    """Handler of prim::SetAttr."""
    target, value = node.inputs()
    if is_no_grad(target.type()):
        return  # the mode before, which nothing reads
    owner = builder.object(target)
    if isinstance(owner, objects.Record):
        objects.set_(builder, node, owner)
        return
    if value.type().kind() == "ClassType":
        raise UnsupportedProgram(f"the program sets {node.s('name')!r} to a module")
    builder.attributes.is_set = True
    _row("prim.SetAttr", "set_attribute", 0)
    builder.emit("prim.SetAttr", [*_place(builder, node, owner), builder.value(value)], [])


def _place(builder: Builder, node: Any, owner: Any) -> list[Any]:
    return [builder.em.int(builder.attributes.number(owner)), builder.em.str(node.s("name"))]


def python(builder: Builder, node: Any) -> None:
    """Handler of prim::PythonOp."""
    if builder.foreign != "torch":
        raise UnsupportedProgram(f'the program calls the Python function {node.pyname()}; foreign="torch" leaves such calls to Python')
    outputs = len(list(node.outputs()))
    if outputs > 1 or node.scalar_args():
        raise UnsupportedProgram(f"the program calls the Python function {node.pyname()} in a way that is not supported")
    _row("prim.PythonOp", "call_python", 1)
    types = builder.result_types(node) or [builder.em.types.none]
    given = list(node.inputs())
    modules = {i: builder.object(v) for i, v in enumerate(given) if v.type().kind() == "ClassType"}
    if any(isinstance(module, objects.Record) for module in modules.values()):
        raise UnsupportedProgram(f"the program hands an object to the Python function {node.pyname()}")
    number = script_objects.number(_with(node.pyobj(), modules), builder.attributes)
    operands = [builder.value(v) for i, v in enumerate(given) if i not in modules]
    made = builder.emit("prim.PythonOp", [builder.em.int(number), *operands], types)
    if outputs:
        builder.bind(node, made)


def _with(function: Any, modules: Mapping[int, Any]) -> Any:
    """A Python function of the values that are no modules: a method under `torch.jit.ignore` takes its own as its first argument."""
    if not modules:
        return function

    def bound(*values: Any) -> Any:
        given = iter(values)
        return function(*(modules[i] if i in modules else next(given) for i in range(len(modules) + len(values))))

    return bound


def _of_container(builder: Builder, node: Any) -> None:
    container, key = node.inputs()
    owner, found = builder.object(container), known(builder, builder.value(key))
    if found is UNKNOWN:
        raise UnsupportedProgram("which module of a list or a dict is called is known at run time only")
    if not owner.hasattr(str(found)):
        raise UnsupportedProgram(f"there is no module {found!r} in the list or the dict")
    builder.put_object(node.output(), builder.attributes.child(owner, str(found)))


def _call(builder: Builder, node: Any) -> None:
    given = list(node.inputs())
    graph = inlined(builder.object(given[0])._get_method(node.s("name")).graph)
    builder.bind(node, builder.inlined(graph, given))


HANDLERS = {
    "prim::SetAttr": set_, "prim::PythonOp": python, "prim::CallMethod": _call, "prim::ModuleContainerIndex": _of_container,
}  # fmt: skip
