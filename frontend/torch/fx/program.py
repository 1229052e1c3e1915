"""A graph of torch.fx as what `TorchFunction` makes functions of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from torch.fx import GraphModule, Node

from tierup.dialect.language.context import thread_context
from tierup.frontend.graph import built
from tierup.frontend.torch.fx.graph import FxBuilder, Written
from tierup.frontend.torch.fx.layouts import is_traced, layout_of, strides_with_gaps, with_gaps
from tierup.frontend.torch.fx.nodes import place_of
from tierup.frontend.torch.fx.results import root_of
from tierup.frontend.torch.script.module import Attributes
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.graphs.variant import Built

FOREIGN = ("torch", "error")


class FxProgram:
    """A functional graph over ATen: what calls hand over (`used`), what is read at every call (`state`), what is written (`written`),
    and what the user gets (`results`; None: what the graph gives). `owners`: the input in whose memory a result lies, for each;
    `lost`: for inputs, why their gradients are PyTorch's to make.

    `state` maps placeholders to names of `owner`, which gives their tensors by `getattr(name)`. The graph is translated here: raises
    UnsupportedProgram, at the user's line, for what is not.
    """

    def __init__(
        self,
        name: str,
        graph: GraphModule,
        used: Sequence[Node],
        options: Mapping[str, Any],
        *,
        foreign: str = "torch",
        owner: Any = None,
        state: Mapping[Node, str] | None = None,
        written: Sequence[Written] = (),
        results: Sequence[Any] | None = None,
        lost: Mapping[Node, str] | None = None,
        owners: Sequence[Node | None] = (),
        original: Callable[..., Any] | None = None,
        gradients: str = "torch",
    ) -> None:
        self.name, self.graph, self.used, self.options, self.foreign = name, graph, used, options, foreign
        self.owner, self.state, self.written, self.writes_last = owner, state or {}, written, bool(written)
        self.original, self.lost = original, lost or {}
        self.eager = original if gradients == "torch" else None
        output = next(n for n in graph.graph.nodes if n.op == "output")
        self.results = list(output.args[0]) if results is None else results
        in_rows = all(layout is not None and layout.order is None for n in used if is_traced(n) for layout in [layout_of(n)])
        gaps = [(k, s) for k, s in enumerate(map(strides_with_gaps, results or ())) if s is not None and in_rows]
        self.finish: Callable[[Any], Any] | None = partial(_with_gaps, gaps) if gaps else None
        contents = {(w.target, w.content) for w in written}
        of = zip(owners, map(root_of, self.results), strict=False)
        self.shown = {k for k, (owner, root) in enumerate(of) if (owner, root) in contents}
        self.signature = inspect.Signature([inspect.Parameter(n.name, inspect.Parameter.POSITIONAL_ONLY) for n in used])

    def make(self) -> tuple[Function, Attributes]:
        """A function and the state that it reads."""
        attributes = Attributes(self.owner)
        made = self._built(attributes)

        def current(*call: object) -> Built:
            nonlocal made
            if made.program.released:
                made = replace(made, program=made.program.renewed())
            return made

        return Function(self.name, self.signature, current, current, self.options), attributes

    def _built(self, attributes: Attributes) -> Built:
        context = thread_context()
        with context:
            builder = FxBuilder(context, self.name, self.graph, attributes, self.foreign, bool(self.written))
            read = {node: partial(attributes.tensor, attributes.root, name) for node, name in self.state.items()}
            for node, why in self.lost.items():
                attributes.without_gradient_of[read[node]() if node in read else node.name] = why
            return built(builder.build(self.used, read, self.written, self.results, self.shown), self.name, self._place(), packed=True)

    def _place(self) -> str:
        """Where the user wrote the first op."""
        found = next(filter(None, map(place_of, self.graph.graph.nodes)), None)
        return f"{found[0]}:{found[1]}" if found else f"torch.fx {self.name}"


def _with_gaps(gaps: Sequence[tuple[int, tuple[int, ...]]], results: Sequence[Any]) -> list[Any]:
    """The results of a call, those with gaps between their elements as eager has them."""
    found = list(results)
    for k, strides in gaps:
        found[k] = with_gaps(found[k], strides)
    return found
