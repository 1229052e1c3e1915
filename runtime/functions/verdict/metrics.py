"""`tierup.metrics()`: counters of the process for Prometheus. They are read when a server asks for them: calls pay nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tierup.runtime.account.stats import Stats
from tierup.runtime.account.times import places
from tierup.runtime.functions import direct_calls
from tierup.runtime.functions.report import Report

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric


class Metrics:
    """A collector of Prometheus. By function and its line, of functions that are there: `tierup_calls_total`, by how they were answered,
    `tierup_compiles_total`, `tierup_bailouts_total` and `tierup_versions`. Those that are gone count in `tierup_seconds_total`, by part."""

    def collect(self) -> Iterator[Metric]:
        """The metrics, as of now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # an optional dependency

        labels = ("function", "line")
        calls = CounterMetricFamily("tierup_calls", "calls, by how they were answered", labels=(*labels, "answered"))
        compiles = CounterMetricFamily("tierup_compiles", "versions compiled", labels=labels)
        bailouts = CounterMetricFamily("tierup_bailouts", "calls that left native code", labels=labels)
        versions = GaugeMetricFamily("tierup_versions", "versions that there are", labels=labels)
        for (name, line), stats in self._stats().items():
            for answered, count in stats.by_answer.items():
                calls.add_metric((name, line, answered), count)
            compiles.add_metric((name, line), stats.compiles)
            bailouts.add_metric((name, line), stats.bailouts)
            versions.add_metric((name, line), stats.versions)
        seconds = CounterMetricFamily("tierup_seconds", "what calls took, by part", labels=(*labels, "part"))
        for (name, line), place in places().items():
            for part, spent in place.total().by_part.items():
                seconds.add_metric((name, line, part), spent)
        yield from (calls, compiles, bailouts, versions, seconds)

    @staticmethod
    def _stats() -> dict[tuple[str, str], Stats]:
        """What all functions of a line did together."""
        found: dict[tuple[str, str], Stats] = {}
        for each in direct_calls.alive():
            if isinstance(each, Report):
                key = each.times.name, each.times.place
                found[key] = found.get(key, Stats()) + each.stats()
        return found


def metrics(registry: CollectorRegistry | None = None) -> Metrics:
    """Let Prometheus's client ask for this process's counters: those of this registry, else of its default one. `registry.unregister` ends
    it. Raises ImportError where prometheus-client is not installed."""
    from prometheus_client import REGISTRY  # an optional dependency

    made, registry = Metrics(), registry or REGISTRY
    if not hasattr(registry, "register"):
        raise TypeError(f"metrics takes a CollectorRegistry of prometheus_client's, not {registry!r}")
    registry.register(made)
    return made
