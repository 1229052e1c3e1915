"""A speculation on its way to a version while calls go on: asked of a worker, loaded here, handed to the executor that made the
speculation.

The executor is held weakly: a function that is deleted or reset meanwhile is let go, and what arrives for it is dropped.
"""

from __future__ import annotations

import time
import traceback
import weakref

from tierup.dialect.base.forking import fork_allowed, no_fork
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.runtime.account import times
from tierup.runtime.account.history import History
from tierup.runtime.account.times import COMPILING, During
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import Maker
from tierup.runtime.code import plans
from tierup.runtime.code.plans import CompilerOutput, NotCompiled
from tierup.runtime.compiling.new_version import make_version
from tierup.runtime.compiling.processes import placement, workers
from tierup.runtime.compiling.scheduling.progress import told
from tierup.runtime.dispatching.version import Version
from tierup.runtime.faults import faults
from tierup.runtime.programs.speculations import Speculation
from tierup.runtime.programs.strategy import Classes


class CompileJob:
    """See `background.Job`. `where` says of a compile that was not a worker's why; `milliseconds` passed since the call asked for it."""

    def __init__(
        self, maker: Maker, speculation: Speculation, classes: Classes, valued: tuple[ArgumentSpec, ...], options: Options
    ) -> None:
        """`classes`: of the call's arguments; for `valued` see `make_version`."""
        self._maker = weakref.ref(maker)
        self._program = maker.program
        self.speculation, self.classes, self.options = speculation, classes, options
        self._valued = valued
        self._faults = faults.captured()
        self.call = maker.context.calls() + 1
        self._since, self._times = time.perf_counter(), times.of_background()
        self.where = ""
        self._dropped = False

    def drop(self) -> None:
        """Let what comes of it be thrown away, and ask no worker for it any more."""
        self._dropped = True

    @property
    def milliseconds(self) -> float:
        """The time since the call asked for it."""
        return (time.perf_counter() - self._since) * 1e3

    @property
    def how(self) -> str:
        """In what way it was compiled, for people."""
        where = f" {self.where}" if self.where else ""
        return f" in the background{where}, asked for in call {self.call}"

    def is_for(self, history: History) -> bool:
        """Whether the program with that history asked for it, and is still there."""
        maker = self._maker()
        return maker is not None and maker.context.history is history

    def urgency(self) -> int | None:
        """How often the function was called."""
        maker = self._maker()
        return None if maker is None or maker.context.closed else maker.context.calls()

    def run(self) -> None:
        """Make the version and hand it, or why there is none, to the executor, where that is still there and open."""
        try:
            with During(COMPILING, self._times), no_fork, faults.carried(self._faults):
                self._run()
        finally:
            maker = self._maker()
            if maker is not None:
                maker.ends(self.speculation)

    def _run(self) -> None:
        outcome: Version | NotCompiled
        maker = self._maker()
        make = make_version if maker is None else maker.make_one or make_version
        del maker  # a function that is deleted is let go while its version is made, but for one that makes assumptions in mid-program
        try:
            with told(self._program, self._tell) as learn:
                outcome = learn(make(self._program, self.speculation, self._valued, self.options, self.call, self._produce))
        except NotCompiled as e:
            outcome = e
        except Exception as e:  # noqa: BLE001 - whatever a compiler or its process raises: the function stays in tier 0
            outcome = plans.refusal("".join(traceback.format_exception(e)).strip(), e)
        maker = self._maker()
        if maker is not None and not maker.context.closed and not self._dropped:
            maker.prepare(self.options)
            maker.arrived(self, outcome)

    def _tell(self, action: str) -> None:
        """The event of a compile that begins, of a function that is still there."""
        maker = self._maker()
        if maker is not None:
            maker.context.history.begins_compiling(action)

    def _produce(self, graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> CompilerOutput:
        self.where = placement.why_here()
        if not self.where:
            try:
                if self._dropped:
                    raise NotCompiled(Reason.COMPILE_FAILED, "the interpreter is ending")
                with fork_allowed():
                    return placement.elsewhere(workers.in_background(), graph, entry, arguments, options)
            except WorkerUnavailable as e:
                self.where = f"in this process: {e}"
        return placement.here(graph, entry, arguments, options)
