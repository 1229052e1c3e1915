"""From a program that cannot be compiled whole to one with native regions: record a run, cut, leave a call per region.

Loads MLIR: the runtime imports this module when a program is to be split, not before. The work is done by the passes of the
pipelines `profile` and `versioned` and by `tierup-dispatch-regions`; each stage's text is kept for `plan()`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tierup.dialect.base import dtypes
from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact, Profiled, ProfiledScalar
from tierup.dialect.ir.attributes import i64, profiled_attr
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import callee_name, function_names, torch_name, walk
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.fusion.grouping import weight
from tierup.dialect.passes.pipelines.default import PROFILE, VERSIONED
from tierup.dialect.passes.registry import NamedPipeline
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.speculation.resume_points import root
from tierup.dialect.transforms.dispatch_regions import REGIONS
from tierup.dialect.transforms.fuse_groups import exclude
from tierup.lowering.base import faults
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec
from tierup.runtime.code import dump
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import run
from tierup.runtime.interpreter.reader import argument_names
from tierup.runtime.interpreter.tier0 import Record, Tier0
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs.publication import Publication

Facts = dict[int, Fact | None]

_DISPATCH = registry.parse("builtin.module(tierup-dispatch-regions)")


@dataclass(frozen=True)
class ValueGraph:
    """A graph as values, what runs it, and how the user gets its results: one with profile ops, or the graph for an argument spec."""

    text: str
    tier0: Tier0
    publication: Publication


@dataclass(frozen=True)
class RegionCode:
    """A region of a split program: its unspecialised twin as a program of its own. `site`: what the split program calls. `name`: the
    twin's, one for all regions of a program, so that code is found on disk for regions that are alike, as the layers of a network are.
    `place`: the user's line of its first op."""

    site: str
    name: str
    graph: str
    names: tuple[str, ...]
    tier0: Tier0
    place: str


@dataclass(frozen=True)
class SplitCode:
    """A program cut into regions: `graph` calls them by name, tier 0 runs all else; `left` are the ops it runs, with their lines.
    `row_major`: it serves row-major arguments alone, since views hang on how their operands lie."""

    profiled: str
    guarded: str
    graph: str
    regions: tuple[RegionCode, ...]
    left: tuple[tuple[str, str], ...]
    row_major: bool = False


def instrument(graph: str, entry: str) -> ValueGraph:
    """The graph as the runs to be recorded execute it. Raises NotCompiled when its writes cannot be told as values."""
    return publishable(instrument_with(PROFILE, graph, entry))


def publishable(made: ValueGraph) -> ValueGraph:
    """A graph whose results can be the user's. Raises NotCompiled for another."""
    if why := made.publication.refusal():
        raise NotCompiled(Reason.VIEW_RESULT, why)
    return made


def instrument_with(pipeline: NamedPipeline, graph: str, entry: str) -> ValueGraph:
    """The graph behind a pipeline that ends with profile ops in a graph of values. Raises NotCompiled."""
    faults.begins("instrument")
    module = parse_module(graph)
    run(pipeline, module, Reason.MUTATION)
    return ValueGraph(text_of(module), translate(module, entry, record=True), publication_of(function_names(module)[entry]))


def publication_of(func: ir.Operation) -> Publication:
    """What `tierup-functionalize` says of a function's results."""
    attributes = func.attributes
    names = ("tierup.writebacks", "tierup.read_only", "tierup.perhaps_read_only")
    writebacks, read_only, perhaps = (tuple(ir.DenseI64ArrayAttr(attributes[n])) if n in attributes else () for n in names)
    aliases = tuple(ir.StringAttr(a).value for a in attributes["tierup.result_aliases"]) if "tierup.result_aliases" in attributes else ()
    n_results = len(ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).results) - len(writebacks)
    return Publication(n_results, writebacks, aliases, read_only, perhaps)


def recorder_of(facts: Facts) -> Record:
    """A `record(slot, value)` that joins what it is given into `facts`, by slot."""

    def record(slot: int, value: object) -> object:
        seen = profiled.observe(value)
        if slot >= 0 and seen is not None:
            before = facts.get(slot, seen)
            facts[slot] = None if before is None else profiled.join(before, seen)
        return value

    return record


def with_facts(text: str, entry: str, facts: Mapping[int, Fact | None], runs: int | None = None) -> str:
    """The instrumented graph with what was recorded in its profile ops: the stage `profiled`. `runs`: how many there were."""
    module = parse_module(text)
    with module.context:
        for op in walk(function_names(module)[entry]):
            if op.name == "tierup.profile":
                fact = facts.get(ir.IntegerAttr(op.attributes["slot"]).value)
                if fact is not None:
                    op.attributes["profiled"] = profiled_attr(fact, module.context)
            elif op.name == "tierup.count_run" and runs is not None:
                op.attributes["runs"] = i64(runs)
    return text_of(module)


def guarded(profiled_text: str, refused: Collection[str] = ()) -> str:
    """The stage `guarded`: checks, regions and their fallbacks. `refused`: ops that are not to stand in regions. Raises NotCompiled."""
    module = parse_module(profiled_text)
    exclude(module, refused)
    run(VERSIONED, module, Reason.PROGRAM_RAISES)
    return text_of(module)


def split(profiled_text: str, entry: str, refused: Collection[str] = ()) -> SplitCode:
    """Cut a profiled program. Raises NotCompiled when no region is worth it."""
    with dump.compiling(entry, "split"):
        return _split(profiled_text, entry, refused)


def _split(profiled_text: str, entry: str, refused: Collection[str]) -> SplitCode:
    faults.begins("cut")
    dump.stage("profiled", profiled_text)
    text = guarded(profiled_text, refused)
    dump.stage("guarded", text)
    return cut(parse_module(text), entry, profiled_text, text)


def cut(module: ir.Module, entry: str, profiled_text: str, text: str) -> SplitCode:
    """A program whose regions stand in it, `text`, with calls in their place; `module` is changed. Raises NotCompiled when it has none."""
    _refuse_copies_in_loops(function_names(module)[entry])
    _DISPATCH.run(module)
    dump.stage("split", text_of(module))
    return with_regions_apart(module, entry, profiled_text, text)


def with_regions_apart(module: ir.Module, entry: str, profiled_text: str, text: str) -> SplitCode:
    """A program that calls its regions, and these as programs of their own. Raises NotCompiled when it has none."""
    by_name = function_names(module)
    main = by_name[entry]
    if REGIONS not in main.attributes:
        raise _no_region(main)
    sites = [ir.FlatSymbolRefAttr(a).value for a in ir.ArrayAttr(main.attributes[REGIONS])]
    calls = {callee_name(op): op for op in walk(main) if op.name == "func.call"}
    regions = tuple(_outlined_region(by_name[site], site, f"{entry}_region", names_of(calls[site].operands, main)) for site in sites)
    return SplitCode(profiled_text, text, text_of(module), regions, _left_in_tier0(main))


def stage_of_whole(graph: str, entry: str, arguments: Sequence[ArgumentSpec], stage: str) -> str:
    """The stage `profiled` or `guarded` of a program that was compiled whole, as the passes spell it for a version's guards."""
    text = instrument_with(PROFILE, graph, entry).text
    module = parse_module(text)  # held: the function lives in it
    func = function_names(module)[entry]
    numbers = {argument: i for i, argument in enumerate(func.regions[0].blocks[0].arguments)}
    facts = {
        ir.IntegerAttr(op.attributes["slot"]).value: _fact(arguments[numbers[op.operands[0]]])
        for op in walk(func)
        if op.name == "tierup.profile" and op.operands[0] in numbers
    }
    profiled_text = with_facts(text, entry, facts)
    return profiled_text if stage == "profiled" else guarded(profiled_text)


def _fact(spec: ArgumentSpec) -> Fact:
    if spec.kind is ArgumentKind.ARRAY:
        return Profiled(dtype=dtypes.BY_NAME[spec.dtype], sizes=spec.sizes)
    return ProfiledScalar(spec.kind.value, spec.assumed)


def main_tier0(code: SplitCode, entry: str, sites: Mapping[str, object]) -> Tier0:
    """Tier 0 of a split program, calling `sites[name]` for each region."""
    return translate(parse_module(code.graph), entry, sites=sites)


def names_of(values: Iterable[ir.Value], func: ir.Operation) -> tuple[str, ...]:
    """What people call values in a function: `x` an argument, `aten.slice.Tensor of x at 7:21` what an op makes, by its line and column."""
    arguments = dict(zip(func.regions[0].blocks[0].arguments, argument_names(func), strict=True))
    return tuple(_named(root(value), arguments) for value in values)


def _named(value: ir.Value, arguments: Mapping[ir.Value, str]) -> str:
    if value in arguments:
        return arguments[value]
    op = maker(value)
    if op is None:  # of a loop's body
        return f"what the loop carries{_at(value.owner.owner)}"
    row = row_of(op)
    viewed = arguments.get(root(op.operands[0])) if row is not None and row.kind is Kind.VIEW else None
    return torch_name(op) + (f" of {viewed}" if viewed else "") + _at(op)


def _at(op: ir.Operation) -> str:
    place = diagnostics.place_of(op.location)
    return f" at {place.line}:{place.column}" if place.line else ""


def _outlined_region(func: ir.Operation, site: str, name: str, names: tuple[str, ...]) -> RegionCode:
    """A function that holds a region as a program of its own. `names`: of what it takes, for people."""
    with func.context, func.location:
        alone = ir.Module.create()
        made = func.clone(ir.InsertionPoint(alone.body)).operation
        made.attributes["sym_name"] = ir.StringAttr.get(name)
    del made.attributes["sym_visibility"]
    first = next((op for op in walk(func) if weight(op)), func)
    place = diagnostics.where(first.location)
    return RegionCode(site, name, text_of(alone), names, translate(alone, name), place)


ALONE = " (has native code, but is alone, of unknown types or refused)"


def _left_in_tier0(main: ir.Operation) -> tuple[tuple[str, str], ...]:
    """The ops that tier 0 computes with, and their lines, each once; behind an op that may have native code, why it runs there."""
    found = []
    for op in walk(main):
        row = row_of(op)
        if row is not None and row.kind not in (Kind.VIEW, Kind.SCALAR) and not len(op.regions):
            found.append((row.name + ALONE * (row.native and not row.writes), diagnostics.where(op.location)))
    return tuple(dict.fromkeys(found))


def _no_region(main: ir.Operation) -> NotCompiled:
    """That no part of a program is worth native code, at the first op that has some, and what would help."""
    left = _left_in_tier0(main)
    alone = [(op.removesuffix(ALONE), line) for op, line in left if op.endswith(ALONE)]
    others = dict.fromkeys(op for op, _ in left if not op.endswith(ALONE))
    if not alone:
        return NotCompiled(Reason.GROUP_TOO_SMALL, "no op of the program has native code", *(line for _, line in left[:1]))
    remedy = f"; put what does not need {', '.join(others)} on one side of it" if others else ""
    return NotCompiled(Reason.GROUP_TOO_SMALL, f"{alone[0][0]} and other ops with native code stand alone{remedy}", alone[0][1])


def _refuse_copies_in_loops(main: ir.Operation) -> None:
    """Raise NotCompiled when tier 0 runs a loop in which part of an array is written: as a value the array is copied each time."""
    for op in walk(main):
        row = row_of(op)
        if row is not None and row.puts and _is_in_loop_of_tier0(op):
            place = str(diagnostics.place_of(op.location))
            raise NotCompiled(
                Reason.LOOP_WRITES, "the write keeps the program whole, so in tier 0", place
            )


def _is_in_loop_of_tier0(op: ir.Operation) -> bool:
    in_loop = False
    while op.parent is not None and op.parent.operation.name != "func.func":
        op = op.parent.operation
        in_loop = op.name == "torch.prim.Loop" or (in_loop and op.name != "tierup.fusion_group")
    return in_loop
