"""What a graph gives besides what it computes: inputs, one tensor twice, several views of one. PyTorch makes these of what is there.

AOTAutograd's forward graphs give much of that, for the backward graph. Native code gives no two results in one memory, and need not hand
an input back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

_aten = torch.ops.aten
# a view, and how it is made again: of a tensor that may lie otherwise than where the graph was traced
_VIEWS: dict[Any, Any] = {
    _aten.view.default: _aten.reshape.default,
    _aten._unsafe_view.default: _aten.reshape.default,
    **{
        op: op
        for op in (
            _aten.alias.default,
            _aten.detach.default,
            _aten.expand.default,
            _aten.permute.default,
            _aten.select.int,
            _aten.slice.Tensor,
            _aten.squeeze.dim,
            _aten.squeeze.dims,
            _aten.t.default,
            _aten.transpose.int,
            _aten.unsqueeze.default,
        )
    },
}

Step = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Results:
    """`computed`: the nodes (or constants) that a program must give; `finish(inputs, found)` makes the graph's results of them."""

    def __init__(self, graph: GraphModule) -> None:
        output = next(n for n in graph.graph.nodes if n.op == "output")
        inputs = {n: i for i, n in enumerate(n for n in graph.graph.nodes if n.op == "placeholder")}
        given = list(output.args[0])
        roots = {n: _root(n) for n in given if isinstance(n, Node)}
        uses = Counter(roots[n][0] for n in given if isinstance(n, Node))
        self.computed: list[Any] = []
        self._made: list[tuple[bool, int, tuple[Step, ...]]] = []  # of an input, its number; or of what was computed; the steps from there
        at: dict[Any, int] = {}
        for node in given:
            root, steps = roots[node] if isinstance(node, Node) else (node, ())
            if isinstance(root, Node) and root in inputs:
                self._made.append((True, inputs[root], steps))
                continue
            if not isinstance(node, Node) or uses[root] == 1 or not isinstance(node.meta.get("val"), torch.Tensor):
                self._made.append((False, len(self.computed), ()))
                self.computed.append(node)
                continue
            if root not in at:
                at[root] = len(self.computed)
                self.computed.append(root)
            elif not steps:
                steps = ((_aten.detach.default, (), {}),)  # another tensor on the same memory
            self._made.append((False, at[root], steps))
        self.plain = self._made == [(False, i, ()) for i in range(len(given))]

    def finish(self, inputs: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
        """The graph's results. Called without grad mode."""
        if self.plain:
            return tuple(found)
        results = []
        for of_input, i, steps in self._made:
            value = inputs[i] if of_input else found[i]
            for op, args, kwargs in steps:
                value = op(value, *args, **kwargs)
            results.append(value)
        return tuple(results)


def _root(node: Node) -> tuple[Node, tuple[Step, ...]]:
    """What a node is a view of, and the steps from there."""
    steps: list[Step] = []
    while node.op == "call_function" and node.target in _VIEWS and all(n is node.args[0] for n in node.all_input_nodes):
        steps.append((_VIEWS[node.target], node.args[1:], dict(node.kwargs)))
        node = node.args[0]  # type: ignore[assignment]  # a view's first operand
    return node, tuple(reversed(steps))
