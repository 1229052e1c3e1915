"""What a front end hands to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.language.text import text_of
from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.runtime.arguments.hidden import Constant, HiddenInput
from tierup.runtime.arguments.trees import Leaf, OutputTree
from tierup.runtime.functions.graphs.variant import Built
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs.program import Program


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
    made_by_python: UnsupportedSyntax | None = None  # an exception that Python makes by running the call again: none after a write
    written_out: tuple[tuple[str, int], ...] = ()  # see Built
    rooms: tuple[object, ...] = ()  # lists that grow (appending.py), by where they are made, and heaps of lists, by what is in them


def built(graph: GraphResult, name: str, place: str, *, packed: bool = False, enlarge: Callable[[], None] | None = None) -> Built:
    """A front end's graph as the runtime keeps it: text, tier 0, and how calls map to it. `packed`: see `Program`, `enlarge`: `Built`.
    Raises UnsupportedSyntax where the program, which writes its arguments, would need Python to make an exception."""
    names = (*(n for n, _ in graph.leaves), *(str(h.access) for h in graph.hidden))
    text = text_of(graph.module)
    tier0 = translate(graph.module, graph.entry)
    made = tuple([i for i, (_, leaf) in enumerate(graph.leaves) if leaf.kind == "numbers"])
    program = Program(name, text, graph.entry, names, tier0, place, packed=packed, made=made)
    if graph.made_by_python is not None and program.writes_arrays:
        raise graph.made_by_python
    return Built(program, graph.output, graph.hidden, graph.constants, graph.written_out, enlarge)


def new_function(module: ir.Module, name: str, types: Sequence[ir.Type], location: ir.Location, source: str = "") -> ir.Operation:
    """An empty function at the end of a module, which takes arguments of these types. `source`: of an entry, where it comes from."""
    context = module.context
    taken = ir.FunctionType.get(types, [], context=context)
    attributes = {"sym_name": ir.StringAttr.get(name, context), "function_type": ir.TypeAttr.get(taken, context)}
    if source:
        attributes["tierup.source"] = ir.StringAttr.get(source, context)
    func = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=location, ip=ir.InsertionPoint(module.body))
    func.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
    return func


def finish_function(func: ir.Operation, results: Sequence[ir.Value], names: Sequence[str] = ()) -> None:
    """Let the function's type be that of its arguments, some of which may be new, and results. `names`: what arguments are called."""
    context = func.context
    made = ir.FunctionType.get([a.type for a in func.regions[0].blocks[0].arguments], [r.type for r in results], context=context)
    func.attributes["function_type"] = ir.TypeAttr.get(made, context)
    if names:
        named = [ir.DictAttr.get({"tierup.name": ir.StringAttr.get(n, context)}, context) for n in names]
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(named, context)
