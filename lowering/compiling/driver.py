"""The one driver of compiles: it runs named pipelines on a program, each timed, its text kept where that is asked for."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from tierup.dialect.language.text import text_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.pipelines.reproducer import Reproducer
from tierup.lowering.base import faults


class Keep(Protocol):
    """Where what is kept of a compile goes: `runtime/code/dump.py`."""

    def stage(self, name: str, text: str) -> None:
        """A stage's text, as soon as it stands; under the name "reproducer" what shows a failure again."""

    def begin(self, reproducer: str) -> None:
        """Before what may end the process: the reproducer that is to be found then."""

    def passed(self) -> None:
        """It went well."""


class Driver:
    """One compile, or a part of one: `with Driver(...) as driver` around it. `wanted`: the stages whose texts are kept in `texts`; `keep`
    is given those of all, and a reproducer where something fails: the pipeline that ran, or `whole`, what to run for all of it. `at`: the
    pipeline that runs or that failed; `milliseconds`: what each stage took."""

    def __init__(self, wanted: Collection[str] = (), keep: Keep | None = None, whole: Reproducer | None = None) -> None:
        self._wanted, self._keep, self._whole, self._running = wanted, keep, whole, whole
        self.at: registry.NamedPipeline | None = None
        self.texts: dict[str, str] = {}
        self.milliseconds: dict[str, float] = {}

    def __enter__(self) -> Driver:
        self._begin(self._whole)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._keep is None:
            return
        if error is None:
            self._keep.passed()
        elif isinstance(error, Exception) and self._running is not None:
            self._keep.stage("reproducer", str(replace(self._running, error=f"{type(error).__name__}: {error}")))

    def run(self, named: registry.NamedPipeline, module: ir.Module, *, last: bool = True, shows: bool = True) -> None:
        """Run a pipeline. `last`: what it leaves is verified; between stages only where texts are kept, to name the right one, since who
        reads what a stage left verifies it all the same. `shows`: its text is kept, where that is asked for. Raises PassFailure."""
        self.at = named
        if self._keep is not None:
            self._begin(Reproducer(text_of(module), named.text))
        with self.timed(named.name.removeprefix("lower-"), named.fault):
            registry.parse(named.text).run(module, verify_each=False, verify_end=last or self._keep is not None)
        self._begin(self._whole)
        self.at = None
        if shows and named.leaves and self.wants(named.leaves):
            self.add(named.leaves, str(module))

    @contextmanager
    def timed(self, stage: str, fault: str) -> Iterator[None]:
        """Around a stage. `fault`: under what name it can be made to fail (faults.py), if it can."""
        start = time.perf_counter()
        if fault:
            faults.begins(fault)
        yield
        self.milliseconds[stage] = (time.perf_counter() - start) * 1e3

    def wants(self, stage: str) -> bool:
        """Whether anybody asks for the text of a stage."""
        return self._keep is not None or stage in self._wanted

    def add(self, stage: str, text: str) -> None:
        """The text of a stage."""
        if stage in self._wanted:
            self.texts[stage] = text
        if self._keep is not None:
            self._keep.stage(stage, text)

    def _begin(self, reproducer: Reproducer | None) -> None:
        self._running = reproducer
        if self._keep is not None and reproducer is not None:
            self._keep.begin(str(reproducer))
