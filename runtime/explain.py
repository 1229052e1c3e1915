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
        lines += _splits(executor)
        for reason, detail, line in executor.refusals:
            lines.append(f"  not compiled: {reason.sentence}" + (f" [{detail}]" if detail else "") + (f" at {line}" if line else ""))
        if not executor.versions and not executor.splits and not executor.refusals:
            why = executor.last_reason
            lines.append("  no version yet" + (f": {why.sentence}" if why else ": it was called too seldom"))
    regions = [region for executor in executors for split in executor.splits for region in split.regions]
    events = [event for executor in (*executors, *regions) for event in executor.events]
    if events:
        lines.append("  last events:")
        lines += [f"    {event}" for event in sorted(events, key=lambda e: e.time)[-_EVENTS_SHOWN:]]
    return "\n".join(lines)


def _splits(executor: Executor) -> list[str]:
    lines = []
    for split in executor.splits:
        lines.append(f"  version: {split.guards}: split, {len(split.regions)} native regions, {split.hits} hits, cut in {split.milliseconds:.0f} ms")
        for number, region in enumerate(split.regions):
            stats = region.stats()
            where = f" at {region.program.place}" if region.program.place else ""
            lines.append(f"    region {number}{where}: {len(region.versions)} versions, {stats.hits} hits, {stats.calls - stats.hits} in tier 0")
            lines += [f"      {version.guards}: {version.bet.kind}, {region.hits(version)} hits" for version in region.versions]
            lines += [f"      not compiled: {reason.sentence} [{detail}]" + (f" at {line}" if line else "") for reason, detail, line in region.refusals]
        lines += [f"    in tier 0: {op}" + (f" at {line}" if line else "") for op, line in split.code.left]
    return lines
