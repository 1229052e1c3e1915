"""Graphs of TorchScript with the calls in them inlined."""

from __future__ import annotations

from typing import Any


def inlined(graph: Any) -> Any:
    """A copy of a graph with all calls inlined, in the tasks that it starts as well. Those of a module known by an interface stay calls."""
    import torch  # here: an optional package

    graph = graph.copy()
    torch._C._jit_pass_inline(graph)
    for task in graph.findAllNodes("prim::fork"):
        task.g_("Subgraph", inlined(task.g("Subgraph")))
    return graph
