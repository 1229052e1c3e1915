"""`explain()`: the state of a function in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tierup.runtime.stats import Stats

if TYPE_CHECKING:
    from tierup.runtime.executor import Executor

_EVENTS_SHOWN = 12


def explain(name: str, executors: Sequence[Executor]) -> str:
    """What a function with these executors did, which versions it has, and why anything ran in tier 0."""
    stats = sum((e.stats() for e in executors), Stats())
    lines = [
        f"{name}: {stats.calls} calls = {stats.hits} hits + {stats.misses} misses + {stats.profiled_runs} profiled + {stats.interpreted} interpreted; "
        f"{stats.compiles} compiles, {stats.versions} versions"
    ]
    for executor in executors:
        if len(executors) > 1:
            lines.append(f"  graph for ({', '.join(executor.program.names)}) at {executor.program.place}")
        for version in executor.versions:
            lines.append(
                f"  version: {version.guards}: {version.bet.kind}, native, {executor.hits(version)} hits, compiled in {version.milliseconds:.0f} ms"
            )
        for reason, detail, line in executor.refusals:
            lines.append(f"  not compiled: {reason.sentence}" + (f" [{detail}]" if detail else "") + (f" at {line}" if line else ""))
        if not executor.versions and not executor.refusals:
            why = executor.last_reason
            lines.append("  no version yet" + (f": {why.sentence}" if why else ": it was called too seldom"))
    events = [event for executor in executors for event in executor.events]
    if events:
        lines.append("  last events:")
        lines += [f"    {event}" for event in sorted(events, key=lambda e: e.time)[-_EVENTS_SHOWN:]]
    return "\n".join(lines)
