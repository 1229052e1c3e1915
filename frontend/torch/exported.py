"""`from_export`: what torch.export gives as a function of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.utils import _pytree as pytree

from tierup.frontend.torch import decompositions
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.exported_inputs import InputCheck
from tierup.frontend.torch.function import TorchFunction
from tierup.frontend.torch.fx_graph import is_handed_over
from tierup.frontend.torch.fx_program import FOREIGN, FxProgram

_WRITES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)
_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def from_export(program: ExportedProgram, *, foreign: str = "torch", name: str = "exported", **options: Any) -> ExportedFunction:
    """A program that `torch.export.export` gave as a function that starts in tier 0 and gets faster.

    Called as the module was that was exported: the same nest of tensors, of the dtypes and sizes that the program is for. Parameters and
    buffers are the exported program's and read at every call; what it writes (running statistics, caches, inputs) is written. Dynamic
    dims stay open: one graph, and versions for the sizes that come. `foreign`: an op that tierup has no kernel for is called through
    PyTorch ("torch"), or refused ("error"). `options`: as `tierup.options`. Raises TypeError for what is no exported program;
    UnsupportedProgram, at the user's line, for what is not translated. Calls raise TypeError for another nest or dtype and ValueError
    for sizes that the program is not for.
    """
    if not isinstance(program, ExportedProgram):
        what = type(program).__name__
        raise TypeError(f"from_export takes what torch.export.export gives, not {what}: export it first")
    if foreign not in FOREIGN:
        raise ValueError(f"foreign is {foreign!r}: choose from {', '.join(FOREIGN)}")
    functional = program.run_decompositions(decompositions.table())
    inputs = [n for n in functional.graph.nodes if n.op == "placeholder"]
    specs = functional.graph_signature.input_specs
    state: dict[Node, str] = {}
    user: list[Node] = []
    for node, spec in zip(inputs, specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            user.append(node)
        elif spec.kind in _STATE:
            state[node] = str(spec.target)
        else:
            raise UnsupportedProgram(f"the input {node.name} ({spec.kind.name.lower()}) is not supported")
    results, written = _results(functional, {n.name: n for n in inputs}, {name: n for n, name in state.items()})
    used = [n for n in user if is_handed_over(n, inputs) or any(n is target for target, _ in written)]
    read = {n: name for n, name in state.items() if n.users or any(n is target for target, _ in written)}
    source = FxProgram(
        name,
        functional.graph_module,
        used,
        options,
        foreign=foreign,
        owner=_State(functional),
        state=read,
        written=written,
        results=results,
    )
    return ExportedFunction(source, functional, user)


def _results(
    program: ExportedProgram, inputs: Mapping[str, Node], state: Mapping[str, Node]
) -> tuple[list[Any], list[tuple[Node, Node]]]:
    """What the user gets, and the inputs that are written with their new contents."""
    results: list[Any] = []
    written: list[tuple[Node, Node]] = []
    output = next(n for n in program.graph.nodes if n.op == "output")
    for given, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            results.append(given)
        elif spec.kind in _WRITES:
            named = inputs if spec.kind is OutputKind.USER_INPUT_MUTATION else state
            written.append((named[str(spec.target)], given))
        else:
            raise UnsupportedProgram(f"an output that is a {spec.kind.name.lower()} is not supported")
    return results, written


class _State:
    """The tensors of an exported program by name, as `Attributes` asks for them."""

    def __init__(self, program: ExportedProgram) -> None:
        self._holders = program.state_dict, program.constants

    def getattr(self, name: str) -> torch.Tensor:
        for holder in self._holders:
            if name in holder:
                return holder[name]
        raise AttributeError(f"the exported program has no tensor {name!r}")


class ExportedFunction(TorchFunction):
    """An exported program: called with the nest of arguments that it was exported for."""

    def __init__(self, source: FxProgram, program: ExportedProgram, user: list[Node]) -> None:
        super().__init__(source)
        spec = program.call_spec
        assert spec.in_spec is not None and spec.out_spec is not None  # programs of torch.export have them
        self._in, self._out = spec.in_spec, spec.out_spec
        self._keywords = tuple(self._in.children()[1].context or ())
        self._check = InputCheck(user, program.range_constraints)
        at = {node: i for i, node in enumerate(user)}
        self._used = tuple(at[node] for node in source.used)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if tuple(kwargs) != self._keywords and set(kwargs) == set(self._keywords):
            kwargs = {k: kwargs[k] for k in self._keywords}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in:
            raise TypeError(f"{self.__name__}(): the arguments are nested otherwise than those that the program was exported for")
        self._check(leaves)
        results = super().__call__(*[leaves[i] for i in self._used])
        return pytree.tree_unflatten(list(results), self._out)


