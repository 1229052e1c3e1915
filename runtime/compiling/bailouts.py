"""From a profiled program to one with bailouts, and from a bailout to what goes on there.

Loads MLIR: the runtime imports this module when a program is called with `speculate="bailout"`, not before. The work is done by the
passes of the pipelines `profile-assumptions` and `bailouts`, by `tierup-build-bailout-continuations`, and for tier 0 with native regions by
`tierup-fuse-groups` and `tierup-dispatch-regions`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.ir.attributes import facts_of, profiled_attr
from tierup.dialect.ir.walking import function_names, torch_name, walk
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.pipelines.default import BAILOUTS, CUT_BAILOUTS, PROFILE_ASSUMPTIONS
from tierup.dialect.speculation import CONTINUATION
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.speculation.resume_points import root
from tierup.dialect.transforms.fuse_groups import exclude
from tierup.lowering.analysis.stated import state
from tierup.lowering.base import faults
from tierup.lowering.base.abi import ArgumentSpec
from tierup.lowering.compiling.pipelines import REFINE
from tierup.runtime.compiling.given_bailouts import bailouts_of, refuse_sizes, without_continuations
from tierup.runtime.compiling.regions import (
    SplitCode,
    ValueGraph,
    instrument_with,
    names_of,
    publication_of,
    publishable,
    with_regions_apart,
)
from tierup.runtime.compiling.version import run
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs.program import BAILOUT


@dataclass(frozen=True)
class Assumption:
    """A guard in mid-program. `slots`: the profiles that it is an assumption on; `fact`: what it asks for; `what`: how people name the
    value; `place`: the user's line."""

    slots: frozenset[int]
    fact: Fact
    what: str
    place: str


@dataclass(frozen=True)
class Guarded:
    """A program with bailouts and without their continuations, for arguments of some types. `assumptions[i]` belongs to the bailout of
    index i. `profiled`: what the assumptions were made of. `implied`: the slots of guards that were left out because the others imply
    them."""

    text: str
    entry: str
    assumptions: tuple[Assumption, ...]
    implied: frozenset[int]
    profiled: str


def instrument(graph: str, entry: str) -> ValueGraph:
    """The graph as the runs to be recorded execute it. Raises NotCompiled when its writes cannot be told as values."""
    if BAILOUT in graph:
        module = without_continuations(graph, entry)  # held: the function lives in it
        return publishable(
            ValueGraph(graph, translate(parse_module(graph), entry, record=True), publication_of(function_names(module)[entry]))
        )
    return publishable(instrument_with(PROFILE_ASSUMPTIONS, graph, entry))


def guarded(profiled: str, entry: str, arguments: Sequence[ArgumentSpec], facts: Mapping[int, Fact], *, force: bool) -> Guarded:
    """Assume `facts`, by slot, for arguments of these guards. Facts of arguments are left out: the guards on them say what is assumed.
    `force`: the assumptions can be made to fail at will.

    Raises NotCompiled for a program that raises whenever its arguments are such.
    """
    given_bailouts = BAILOUT in profiled
    module = without_continuations(profiled, entry) if given_bailouts else parse_module(profiled)
    func = function_names(module)[entry]
    if given_bailouts:
        refuse_sizes(func, arguments)
    state(module, entry, arguments, force=force)
    run(REFINE, module, Reason.PROGRAM_RAISES)
    given = set(func.regions[0].blocks[0].arguments)
    watched: dict[ir.Value, set[int]] = {}
    for op in walk(func):
        if op.name == "tierup.profile":
            slot, value = ir.IntegerAttr(op.attributes["slot"]).value, op.operands[0]
            if slot in facts and value not in given:
                op.attributes["profiled"] = profiled_attr(facts[slot], module.context)
                watched.setdefault(root(value), set()).add(slot)
    recorded = profiled if given_bailouts else text_of(module)
    if not given_bailouts:
        run(BAILOUTS, module, Reason.PROGRAM_RAISES)
    found: dict[int, Assumption] = {}
    for op in walk(func):
        if op.name == "tierup.bailout":
            slots = frozenset(watched.get(root(op.operands[0]), ()))  # none of one that the program came with: it is not dropped
            index, fact = ir.IntegerAttr(op.attributes["index"]).value, facts_of(op.attributes["expected"])
            found[index] = Assumption(slots, fact, _what(op), diagnostics.where(op.location))
    implied = frozenset(s for slots in watched.values() for s in slots) - frozenset(s for each in found.values() for s in each.slots)
    return Guarded(text_of(module), entry, tuple(found[i] for i in range(len(found))), implied, recorded)


def continuation(code: Guarded, index: int) -> tuple[str, str, tuple[str, ...], Tier0]:
    """(graph, entry, the names of its arguments, its tier 0) of what goes on where the bailout of this index is lost."""
    faults.begins("continuation")
    given_bailouts = BAILOUT in code.profiled
    module = parse_module(code.profiled if given_bailouts else code.text)
    if not given_bailouts:
        registry.parse(f"tierup-build-bailout-continuations{{function={code.entry} index={index}}}").run(module)
    by_name = function_names(module)
    if given_bailouts:
        bailout = bailouts_of(by_name[code.entry])[index]
    else:
        bailout = next(op for op in bailouts_of(by_name[code.entry]) if ir.IntegerAttr(op.attributes["index"]).value == index)
    name = ir.FlatSymbolRefAttr(bailout.attributes["continuation"]).value
    func = by_name[name]
    with func.context, func.location:
        alone = ir.Module.create()
        made = func.clone(ir.InsertionPoint(alone.body)).operation
    for attribute in ("sym_visibility", CONTINUATION):
        del made.attributes[attribute]
    return text_of(alone), name, names_of(bailout.operands, by_name[code.entry]), translate(alone, name)


def split(code: Guarded, excluded: Collection[str]) -> SplitCode:
    """Cut a guarded program into native regions, whose types its bailouts prove, and what tier 0 runs. `excluded`: what no region may hold.
    Raises NotCompiled when no region is worth it."""
    faults.begins("cut")
    module = parse_module(code.text)
    exclude(module, excluded)
    run(CUT_BAILOUTS, module, Reason.PROGRAM_RAISES)
    return with_regions_apart(module, code.entry, code.profiled, code.text)


def tier0_with_bailouts(code: SplitCode, entry: str, sites: Mapping[str, object], resume: Mapping[int, object], *, fail: bool) -> Tier0:
    """Tier 0 of a cut program. `sites[name]` is called for a region, `resume[index]` where an assumption fails: it gives what the call
    gives. `fail`: its assumptions can be made to fail at will."""
    module = parse_module(code.graph)
    called = dict(sites)
    for op in walk(function_names(module)[entry]):
        if op.name == "tierup.bailout":
            index = ir.IntegerAttr(op.attributes["index"]).value
            name = f"{entry}_continuation_{index}"
            op.attributes["continuation"] = ir.FlatSymbolRefAttr.get(name, module.context)
            called[name] = resume[index]
    return translate(module, entry, sites=called, fail=fail)


def _what(bailout: ir.Operation) -> str:
    """How people name what a bailout looks at."""
    value = root(bailout.operands[0])
    if isinstance(value.owner, ir.Block):
        return "a value that a loop carries"
    name = torch_name(value.owner.operation)
    if str(value.type) == "!torch.bool":
        return f"the condition ({name})"
    return f"the {'int' if str(value.type) == '!torch.int' else 'result'} of {name}"
