"""Traces of a process in formats that others read: `tierup.trace("t.json")` for Perfetto and Chrome, `tierup.spans()` for OpenTelemetry.

Both are told what events and `calls.py` tell: calls with what they took by parts, compiles with their time, misses and all else as points
in time. What they write of quick calls that native code answers stands for those since the one before: nothing is paid for the others.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from tierup.dialect.base import forking
from tierup.runtime.account import calls
from tierup.runtime.account.calls import Call
from tierup.runtime.base import events
from tierup.runtime.base.events import Event, EventKind

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

TRACE = "TIERUP_TRACE"
_LASTING = (EventKind.COMPILED, EventKind.GENERALISED, EventKind.SPLIT, EventKind.DIFFERENTIATED)  # their time is when they ended


class _Sink(Protocol):
    def call(self, call: Call) -> None:
        """A call ended."""

    def event(self, event: Event) -> None:
        """Something happened."""

    def close(self) -> None:
        """That was all."""


class Tracing:
    """What happens from now on goes to a sink, until `stop`, the end of a `with` block, or of the process. A child of fork has none."""

    def __init__(self, sink: _Sink) -> None:
        self._sink, self._process = sink, os.getpid()
        self._until = ExitStack()
        self._until.enter_context(calls.heard(self._call))
        self._until.enter_context(events.subscribe(self._event))
        atexit.register(self.stop)

    def _call(self, call: Call) -> None:
        if os.getpid() == self._process:
            self._sink.call(call)

    def _event(self, event: Event) -> None:
        if os.getpid() == self._process:
            self._sink.event(event)

    def stop(self) -> None:
        """Write no more; what was written is whole."""
        atexit.unregister(self.stop)
        self._until.close()
        if os.getpid() == self._process:
            self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def trace(path: str | os.PathLike[str]) -> Tracing:
    """Write a trace to a file, in the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing read: until the `with` block ends, or the
    process. Each line is whole when it is written, so a process that is killed leaves a trace, too."""
    return Tracing(_Chrome(path))


def spans(provider: TracerProvider | None = None) -> Tracing:
    """Give calls and compiles as spans, and all else as spans of no length, to OpenTelemetry: to this provider, else to the process's. A
    call's span is a child of the one that the thread is in. Raises ImportError where opentelemetry-api is not installed."""
    return Tracing(_Spans(provider))


class _Chrome:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "w", encoding="utf-8", buffering=1)
        self._lock = forking.lock()
        self._write("[", {"name": "process_name", "ph": "M", "pid": os.getpid(), "args": {"name": "tierup"}})

    def _write(self, before: str, made: dict[str, Any]) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.write(f"{before}{json.dumps(made)}\n")

    def _add(self, name: str, phase: str, start: float, thread: int, arguments: dict[str, Any], **more: Any) -> None:
        """`start`: seconds since 1970."""
        where = {"pid": os.getpid(), "tid": thread, "ts": round(start * 1e6, 3)}
        self._write(",", {"name": name, "cat": "tierup", "ph": phase, **where, **more, "args": arguments})

    def call(self, call: Call) -> None:
        parts = {f"{part} (us)": round(seconds * 1e6, 3) for part, seconds in call.parts.items()}
        about = {"line": call.place, "calls": call.stands_for, **parts}
        self._add(call.function or "in the background", "X", call.start, call.thread, about, dur=round(call.seconds * 1e6, 3))

    def event(self, event: Event) -> None:
        about, name, thread = {"what": str(event), "line": event.line}, f"{event.function}: {event.kind.value}", threading.get_native_id()
        if event.kind in _LASTING and event.milliseconds:
            self._add(name, "X", event.time - event.milliseconds / 1e3, thread, about, dur=round(event.milliseconds * 1e3, 3))
        else:
            self._add(name, "i", event.time, thread, about, s="t")

    def close(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.write("]\n")
                self._file.close()


class _Spans:
    def __init__(self, provider: TracerProvider | None) -> None:
        from opentelemetry import trace as opentelemetry  # an optional dependency

        provider = provider or opentelemetry.get_tracer_provider()
        if not hasattr(provider, "get_tracer"):
            raise TypeError(f"spans takes a TracerProvider of OpenTelemetry's, not {provider!r}")
        self._tracer = provider.get_tracer("tierup")

    def _span(self, name: str, start: float, end: float, function: str, line: str, more: dict[str, Any]) -> None:
        file, _, number = line.partition(".py:")
        about = {"code.function.name": function, "code.file.path": f"{file}.py" if number else line, **more}
        if number:
            about["code.line.number"] = int(number.partition(":")[0])
        self._tracer.start_span(name, start_time=round(start * 1e9), attributes=about).end(end_time=round(end * 1e9))

    def call(self, call: Call) -> None:
        parts = {f"tierup.{part.replace(' ', '_').replace('-', '_')}_seconds": seconds for part, seconds in call.parts.items()}
        about = {"tierup.calls": call.stands_for, **parts}
        self._span(f"call {call.function}", call.start, call.start + call.seconds, call.function, call.place, about)

    def event(self, event: Event) -> None:
        lasted = event.milliseconds / 1e3 if event.kind in _LASTING else 0.0
        about = {"tierup.call": event.call, "tierup.what": str(event)}
        self._span(f"{event.kind.value} {event.function}", event.time - lasted, event.time, event.function, event.line, about)

    def close(self) -> None:
        """Spans are handed on as they end."""
