"""The backend of `torch.compile`: AOTAutograd's forward and backward graphs as tierup's functions; what is not taken PyTorch runs."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule
from torch.utils._python_dispatch import _disable_current_modes

from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.function import TorchFunction
from tierup.frontend.torch.fx import decompositions
from tierup.frontend.torch.fx.nodes import is_handed_over
from tierup.frontend.torch.fx.program import FOREIGN, FxProgram
from tierup.frontend.torch.fx.results import Results
from tierup.runtime.base.errors import NotOptimized
from tierup.runtime.base.options import Overrides

_numbers = itertools.count()
_compiled: weakref.WeakValueDictionary[int, CompiledGraph] = weakref.WeakValueDictionary()


class FallbackWarning(UserWarning):
    """A graph of torch.compile that PyTorch runs instead of tierup. The message names the op and the user's line."""


class CompiledGraph:
    """One graph of `torch.compile`. `kind`: "inference", "forward" or "backward". `function`: what runs it, None where PyTorch does;
    `refused` then says why. `stats()`, `explain()` and the rest are the function's."""

    def __init__(self, name: str, kind: str, graph: GraphModule) -> None:
        self.name, self.kind, self._graph = name, kind, graph
        self.function: TorchFunction | None = None
        self.refused: str | None = None
        self._used: tuple[int, ...] = ()

    def take(self, options: Mapping[str, Any], foreign: str) -> None:
        """Make the function. Whatever goes wrong is a warning, and PyTorch runs the graph."""
        try:
            inputs = [n for n in self._graph.graph.nodes if n.op == "placeholder"]
            self._used = tuple(i for i, n in enumerate(inputs) if is_handed_over(n, inputs))
            self._results = Results(self._graph)
            used = [inputs[i] for i in self._used]
            program = FxProgram(self.name, self._graph, used, options, foreign=foreign, results=self._results.computed)
            with _disable_current_modes():  # PyTorch traces with tensors that have no data, but constants of the graph are read here
                self.function = TorchFunction(program)
        except Exception as e:  # noqa: BLE001 - a model never fails for what tierup cannot do
            self._refuse(e)

    def _refuse(self, error: Exception) -> None:
        what = str(error) if isinstance(error, UnsupportedProgram) else f"{type(error).__name__}: {error}"
        self.function, self.refused = None, what
        warnings.warn(f"{self.name} runs in PyTorch: {what}", FallbackWarning, stacklevel=2)

    def __call__(self, *inputs: Any) -> Any:
        """The graph's results, a tuple. A graph is functional: one that tierup cannot run on these tensors is run anew by PyTorch."""
        function = self.function
        if function is None:
            return self._graph(*inputs)
        with torch.no_grad():  # AOTAutograd has seen to gradients
            try:
                return self._results.finish(inputs, function(*[inputs[i] for i in self._used]))
            except NotOptimized:  # the user asked for it
                raise
            except Exception as e:  # noqa: BLE001 - PyTorch judges: it raises its own error, or the failure is tierup's
                results = self._graph(*inputs)
                self._refuse(e)
                return results

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "__signature__":
            raise AttributeError(name)
        if self.function is None:
            raise AttributeError(f"{self.name} has no {name}: it runs in PyTorch ({self.refused})")
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<{self.kind} graph {self.name}: {self.refused or self.function}>"


def compiled_graphs() -> tuple[CompiledGraph, ...]:
    """The graphs of `torch.compile(..., backend="tierup")` that are in use, in the order in which they were made."""
    return tuple(graph for _, graph in sorted(_compiled.items()))


def backend(graph: GraphModule, inputs: Sequence[Any], *, mode: str | None = None, options: Mapping[str, Any] | None = None) -> Any:
    """What `torch.compile(model, backend="tierup")` calls for each graph.

    `options`: as `tierup.options` has them, and `foreign` ("torch", or "error": a graph with an op that tierup has no kernel for is run
    by PyTorch as a whole). Raises ValueError for `mode`, which is Inductor's; TypeError or ValueError for options that there are not.
    """
    if mode not in (None, "default"):
        raise ValueError(f"mode={mode!r} is for the backend inductor: tierup takes options={{...}}, as tierup.options does")
    overrides = dict(options or {})
    foreign = overrides.pop("foreign", "torch")
    if foreign not in FOREIGN:
        raise ValueError(f"foreign is {foreign!r}: choose from {', '.join(FOREIGN)}")
    Overrides(overrides)  # refuses what is no option

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Any]], Any]:
        def compile_graph(functional: GraphModule, examples: Sequence[Any]) -> Any:
            number = next(_numbers)
            made = CompiledGraph(f"{kind}_{number}", kind, functional)
            made.take(overrides, foreign)
            _compiled[number] = made
            return make_boxed_func(made)

        return compile_graph

    compiled = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions.table_of_functional(),
        partition_fn=min_cut_rematerialization_partition,
    )
    with decompositions.tracing():
        return compiled(graph, inputs)
