"""`from_export`: what torch.export gives as a function of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.utils import _pytree as pytree

from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch.errors import LeftToPyTorch, UnsupportedProgram
from tierup.frontend.torch.function import TorchFunction
from tierup.frontend.torch.fx import decompositions
from tierup.frontend.torch.fx.exported_inputs import InputCheck
from tierup.frontend.torch.fx.exported_memory import Memory, without_gradients_in_blocks
from tierup.frontend.torch.fx.graph import Written
from tierup.frontend.torch.fx.program import FOREIGN, FxProgram
from tierup.runtime.arguments.trees import explain_recursion

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges

_WRITES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)
_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def from_export(
    program: ExportedProgram, *, name: str = "exported", foreign: str = "torch", gradients: str = "torch", **options: Unpack[OptionChanges]
) -> ExportedFunction:
    """A program that `torch.export.export` gave as a function that starts in tier 0 and gets faster.

    Called as the module was that was exported: the same nest of tensors, of the dtypes and sizes that the program is for. Parameters and
    buffers are the exported program's and read at every call; what it writes (running statistics, caches, inputs) is written. Dynamic
    dims stay open: one graph, and versions for the sizes that come. `foreign`: an op that tierup has no kernel for is called through
    PyTorch ("torch"), or refused ("error"). `gradients`: a call that wants a gradient which tierup cannot make runs in PyTorch
    ("torch"), or raises `tierup.NotDifferentiable` ("error"). `options`: as `tierup.options`.

    Raises TypeError for what is no exported program;
    UnsupportedProgram, at the user's line, for what is not translated. Calls raise TypeError for another nest or dtype and ValueError
    for sizes that the program is not for.
    """
    if not isinstance(program, ExportedProgram):
        what = type(program).__name__
        raise TypeError(f"from_export takes what torch.export.export gives, not {what}: export it first")
    if foreign not in FOREIGN:
        raise ValueError(f"foreign is {foreign!r}: choose from {', '.join(FOREIGN)}")
    if gradients not in FOREIGN:
        raise ValueError(f"gradients is {gradients!r}: choose from {', '.join(FOREIGN)}")
    memory = Memory(program)
    with decompositions.tracing():
        functional = without_gradients_in_blocks(program).run_decompositions(decompositions.table_of(program))
    inputs, user, state = _inputs(functional)
    inputs_before, user_before, state_before = _inputs(program)
    same = dict(zip(user_before, user, strict=True))
    same |= {n: now for n, name in state_before.items() for now, other in state.items() if name == other}
    before = {now: n for n, now in same.items()}
    joined = {same[n] for n in memory.joined if n in same}
    results, written = _results(functional, {n.name: n for n in inputs}, {name: n for n, name in state.items()}, joined)
    targets = {w.target for w in written}
    used = [n for n in user if not _is_constant(n) and (n.users or before[n].users or n in targets)]
    read = {n: name for n, name in state.items() if n.users or n in targets}
    owner = _State(functional)
    source = FxProgram(
        name,
        functional.graph_module,
        used,
        options,
        foreign=foreign,
        owner=owner,
        state=read,
        written=written,
        results=results,
        lost={same[n]: why for n, why in memory.lost.items() if n in same},
        owners=[None if n is None else same.get(n) for n in memory.owners],
        original=_eager(program, inputs_before, [before[n] for n in used], state_before, owner),
        gradients=gradients,
    )
    return ExportedFunction(source, functional, user, program, by_strides=memory.by_strides)


def _inputs(program: ExportedProgram) -> tuple[list[Node], list[Node], dict[Node, str]]:
    """The placeholders: all, those of the user's arguments, and those that stand for a tensor of the program, with its name."""
    inputs = [n for n in program.graph.nodes if n.op == "placeholder"]
    user: list[Node] = []
    state: dict[Node, str] = {}
    for node, spec in zip(inputs, program.graph_signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            user.append(node)
        elif spec.kind in _STATE:
            state[node] = str(spec.target)
        elif spec.kind is not InputKind.TOKEN:
            raise UnsupportedProgram(f"the input {node.name} ({spec.kind.name.lower()}) is not supported")
    return inputs, user, state


def _results(
    program: ExportedProgram, inputs: Mapping[str, Node], state: Mapping[str, Node], joined: Set[Node]
) -> tuple[list[Any], list[Written]]:
    """What the user gets, and the inputs that are written with their new contents."""
    results: list[Any] = []
    written: list[Written] = []
    output = next(n for n in program.graph.nodes if n.op == "output")
    for given, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            results.append(given)
        elif spec.kind in _WRITES:
            named = inputs if spec.kind is OutputKind.USER_INPUT_MUTATION else state
            target = named[str(spec.target)]
            written.append(Written(target, given, target in joined))
        elif spec.kind is not OutputKind.TOKEN:
            raise UnsupportedProgram(f"an output that is a {spec.kind.name.lower()} is not supported")
    return results, written


def _is_constant(node: Node) -> bool:
    return not isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool))


def _eager(
    program: ExportedProgram, inputs: Sequence[Node], used: Sequence[Node], state: Mapping[Node, str], owner: _State
) -> Callable[..., Any]:
    """The program in PyTorch as it was exported, on what a call hands over: for calls that tierup cannot answer."""
    by_name = {n.name: n for n in inputs}
    by_target = {name: n for n, name in state.items()}

    def run(*leaves: Any) -> Any:
        given = dict(zip(used, leaves, strict=True))
        given |= {node: owner.getattr(name) for node, name in state.items()}
        results: list[Any] = []
        found = program.graph_module(*[given.get(n, n.meta.get("val")) for n in inputs])
        for value, spec in zip(found, program.graph_signature.output_specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
            elif spec.kind in _WRITES:  # of a program that was functional when it came
                named = by_name if spec.kind is OutputKind.USER_INPUT_MUTATION else by_target
                with torch.no_grad():
                    given[named[str(spec.target)]].copy_(value)
        return tuple(results)

    return run


class _State:
    """The tensors of an exported program by name, as `Attributes` asks for them."""

    def __init__(self, program: ExportedProgram) -> None:
        self._holders: tuple[dict[str, Any], ...] = program.state_dict, program.constants

    def getattr(self, name: str) -> Any:
        for holder in self._holders:
            if name in holder:
                return holder[name]
        raise AttributeError(f"the exported program has no tensor {name!r}")

    def setattr(self, name: str, tensor: torch.Tensor) -> None:
        next(holder for holder in self._holders if name in holder)[name] = tensor


class ExportedFunction(TorchFunction):
    """An exported program: called with the nest of arguments that it was exported for."""

    def __init__(
        self, source: FxProgram, program: ExportedProgram, user: list[Node], given: ExportedProgram, *, by_strides: bool = False
    ) -> None:
        super().__init__(source)
        spec = program.call_spec
        assert spec.in_spec is not None and spec.out_spec is not None  # programs of torch.export have them
        self._in, self._out = spec.in_spec, spec.out_spec
        self._keywords = tuple(self._in.children()[1].context or ())
        self._check = InputCheck(user, given)
        self._by_strides = by_strides
        at = {node: i for i, node in enumerate(user)}
        self._used = tuple(at[node] for node in source.used)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The program's results. Raises TypeError or ValueError for arguments that it was not exported for."""
        if tuple(kwargs) != self._keywords and set(kwargs) == set(self._keywords):
            kwargs = {k: kwargs[k] for k in self._keywords}
        try:
            leaves, spec = pytree.tree_flatten((args, kwargs))
        except RecursionError:
            explain_recursion(args, kwargs)
            raise
        if spec != self._in:
            raise TypeError(f"{self.__name__}(): the arguments are nested otherwise than those that the program was exported for")
        self._check(leaves)
        used = [leaves[i] for i in self._used]
        other = self._check.laid_out_otherwise(leaves) if self._by_strides else None
        if other is None:
            results = super().__call__(*used)
        else:
            why = f"argument {other} lies in memory in another way than the example, which decides what this program writes"
            assert self._source.original is not None  # an exported program has one
            results = self._leave_to_torch(LeftToPyTorch(why, Reason.OTHER_LAYOUT), self._source.original, tuple(used), {})
        return pytree.tree_unflatten(list(results), self._out)


