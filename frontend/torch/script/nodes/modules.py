"""Calls that PyTorch's inliner leaves, of modules of which the program knows the interface alone: a graph is for those there are now.

    %m : InterfaceType<I> = prim::GetAttr[name="m"](%self)         the submodule, as any other
    %m : InterfaceType<I> = prim::ModuleContainerIndex(%d, %k)     the one of a key that is known when the graph is built
    prim::CallMethod[name="forward"](%m, %x)                       its graph
"""

from __future__ import annotations

from typing import Any

from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.inlining import inlined
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known


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


HANDLERS = {"prim::CallMethod": _call, "prim::ModuleContainerIndex": _of_container}
