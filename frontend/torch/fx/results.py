"""What a graph gives besides what it computes: inputs, one tensor twice, several views of one. PyTorch makes these of what is there.

AOTAutograd's forward graphs give much of that, for the backward graph. Native code gives no two results in one memory, and need not hand
an input back. It gives row-major tensors; where the traced result lies otherwise, the program gives the one with its dims in the order of
memory, and the result is a view of that (`layouts.py`).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from tierup.frontend.torch.fx.layouts import Layout, layout_of, lies_alone

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
            _aten.diagonal.default,
            _aten.expand.default,
            _aten.permute.default,
            _aten.select.int,
            _aten.slice.Tensor,
            _aten.split.Tensor,
            _aten.split_with_sizes.default,
            _aten.squeeze.default,
            _aten.squeeze.dim,
            _aten.squeeze.dims,
            _aten.t.default,
            _aten.transpose.int,
            _aten.unbind.int,
            _aten.unfold.default,
            _aten.unsqueeze.default,
            _aten.view.dtype,
        )
    },
}

Step = tuple[Any, tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class _Number:
    """A size among the arguments of a step that only the run knows: an input, or among what is computed."""

    of_input: bool
    at: int


class Results:
    """`computed`: the nodes (or constants) that a program must give; `finish(inputs, found)` makes the graph's results of them."""

    def __init__(self, graph: GraphModule) -> None:
        output = next(n for n in graph.graph.nodes if n.op == "output")
        inputs = {n: i for i, n in enumerate(n for n in graph.graph.nodes if n.op == "placeholder")}
        given = list(output.args[0])
        roots = {n: _root(n) for n in given if isinstance(n, Node)}
        uses = Counter(roots[n][0] for n in given if isinstance(n, Node))
        self.computed: list[Any] = []
        self._layouts: list[Layout | None] = []
        self._made: list[tuple[bool, int, tuple[Step, ...]]] = []  # of an input, its number; or of what was computed; the steps from there
        self._has_numbers = False  # among the arguments of steps
        at: dict[Any, int] = {}
        for node in given:
            root, steps = roots[node] if isinstance(node, Node) else (node, ())
            of_input = isinstance(root, Node) and root in inputs
            is_tensor = isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)
            if not of_input and (not is_tensor or (uses[root] == 1 and lies_alone(node))):
                self._made.append((False, self._compute(node, output), ()))
                continue
            steps = tuple((op, *map_arg((args, kwargs), partial(self._number, inputs, at, output))) for op, args, kwargs in steps)
            if of_input:
                self._made.append((True, inputs[root], steps))
                continue
            if root not in at:
                at[root] = self._compute(root, output)
            elif not steps:
                steps = ((_aten.detach.default, (), {}),)  # another tensor on the same memory
            self._made.append((False, at[root], steps))
        self.plain = self._made == [(False, i, ()) for i in range(len(given))]

    def _number(self, inputs: dict[Node, int], at: dict[Any, int], output: Node, node: Node) -> _Number:
        """What stands for a size that the run knows, which the program gives where it is no input."""
        self._has_numbers = True
        if node in inputs:
            return _Number(True, inputs[node])
        if node not in at:
            at[node] = self._compute(node, output)
        return _Number(False, at[node])

    def _compute(self, node: Any, output: Node) -> int:
        """Have the program give a node, or it with its dims in the order of memory. Its number among what is computed."""
        layout = layout_of(node)
        self._layouts.append(layout)
        self.computed.append(node if layout is None else layout.in_order(node, output))
        return len(self.computed) - 1

    def finish(self, inputs: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
        """The graph's results. Called without grad mode."""
        found = [value if layout is None else layout.laid_out(value) for value, layout in zip(found, self._layouts, strict=True)]
        if self.plain:
            return tuple(found)
        results = []
        for of_input, i, steps in self._made:
            value = inputs[i] if of_input else found[i]
            for op, args, kwargs in steps:
                if self._has_numbers:
                    args, kwargs = _with_numbers((args, kwargs), inputs, found)
                value = op(value, *args, **kwargs)
            results.append(value)
        return tuple(results)


def _with_numbers(given: Any, inputs: Sequence[Any], found: Sequence[Any]) -> Any:
    """A step's arguments with the sizes of the run."""
    if isinstance(given, _Number):
        return (inputs if given.of_input else found)[given.at]
    if isinstance(given, (tuple, list)):
        return [_with_numbers(v, inputs, found) for v in given]
    return {k: _with_numbers(v, inputs, found) for k, v in given.items()} if isinstance(given, dict) else given


def root_of(given: Any) -> Any:
    """The node that a result is (a view of); a constant as it is."""
    return _root(given)[0] if isinstance(given, Node) else given


def _root(node: Node) -> tuple[Node, tuple[Step, ...]]:
    """What a node is a view of, and the steps from there."""
    steps: list[Step] = []
    while _is_view(node) or (node.target is operator.getitem and _is_view(node.args[0])):
        steps.append((_VIEWS.get(node.target, node.target), node.args[1:], dict(node.kwargs)))
        node = node.args[0]
    return node, tuple(reversed(steps))


def _is_view(node: Any) -> bool:
    """Whether it is a view of its first argument; the others are constants, or sizes that the run knows."""
    if node.op != "call_function" or node.target not in _VIEWS:
        return False
    return all(n is node.args[0] or isinstance(n.meta.get("val"), (int, torch.SymInt)) for n in node.all_input_nodes)
