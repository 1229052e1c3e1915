"""Traces and counters in the formats of others: what is written is what their own readers take, and what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup


def stepped(x):
    return np.tanh(x) * 0.375 - 2.5


def called() -> Any:
    f = tierup.jit(stepped)
    for x in (np.ones(3), np.ones(3), np.ones(3), np.ones(4)):
        f(x)
    return f


def test_a_trace_has_calls_compiles_and_misses_in_the_order_of_time(tmp_path: Path) -> None:
    with tierup.trace(tmp_path / "t.json"):
        f = called()
    f(np.ones(5))
    entries = json.loads((tmp_path / "t.json").read_text())
    assert entries[0]["ph"] == "M" and all({"name", "ph", "pid", "args"} <= set(entry) for entry in entries)
    calls = [entry for entry in entries if entry["name"] == "stepped"]
    assert {entry["ph"] for entry in calls} == {"X"} and sum(entry["args"]["calls"] for entry in calls) == 4
    assert all(entry["dur"] > 0 and entry["args"]["line"] == f.times.place for entry in calls)
    [compiled] = [entry for entry in entries if entry["name"] == "stepped: compiled"]
    assert calls[1]["ts"] <= compiled["ts"] + compiled["dur"] <= calls[1]["ts"] + calls[1]["dur"] + 1e3
    assert [entry["ph"] for entry in entries if entry["name"] == "stepped: miss"] == ["i"]
    assert [entry["ts"] for entry in calls] == sorted(entry["ts"] for entry in calls)


def test_a_process_writes_its_trace_though_it_is_killed(tmp_path: Path) -> None:
    program = "import os, signal, tierup\n@tierup.jit\ndef f(x): return x + 1\nf(1.0)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "p.py").write_text(program)
    subprocess.run([sys.executable, "p.py"], cwd=tmp_path, env={**os.environ, "TIERUP_TRACE": "t.json"}, check=False)
    text = (tmp_path / "t.json").read_text()
    assert not text.endswith("]\n") and [entry["name"] for entry in json.loads(text + "]")][1:] == ["f: profiled", "f"]


def test_a_child_of_fork_adds_nothing(tmp_path: Path) -> None:
    with tierup.trace(tmp_path / "t.json"):
        f = tierup.jit(stepped)
        child = os.fork()
        if not child:
            f(np.ones(2))
            os._exit(0)
        os.waitpid(child, 0)
    assert [entry["ph"] for entry in json.loads((tmp_path / "t.json").read_text())] == ["M"]


def test_opentelemetry_has_spans_below_the_users(tmp_path: Path) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, kept = sdk.TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with tierup.spans(provider), provider.get_tracer("mine").start_as_current_span("request") as request:
        f = called()
    spans = kept.get_finished_spans()
    calls = [span for span in spans if span.name == "call stepped"]
    assert sum(span.attributes["tierup.calls"] for span in calls) == 4
    assert all(span.parent.span_id == request.get_span_context().span_id for span in calls)
    line = int(f.times.place.rpartition(":")[2])
    assert (calls[0].attributes["code.file.path"], calls[0].attributes["code.line.number"]) == (__file__, line)
    seconds = [value for name, value in calls[0].attributes.items() if name.endswith("_seconds")]
    assert sum(seconds) == pytest.approx((calls[0].end_time - calls[0].start_time) / 1e9, rel=0.01, abs=1e-6)
    assert {"compiled stepped", "miss stepped", "profiled stepped"} <= {span.name for span in spans}


def test_prometheus_reads_the_counts_of_stats() -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    metrics = tierup.metrics(registry)
    f = called()
    labels = {"function": "stepped", "line": f.times.place}
    total = f.stats()
    for answered in ("hits", "misses", "profiled_runs"):
        assert registry.get_sample_value("tierup_calls_total", {**labels, "answered": answered}) >= getattr(total, answered) > 0
    assert registry.get_sample_value("tierup_versions", labels) >= 1 and registry.get_sample_value("tierup_compiles_total", labels) >= 1
    assert registry.get_sample_value("tierup_seconds_total", {**labels, "part": "graphs"}) > 0
    assert b"tierup_calls_total" in prometheus.generate_latest(registry)
    registry.unregister(metrics)
    assert registry.get_sample_value("tierup_versions", labels) is None
