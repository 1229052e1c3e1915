"""`explain()`: the state of a function in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.signature import fold_names
from tierup.runtime.code.lookups import Earlier
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.functions.verdict import words
from tierup.runtime.functions.verdict.arguments import differing_lengths
from tierup.runtime.functions.verdict.cause import Facts
from tierup.runtime.programs import starts
from tierup.runtime.programs.speculations import SPECULATED_KINDS

if TYPE_CHECKING:
    from tierup.runtime.base.events import Event
    from tierup.runtime.base.protocols import ProgramExecutor
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.executors.splits.split import Split

_EVENTS_SHOWN = 12
_MOST_ALIKE = 5


def explain(
    name: str,
    executors: Sequence[ProgramExecutor],
    before: Stats | None = None,
    read: Sequence[str] = (),
    constants: Mapping[ProgramExecutor, str] | None = None,
    islands: Sequence[str] = (),
    python: int = 0,
    facts: Facts | None = None,
    *,
    details: bool = False,
) -> str:
    """What a function with these executors did, which versions it has, and why anything ran in tier 0. `before`: counts of its graphs that
    were dropped; `read`: numbers from outside that were constants; `constants`: those in which graphs of one structure differ;
    `islands`: what is said of a function that is translated in part; `python`: calls that the Python function answered; `facts`: what the
    verdict is found from; `details`: all of what is alike."""
    before, earlier = before or Stats(), Earlier()
    stats = sum((e.stats_with_gradients() for e in executors), before) + Stats(python=python)
    raised = f" + {stats.raised} raised" if stats.raised else ""
    by_python = f" + {python} by Python" if python else ""
    lines = [
        f"{name}: {_count(stats.calls, 'call')} = {_count(stats.hits - stats.raised, 'hit')}{raised}"
        f" + {_count(stats.misses, 'miss', 'misses')} + {stats.profiled_runs} profiled + {stats.interpreted} interpreted{by_python}; "
        f"{_count(stats.compiles, 'compile')}, {_count(stats.versions, 'version')}" + _plan_cache(stats)
    ]
    if islands and facts is not None and facts.in_parts and not executors and stats.calls == python:
        lines = [f"{name}: {_count(facts.in_parts + python, 'call')}, which go to the undecorated function at once"]
    elif facts is not None and facts.in_parts and len(facts.times) > 1:
        lines[0] = f"{name}, by the calls of its regions: {lines[0][len(name) + 2 :]}"
    if facts is not None:
        background = sum(sum(t.background.by_part.values()) for t in facts.times if t.background is not None)
        lines += [f"  {words.time_line(facts.seconds, background)}"] if facts.total else []
        lines += [f"  {line}" for line in (*words.verdict(facts), *words.table(facts))]
    if before.calls:
        lines.append(
            f"  {_count(before.calls, 'call')} of these had graphs that were dropped since, the least used beyond max_graphs, made for a "
            "number that is read now, or with too little room for a list: each structure of the arguments, and each change of a constant "
            "from outside, makes a graph"
        )
    if read:
        lines.append(f"  read at every call, since graphs differed in nothing else: {', '.join(read)}")
    said = len(lines)
    lines += [f"  {line}" for line in islands]
    shown = list(executors) if details else _most_called(executors)
    for executor in shown:
        if len(executors) > 1 or islands:
            differs = (constants or {}).get(executor, "")
            lines.append(
                f"  graph for ({fold_names(executor.program.names)}) at {executor.program.place}" + (f" with {differs}" if differs else "")
            )
        for spec, how, answered in executor.plans:
            lines.append(f"  plan for ({spec}): {how}, {_count(answered, 'native call')}")
        versions = executor.versions if details else executor.versions[:_MOST_ALIKE]
        for version in versions:
            lines += _version(earlier, executor, version)
        if len(versions) < len(executor.versions):
            hits = sum(executor.hits(version) for version in executor.versions[_MOST_ALIKE:])
            lines.append(f"  {_more(len(executor.versions) - _MOST_ALIKE, 'version', hits, 'hit')}")
        lines += _not_started(earlier, executor)
        lines += _splits(executor)
        for reason, detail, line in executor.refusals:
            lines.append(f"  not compiled: {reason.sentence}" + (f" [{detail}]" if detail else "") + _at(line))
        if executor.program.released:
            lines.append(f"  released: {Reason.RELEASED.sentence}")
        is_called = executor.calls() or not executor.has_gradients  # and not all its calls are those of a gradient
        if is_called and not executor.versions and not executor.splits and not executor.refusals:
            why = executor.history.last_reason
            lines.append("  no version yet" + (f": {why.sentence}" if why else _not_yet(executor)))
        for (what, why), count in sorted(executor.history.reasons.items(), key=lambda item: -item[1]):
            lines.append(f"  {what}: {_count(count, 'call')}" + (f": {why.sentence}" if why else ""))
            lines += _handed_over(executor) if why is Reason.HANDED_OVER else []
        lines += _gradients(executor)
    if len(shown) < len(executors):
        left = [executor for executor in executors if executor not in shown]
        differ = "" if facts is None else differing_lengths(facts)
        lines.append(
            f"  {_more(len(left), 'graph', sum(executor.calls() for executor in left), 'call')}"
            + (f"; all {len(executors)} differ in {differ}" if differ else "")
        )
    if not details:
        lines[said:] = words.without_repeats(lines[said:])
    gradients = [gradient for executor in executors for gradient in executor.gradient_executors]
    regions = [region for executor in (*executors, *gradients) for split in executor.splits for region in split.regions]
    events = [event for executor in (*executors, *gradients, *regions) for event in executor.history.events]
    if events:
        lines.append("  last events:")
        last = sorted(events, key=lambda e: e.time)
        lines += [f"    {event}" for event in last] if details else _folded(last[-_EVENTS_SHOWN:])
    if executors:
        lines = [executors[0].history.owner.named(line) for line in lines]
    if facts is not None:
        lines += _legend(lines)
    return "\n".join(words.narrow(lines))


def _most_called(executors: Sequence[ProgramExecutor]) -> list[ProgramExecutor]:
    """All of a few; of many those with most calls, in their order."""
    if len(executors) <= _MOST_ALIKE:
        return list(executors)
    most = sorted(executors, key=lambda executor: -executor.calls())[:_MOST_ALIKE]
    return [executor for executor in executors if executor in most]


def _more(count: int, what: str, of_them: int, each: str) -> str:
    return f"... and {_count(count, what)} more, with {_count(of_them, each)}: explain(details=True)"


def _not_yet(executor: ProgramExecutor) -> str:
    calls, wanted = executor.calls(), executor.options.num_profiled_runs
    return f": of calls like this there {'was' if calls == 1 else 'were'} {calls}; native code is made in the one after {wanted}"


def _version(earlier: Earlier, executor: ProgramExecutor, version: Version) -> list[str]:
    hits, raised = executor.hits(version), executor.history.raised_by.get(version.record.serial, 0)
    raised_too = f" and {raised} that raised" if raised else ""
    origin = "loaded from disk" if version.compiled.from_disk else "compiled"
    return [
        f"  version: {version.guards}: {version.speculation.kind}, {_where(version)}, {_count(hits - raised, 'hit')}{raised_too}, "
        f"{origin} in {version.milliseconds:.0f} ms",
        *_lookup(earlier, executor, version),
        *_waits(version),
        *_alone(version),
        *_products(version),
        *_assumptions(executor, version, hits),
    ]


def _folded(events: Sequence[Event]) -> list[str]:
    """Of more than three events that are alike and follow one another the first two and the last."""
    lines: list[str] = []
    for _, group in groupby(events, lambda e: (e.function, e.kind, e.reason, e.line)):
        alike = list(group)
        if len(alike) > 3:
            lines += [f"    {alike[0]}", f"    {alike[1]}", f"    ... and {len(alike) - 3} more like these, before", f"    {alike[-1]}"]
        else:
            lines += [f"    {event}" for event in alike]
    return lines


_TERMS = {
    "hit": "a call whose arguments fit a version",
    "miss": "a call that fits no version, which tier 0 answers",
    "version": "native code, for arguments that fit its guards: dtypes, ranks, sizes, layouts",
    "graph": "what is made of the function for one structure of arguments",
    "tier 0": "an interpreter, which answers where there is no native code",
    "profiled": "a call in tier 0 whose types and sizes were recorded",
    "interpreted": "a call in tier 0 for another reason",
    "handed over": "a call that fits a version, which has no answer for its values; tier 0 gave the result; counted as a miss",
    "error exit": "a check in native code failed, and tier 0 raised",
    "bailout": "an assumption in mid-program failed, and the call went on elsewhere",
    "region": "a part that has native code",
    "compile": "making a version",
}


def _legend(lines: Sequence[str]) -> list[str]:
    """What the terms mean that the lines have."""
    text = "\n".join(lines)
    return ["  terms: " + "; ".join(f"{term}: {meaning}" for term, meaning in _TERMS.items() if term in text)]


def _lookup(earlier: Earlier, executor: ProgramExecutor, version: Version) -> list[str]:
    """Why nothing that earlier processes left was this version's code."""
    program = executor.program
    try:  # code with assumptions in mid-program was made of a graph that has them
        graph = program.graph if executor.continuations(version) is None else ""
    except NotCompiled:  # it was released
        graph = ""
    said = earlier.explain(graph, program.entry, version.record.arguments, version.compiled)
    return [f"    {said}"] if said else []


def _not_started(earlier: Earlier, executor: ProgramExecutor) -> list[str]:
    """Why the first call was profiled though earlier processes left something of such calls."""
    if not executor.history.counts["profiled_runs"] or not starts.usable(executor.options):
        return []
    try:
        said = earlier.differs(starts.key(executor.program, executor.options))
    except NotCompiled:  # the graph was released
        return []
    return [f"    no start on disk: {said}"] if said else []


def _where(version: Version) -> str:
    target = version.compiled.target
    return f"on the device ({target})" if target else "native"


def _handed_over(executor: ProgramExecutor) -> list[str]:
    """Why native code left calls to tier 0, and what helps."""
    why = "    there a result is a view of an argument, or another result or argument itself, where on other paths it is new memory; "
    if any(spec.kind in SPECULATED_KINDS for version in executor.versions for spec in version.record.arguments):
        why += "when ints and bools decide which, a version is made for their values once they come again; "
    return [
        why + "what arrays hold decides no version, so such calls stay in tier 0: "
        "return a copy there (`x.copy()`, which is new memory on every path), or pass what decides as an int or bool"
    ]


def _waits(version: Version) -> list[str]:
    """Why calls of a version on the device wait for it, beside those whose results go to the host."""
    if not version.record.on_device:
        return []
    plan: Any = version.record.keepalive  # a CudaPlan
    artifact, lines = plan.artifact, []
    by_place: dict[str, int] = {}
    for number, what in artifact.host.reads.items():
        by_place[what] = by_place.get(what, 0) + plan.reads[number]
    for what, count in by_place.items():
        lines.append(
            f"    waits for the device in mid-program: what goes on there depends on a value that the device computes ({what}); "
            f"waited {_count(count, 'time')}"
        )
    if artifact.error_sites:
        named = ", ".join(dict.fromkeys(f"{site.op}{_at(site.location)}" for site in artifact.error_sites))
        lines.append(f"    waits for the device once at the end of a call: whether a check has failed is read there ({named})")
    return lines


def _alone(version: Version) -> list[str]:
    """Which kernels of a version on the device run in one thread, and why."""
    if not version.record.on_device:
        return []
    artifact: Any = version.compiled.artifact  # a CudaArtifact
    host = artifact.host
    return [f"    slow on the device, in one thread: {host.origins.get(kernel, kernel)}: {why}" for kernel, why in host.alone.items()]


def _products(version: Version) -> list[str]:
    """Which products of a version on the device NVIDIA's library may compute."""
    plan: Any = version.compiled.code  # a CudaPlan
    if not version.record.on_device or not plan.kernels.libraries or not plan.artifact.host.products:
        return []
    host = plan.artifact.host
    named = ", ".join(dict.fromkeys(host.origins[name] for name in host.products))
    return [f"    large products {plan.on.about_library()}: {named}"]


def _gradients(executor: ProgramExecutor) -> list[str]:
    """The forward and backward programs, and which of them served calls."""
    if not executor.has_gradients:
        return []
    stats = executor.gradients.stats()
    lines = [
        f"  gradients: {_count(stats.hits, 'hit')}, {_count(stats.misses, 'pair')} made, {_count(stats.pullbacks, 'pullback')}"
        + (f", {_count(stats.plain, 'call')} without" if stats.plain else "")
        + (f", {_count(stats.refused, 'call')} refused" if stats.refused else "")
    ]
    for gradient in executor.gradient_executors:
        described = explain(gradient.program.name, [gradient]).partition("\n  last events:")[0]
        lines += [f"    {line}" for line in described.splitlines()]
    return lines


def _plan_cache(stats: Stats) -> str:
    if not stats.plan_cache_hits + stats.plan_cache_misses:
        return ""
    return f"; plan cache: {_count(stats.plan_cache_hits, 'hit')}, {_count(stats.plan_cache_misses, 'miss', 'misses')}"


def _splits(executor: ProgramExecutor) -> list[str]:
    lines = []
    for split in executor.splits:
        regions = _count(len(split.regions), "native region")
        lines.append(f"  version: {split.guards}: split, {regions}, {_count(split.hits, 'hit')}, cut in {split.milliseconds:.0f} ms")
        for number, region in enumerate(split.regions):
            stats, versions = region.stats(), _count(len(region.versions), "version")
            answers = f"{versions}, {_count(stats.hits, 'hit')}, {stats.calls - stats.hits} in tier 0"
            lines.append(f"    region {number}{_at(region.program.place)}: {answers}")
            lines += [f"      {each.guards}: {each.speculation.kind}, {_count(region.hits(each), 'hit')}" for each in region.versions]
            lines += [f"      not compiled: {reason.sentence} [{detail}]{_at(line)}" for reason, detail, line in region.refusals]
        lines += [f"    in tier 0: {op}{_at(line)}" for op, line in split.code.left]
        lines += [f"    in its last run {split.note}"] if split.note else []
        lines += _assumptions(executor, split, split.hits)
    return lines


def _assumptions(executor: ProgramExecutor, version: Version | Split, calls: int) -> list[str]:
    """The assumptions in mid-program of a version that answered so many calls, and what goes on where they failed."""
    inside = executor.continuations(version)
    if inside is None:
        return []
    lines, kept = [], calls - sum(inside.lost.values())
    waits = _waits_of_assumptions(version)
    for index, assumption in enumerate(inside.code.assumptions):
        lost = inside.lost.get(index, 0)
        what = f"{assumption.what} is {assumption.fact}{_at(assumption.place)}"
        lines.append(f"    assumption: {what}: held in {_count(kept, 'call')}, failed in {lost}")
        if index in waits:
            lines.append(f"      the host waits for the device to look at it: {_count(waits[index], 'time')}")
        goes_on = inside.executors.get(index)
        if goes_on is not None:
            stats = goes_on.stats()
            answers = f"{_count(stats.versions, 'version')}, {_count(stats.hits, 'hit')}, {stats.calls - stats.hits} in tier 0"
            lines.append(f"      goes on: {answers}")
    return lines


def _waits_of_assumptions(version: Version | Split) -> dict[int, int]:
    """By the indices of the assumptions that are on a value on the device, how often the host has waited for it."""
    record = getattr(version, "record", None)  # a split has none
    if record is None or not record.on_device:
        return {}
    from tierup.lowering.artifacts.host_steps import reads_of_assumptions  # here: most versions are the CPU's

    plan = record.keepalive  # a CudaPlan
    return {index: sum(plan.reads[n] for n in reads) for index, reads in reads_of_assumptions(plan.artifact.host).items() if reads}


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
