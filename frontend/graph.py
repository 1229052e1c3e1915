"""What a front end hands to the runtime."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.runtime.arguments.hidden import Constant, HiddenInput
from tierup.runtime.arguments.trees import Leaf, OutputTree
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.program import Program
from tierup.runtime.variant import Built


@dataclass(frozen=True)
class GraphResult:
    """A pristine graph and what a caller must know to call it.

    The entry's arguments are `leaves` in order, then `hidden`. The graph is right as long as every constant holds and every
    hidden input fits. `output` says how the flat results become the Python result.
    """

    module: ir.Module
    entry: str
    leaves: tuple[tuple[str, Leaf], ...]
    output: OutputTree
    hidden: tuple[HiddenInput, ...] = ()
    constants: tuple[Constant, ...] = ()
    writes: bool = False  # whether tensors are !torch.tensor: the program may write an array
    notes: tuple[str, ...] = ()


def built(graph: GraphResult, name: str, place: str, *, packed: bool = False) -> Built:
    """A front end's graph as the runtime keeps it: text, tier 0, and how calls map to it. `packed`: see `Program`."""
    names = (*(n for n, _ in graph.leaves), *(str(h.access) for h in graph.hidden))
    text = graph.module.operation.get_asm(enable_debug_info=True)
    program = Program(name, text, graph.entry, names, translate(graph.module, graph.entry), place, packed=packed)
    return Built(program, graph.output, graph.hidden, graph.constants)
