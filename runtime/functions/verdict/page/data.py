"""What the page shows, as plain data: `function_data` of one function, `process_data` of all."""

from __future__ import annotations

import linecache
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.spelling import line_of
from tierup.runtime.account.calls import SINCE_1970
from tierup.runtime.account.times import Times
from tierup.runtime.arguments.signature import fold_names
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.functions.verdict import words
from tierup.runtime.functions.verdict.page import layout

if TYPE_CHECKING:
    from tierup.runtime.executors.executor import Executor
    from tierup.runtime.functions.report import Report

Data = dict[str, Any]
_MOST_GRAPHS = 5  # whose ops are shown: those with most calls
_STAGES = ("linalg", "loops", "llvm", "optimized", "asm")


def process_data(functions: Sequence[Report], places: Iterable[tuple[str, str, Times, int]], seconds: Mapping[str, float]) -> Data:
    """The whole process. `places`: name, line, times and how many were made, by line; `seconds`: of all calls, by part."""
    lines = [
        {"name": name, "line": line, "seconds": sum(times.by_part.values()), "parts": _seen(times.by_part), "made": made}
        for name, line, times, made in places
    ]
    return {**_page(functions), "places": lines, "parts": _seen(seconds)}


def page_data(function: Report) -> Data:
    """One function, with the stages of its newest version."""
    made = _page([function])
    made["functions"][0]["stages"] = _stages(function)
    return made


def _page(functions: Sequence[Report]) -> Data:
    return {"written": time.strftime("%Y-%m-%d %H:%M:%S"), "functions": [function_data(function) for function in functions]}


def function_data(function: Report) -> Data:
    """What is known of a function, without what would have to be made first."""
    facts = function._facts()
    executors = function._all_executors
    events = sorted((event for executor in facts.parts for event in executor.history.events), key=lambda event: event.time)
    return {
        "name": function.__name__,
        "place": facts.line,
        "parts": _seen(facts.seconds),
        "background": sum(sum(t.background.by_part.values()) for t in facts.times if t.background is not None),
        "verdict": " ".join(line.strip() for line in words.verdict(facts)),
        "causes": [
            {"what": cause.what, "remedy": cause.remedy, "seconds": cause.seconds, "calls": cause.calls, "line": cause.line}
            for cause in words.causes(facts)[: words.ROWS]
        ],
        "stats": {"calls": facts.stats.calls, **facts.stats.by_answer, "compiles": facts.stats.compiles, "bailouts": facts.stats.bailouts},
        "graphs": [_graph(executor, facts.named) for executor in sorted(executors, key=lambda e: -e.calls())[:_MOST_GRAPHS]],
        "more graphs": max(0, len(executors) - _MOST_GRAPHS),
        "versions": [
            row for number, executor in enumerate(executors) for version in executor.all_versions
            for row in _version(executor, version, number, facts.named)
        ],
        "events": [
            {
                "kind": event.kind.value, "function": event.function, "call": event.call, "time": event.time, "line": event.line,
                "ms": event.milliseconds, "text": facts.named(str(event)), "times": event.times,
            }
            for event in events
        ],
        "calls": [(SINCE_1970 + start, seconds) for times in facts.times for start, seconds in times.recent],
        "source": _source(function),
        "explain": function.explain(details=True),
        "stages": {},
    }  # fmt: skip


def _seen(parts: Mapping[str, float]) -> dict[str, float]:
    return {part: seconds for part, seconds in parts.items() if seconds > 0}


def _version(executor: Executor, version: Any, graph: int, named: Any) -> list[Data]:
    if isinstance(version, Split):
        row = {
            "graph": graph, "guards": version.guards, "kind": "split", "hits": version.hits, "ms": version.milliseconds,
            "where": f"{len(version.regions)} native regions", "origin": "cut", "call": version.call,
        }  # fmt: skip
        regions = [
            {
                "graph": graph, "guards": named(each.guards), "kind": f"region {number}", "hits": region.hits(each),
                "ms": each.milliseconds, "where": f"native, at {region.program.place}",
                "origin": "loaded from disk" if each.compiled.from_disk else "compiled", "call": each.call,
            }
            for number, region in enumerate(version.regions) for each in region.versions
        ]  # fmt: skip
        return [row, *regions]
    target = version.compiled.target
    return [
        {
            "graph": graph, "guards": version.guards, "kind": version.speculation.kind, "hits": executor.hits(version),
            "ms": version.milliseconds, "where": f"on the device ({target})" if target else "native",
            "origin": "loaded from disk" if version.compiled.from_disk else "compiled", "call": version.call,
        }
    ]  # fmt: skip


def _graph(executor: Executor, named: Any) -> Data:
    from tierup.runtime.compiling.picture import ops_of  # here: loads MLIR

    program = executor.program
    made: Data = {"title": f"({fold_names(program.names)}) at {program.place}", "calls": executor.calls(), "text": "", "ops": []}
    try:
        made["text"] = program.graph
        ops = ops_of(program.graph, program.entry)
    except NotCompiled:  # released
        return made
    left = {(op.partition(" ")[0], line) for split in executor.splits for op, line in split.code.left}
    by_default = "native" if executor.versions else "native region" if executor.splits else "tier 0"
    made["ops"] = [
        {
            "name": op.name if not op.line and not op.operands else named(op.name), "line": op.line, "type": op.type,
            "operands": op.operands, "depth": op.depth,
            "who": "argument" if not op.line and not op.is_known else "tier 0" if (op.name, op.line) in left
            else by_default if op.is_known else "control",
        }
        for op in ops
    ]  # fmt: skip
    return {**made, **layout.drawn([op["operands"] for op in made["ops"]])}


def _source(function: Report) -> Data:
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    if code is None:
        return {"file": "", "first": 0, "lines": []}
    first = line_of(code)
    last = max((line for _, _, line in code.co_lines() if line is not None), default=first)
    lines = linecache.getlines(code.co_filename)[first - 1 : last]
    return {"file": code.co_filename, "first": first, "lines": [line.rstrip("\n") for line in lines]}


def _stages(function: Report) -> dict[str, str]:
    """The newest version at its stages; none where there is none, or its graph was released."""
    executor = max(function._all_executors, key=lambda e: max((v.call for v in e.all_versions), default=-1), default=None)
    newest = None if executor is None else max(executor.all_versions, key=lambda v: v.call, default=None)
    if executor is None or newest is None or executor.program.released:
        return {}
    if isinstance(newest, Split):
        return {"guarded": newest.text("guarded"), **{stage: newest.text(stage) for stage in ("specialized", "asm") if newest.regions}}
    found = {"guarded": executor.text("guarded"), "specialized": newest.compiled.request.ir}
    return found if newest.record.on_device else {**found, **steps.version.stages(newest.compiled.request, _STAGES)}
