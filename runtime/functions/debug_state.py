"""`f.debug_state()`: all that there is of a function, as a tree of frozen dataclasses: graphs, records, versions, splits, what was assumed.

Taking it is cheap: texts that a compiler would have to make are made when they are asked for, from what was there at the moment of the
snapshot. It works before the first call, and while other threads call: what is said of one executor is of one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.records import dataclass
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import ProgramExecutor
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.profiling import ProfilingExecutor
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.executors.executor import Executor, Kind
    from tierup.runtime.executors.specializing import SpecializingExecutor


class Text:
    """A text that is made when it is asked for, by `str`, and kept. Where it cannot be made, it says why."""

    def __init__(self, render: str | Callable[[], str]) -> None:
        self._text = render if isinstance(render, str) else None
        self._render = None if isinstance(render, str) else render

    def __str__(self) -> str:
        if self._text is None:
            assert self._render is not None
            try:
                self._text = self._render()
            except NotCompiled as e:
                self._text = f"// {e}"
            self._render = None
        return self._text

    def __repr__(self) -> str:
        return "<text>" if self._text is None else f"<text of {len(self._text)} characters>"


@dataclass(frozen=True)
class AssumptionState:
    """An assumption in mid-program. `continuation`: what goes on where it fails, once it did; none or one."""

    what: str
    expected: str
    line: str
    lost: int
    continuation: tuple[ProgramState, ...]


@dataclass(frozen=True)
class PlanState:
    """A version. `before`: the graph with what its guards say, not optimised; `after`: what was compiled."""

    guards: str
    kind: str
    hits: int
    milliseconds: float
    call: int
    from_disk: bool
    before: Text
    after: Text
    assumptions: tuple[AssumptionState, ...] = ()


@dataclass(frozen=True)
class SplitState:
    """A program cut into native regions. `left`: the ops that tier 0 runs, with their lines. `regions`: each a program of its own."""

    guards: str
    hits: int
    milliseconds: float
    call: int
    left: tuple[str, ...]
    before: Text
    guarded: Text
    after: Text
    regions: tuple[ProgramState, ...]
    assumptions: tuple[AssumptionState, ...] = ()


@dataclass(frozen=True)
class SpecState:
    """A plan of the specialising executor. `after`: the graph optimised for the spec."""

    spec: str
    is_optimized: bool
    after: Text
    versions: tuple[PlanState, ...] = ()
    splits: tuple[SplitState, ...] = ()


@dataclass(frozen=True)
class RecordingState:
    """A program whose runs record values in its middle. `facts`: what they saw, by slot of the instrumented graph."""

    arguments: str
    runs: int
    instrumented: Text
    facts: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class LogState:
    """The speculation log. `seen`: kinds of calls that tier 0 answered, and how often; `speculations`: what was tried, with
    code or without."""

    seen: tuple[tuple[str, int], ...]
    speculations: tuple[str, ...]


@dataclass(frozen=True)
class ExecutorState:
    """The versions for one choice of options that code depends on. `depth`: how many more versions there may be; None: it has no part.
    `simple`: what runs where no version may be made."""

    executor: str
    options: tuple[tuple[str, object], ...]
    depth: int | None
    versions: tuple[PlanState, ...]
    splits: tuple[SplitState, ...]
    plans: tuple[SpecState, ...] = ()
    recordings: tuple[RecordingState, ...] = ()
    log: LogState | None = None
    simple: Text | None = None


@dataclass(frozen=True)
class ProgramState:
    """A graph and its executors. `insensitive`: the graph after the passes that need no record; `backward`: of the forward
    and backward programs of its gradients, where there are any. `refusals`: why speculations have no code."""

    name: str
    place: str
    arguments: tuple[str, ...]
    is_released: bool
    graph: Text
    insensitive: Text
    stats: Stats
    refusals: tuple[str, ...]
    executors: tuple[ExecutorState, ...]
    backward: tuple[ProgramState, ...] = ()


@dataclass(frozen=True)
class DebugState:
    """A function. `graph`: the newest one, or what the annotations alone give. `programs`: one per structure of arguments that came."""

    function: str
    is_optimized: bool
    options: Options
    stats: Stats
    counters: tuple[tuple[str, int], ...]
    graph: Text
    programs: tuple[ProgramState, ...] = field(default=())

    def to_text(self, *, graphs: bool = False) -> str:
        """The tree, line by line. `graphs`: with the texts, which are made for it."""
        return "\n".join(_lines(self, graphs))

    def __str__(self) -> str:
        return self.to_text()


def debug_state(
    name: str, executors: Sequence[Executor], options: Options, counters: Mapping[str, int], graph: Callable[[], str]
) -> DebugState:
    """The state now of a function with these executors. `graph` gives its newest graph."""
    programs = tuple(map(program_state, executors))
    stats = sum((program.stats for program in programs), Stats())
    return DebugState(
        name, any(executor.is_optimized for executor in executors), options, stats, tuple(counters.items()), Text(graph), programs
    )


def program_state(executor: ProgramExecutor) -> ProgramState:
    """The state of one program, of one moment."""
    with ExitStack() as locks:
        kinds = executor.locked(locks)
        program = executor.program
        graph = _graph_of(program)
        return ProgramState(
            program.name,
            program.place,
            program.names,
            program.released,
            Text(graph),
            _later(graph, lambda graph: steps.specialized.insensitive(graph, program.entry)[0]),
            executor.stats(),
            tuple(_refusal(*why) for why in executor.refusals),
            tuple(_executor_state(executor, code, kind) for code, kind in kinds),
            tuple(map(program_state, executor.gradient_executors)),
        )


def _executor_state(executor: ProgramExecutor, code: tuple[object, ...], kind: Kind) -> ExecutorState:
    named = tuple(zip(Options.CODE, code, strict=True))
    if not isinstance(kind, ProfilingExecutor):
        return ExecutorState("specializing", named, None, (), (), plans=tuple(_spec_states(kind)))
    simple = kind.simple.made
    recordings = list(_recordings(kind))
    if kind.assumptions is not None and kind.assumptions.instrumented is not None:
        runs = kind.context.history.counts["profiled_runs"]
        recordings.append(RecordingState("of any kind", runs, Text(kind.assumptions.instrumented.text), ()))
    return ExecutorState(
        "profiling",
        named,
        max(0, kind.context.options().depth - kind.maker.log.within_strategy),
        tuple(_plan_state(executor, version, kind.hits(version), _assumptions_of(kind, version)) for version in kind.versions),
        tuple(_split_state(split, _assumptions_of(kind, split)) for split in kind.splits),
        recordings=tuple(recordings),
        log=LogState(
            tuple((_call_of(kind.program, shapes), count) for shapes, count in kind.maker.log.seen()),
            tuple(sorted(describe_specs(specs, kind.program.names) for specs in kind.maker.log.made_speculations())),
        ),
        simple=None if simple is None else Text(_graph_of(simple)),
    )


def _spec_states(kind: SpecializingExecutor) -> Iterator[SpecState]:
    for spec, is_optimized, plan in kind.plans:
        described = spec.describe(kind.program.names)
        if isinstance(plan, Program):
            yield SpecState(described, is_optimized, Text(_graph_of(plan)))
            continue
        versions = tuple(_plan_state(plan, version, plan.table.hits(version)) for version in plan.versions)
        yield SpecState(described, is_optimized, Text(_graph_of(plan.program)), versions, tuple(map(_split_state, plan.splits)))


def _assumptions_of(kind: ProfilingExecutor, version: Version | Split) -> tuple[AssumptionState, ...]:
    inside = kind.continuations(version)
    if inside is None:
        return ()
    executors = inside.executors
    return tuple(
        AssumptionState(
            each.what, str(each.fact), each.place, inside.lost.get(i, 0), (program_state(executors[i]),) if i in executors else ()
        )
        for i, each in enumerate(inside.code.assumptions)
    )


def _plan_state(of: Any, version: Version, hits: int, assumptions: tuple[AssumptionState, ...] = ()) -> PlanState:
    """`of`: what has the program that the version was compiled from."""

    def with_guards(graph: str) -> str:
        return steps.regions.stage_of_whole(graph, of.program.entry, version.record.arguments, "profiled")

    return PlanState(
        version.guards,
        version.speculation.kind,
        hits,
        version.milliseconds,
        version.call,
        version.compiled.from_disk,
        _later(_graph_of(of.program), with_guards),
        Text(version.compiled.request.ir),
        assumptions,
    )


def _split_state(split: Split, assumptions: tuple[AssumptionState, ...] = ()) -> SplitState:
    code = split.code
    left = tuple(f"{op} at {line}" if line else op for op, line in code.left)
    texts = Text(code.profiled), Text(code.guarded), Text(code.graph)
    regions = tuple(map(program_state, split.regions))
    return SplitState(split.guards, split.hits, split.milliseconds, split.call, left, *texts, regions, assumptions)


def _recordings(kind: ProfilingExecutor) -> Iterator[RecordingState]:
    for classes, recording in kind.splitting.recordings():
        facts = tuple((slot, str(fact)) for slot, fact in sorted(recording.facts.items()))
        arguments = ", ".join(f"{name}: {c}" for name, c in zip(kind.program.names, classes, strict=True))
        yield RecordingState(arguments, recording.runs, Text(recording.instrumented.text), facts)


def _call_of(program: Program, shapes: tuple[Any, ...]) -> str:
    classes, sizes = shapes
    each = zip(program.names, classes, sizes, strict=True)
    return ", ".join(f"{name}: {c}" + (f" {list(s)}" if c.dtype else "") for name, c, s in each)


def _graph_of(program: Program) -> str:
    try:
        return program.graph
    except NotCompiled as e:
        return f"// {e}"


def _later(graph: str, make: Callable[[str], str]) -> Text:
    """What is made of a graph; of one that is not there why not."""
    return Text(graph if graph.startswith("// ") else partial(make, graph))


def _refusal(reason: Any, detail: str, line: str) -> str:
    return f"{reason.sentence} [{detail}]" + (f" at {line}" if line else "")


def _lines(state: Any, graphs: bool, depth: int = 0) -> Iterator[str]:
    """One line per fact, the parts of a state further in."""
    indent = "  " * depth
    for f in fields(state):
        value = getattr(state, f.name)
        if isinstance(value, Text):
            if graphs:
                yield f"{indent}{f.name}:"
                yield from (f"{indent}  {line}" for line in str(value).splitlines())
        elif isinstance(value, tuple) and value and hasattr(value[0], "__dataclass_fields__"):
            for number, part in enumerate(value):
                yield f"{indent}{f.name}[{number}]:"
                yield from _lines(part, graphs, depth + 1)
        elif isinstance(value, Stats | Options | LogState):
            yield f"{indent}{f.name}:"
            yield from _lines(value, graphs, depth + 1)
        elif isinstance(value, tuple):
            if value:
                yield f"{indent}{f.name}: {', '.join(_spell(v) for v in value)}"
        elif value is not None:
            yield f"{indent}{f.name}: {value}"


def _spell(value: object) -> str:
    return ": ".join(map(str, value)) if isinstance(value, tuple) else str(value)
